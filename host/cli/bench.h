/* What `clattn bench` measures with: places, rows, the works that they come from, timing, checking, and the run as JSON. What
 * is done with a finished run is in bench_run.h. */
#ifndef CTN_BENCH_H
#define CTN_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <clattn/clattn_opencl.h>
#include <clattn/clattn_split.h>

#include "bench_peak.h"
#include "text.h"

enum { BENCH_PLACES = 9, BENCH_PARTS = 2, BENCH_PATHS = 2 * BENCH_PLACES + 2, BENCH_VALUES = 64 };

/* Numbers in the order of measuring. */
struct bench_series {
  double *values;
  int count, room;
};

/* bench_series.c. The first is false where memory ran out; the others give NaN where there are no numbers. */
bool ctn_series_add(struct bench_series *series, double value);
void ctn_series_sort(double *values, size_t count);
/* The value that the given share of the numbers do not pass. */
double ctn_series_quantile(const struct bench_series *series, double share);
double ctn_series_median(const struct bench_series *series);
/* Half the distance between the quartiles, as a share of the median. */
double ctn_series_spread(const struct bench_series *series);
/* The numbers from index first on; borrowed. */
struct bench_series ctn_series_since(const struct bench_series *series, int first);
void ctn_series_free(struct bench_series *series);

/* Where rows run. The first is the host's threads, the others are OpenCL devices. */
struct bench_place {
  clattn_context *context;
  const clattn_device_info *info; /* NULL: the host */
  char name[160];                 /* unlike every other place's */
  int index;                      /* of `clattn devices`; -1: the host */
  struct peak *peak;
  struct bench_series flop, read;     /* rates of bursts, per second */
  clattn_context *parts[BENCH_PARTS]; /* equal ones of the device, where they are measured */
};

enum bench_kind {
  BENCH_ATTENTION,
  BENCH_PROJECTION,
  BENCH_EMPTY, /* an empty kernel: what enqueueing and finishing cost by themselves */
  BENCH_METER, /* multiply-add bursts: no plan */
  BENCH_READER /* reading bursts: no plan */
};

/* What the plan of an attention row runs on. All but the first are on arrays of the host, copies included. */
enum bench_on { BENCH_BUFFERS, BENCH_ARRAYS, BENCH_PART, BENCH_BOTH_PARTS, BENCH_TOGETHER };

/* A projection's rows are q_len, its columns head_dim in and head_dim_v out; its heads and keys are 0. */
struct bench_shape {
  clattn_dtype dtype;
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, head_dim_v;
  bool causal;
  int64_t window; /* keys back from the diagonal, itself among them; 0: none */
};

/* One way of computing at a place. */
struct bench_path {
  const char *name; /* "fused", "staged", "cpu", "reference" */
  clattn_path path;
  int place;
  double speed; /* FLOP/s seen so far; 0: not known */
};

enum bench_state { BENCH_WAITING, BENCH_REFUSED, BENCH_FAILED, BENCH_READY };

/* A measurement: seconds of one run, many times. READY with samples is a finished row. */
struct bench_row {
  enum bench_kind kind;
  const char *work; /* "causal", or "causal-full" for what it is compared with */
  const char *path; /* of bench->paths, or "native", "opencl" */
  int path_index;   /* in bench->paths; -1: none */
  int place;
  enum bench_on on;
  unsigned members; /* TOGETHER: a bit for each place; row->place is one of them */
  clattn_product product;
  struct bench_shape shape;
  struct bench_shape whole; /* larger, where this place is too slow for the work's own lengths */
  long swept;               /* the value of the sweep; 0: none */
  int group;                /* rows of a group take turns */
  int against;              /* the row whose time this one's is divided by, or -1 */
  enum bench_state state;
  char family[32];  /* what computes it */
  char reason[400]; /* why REFUSED or FAILED */
  struct bench_series samples;
  int inner;                        /* runs in a round */
  struct bench_series peaks, reads; /* the place's rates in each round, per second */
  double flop, bytes;               /* of one run; 0 where it has none */
  double shares[BENCH_PLACES];      /* of the contexts of a split */
  int share_count;
};

/* What the command line asked for; 0 or CLATTN_NONE: the work's own. */
struct bench_sizes {
  long batch, heads, kv_heads, seq, head_dim, window;
  clattn_dtype dtype;
};

/* One size that takes several values; bench_sweep.c. */
struct bench_sweep {
  const char *axis; /* NULL: none; else one of ctn_bench_axes */
  int axis_index;
  long values[BENCH_VALUES];
  int count;
};
extern const char *const ctn_bench_axes[];
/* Reads "seq=128:16384", "seq=100:500:100" or "seq=64,100": false with a reason in text. */
bool ctn_bench_sweep_parse(struct bench_sweep *sweep, const char *spec, char *text, size_t room);
/* sizes with the swept one set. */
struct bench_sizes ctn_bench_sweep_sizes(const struct bench_sweep *sweep, struct bench_sizes sizes, int index);

