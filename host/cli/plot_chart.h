/* Lines and points over logarithmic axes, drawn to PNG and SVG like the heat maps. */
#ifndef CTN_PLOT_CHART_H
#define CTN_PLOT_CHART_H

#include "plot.h"

/* Numbers of colours and shapes that lines can be told apart by. */
enum { PLOT_HUES = 8, PLOT_MARKS = 4 };

struct plot_line {
  const char *name; /* in the legend; NULL: not there */
  const double *x, *y;
  const char *const *labels; /* of the points; or NULL */
  int count;
  int hue;    /* 0 to PLOT_HUES - 1 */
  int mark;   /* 0 to PLOT_MARKS - 1: shape of the points, and how the line is broken; -1: no points, a thick line */
  bool apart; /* points are not joined */
};

struct plot_axes {
  const char *title, *x_title, *y_title;
  const struct plot_line *lines;
  int line_count;
  bool shares;        /* y runs from 0 to 1, in per cent; otherwise it is logarithmic */
  const double *at_x; /* where x has its names; NULL: at powers of ten */
  int at_count;
};

struct plot_chart {
  const char *title;
  const struct plot_axes *axes; /* side by side; the legend is that of the first */
  int axes_count;
  const char *note; /* a line below; or NULL */
};

clattn_status ctn_chart_svg(const struct plot_chart *chart, struct plot_image *image, clattn_error *error);
clattn_status ctn_chart_png(const struct plot_chart *chart, struct plot_image *image, clattn_error *error);

#endif
