/* The cells of a row as text, the same in every table. */
#include <math.h>
#include <string.h>

#include "bench_run.h"

const char *ctn_cell_time(double seconds, char text[CELL]) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  if (!(seconds > 0)) return "-";
  while (seconds < 1 && unit < 3) {
    seconds *= 1000;
    unit++;
  }
  snprintf(text, CELL, "%.*f %s", seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0, seconds, units[unit]);
  return text;
}

const char *ctn_cell_number(double value, char text[CELL]) {
  if (!isfinite(value)) return "-";
  if (value < 0.0005) {
    snprintf(text, CELL, "%.0e", value);
    return text;
  }
  snprintf(text, CELL, "%.*f", value < 0.0995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
  return text;
}

const char *ctn_cell_heads(const struct record *row, char text[CELL]) {
  if (!row->q_heads) return "";
  if (row->kv_heads != row->q_heads) {
    snprintf(text, CELL, "%lldx%lld/%lld", (long long)row->batch, (long long)row->q_heads, (long long)row->kv_heads);
  } else {
    snprintf(text, CELL, "%lldx%lld", (long long)row->batch, (long long)row->q_heads);
  }
  return text;
}

const char *ctn_cell_sizes(const struct record *row, char text[CELL]) {
  if (!row->q_len) return "";
  if (row->kv_len) {
    snprintf(text, CELL, "%lld x %lld", (long long)row->q_len, (long long)row->kv_len);
  } else {
    snprintf(text, CELL, "%lld rows", (long long)(row->batch * row->q_len));
  }
  return text;
}

const char *ctn_cell_dim(const struct record *row, char text[CELL]) {
  if (!row->head_dim) return "";
  snprintf(text, CELL, "%lld", (long long)row->head_dim);
  return text;
}

const char *ctn_cell_share(const struct record *row, char text[CELL]) {
  const double share = ctn_record_share(row);
  if (!isfinite(share)) return "-";
  snprintf(text, CELL, "%.*f %%%s", share < 0.00995 ? 1 : 0, 100 * share, strcmp(row->bound, "memory") == 0 ? " m" : "  ");
  return text;
}

const char *ctn_cell_spread(const struct record *row, char text[CELL]) {
  if (!isfinite(row->spread)) return "-";
  snprintf(text, CELL, "%.*f %%", row->spread < 0.0995 ? 1 : 0, 100 * row->spread);
  return text;
}

const char *ctn_cell_place(const struct record *row, char text[CELL]) {
  if (*row->on) return row->on;
  if (row->place <= 0) return row->place ? "?" : "host";
  snprintf(text, CELL, "%lld", (long long)row->index);
  return text;
}
