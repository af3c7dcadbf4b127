/* Measures a figure's names and numbers, and gives everything its place. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot_draw.h"

enum {
  NUMBER_SIZE = 32,
  MOST_NUMBERS = 12,
  MOST_NAMED = 64,
  LONGEST_NAME = 150,
  LEAST_CELL = 46,
  WIDEST_CELL = 96,
  SMALL_CELL = 24
};
enum { CELL_HEIGHT = 34, LOW_CELL = 6, HEAD = 24, LEAST_WIDTH = 300 };

/* Installed fonts with Korean letters first, so that letters and figures match; any other comes by itself where these have
 * none. */
static const char families[] = "Noto Sans CJK KR,Noto Sans KR,NanumGothic,Noto Sans,DejaVu Sans,sans-serif";

void ctn_plot_letters(struct plot_pen *pen, enum plot_letters letters, const char *text, double width, enum plot_fit fit) {
  static const struct {
    double pixels;
    PangoWeight weight;
  } styles[LETTERS] = {{17, PANGO_WEIGHT_BOLD},
                       {14, PANGO_WEIGHT_BOLD},
                       {13, PANGO_WEIGHT_NORMAL},
                       {13, PANGO_WEIGHT_NORMAL},
                       {13, PANGO_WEIGHT_NORMAL}};
  PangoFontDescription *font = pango_font_description_new();
  pango_font_description_set_family_static(font, families);
  pango_font_description_set_absolute_size(font, styles[letters].pixels * PANGO_SCALE);
  pango_font_description_set_weight(font, styles[letters].weight);
  pango_layout_set_font_description(pen->letters, font);
  pango_font_description_free(font);
  pango_layout_set_width(pen->letters, width > 0 ? (int)(width * PANGO_SCALE) : -1);
  pango_layout_set_ellipsize(pen->letters, width > 0 && fit == PLOT_CUT ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
  pango_layout_set_wrap(pen->letters, PANGO_WRAP_WORD_CHAR);
  pango_layout_set_single_paragraph_mode(pen->letters, TRUE);
  pango_layout_set_text(pen->letters, text, -1);
  pen->missing += pango_layout_get_unknown_glyphs_count(pen->letters);
}

void ctn_plot_measure(const struct plot_pen *pen, double *width, double *height) {
  PangoRectangle logical;
  pango_layout_get_extents(pen->letters, NULL, &logical);
  *width = (double)logical.width / PANGO_SCALE;
  *height = (double)logical.height / PANGO_SCALE;
}

static double width_of(struct plot_pen *pen, enum plot_letters letters, const char *text) {
  double width, height;
  ctn_plot_letters(pen, letters, text, 0, PLOT_CUT);
  ctn_plot_measure(pen, &width, &height);
  return width;
}

void ctn_plot_number(char *text, size_t size, int decimals, double value) {
  static const char minus[] = "\xe2\x88\x92"; /* the sign, which is as wide as a figure; no hyphen */
  char digits[NUMBER_SIZE - 4];
  snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
  const bool zero = strspn(digits, "0.") == strlen(digits);
  snprintf(text, size, "%s%s", value < 0 && !zero ? minus : "", digits);
}

float ctn_plot_element(const struct plot_panel *panel, const float *matrix, int row, int column) {
  const int pitch = panel->pitch ? panel->pitch : panel->columns;
  return matrix[(size_t)row * (size_t)pitch + (size_t)column];
}

bool ctn_plot_is_struck(const struct plot_panel *panel, int row, int column) {
  return isinf(ctn_plot_element(panel, panel->values, row, column)) ||
         (panel->struck && isinf(ctn_plot_element(panel, panel->struck, row, column)));
}

bool ctn_plot_any_struck(const struct plot_figure *figure) {
  for (int p = 0; p < figure->panel_count; p++) {
    const struct plot_panel *panel = &figure->panels[p];
    for (int i = 0; i < panel->rows * panel->columns; i++) {
      if (ctn_plot_is_struck(panel, i / panel->columns, i % panel->columns)) return true;
    }
  }
  return false;
}

static double widest_number(struct plot_pen *pen) {
  double widest = 0;
  char text[NUMBER_SIZE];
  for (int p = 0; p < pen->figure->panel_count; p++) {
    const struct plot_panel *panel = &pen->figure->panels[p];
    for (int i = 0; i < panel->rows * panel->columns; i++) {
      const double value = (double)ctn_plot_element(panel, panel->values, i / panel->columns, i % panel->columns);
      if (isinf(value)) continue;
      ctn_plot_number(text, sizeof text, pen->figure->decimals, value);
      widest = fmax(widest, width_of(pen, LETTERS_VALUE, text));
    }
  }
  return widest;
}

static double widest_name(struct plot_pen *pen, bool of_rows) {
  double widest = 0;
  for (int p = 0; p < pen->figure->panel_count; p++) {
    const struct plot_panel *panel = &pen->figure->panels[p];
    const char *const *names = of_rows ? panel->row_names : panel->column_names;
    for (int i = 0; i < (of_rows ? panel->rows : panel->columns); i++)
      widest = fmax(widest, width_of(pen, LETTERS_NAME, names[i]));
  }
  return fmin(widest, LONGEST_NAME);
}

static int most_columns(const struct plot_figure *figure) {
  int most = 0;
  for (int p = 0; p < figure->panel_count; p++)
    most = figure->panels[p].columns > most ? figure->panels[p].columns : most;
  return most;
}

static int most_rows(const struct plot_figure *figure) {
  int most = 0;
  for (int p = 0; p < figure->panel_count; p++)
    most = figure->panels[p].rows > most ? figure->panels[p].rows : most;
  return most;
}

static void lay_out_cells(struct plot_pen *pen) {
  struct plot_layout *layout = &pen->layout;
  const double columns = widest_name(pen, false);
  layout->names = widest_name(pen, true) + PLOT_NAME_GAP;
  const bool narrow = most_columns(pen->figure) > MOST_NUMBERS, tall = most_rows(pen->figure) > MOST_NAMED;
  layout->numbers = !pen->figure->compact && !narrow && most_rows(pen->figure) <= MOST_NUMBERS;
  layout->upright = pen->figure->compact || narrow;
  layout->cell_width = layout->upright ? SMALL_CELL : ceil(fmax(LEAST_CELL, fmin(columns + 12, WIDEST_CELL)));
  if (layout->numbers) layout->cell_width = ceil(fmax(layout->cell_width, widest_number(pen) + 12));
  layout->cell_height = layout->numbers ? CELL_HEIGHT : tall ? LOW_CELL : SMALL_CELL;
  layout->heads = layout->upright ? columns + PLOT_NAME_GAP : HEAD;
}

double ctn_plot_panel_height(const struct plot_layout *layout, const struct plot_panel *panel) {
  return layout->panel_title + PLOT_AXIS + layout->heads + panel->rows * layout->cell_height;
}

/* The tallest panel of the row that starts with index first. */
static double row_height(const struct plot_pen *pen, int first) {
  double tallest = 0;
  for (int i = first; i < first + pen->figure->across && i < pen->figure->panel_count; i++)
    tallest = fmax(tallest, ctn_plot_panel_height(&pen->layout, &pen->figure->panels[i]));
  return tallest;
}

void ctn_plot_panel_place(const struct plot_pen *pen, int index, double *x, double *y) {
  const int across = pen->figure->across;
  *x = PLOT_MARGIN + index % across * (pen->layout.panel_width + PLOT_GAP);
  *y = PLOT_MARGIN + pen->layout.title_height;
  for (int first = 0; first + across <= index; first += across)
    *y += row_height(pen, first) + PLOT_GAP;
}

void ctn_plot_lay_out(struct plot_pen *pen) {
  struct plot_layout *layout = &pen->layout;
  const struct plot_figure *figure = pen->figure;
  double width, height;
  lay_out_cells(pen);
  for (int p = 0; p < figure->panel_count; p++)
    layout->panel_title = figure->panels[p].title ? PLOT_PANEL_TITLE : layout->panel_title;
  layout->panel_width = PLOT_AXIS + layout->names + most_columns(figure) * layout->cell_width;
  const int across = figure->across < figure->panel_count ? figure->across : figure->panel_count;
  layout->width = fmax(LEAST_WIDTH, across * (layout->panel_width + PLOT_GAP) - PLOT_GAP) + 2 * PLOT_MARGIN;
  layout->width = fmax(layout->width, width_of(pen, LETTERS_SMALL, figure->legend) + 2 * PLOT_MARGIN);
  ctn_plot_letters(pen, LETTERS_TITLE, figure->title, layout->width - 2 * PLOT_MARGIN, PLOT_WRAP);
  ctn_plot_measure(pen, &width, &height);
  layout->title_height = ceil(height) + 14;
  double x, y;
  const int last = figure->panel_count - 1;
  ctn_plot_panel_place(pen, last, &x, &y);
  layout->width = ceil(layout->width);
  layout->height = ceil(y + row_height(pen, last / figure->across * figure->across) + PLOT_LEGEND + PLOT_MARGIN);
}
