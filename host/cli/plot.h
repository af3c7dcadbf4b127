/* Matrices as labelled heat maps: panels side by side on one colour scale, drawn to PNG and SVG. */
#ifndef CTN_PLOT_H
#define CTN_PLOT_H

#include <stdbool.h>

#include <clattn/clattn.h>

#include "text.h"

enum plot_scale {
  PLOT_SHARES, /* 0 to 1, dark to light */
  PLOT_SIGNED  /* -limit to limit, from one colour over a pale middle to another */
};

enum plot_theme { PLOT_LIGHT, PLOT_DARK, PLOT_THEMES };

/* One matrix, or the upper left part of one. */
struct plot_panel {
  const char *title; /* NULL: none */
  const float *values;
  const float *struck; /* NULL, or a matrix of the same size that is -inf where a key is excluded: such cells are hatched */
  int rows, columns;
  int pitch; /* elements from one row of values and struck to the next; 0: columns */
  const char *const *row_names;
  const char *const *column_names;
};

struct plot_figure {
  const char *title;
  const char *row_title;
  const char *column_title;
  const struct plot_panel *panels;
  int panel_count;
  int across; /* panels in a row */
  enum plot_scale scale;
  double limit;           /* PLOT_SIGNED: the values' largest size, at both ends of the scale */
  int decimals;           /* of the numbers in the cells */
  bool compact;           /* small cells without numbers; chosen for matrices that are too wide, too */
  const char *legend;     /* what the colours stand for */
  const char *struck_out; /* what hatching stands for; shown where a panel has any */
};

/* A finished picture, with its size in CSS pixels. missing: characters that no installed font has, drawn as boxes. */
struct plot_image {
  struct text bytes;
  int width, height;
  int missing;
};

clattn_status ctn_plot_svg(const struct plot_figure *figure, enum plot_theme theme, struct plot_image *image,
                           clattn_error *error);
/* Twice as many pixels a side as the size says, for sharp letters. Always light. */
clattn_status ctn_plot_png(const struct plot_figure *figure, struct plot_image *image, clattn_error *error);
/* Whether the figure is small enough to be drawn at all. */
bool ctn_plot_fits(const struct plot_figure *figure);
/* Gives back what the font libraries keep. */
void ctn_plot_end(void);

struct plot_color {
  double red, green, blue; /* sRGB, 0 to 1 */
};

/* The colour at position 0 to 1 of a scale, and whether white letters are read better on a colour than black ones. */
struct plot_color ctn_plot_color(enum plot_scale scale, double position);
bool ctn_plot_is_dark(struct plot_color color);

#endif
