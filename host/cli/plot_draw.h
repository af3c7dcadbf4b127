/* Between a figure's layout and its drawing: sizes in CSS pixels, letters, the colours of a theme. */
#ifndef CTN_PLOT_DRAW_H
#define CTN_PLOT_DRAW_H

#include <pango/pangocairo.h>

#include "plot.h"

enum plot_ink { INK_PAPER, INK_LETTERS, INK_FAINT, INK_STRUCK, INKS };
enum plot_letters { LETTERS_TITLE, LETTERS_PANEL, LETTERS_NAME, LETTERS_VALUE, LETTERS_SMALL, LETTERS };

/* Where things stand; the same for every panel, so that they line up. */
struct plot_layout {
  bool numbers;      /* cells are large enough for them */
  double names;      /* width of the row names */
  bool upright;      /* column names stand upright over narrow cells */
  double heads;      /* height of the column names */
  double cell_width; /* of a cell */
  double cell_height;
  double panel_width; /* names and cells, of the widest panel */
  double panel_title; /* height; 0 where no panel has one */
  double title_height;
  double width, height; /* of the whole figure */
};

struct plot_chart;

struct plot_pen {
  cairo_t *cairo;
  PangoLayout *letters;
  const struct plot_figure *figure; /* what is drawn: this, or the chart */
  const struct plot_chart *chart;
  struct plot_layout layout;
  enum plot_theme theme;
  int missing;
};

enum { PLOT_MARGIN = 20, PLOT_GAP = 28, PLOT_AXIS = 22, PLOT_LEGEND = 80, PLOT_PANEL_TITLE = 26, PLOT_NAME_GAP = 8 };

/* Sets the pen's letters to text; a width of 0 leaves them on one line, else they end in "..." there, or wrap. */
enum plot_fit { PLOT_CUT, PLOT_WRAP };
void ctn_plot_letters(struct plot_pen *pen, enum plot_letters letters, const char *text, double width, enum plot_fit fit);
/* What the letters that were set take up. */
void ctn_plot_measure(const struct plot_pen *pen, double *width, double *height);

/* plot_layout.c: fills in pen->layout. */
void ctn_plot_lay_out(struct plot_pen *pen);
double ctn_plot_panel_height(const struct plot_layout *layout, const struct plot_panel *panel);
/* Where the grid of panels puts one. */
void ctn_plot_panel_place(const struct plot_pen *pen, int index, double *x, double *y);
/* One element of a panel's values, or of what is struck out of it. */
float ctn_plot_element(const struct plot_panel *panel, const float *matrix, int row, int column);
/* Whether a cell is hatched: struck out, or no finite number. */
bool ctn_plot_is_struck(const struct plot_panel *panel, int row, int column);
/* A cell's number, without a sign on zero. */
void ctn_plot_number(char *text, size_t size, int decimals, double value);
bool ctn_plot_any_struck(const struct plot_figure *figure);

/* plot_draw.c: the whole figure at the origin. */
void ctn_plot_draw(struct plot_pen *pen);
void ctn_plot_ink(const struct plot_pen *pen, enum plot_ink ink);
/* The letters that were set, with their box's left edge, middle or right edge at x (align 0, 0.5, 1) and its middle at y. */
void ctn_plot_show(const struct plot_pen *pen, double x, double y, double align);
/* The same turned upright, read from below, starting at (x, y). */
void ctn_plot_show_upright(const struct plot_pen *pen, double x, double y, double align);

/* plot_chart.c: the same of a chart; the layout has its size alone. */
void ctn_chart_lay_out(struct plot_pen *pen);
void ctn_chart_draw(struct plot_pen *pen);

#endif
