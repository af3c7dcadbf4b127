/* A run of `clattn bench` read back from its JSON, measured just now or long ago, and what is made of it: table, CSV,
 * comparison, plots, page. */
#ifndef CTN_BENCH_RUN_H
#define CTN_BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "status.h"
#include "text.h"

/* One row. Strings belong to the JSON; numbers that it does not have are NaN, sizes 0, strings "". */
struct record {
  const char *work, *path, *device, *dtype, *state, *reason, *bound, *compared_with, *product, *on;
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, head_dim_v, window, swept, whole_len, runs_per_round;
  int causal;
  double min_s, median_s, spread, gflops, gb_s, flop, bytes, share_of_peak, share_of_read, peak_gflops, read_gb_s, ratio,
      speedup;
  const json_t *samples, *peaks, *reads, *shares;
  int place;     /* in run->places, the host first; -1: none of them */
  int64_t index; /* of that device */
};

/* A device, or the host. */
struct run_place {
  const char *name, *platform, *vendor, *driver, *version, *type, *instructions;
  int64_t index; /* of `clattn devices` */
  int64_t compute_units, clock_mhz, memory, max_allocation, local_memory;
  double peak_gflops, peak_low, peak_high, read_gb_s;
};

struct run {
  json_t *root;
  struct record *rows; /* results, then what was left out */
  int row_count, left_out;
  struct run_place *places;
  int place_count;
  const char *version, *started, *command, *axis, *processor;
  bool interrupted;
};

/* bench_record.c: keeps root. source is its name in errors. */
clattn_status ctn_run_read(struct run *run, json_t *root, const char *source, clattn_error *error);
clattn_status ctn_run_load(struct run *run, const char *file, clattn_error *error);
void ctn_run_free(struct run *run);
/* The row has a time. */
bool ctn_record_finished(const struct record *row);
/* The largest share of what limits it: of the multiply-adds, or of reading. */
double ctn_record_share(const struct record *row);

/* bench_text.c: a row's cells as text. */
enum { CELL = 48 };
const char *ctn_cell_time(double seconds, char text[CELL]);
/* Three digits; "-" for NaN. */
const char *ctn_cell_number(double value, char text[CELL]);
const char *ctn_cell_heads(const struct record *row, char text[CELL]);
const char *ctn_cell_sizes(const struct record *row, char text[CELL]);
const char *ctn_cell_dim(const struct record *row, char text[CELL]);
const char *ctn_cell_share(const struct record *row, char text[CELL]);
const char *ctn_cell_spread(const struct record *row, char text[CELL]);
/* "host", the device's number, or those of several. */
const char *ctn_cell_place(const struct record *row, char text[CELL]);

/* bench_table.c */
void ctn_run_print(const struct run *run);
/* bench_csv.c: false where it could not be written. */
bool ctn_run_write_csv(const struct run *run, FILE *stream);

/* bench_ratio.c: how the times of two rows compare, runs with their machine's speed at that time. */
struct ratio {
  double estimate;  /* new time over old */
  double low, high; /* between which it lies in 99 of 100 such comparisons; 0 and infinity where there are too few runs */
};
/* Of values and their counts alone. */
struct ratio ctn_ratio_of(const double *before, int before_count, const double *after, int after_count);
clattn_status ctn_ratio_rows(struct ratio *ratio, const struct record *before, const struct record *after, clattn_error *error);

/* bench_compare.c: prints the comparison. *slower counts the rows that got slower beyond noise and threshold (0.05: 5 %), or
 * that fail now and did not. */
clattn_status ctn_run_compare(const struct run *before, const struct run *after, double threshold, int *slower,
                              clattn_error *error);

/* bench_charts.c, bench_report.c; bench_pictures_none.c in a tool without pictures. Bytes of a file, by the ending of its name.
 */
clattn_status ctn_run_plot(const struct run *run, const char *file, struct text *bytes, clattn_error *error);
clattn_status ctn_run_roofline(const struct run *run, const char *file, struct text *bytes, clattn_error *error);
clattn_status ctn_run_report(const struct run *run, struct text *html, clattn_error *error);
/* Whether such a picture can be drawn at all: told before anything is measured. */
clattn_status ctn_run_can_draw(const char *option, const char *file, bool page, clattn_error *error);

#endif
