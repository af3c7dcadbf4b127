/* What `clattn bench` is made of: rows to measure, the works that they come from, timing, checking, peaks, and the table. */
#ifndef CTN_BENCH_H
#define CTN_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <clattn/clattn_opencl.h>

#include "bench_peak.h"

enum { BENCH_PATHS = 4 };

enum bench_kind {
  BENCH_ATTENTION,
  BENCH_PROJECTION,
  BENCH_EMPTY, /* an empty kernel: what enqueueing and finishing cost by themselves */
  BENCH_METER  /* a peak: no plan */
};

/* A projection's rows are q_len, its columns head_dim in and head_dim_v out; its heads and keys are 0. */
struct bench_shape {
  clattn_dtype dtype;
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, head_dim_v;
  bool causal;
  int64_t window; /* keys back from the diagonal, itself among them; 0: none */
};

enum bench_state { BENCH_WAITING, BENCH_REFUSED, BENCH_FAILED, BENCH_READY };

/* A measurement: seconds of one run, many times. READY with samples is a finished row. */
struct bench_row {
  enum bench_kind kind;
  const char *work; /* "causal", or "causal-full" for what it is compared with */
  const char *path; /* "fused", "staged", "cpu", "native", "opencl" */
  clattn_path plan_path;
  bool on_host;
  struct bench_shape shape;
  int group;   /* rows of a group take turns */
  int against; /* the row whose time this one's is divided by, or -1 */
  enum bench_state state;
  char reason[400]; /* why REFUSED or FAILED */
  double *samples;  /* seconds, in the order of measuring until ctn_bench_sort */
  int count, room;
  double flop, bytes; /* of one run; 0 where it has none */
  double peak;        /* FLOP/s measured between this group's runs, 0 where there is none */
};

struct bench_path {
  const char *name;
  clattn_path path;
  bool on_host;
};

/* What the command line asked for; 0 or CLATTN_NONE: the work's own. */
struct bench_sizes {
  long batch, heads, kv_heads, seq, head_dim, window;
  clattn_dtype dtype;
};

struct bench {
  const char *command;
  clattn_context *device; /* NULL: the host alone */
  clattn_context *host;
  clattn_plan_options plan;
  struct bench_sizes sizes;
  struct bench_path paths[BENCH_PATHS];
  int path_count;
  int repeats;
  struct bench_row *rows;
  int row_count, row_room, group_count;
  struct peak *peak;
  double peak_native, peak_device, read_native; /* medians over the whole run, per second */
  double peak_low, peak_high;                   /* between which the middle half of the native bursts were */
  bool interrupted;
};

/* bench_works.c: the works by name, and the rows of one of them. */
extern const char *const ctn_bench_works[];
/* False where memory ran out. work is an index in ctn_bench_works. */
bool ctn_bench_add(struct bench *bench, int work);
void ctn_bench_count(struct bench_row *row);

/* bench_job.c: a row's data, plan and buffers. */
struct bench_job {
  clattn_plan *plan;
  clattn_arrays arrays;
  clattn_buffers buffers;
  void *memory[4]; /* q, k, v, out, or x, weight, out: host memory behind arrays */
  size_t bytes[4];
  cl_mem memories[4];
  cl_command_queue queue;
  cl_kernel empty;
};
clattn_status ctn_bench_prepare(struct bench_job *job, const struct bench *bench, const struct bench_row *row,
                                clattn_error *error);
/* Runs once and waits: the time is *seconds. */
clattn_status ctn_bench_run(struct bench_job *job, double *seconds, clattn_error *error);
/* The results of the last run, on the host. */
clattn_status ctn_bench_fetch(struct bench_job *job, clattn_error *error);
void ctn_bench_release(struct bench_job *job);
/* Descriptors of a row's problem. */
clattn_problem ctn_bench_attention(const struct bench_shape *shape);
clattn_projection ctn_bench_projection(const struct bench_shape *shape);

/* bench_check.c: the last run's results on sampled rows against the float64 reference. */
clattn_status ctn_bench_check(const struct bench *bench, const struct bench_row *row, struct bench_job *job,
                              clattn_error *error);

/* bench_measure.c */
/* From now on the first interrupt (SIGINT, SIGTERM) ends the measuring, not the program. */
void ctn_bench_catch_interrupt(void);
/* Every group's rows, prepared, checked, warmed up and timed in turns. */
void ctn_bench_measure(struct bench *bench, FILE *progress);

/* bench_table.c */
/* The time that the given share of the runs did not pass; NaN where there are none. */
double ctn_bench_quantile(const struct bench_row *row, double share);
double ctn_bench_median(const struct bench_row *row);
void ctn_bench_print(struct bench *bench);
/* False where it could not be written. */
bool ctn_bench_write_json(const struct bench *bench, FILE *stream);

#endif