struct bench {
  const char *command;
  clattn_context_options context; /* but for the device */
  clattn_plan_options plan;
  struct bench_sizes sizes;
  struct bench_sweep sweep;
  bool small;    /* each work at an eighth of its lengths */
  bool products; /* the rows being made are there to compare who multiplies */
  struct bench_place places[BENCH_PLACES];
  int place_count;
  struct bench_path paths[BENCH_PATHS];
  int path_count;
  int repeats;     /* rounds */
  bool all_rounds; /* however long they take */
  double longest;  /* seconds that one run may take; 0: any */
  double patience; /* seconds after which a row has rounds enough */
  struct bench_row *rows;
  int row_count, row_room, group_count;
  bool interrupted;
};

/* bench_places.c: a context and a peak for the host and for each device asked for (all, unless common names one). */
struct common_options;
clattn_status ctn_bench_open_places(struct bench *bench, const struct common_options *common, bool one, clattn_error *error);
/* The processor that a CPU device runs on is the host's: then the larger rate of both is its peak. */
bool ctn_bench_shares_host(const struct bench *bench, int place);

/* bench_works.c: the works by name, and the rows of one of them. */
extern const char *const ctn_bench_works[];
int ctn_bench_work(const char *name);
bool ctn_bench_work_can_sweep(int work);
/* False where memory ran out. work is an index in ctn_bench_works. */
bool ctn_bench_add(struct bench *bench, int work);

/* bench_rows.c: rows of a shape. */
struct bench_row *ctn_bench_new_row(struct bench *bench, const char *work);
/* A row for each path that the kind has, in the group that is being made, compared with rows of the shape of row `against` on
 * the same path; the first one's index, or -1 where memory ran out. fit: the shape that decides whether a place is too slow for
 * this work. Sizes from the command line can make two shapes the same: then the rows that are there serve. */
int ctn_bench_add_shape(struct bench *bench, enum bench_kind kind, const char *work, struct bench_shape shape,
                        const struct bench_shape *fit, int against);
/* The shape with the command line's sizes; what its lengths have to be divided by so that a run which takes `slower` times as
 * long as the path's own takes no longer than allowed; and that division. */
struct bench_shape ctn_bench_sized(const struct bench *bench, enum bench_kind kind, struct bench_shape shape);
int64_t ctn_bench_divisor(const struct bench *bench, enum bench_kind kind, struct bench_shape shape, int path, double slower);
void ctn_bench_divide(struct bench_shape *shape, int64_t divisor);
bool ctn_bench_same_shape(const struct bench_shape *a, const struct bench_shape *b);
/* FLOP and bytes of one run. */
void ctn_bench_count(struct bench_row *row);

/* bench_speed.c: how fast each path is, about, from a small problem; and which run would take too long. */
void ctn_bench_probe(struct bench *bench);
double ctn_bench_estimate(const struct bench *bench, const struct bench_row *row);

/* bench_job.c: a row's data, plan and buffers. */
struct bench_job {
  clattn_plan *plan;
  clattn_split *split; /* in place of a plan */
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

/* bench_split.c */
bool ctn_bench_add_split(struct bench *bench);
/* The path that a row's plans are asked for. */
clattn_path ctn_bench_path_of(const struct bench *bench, const struct bench_row *row);
/* UNSUPPORTED where one of its contexts would compute all of it. */
clattn_status ctn_bench_make_split(struct bench_job *job, const struct bench *bench, const struct bench_row *row,
                                   clattn_error *error);
void ctn_bench_note_shares(const struct bench *bench, struct bench_row *row, const struct bench_job *job);
/* What a row runs on, as text; and its numbers in `clattn devices`, where that is no place by itself. */
void ctn_bench_device(const struct bench *bench, const struct bench_row *row, struct text *name, struct text *on);
/* What computes a share of a split. */
void ctn_bench_member(const struct bench *bench, const struct bench_row *row, int index, char *text, size_t room);

/* bench_check.c: the last run's results on sampled rows against the float64 reference. */
clattn_status ctn_bench_check(const struct bench *bench, const struct bench_row *row, struct bench_job *job,
                              clattn_error *error);

/* bench_progress.c: a bar with the time left; nothing where stream is NULL. */
struct bench_progress {
  FILE *stream;
  double start, shown;       /* seconds on the clock */
  double total, done, piece; /* seconds as estimated; piece: the group that runs now */
  int width;                 /* columns that the last line took */
};
void ctn_progress_start(struct bench_progress *progress, const struct bench *bench, FILE *stream);
void ctn_progress_group(struct bench_progress *progress, const struct bench *bench, int first, int count);
/* share: of the group's rounds that are done. */
void ctn_progress_show(struct bench_progress *progress, const struct bench_row *row, double share);
void ctn_progress_end(struct bench_progress *progress);

/* bench_measure.c */
/* From now on the first interrupt (SIGINT, SIGTERM) ends the measuring, not the program. */
void ctn_bench_catch_interrupt(void);
bool ctn_bench_stopped(void);
/* A row without a time, and why. */
void ctn_bench_fail(struct bench_row *row, enum bench_state state, const char *text);
/* Every group's rows, prepared, checked, warmed up and timed in turns. The bar goes to stream; NULL: none. */
void ctn_bench_measure(struct bench *bench, FILE *stream);

/* bench_json.c: all that there is to say about a run; NULL where memory ran out. */
json_t *ctn_bench_json(const struct bench *bench, int argc, const char **argv);

#endif
