/* A run's charts, to be drawn into a file or a page. */
#ifndef CTN_BENCH_CHARTS_H
#define CTN_BENCH_CHARTS_H

#include "bench_run.h"
#include "plot_chart.h"

enum { CHART_AXES = 2, CHART_NAME = 240, CHART_LABEL = 64 };

/* A chart with the memory that it points to. Start from {0}. */
struct bench_chart {
  struct plot_chart chart;
  struct plot_axes axes[CHART_AXES];
  struct plot_line *lines[CHART_AXES];
  double *x, *y[CHART_AXES]; /* of all lines, one after the other */
  const char **labels;
  char (*label_texts)[CHART_LABEL];
  char (*names)[CHART_NAME];
  double *at;
  char title[CHART_NAME], x_title[64];
  int lines_count, points;
};

/* Time and share of peak over the swept size. */
clattn_status ctn_chart_sweep(struct bench_chart *chart, const struct run *run, clattn_error *error);
/* Speed over operations a byte, below what each place can do. */
clattn_status ctn_chart_roofline(struct bench_chart *chart, const struct run *run, clattn_error *error);
void ctn_chart_free(struct bench_chart *chart);

#endif
