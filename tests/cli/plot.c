/* The heat maps by themselves: scales that are read without their legend, letters that stand out, sizes, hatching. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "markup.h"
#include "plot_draw.h"

static double linear(double value) {
  return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static double luminance(struct plot_color color) {
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

/* CIE lightness, 0 to 100: even to the eye. */
static double lightness(struct plot_color color) {
  return 116 * cbrt(luminance(color)) - 16;
}

/* More is always lighter, by about the same for each step, so that the scale is read in grey, too. */
static void test_shares_are_even(void **state) {
  (void)state;
  enum { STEPS = 20 };
  const double all = lightness(ctn_plot_color(PLOT_SHARES, 1)) - lightness(ctn_plot_color(PLOT_SHARES, 0));
  assert_true(all > 70);
  for (int i = 0; i < STEPS; i++) {
    const double step =
        lightness(ctn_plot_color(PLOT_SHARES, (i + 1.0) / STEPS)) - lightness(ctn_plot_color(PLOT_SHARES, (double)i / STEPS));
    if (!(step > 0.5 * all / STEPS && step < 1.6 * all / STEPS)) fail_msg("step %d: %.2f of %.2f", i, step, all / STEPS);
  }
}

/* Palest in the middle, darker to both sides alike. */
static void test_signs_are_balanced(void **state) {
  (void)state;
  for (int step = 1; step <= 10; step++) {
    const double distance = 0.05 * step;
    const struct plot_color below = ctn_plot_color(PLOT_SIGNED, 0.5 - distance),
                            above = ctn_plot_color(PLOT_SIGNED, 0.5 + distance);
    assert_true(lightness(below) < lightness(ctn_plot_color(PLOT_SIGNED, 0.55 - distance)));
    assert_true(lightness(above) < lightness(ctn_plot_color(PLOT_SIGNED, 0.45 + distance)));
    assert_true(fabs(lightness(below) - lightness(above)) < 8);
    assert_true(below.blue > below.red && above.red > above.blue);
  }
}

static void test_letters_stand_out(void **state) {
  (void)state;
  for (int scale = PLOT_SHARES; scale <= PLOT_SIGNED; scale++) {
    for (int i = 0; i <= 100; i++) {
      const struct plot_color color = ctn_plot_color((enum plot_scale)scale, i / 100.0);
      const double light = luminance(color);
      const double contrast = ctn_plot_is_dark(color) ? 1.05 / (light + 0.05) : (light + 0.05) / 0.05;
      assert_true(contrast >= 4.5);
    }
  }
}

/* Past the ends, and no number. */
static void test_odd_values(void **state) {
  (void)state;
  const struct plot_color first = ctn_plot_color(PLOT_SHARES, 0), below = ctn_plot_color(PLOT_SHARES, -3);
  const struct plot_color last = ctn_plot_color(PLOT_SHARES, 1), above = ctn_plot_color(PLOT_SHARES, 7);
  assert_memory_equal(&first, &below, sizeof first);
  assert_memory_equal(&last, &above, sizeof last);
  const struct plot_color none = ctn_plot_color(PLOT_SIGNED, NAN);
  assert_true(none.red >= 0 && none.red <= 1);
}

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    int decimals;
    const char *text;
  } numbers[] = {{-0.004, 2, "0.00"},
                 {0, 3, "0.000"},
                 {-1.25, 2,
                  "\xe2\x88\x92"
                  "1.25"},
                 {0.9996, 3, "1.000"},
                 {12, 0, "12"}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char text[32];
    ctn_plot_number(text, sizeof text, numbers[i].decimals, numbers[i].value);
    assert_string_equal(text, numbers[i].text);
  }
}

static struct plot_figure figure_of(const struct plot_panel *panels, int count, int across) {
  return (struct plot_figure){.title = "T <&>",
                              .row_title = "query",
                              .column_title = "key",
                              .panels = panels,
                              .panel_count = count,
                              .across = across,
                              .scale = PLOT_SIGNED,
                              .limit = 2,
                              .decimals = 2,
                              .legend = "value",
                              .struck_out = "struck"};
}

static void size_of(const struct plot_figure *figure, int *width, int *height) {
  struct plot_image svg = {{0}, 0, 0, 0}, png = {{0}, 0, 0, 0};
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(ctn_plot_svg(figure, PLOT_DARK, &svg, &error), CLATTN_OK);
  assert_int_equal(ctn_plot_png(figure, &png, &error), CLATTN_OK);
  assert_well_formed("svg", svg.bytes.data, 0);
  assert_int_equal(svg.width, png.width);
  assert_int_equal(svg.height, png.height);
  *width = svg.width;
  *height = svg.height;
  ctn_text_free(&svg.bytes);
  ctn_text_free(&png.bytes);
}

/* Panels in rows, the last of which may not be full; sizes of one; infinities and NaN. */
static void test_figures(void **state) {
  (void)state;
  static const char *const names[] = {"a", "a word that is much longer than any cell and has to be cut short somewhere", "b"};
  static const float values[9] = {0, -1, 2, INFINITY, -INFINITY, NAN, 1, 1, 1};
  const struct plot_panel panels[3] = {{"one", values, NULL, 3, 3, 0, names, names},
                                       {"two", values, values, 3, 3, 0, names, names},
                                       {NULL, values, NULL, 1, 1, 3, names, names}};
  int width[3], height[3];
  struct plot_figure figure = figure_of(panels, 3, 1);
  size_of(&figure, &width[0], &height[0]);
  figure.across = 2;
  size_of(&figure, &width[1], &height[1]);
  figure.compact = true;
  size_of(&figure, &width[2], &height[2]);
  assert_true(width[1] > width[0] && height[1] < height[0]);
  assert_true(width[2] < width[1]);
  figure = figure_of(&panels[2], 1, 1);
  size_of(&figure, &width[0], &height[0]);
  assert_true(width[0] >= 300);
}

/* A matrix too large for a picture is refused; one that is only large loses its numbers. */
static void test_large(void **state) {
  (void)state;
  enum { SIDE = 1000 };
  static float values[SIDE * SIDE];
  static const char *names[SIDE];
  for (int i = 0; i < SIDE; i++)
    names[i] = "w";
  struct plot_panel panel = {NULL, values, NULL, 40, 40, SIDE, names, names};
  struct plot_figure figure = figure_of(&panel, 1, 1);
  int width, height;
  size_of(&figure, &width, &height);
  assert_true(width < 1200 && height < 1200);
  assert_true(ctn_plot_fits(&figure));
  panel.rows = panel.columns = SIDE;
  assert_false(ctn_plot_fits(&figure));
  struct plot_image image = {{0}, 0, 0, 0};
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(ctn_plot_png(&figure, &image, &error), CLATTN_TOO_LARGE);
  assert_non_null(strstr(error.text, "T <&>"));
  assert_null(image.bytes.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shares_are_even),
      cmocka_unit_test(test_signs_are_balanced),
      cmocka_unit_test(test_letters_stand_out),
      cmocka_unit_test(test_odd_values),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_figures),
      cmocka_unit_test(test_large),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  ctn_plot_end();
  return failed;
}
