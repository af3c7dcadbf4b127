/* Numbers in the order of measuring, and their quantiles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

bool ctn_series_add(struct bench_series *series, double value) {
  if (series->count == series->room) {
    const int room = series->room ? 2 * series->room : 16;
    double *values = realloc(series->values, (size_t)room * sizeof *values);
    if (!values) return false;
    series->values = values;
    series->room = room;
  }
  series->values[series->count++] = value;
  return true;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void ctn_series_sort(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_value);
}

double ctn_series_quantile(const struct bench_series *series, double share) {
  const size_t count = (size_t)series->count;
  double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return NAN;
  memcpy(sorted, series->values, count * sizeof *sorted);
  ctn_series_sort(sorted, count);
  const double place = share * (double)(count - 1);
  const size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
  const double value = sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
  free(sorted);
  return value;
}

double ctn_series_median(const struct bench_series *series) {
  return ctn_series_quantile(series, 0.5);
}

double ctn_series_spread(const struct bench_series *series) {
  return (ctn_series_quantile(series, 0.75) - ctn_series_quantile(series, 0.25)) / 2 / ctn_series_median(series);
}

struct bench_series ctn_series_since(const struct bench_series *series, int first) {
  const int count = series->count > first ? series->count - first : 0;
  return (struct bench_series){count ? series->values + first : NULL, count, 0};
}

void ctn_series_free(struct bench_series *series) {
  free(series->values);
  memset(series, 0, sizeof *series);
}
