/* Draws a figure or a chart into the bytes of a PNG or SVG file, with cairo. */
#include <cairo-svg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot_chart.h"
#include "plot_draw.h"
#include "status.h"

enum { PNG_SCALE = 2, LARGEST_SIDE = 16000, NUMBER_SIZE = 32 };

static cairo_status_t keep(void *closure, const unsigned char *bytes, unsigned int length) {
  struct text *text = closure;
  ctn_text_append(text, (const char *)bytes, length);
  return text->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* Lines and letters as they are at any size: nothing is fitted to pixels. */
static void open_pen(struct plot_pen *pen, cairo_surface_t *surface) {
  pen->cairo = cairo_create(surface);
  pen->letters = pango_cairo_create_layout(pen->cairo);
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(pango_layout_get_context(pen->letters), options);
  cairo_font_options_destroy(options);
  pango_layout_context_changed(pen->letters);
}

static void close_pen(struct plot_pen *pen) {
  if (pen->letters) g_object_unref(pen->letters);
  if (pen->cairo) cairo_destroy(pen->cairo);
  pen->letters = NULL;
  pen->cairo = NULL;
}

static const char *title_of(const struct plot_pen *pen) {
  return pen->chart ? pen->chart->title : pen->figure->title;
}

static void draw(struct plot_pen *pen) {
  if (pen->chart) {
    ctn_chart_draw(pen);
  } else {
    ctn_plot_draw(pen);
  }
}

/* The figure's size, found with a surface that is thrown away. */
static clattn_status lay_out(struct plot_pen *pen, clattn_error *error) {
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
  open_pen(pen, surface);
  if (pen->chart) {
    ctn_chart_lay_out(pen);
  } else {
    ctn_plot_lay_out(pen);
  }
  close_pen(pen);
  cairo_surface_destroy(surface);
  pen->missing = 0;
  if (pen->layout.width <= LARGEST_SIDE && pen->layout.height <= LARGEST_SIDE) return CLATTN_OK;
  return ctn_fail(error, CLATTN_TOO_LARGE, "picture \"%s\": %.0f x %.0f pixels are more than the %d a side that can be drawn",
                  title_of(pen), pen->layout.width, pen->layout.height, (int)LARGEST_SIDE);
}

static clattn_status finish(const struct plot_pen *pen, struct plot_image *image, cairo_status_t status, clattn_error *error) {
  image->width = (int)pen->layout.width;
  image->height = (int)pen->layout.height;
  image->missing = pen->missing;
  if (status == CAIRO_STATUS_SUCCESS && !image->bytes.failed) return CLATTN_OK;
  return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "picture \"%s\": could not be drawn (cairo: %s)", title_of(pen),
                  cairo_status_to_string(status));
}

/* Cairo writes six decimals; two are enough, and make a picture half as large. Rewrites the text in place. */
static void shorten(struct text *svg) {
  size_t length = 0;
  for (size_t i = 0; svg->data && i < svg->length;) {
    const size_t whole = strspn(svg->data + i, "0123456789");
    const size_t decimals = whole > 0 && svg->data[i + whole] == '.' ? strspn(svg->data + i + whole + 1, "0123456789") : 0;
    const size_t end = i + whole + 1 + decimals;
    if (decimals > 2 && svg->data[end] != 'e') {
      char number[NUMBER_SIZE];
      snprintf(number, sizeof number, "%.2f", strtod(svg->data + i, NULL));
      size_t digits = strlen(number);
      while (number[digits - 1] == '0')
        digits--;
      if (number[digits - 1] == '.') digits--;
      memcpy(svg->data + length, number, digits);
      length += digits;
      i = end;
    } else {
      const size_t step = whole > 0 ? whole : 1;
      memmove(svg->data + length, svg->data + i, step);
      length += step;
      i += step;
    }
  }
  svg->length = length;
  if (svg->data) svg->data[length] = '\0';
}

static clattn_status write_svg(struct plot_pen *pen, struct plot_image *image, clattn_error *error) {
  clattn_status status = lay_out(pen, error);
  if (status != CLATTN_OK) return status;
  cairo_surface_t *surface = cairo_svg_surface_create_for_stream(keep, &image->bytes, pen->layout.width, pen->layout.height);
  cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
  open_pen(pen, surface);
  draw(pen);
  close_pen(pen);
  cairo_surface_finish(surface);
  shorten(&image->bytes);
  status = finish(pen, image, cairo_surface_status(surface), error);
  cairo_surface_destroy(surface);
  return status;
}

static clattn_status write_png(struct plot_pen *pen, struct plot_image *image, clattn_error *error) {
  clattn_status status = lay_out(pen, error);
  if (status != CLATTN_OK) return status;
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, PNG_SCALE * (int)pen->layout.width, PNG_SCALE * (int)pen->layout.height);
  cairo_surface_set_device_scale(surface, PNG_SCALE, PNG_SCALE);
  open_pen(pen, surface);
  draw(pen);
  close_pen(pen);
  cairo_status_t drawn = cairo_surface_status(surface);
  if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_write_to_png_stream(surface, keep, &image->bytes);
  status = finish(pen, image, drawn, error);
  cairo_surface_destroy(surface);
  return status;
}

bool ctn_plot_fits(const struct plot_figure *figure) {
  struct plot_pen pen = {.figure = figure, .theme = PLOT_LIGHT};
  return lay_out(&pen, NULL) == CLATTN_OK;
}

clattn_status ctn_plot_svg(const struct plot_figure *figure, enum plot_theme theme, struct plot_image *image,
                           clattn_error *error) {
  struct plot_pen pen = {.figure = figure, .theme = theme};
  return write_svg(&pen, image, error);
}

clattn_status ctn_plot_png(const struct plot_figure *figure, struct plot_image *image, clattn_error *error) {
  struct plot_pen pen = {.figure = figure, .theme = PLOT_LIGHT};
  return write_png(&pen, image, error);
}

clattn_status ctn_chart_svg(const struct plot_chart *chart, struct plot_image *image, clattn_error *error) {
  struct plot_pen pen = {.chart = chart, .theme = PLOT_LIGHT};
  return write_svg(&pen, image, error);
}

clattn_status ctn_chart_png(const struct plot_chart *chart, struct plot_image *image, clattn_error *error) {
  struct plot_pen pen = {.chart = chart, .theme = PLOT_LIGHT};
  return write_png(&pen, image, error);
}

void ctn_plot_end(void) {
  pango_cairo_font_map_set_default(NULL);
}
