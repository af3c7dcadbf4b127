/* Draws a figure that was laid out: titles, panels with their names and cells, the legend. */
#include <math.h>
#include <stdio.h>

#include "plot_draw.h"

enum {
  NUMBER_SIZE = 32,
  LEGEND_WIDTH = 190,
  LEGEND_HEIGHT = 12,
  LEGEND_STOPS = 16,
  HATCH = 6,
  LEAST_NAMED = 16,
  NAMED_ROWS = 10
};

void ctn_plot_ink(const struct plot_pen *pen, enum plot_ink ink) {
  static const unsigned inks[PLOT_THEMES][INKS] = {{0xffffff, 0x1c2024, 0x5c636b, 0xe4e6e9},
                                                   {0x181b1f, 0xe8eaed, 0xa3abb4, 0x34393f}};
  const unsigned color = inks[pen->theme][ink];
  cairo_set_source_rgb(pen->cairo, (color >> 16 & 0xff) / 255.0, (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
}

static void set_color(const struct plot_pen *pen, struct plot_color color) {
  cairo_set_source_rgb(pen->cairo, color.red, color.green, color.blue);
}

void ctn_plot_show(const struct plot_pen *pen, double x, double y, double align) {
  double width, height;
  ctn_plot_measure(pen, &width, &height);
  cairo_move_to(pen->cairo, x - align * width, y - height / 2);
  pango_cairo_show_layout(pen->cairo, pen->letters);
}

void ctn_plot_show_upright(const struct plot_pen *pen, double x, double y, double align) {
  cairo_save(pen->cairo);
  cairo_translate(pen->cairo, x, y);
  cairo_rotate(pen->cairo, -G_PI / 2);
  ctn_plot_show(pen, 0, 0, align);
  cairo_restore(pen->cairo);
}

static void draw_hatching(const struct plot_pen *pen, double x, double y, double width, double height) {
  cairo_t *cairo = pen->cairo;
  cairo_save(cairo);
  cairo_rectangle(cairo, x, y, width, height);
  ctn_plot_ink(pen, INK_STRUCK);
  cairo_fill_preserve(cairo);
  cairo_clip(cairo);
  ctn_plot_ink(pen, INK_FAINT);
  cairo_set_line_width(cairo, 0.6);
  for (int line = 1; line * HATCH < width + height; line++) {
    const double offset = line * HATCH;
    cairo_move_to(cairo, x + offset, y);
    cairo_line_to(cairo, x + offset - height, y + height);
  }
  cairo_stroke(cairo);
  cairo_restore(cairo);
}

static double position_of(const struct plot_figure *figure, double value) {
  if (figure->scale == PLOT_SHARES) return value;
  return figure->limit > 0 ? 0.5 + value / figure->limit / 2 : 0.5;
}

/* A struck-out cell has its weight, 0, or no number at all, where it is -infinity. */
static void draw_struck(struct plot_pen *pen, double value, double x, double y) {
  const struct plot_layout *layout = &pen->layout;
  draw_hatching(pen, x, y, layout->cell_width, layout->cell_height);
  if (!layout->numbers) return;
  char text[NUMBER_SIZE] = "\xe2\x88\x92\xe2\x88\x9e"; /* minus infinity */
  if (!isinf(value)) ctn_plot_number(text, sizeof text, value == 0 ? 0 : pen->figure->decimals, value);
  double width, height;
  ctn_plot_letters(pen, LETTERS_VALUE, text, 0, PLOT_CUT);
  ctn_plot_measure(pen, &width, &height);
  const double middle = x + layout->cell_width / 2, line = y + layout->cell_height / 2;
  ctn_plot_ink(pen, INK_STRUCK);
  cairo_rectangle(pen->cairo, middle - width / 2 - 4, line - height / 2 - 1, width + 8, height + 2);
  cairo_fill(pen->cairo);
  ctn_plot_ink(pen, INK_LETTERS);
  ctn_plot_show(pen, middle, line, 0.5);
}

static void draw_cell(struct plot_pen *pen, const struct plot_panel *panel, int row, int column, double x, double y) {
  const struct plot_layout *layout = &pen->layout;
  const double value = (double)ctn_plot_element(panel, panel->values, row, column);
  if (ctn_plot_is_struck(panel, row, column)) {
    draw_struck(pen, value, x, y);
    return;
  }
  const struct plot_color color = ctn_plot_color(pen->figure->scale, position_of(pen->figure, value));
  /* Without a line between the rows a cell reaches under the next, so that no seam shows. */
  const double under = layout->cell_height < LEAST_NAMED && row < panel->rows - 1 ? 1 : 0;
  cairo_rectangle(pen->cairo, x, y, layout->cell_width, layout->cell_height + under);
  set_color(pen, color);
  cairo_fill(pen->cairo);
  if (!layout->numbers) return;
  char text[NUMBER_SIZE];
  ctn_plot_number(text, sizeof text, pen->figure->decimals, value);
  ctn_plot_letters(pen, LETTERS_VALUE, text, 0, PLOT_CUT);
  const double shade = ctn_plot_is_dark(color) ? 1 : 0.05;
  cairo_set_source_rgb(pen->cairo, shade, shade, shade);
  ctn_plot_show(pen, x + layout->cell_width / 2, y + layout->cell_height / 2, 0.5);
}

/* Thin lines of paper between the cells, which the lowest have no room for. */
static void draw_lines(const struct plot_pen *pen, const struct plot_panel *panel, double x, double y) {
  const bool rows = pen->layout.cell_height >= LEAST_NAMED;
  const double width = panel->columns * pen->layout.cell_width, height = panel->rows * pen->layout.cell_height;
  ctn_plot_ink(pen, INK_PAPER);
  cairo_set_line_width(pen->cairo, pen->layout.numbers ? 1.5 : 1);
  for (int i = 1; rows && i < panel->rows; i++) {
    cairo_move_to(pen->cairo, x, y + i * pen->layout.cell_height);
    cairo_rel_line_to(pen->cairo, width, 0);
  }
  for (int j = 1; j < panel->columns; j++) {
    cairo_move_to(pen->cairo, x + j * pen->layout.cell_width, y);
    cairo_rel_line_to(pen->cairo, 0, height);
  }
  cairo_stroke(pen->cairo);
}

/* Sets a name, cut to the room it has. */
static void set_name(struct plot_pen *pen, const char *name, double room) {
  double width, height;
  ctn_plot_letters(pen, LETTERS_NAME, name, 0, PLOT_CUT);
  ctn_plot_measure(pen, &width, &height);
  if (width > room) ctn_plot_letters(pen, LETTERS_NAME, name, room, PLOT_CUT);
}

static void draw_names(struct plot_pen *pen, const struct plot_panel *panel, double x, double y) {
  const struct plot_layout *layout = &pen->layout;
  ctn_plot_ink(pen, INK_LETTERS);
  const int every = layout->cell_height < LEAST_NAMED ? NAMED_ROWS : 1;
  for (int i = 0; i < panel->rows; i += every) {
    set_name(pen, panel->row_names[i], layout->names - PLOT_NAME_GAP + 1);
    ctn_plot_show(pen, x - PLOT_NAME_GAP, y + (i + 0.5) * layout->cell_height, 1);
  }
  for (int j = 0; j < panel->columns; j++) {
    const double middle = x + (j + 0.5) * layout->cell_width;
    set_name(pen, panel->column_names[j], layout->upright ? layout->heads - PLOT_NAME_GAP + 1 : layout->cell_width - 4);
    if (layout->upright) {
      ctn_plot_show_upright(pen, middle, y - PLOT_NAME_GAP / 2.0, 0);
    } else {
      ctn_plot_show(pen, middle, y - layout->heads / 2, 0.5);
    }
  }
}

static void draw_panel(struct plot_pen *pen, const struct plot_panel *panel, double left, double top) {
  const struct plot_layout *layout = &pen->layout;
  const double x = left + PLOT_AXIS + layout->names;
  double y = top;
  if (panel->title) {
    ctn_plot_letters(pen, LETTERS_PANEL, panel->title, layout->panel_width, PLOT_CUT);
    ctn_plot_ink(pen, INK_LETTERS);
    ctn_plot_show(pen, left, y + PLOT_PANEL_TITLE / 2.0 - 2, 0);
  }
  y += layout->panel_title;
  ctn_plot_ink(pen, INK_FAINT);
  ctn_plot_letters(pen, LETTERS_SMALL, pen->figure->column_title, 0, PLOT_CUT);
  ctn_plot_show(pen, x + panel->columns * layout->cell_width / 2, y + PLOT_AXIS / 2.0, 0.5);
  y += PLOT_AXIS + layout->heads;
  ctn_plot_letters(pen, LETTERS_SMALL, pen->figure->row_title, 0, PLOT_CUT);
  ctn_plot_show_upright(pen, left + PLOT_AXIS / 2.0 - 4, y + panel->rows * layout->cell_height / 2, 0.5);
  draw_names(pen, panel, x, y);
  for (int i = 0; i < panel->rows; i++) {
    for (int j = 0; j < panel->columns; j++)
      draw_cell(pen, panel, i, j, x + j * layout->cell_width, y + i * layout->cell_height);
  }
  draw_lines(pen, panel, x, y);
}

static void draw_tick(struct plot_pen *pen, double value, double x, double y) {
  char text[NUMBER_SIZE];
  ctn_plot_number(text, sizeof text,
                  value == 0 || fabs(value) >= 100 ? 0
                  : fabs(value) == 1               ? 0
                  : fabs(value) == 0.5             ? 1
                                                   : 2,
                  value);
  ctn_plot_letters(pen, LETTERS_SMALL, text, 0, PLOT_CUT);
  ctn_plot_show(pen, x, y, 0.5);
}

static void draw_legend(struct plot_pen *pen) {
  const struct plot_figure *figure = pen->figure;
  const double x = PLOT_MARGIN, top = pen->layout.height - PLOT_MARGIN - PLOT_LEGEND + PLOT_GAP;
  const double low = figure->scale == PLOT_SHARES ? 0 : -figure->limit, high = figure->scale == PLOT_SHARES ? 1 : figure->limit;
  ctn_plot_ink(pen, INK_FAINT);
  ctn_plot_letters(pen, LETTERS_SMALL, figure->legend, pen->layout.width - 2 * PLOT_MARGIN, PLOT_CUT);
  ctn_plot_show(pen, x, top, 0);
  const double y = top + 15;
  cairo_pattern_t *colors = cairo_pattern_create_linear(x, y, x + LEGEND_WIDTH, y);
  for (int i = 0; i <= LEGEND_STOPS; i++) {
    const double place = (double)i / LEGEND_STOPS;
    const struct plot_color color = ctn_plot_color(figure->scale, place);
    cairo_pattern_add_color_stop_rgb(colors, place, color.red, color.green, color.blue);
  }
  cairo_rectangle(pen->cairo, x, y, LEGEND_WIDTH, LEGEND_HEIGHT);
  cairo_set_source(pen->cairo, colors);
  cairo_fill(pen->cairo);
  cairo_pattern_destroy(colors);
  ctn_plot_ink(pen, INK_FAINT);
  const double below = y + LEGEND_HEIGHT + 11;
  double width, height;
  draw_tick(pen, (low + high) / 2, x + LEGEND_WIDTH / 2.0, below);
  char text[NUMBER_SIZE];
  const int decimals = figure->scale == PLOT_SHARES ? 0 : 2;
  ctn_plot_number(text, sizeof text, decimals, low);
  ctn_plot_letters(pen, LETTERS_SMALL, text, 0, PLOT_CUT);
  ctn_plot_show(pen, x, below, 0);
  ctn_plot_number(text, sizeof text, decimals, high);
  ctn_plot_letters(pen, LETTERS_SMALL, text, 0, PLOT_CUT);
  ctn_plot_show(pen, x + LEGEND_WIDTH, below, 1);
  if (!ctn_plot_any_struck(figure)) return;
  const double swatch = x + LEGEND_WIDTH + PLOT_GAP;
  draw_hatching(pen, swatch, y - 2, 24, LEGEND_HEIGHT + 4);
  ctn_plot_ink(pen, INK_FAINT);
  ctn_plot_letters(pen, LETTERS_SMALL, figure->struck_out, pen->layout.width - swatch - 32 - PLOT_MARGIN, PLOT_WRAP);
  ctn_plot_measure(pen, &width, &height);
  ctn_plot_show(pen, swatch + 32, y + LEGEND_HEIGHT / 2.0, 0);
}

void ctn_plot_draw(struct plot_pen *pen) {
  ctn_plot_ink(pen, INK_PAPER);
  cairo_paint(pen->cairo);
  ctn_plot_ink(pen, INK_LETTERS);
  ctn_plot_letters(pen, LETTERS_TITLE, pen->figure->title, pen->layout.width - 2 * PLOT_MARGIN, PLOT_WRAP);
  ctn_plot_show(pen, PLOT_MARGIN, PLOT_MARGIN + (pen->layout.title_height - 14) / 2, 0);
  for (int i = 0; i < pen->figure->panel_count; i++) {
    double x, y;
    ctn_plot_panel_place(pen, i, &x, &y);
    draw_panel(pen, &pen->figure->panels[i], x, y);
  }
  draw_legend(pen);
}
