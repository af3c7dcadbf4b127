/* Draws a chart: axes with names, lines and points, the legend. */
#include "plot_chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot_draw.h"

enum {
  NARROW = 470,
  WIDE = 760,
  AXES_HEIGHT = 340,
  LEFT = 78,
  BELOW = 54,
  ABOVE = 30,
  ROW = 20,
  SWATCH = 34,
  TICK = 32,
  MOST_LABELS = 64
};

/* Okabe and Ito's colours, which the colour-blind tell apart; black is for letters. */
static const unsigned hues[PLOT_HUES] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xe69f00, 0x7a5195, 0x5c636b};

/* Where numbers of one pair of axes lie. */
struct frame {
  const struct plot_axes *axes;
  double x, y; /* the upper left corner */
  double width;
  double x_low, x_high, y_low, y_high;
};

static double axes_width(const struct plot_chart *chart) {
  return chart->axes_count == 1 ? WIDE : NARROW;
}

static void set_hue(const struct plot_pen *pen, int hue) {
  const unsigned color = hues[hue % PLOT_HUES];
  cairo_set_source_rgb(pen->cairo, (color >> 16 & 0xff) / 255.0, (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
}

static double place_x(const struct frame *frame, double value) {
  return frame->x + frame->width * log(value / frame->x_low) / log(frame->x_high / frame->x_low);
}

static double place_y(const struct frame *frame, double value) {
  const double share = frame->axes->shares ? (value - frame->y_low) / (frame->y_high - frame->y_low)
                                           : log(value / frame->y_low) / log(frame->y_high / frame->y_low);
  return frame->y + AXES_HEIGHT * (1 - share);
}

static bool drawable(const struct plot_axes *axes, const struct plot_line *line, int i) {
  return line->x[i] > 0 && isfinite(line->x[i]) && isfinite(line->y[i]) && (axes->shares || line->y[i] > 0);
}

/* Limits around all points, with some room. */
static void find_limits(struct frame *frame) {
  const struct plot_axes *axes = frame->axes;
  double x[2] = {INFINITY, 0}, y[2] = {INFINITY, 0};
  for (int l = 0; l < axes->line_count; l++) {
    const struct plot_line *line = &axes->lines[l];
    for (int i = 0; i < line->count; i++) {
      if (!drawable(axes, line, i)) continue;
      x[0] = fmin(x[0], line->x[i]), x[1] = fmax(x[1], line->x[i]);
      y[0] = fmin(y[0], line->y[i]), y[1] = fmax(y[1], line->y[i]);
    }
  }
  if (!(x[1] > 0)) x[0] = x[1] = 1;
  if (!(y[1] > 0)) y[0] = y[1] = 1;
  frame->x_low = x[0] / 1.25, frame->x_high = x[1] * 1.25;
  frame->y_low = axes->shares ? 0 : y[0] / 1.6;
  frame->y_high = axes->shares ? fmax(1, ceil(y[1] * 5) / 5) : y[1] * 1.6;
}

/* "2 us" and "300", "0.01": a short number. */
static void write_number(char text[TICK], double value) {
  if (value >= 1e6) {
    snprintf(text, TICK, "%.3gM", value * 1e-6);
  } else {
    snprintf(text, TICK, "%.6g", value);
  }
}

static void letters(struct plot_pen *pen, enum plot_letters kind, enum plot_ink ink, const char *text) {
  ctn_plot_letters(pen, kind, text, 0, PLOT_CUT);
  ctn_plot_ink(pen, ink);
}

static void rule(const struct plot_pen *pen, double x0, double y0, double x1, double y1) {
  ctn_plot_ink(pen, INK_STRUCK);
  cairo_set_line_width(pen->cairo, 1);
  cairo_move_to(pen->cairo, x0, y0);
  cairo_line_to(pen->cairo, x1, y1);
  cairo_stroke(pen->cairo);
}

static void tick_x(struct plot_pen *pen, const struct frame *frame, double value) {
  char text[TICK];
  const double x = place_x(frame, value);
  rule(pen, x, frame->y, x, frame->y + AXES_HEIGHT);
  write_number(text, value);
  letters(pen, LETTERS_SMALL, INK_FAINT, text);
  ctn_plot_show(pen, x, frame->y + AXES_HEIGHT + 12, 0.5);
}

static void tick_y(struct plot_pen *pen, const struct frame *frame, double value) {
  char text[TICK];
  const double y = place_y(frame, value);
  rule(pen, frame->x, y, frame->x + frame->width, y);
  if (frame->axes->shares) {
    snprintf(text, sizeof text, "%.0f %%", 100 * value);
  } else {
    write_number(text, value);
  }
  letters(pen, LETTERS_SMALL, INK_FAINT, text);
  ctn_plot_show(pen, frame->x - 6, y, 1);
}

/* Powers of ten; where they are few, 2 and 5 times them as well. */
static void log_ticks(struct plot_pen *pen, const struct frame *frame, double low, double high,
                      void (*tick)(struct plot_pen *, const struct frame *, double)) {
  static const int steps[] = {1, 2, 5};
  const int stride = log10(high / low) > 3 ? 3 : 1;
  for (int power = (int)floor(log10(low)); power <= (int)ceil(log10(high)); power++) {
    for (int i = 0; i < 3; i += stride) {
      const double value = steps[i] * pow(10, power);
      if (value >= low * 0.999 && value <= high * 1.001) tick(pen, frame, value);
    }
  }
}

/* The swept sizes, as long as their names do not touch. */
static void given_ticks(struct plot_pen *pen, const struct frame *frame) {
  double free_from = -INFINITY;
  for (int i = 0; i < frame->axes->at_count; i++) {
    const double x = place_x(frame, frame->axes->at_x[i]);
    if (x < free_from) continue;
    tick_x(pen, frame, frame->axes->at_x[i]);
    free_from = x + 40;
  }
}

static void draw_frame(struct plot_pen *pen, const struct frame *frame) {
  const struct plot_axes *axes = frame->axes;
  if (axes->at_count) {
    given_ticks(pen, frame);
  } else {
    log_ticks(pen, frame, frame->x_low, frame->x_high, tick_x);
  }
  if (axes->shares) {
    for (int i = 0; i * 0.2 <= frame->y_high + 1e-9; i++)
      tick_y(pen, frame, i * 0.2);
  } else {
    log_ticks(pen, frame, frame->y_low, frame->y_high, tick_y);
  }
  ctn_plot_ink(pen, INK_FAINT);
  cairo_set_line_width(pen->cairo, 1);
  cairo_rectangle(pen->cairo, frame->x, frame->y, frame->width, AXES_HEIGHT);
  cairo_stroke(pen->cairo);
  letters(pen, LETTERS_PANEL, INK_LETTERS, axes->title);
  ctn_plot_show(pen, frame->x, frame->y - ABOVE / 2.0, 0);
  letters(pen, LETTERS_SMALL, INK_LETTERS, axes->x_title);
  ctn_plot_show(pen, frame->x + frame->width / 2.0, frame->y + AXES_HEIGHT + 34, 0.5);
  letters(pen, LETTERS_SMALL, INK_LETTERS, axes->y_title);
  ctn_plot_show_upright(pen, frame->x - LEFT + 16, frame->y + AXES_HEIGHT / 2.0, 0.5);
}

/* A disc, a square, a triangle or a diamond. */
static void draw_mark(const struct plot_pen *pen, int mark, double x, double y) {
  cairo_t *cairo = pen->cairo;
  const double r = 4;
  cairo_new_path(cairo);
  if (mark == 0) {
    cairo_arc(cairo, x, y, r, 0, 2 * G_PI);
  } else if (mark == 1) {
    cairo_rectangle(cairo, x - r, y - r, 2 * r, 2 * r);
  } else {
    const double low = mark == 2 ? r * 0.8 : 0;
    cairo_move_to(cairo, x, y - r * 1.35);
    cairo_line_to(cairo, x + r * 1.3, y + low);
    if (mark == 3) cairo_line_to(cairo, x, y + r * 1.35);
    cairo_line_to(cairo, x - r * 1.3, y + low);
    cairo_close_path(cairo);
  }
  cairo_fill(cairo);
}

/* Lines of one colour differ in how they are broken, too. */
static void set_stroke(const struct plot_pen *pen, const struct plot_line *line) {
  static const double dashes[PLOT_MARKS][2] = {{1, 0}, {7, 4}, {2, 3}, {12, 3}};
  set_hue(pen, line->hue);
  cairo_set_line_width(pen->cairo, line->mark < 0 ? 2.5 : 1.8);
  cairo_set_dash(pen->cairo, dashes[line->mark < 0 ? 0 : line->mark % PLOT_MARKS], line->mark > 0 ? 2 : 0, 0);
}

static void draw_line(const struct plot_pen *pen, const struct frame *frame, const struct plot_line *line) {
  set_stroke(pen, line);
  for (int i = 0; i < line->count && !line->apart; i++) {
    if (!drawable(frame->axes, line, i)) continue;
    cairo_line_to(pen->cairo, place_x(frame, line->x[i]), place_y(frame, line->y[i]));
  }
  cairo_stroke(pen->cairo);
  cairo_set_dash(pen->cairo, NULL, 0, 0);
  for (int i = 0; i < line->count && line->mark >= 0; i++) {
    if (drawable(frame->axes, line, i))
      draw_mark(pen, line->mark % PLOT_MARKS, place_x(frame, line->x[i]), place_y(frame, line->y[i]));
  }
}

struct box {
  double x, y, width, height; /* y: of its middle */
};

/* Whether a label there lies over no other label and no point. */
static bool is_free(const struct frame *frame, struct box box, const struct box *taken, int count) {
  if (box.x < frame->x || box.x + box.width > frame->x + frame->width) return false;
  for (int t = 0; t < count; t++) {
    if (box.x <= taken[t].x + taken[t].width && taken[t].x <= box.x + box.width && fabs(box.y - taken[t].y) <= 0.9 * box.height)
      return false;
  }
  for (int l = 0; l < frame->axes->line_count; l++) {
    const struct plot_line *line = &frame->axes->lines[l];
    for (int i = 0; i < line->count && line->mark >= 0; i++) {
      if (!drawable(frame->axes, line, i)) continue;
      const double x = place_x(frame, line->x[i]), y = place_y(frame, line->y[i]);
      if (x > box.x - 3 && x < box.x + box.width + 3 && fabs(y - box.y) < box.height / 2) return false;
    }
  }
  return true;
}

/* Names of points, to the right of them or to the left, as far as there is room. */
static void draw_labels(struct plot_pen *pen, const struct frame *frame) {
  struct box taken[MOST_LABELS];
  int count = 0;
  for (int l = 0; l < frame->axes->line_count; l++) {
    const struct plot_line *line = &frame->axes->lines[l];
    for (int i = 0; i < line->count && line->labels && count < MOST_LABELS; i++) {
      if (!drawable(frame->axes, line, i)) continue;
      const double x = place_x(frame, line->x[i]);
      struct box box = {x + 8, place_y(frame, line->y[i]), 0, 0};
      letters(pen, LETTERS_SMALL, INK_LETTERS, line->labels[i]);
      ctn_plot_measure(pen, &box.width, &box.height);
      if (!is_free(frame, box, taken, count)) box.x = x - 8 - box.width;
      if (!is_free(frame, box, taken, count)) continue;
      taken[count++] = box;
      ctn_plot_show(pen, box.x, box.y, 0);
    }
  }
}

static int legend_rows(const struct plot_chart *chart) {
  int rows = 0;
  for (int l = 0; l < chart->axes[0].line_count; l++)
    rows += chart->axes[0].lines[l].name != NULL;
  return rows;
}

static void draw_legend(struct plot_pen *pen, double y) {
  const struct plot_axes *axes = &pen->chart->axes[0];
  for (int l = 0; l < axes->line_count; l++) {
    const struct plot_line *line = &axes->lines[l];
    if (!line->name) continue;
    set_stroke(pen, line);
    if (!line->apart) {
      cairo_move_to(pen->cairo, PLOT_MARGIN, y);
      cairo_line_to(pen->cairo, PLOT_MARGIN + SWATCH, y);
      cairo_stroke(pen->cairo);
    }
    cairo_set_dash(pen->cairo, NULL, 0, 0);
    if (line->mark >= 0) draw_mark(pen, line->mark % PLOT_MARKS, PLOT_MARGIN + SWATCH / 2.0, y);
    ctn_plot_letters(pen, LETTERS_SMALL, line->name, pen->layout.width - 2 * PLOT_MARGIN - SWATCH - 10, PLOT_CUT);
    ctn_plot_ink(pen, INK_LETTERS);
    ctn_plot_show(pen, PLOT_MARGIN + SWATCH + 10, y, 0);
    y += ROW;
  }
  if (!pen->chart->note) return;
  ctn_plot_letters(pen, LETTERS_SMALL, pen->chart->note, pen->layout.width - 2 * PLOT_MARGIN, PLOT_CUT);
  ctn_plot_ink(pen, INK_FAINT);
  ctn_plot_show(pen, PLOT_MARGIN, y + 4, 0);
}

void ctn_chart_lay_out(struct plot_pen *pen) {
  const struct plot_chart *chart = pen->chart;
  double width, height;
  pen->layout.width = 2 * PLOT_MARGIN + chart->axes_count * (LEFT + axes_width(chart)) + (chart->axes_count - 1) * PLOT_GAP;
  ctn_plot_letters(pen, LETTERS_TITLE, chart->title, pen->layout.width - 2 * PLOT_MARGIN, PLOT_WRAP);
  ctn_plot_measure(pen, &width, &height);
  pen->layout.title_height = ceil(height) + 10;
  pen->layout.height = 2 * PLOT_MARGIN + pen->layout.title_height + ABOVE + AXES_HEIGHT + BELOW + ROW * legend_rows(chart) +
                       (chart->note ? ROW + 8 : 0);
}

void ctn_chart_draw(struct plot_pen *pen) {
  const struct plot_chart *chart = pen->chart;
  const double top = PLOT_MARGIN + pen->layout.title_height + ABOVE;
  ctn_plot_ink(pen, INK_PAPER);
  cairo_paint(pen->cairo);
  ctn_plot_letters(pen, LETTERS_TITLE, chart->title, pen->layout.width - 2 * PLOT_MARGIN, PLOT_WRAP);
  ctn_plot_ink(pen, INK_LETTERS);
  ctn_plot_show(pen, PLOT_MARGIN, PLOT_MARGIN + (pen->layout.title_height - 10) / 2, 0);
  for (int a = 0; a < chart->axes_count; a++) {
    struct frame frame = {.axes = &chart->axes[a],
                          .x = PLOT_MARGIN + LEFT + a * (LEFT + axes_width(chart) + PLOT_GAP),
                          .y = top,
                          .width = axes_width(chart)};
    find_limits(&frame);
    draw_frame(pen, &frame);
    cairo_save(pen->cairo);
    cairo_rectangle(pen->cairo, frame.x - 5, frame.y - 5, frame.width + 10, AXES_HEIGHT + 10);
    cairo_clip(pen->cairo);
    for (int l = 0; l < frame.axes->line_count; l++)
      draw_line(pen, &frame, &frame.axes->lines[l]);
    draw_labels(pen, &frame);
    cairo_restore(pen->cairo);
  }
  draw_legend(pen, top + AXES_HEIGHT + BELOW + ROW / 2.0);
}
