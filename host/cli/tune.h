/* `clattn tune`: candidates for a device's tuning table, each timed in a process of its own, in turns with the best so far. */
#ifndef CTN_TUNE_H
#define CTN_TUNE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "args.h"
#include "bench.h"
#include "tuning.h"

enum { TUNE_SETS = 4, TUNE_NAME = 160, TUNE_ROUNDS = 9, TUNE_MOST_ROUNDS = 30, TUNE_TEXT = 400 };

/* One step of a search: values that are tried together, on top of the best so far. */
struct tune_move {
  const char *family; /* of the tuning table */
  const char *values; /* "NAME=value NAME=value" */
};

/* A problem that sizes are searched for. */
struct tune_problem {
  const char *work, *title;
  enum bench_kind kind;
  const char *path_name;
  clattn_path path;
  clattn_product product;
  struct bench_shape shape;
  int64_t head_dim; /* of the lines written; 0: any */
  int weight;       /* its share of the time */
};

/* tune_works.c */
extern const struct tune_problem ctn_tune_problems[]; /* ended by a NULL work */
extern const struct tune_move ctn_tune_moves[];       /* the likely best first; ended by a NULL family */
bool ctn_tune_is_work(const char *name);
/* An awkward shape of the same kind: no length is a multiple of anything. */
struct bench_shape ctn_tune_awkward(const struct tune_problem *problem);

/* What is tried: lines of a table. A family that has a line without values has the sizes built in. */
struct tune_candidate {
  struct tuning_entry sets[TUNE_SETS];
  int count;
};

/* Everything that a search needs. */
struct tune {
  const char *command;
  const struct common_options *common;
  clattn_dtype dtype;
  bool small; /* an eighth of the lengths */
  double deadline;
  char device[TUNE_NAME], driver[TUNE_NAME]; /* known from the first process on */
};

/* A process that runs one problem with one candidate. */
struct tune_process {
  pid_t pid; /* 0: none */
  int to, from;
  char families[3][TUNE_NAME]; /* of the tuning table: those that the plan's sizes can come from; ended by "" */
  char device[TUNE_NAME], driver[TUNE_NAME];
  double seconds; /* of a run, roughly */
  double flop;
  char reason[TUNE_TEXT]; /* why it is not ready */
};

/* tune_process.c. Starts it and waits until it is ready: its results were right on the problem and on an awkward one. False
 * with a reason; late: the deadline passed, or the search was interrupted. */
bool ctn_tune_start(struct tune_process *process, const struct tune *tune, const struct tune_problem *problem,
                    const struct tune_candidate *candidate, bool *late);
/* Seconds of a run; negative where the process ended or was late. */
double ctn_tune_time(struct tune_process *process, const struct tune *tune);
void ctn_tune_stop(struct tune_process *process);

/* tune_worker.c: what runs in such a process, with the candidate's lines in a file; table NULL: the sizes built in. */
int ctn_tune_work(const struct tune *tune, const struct tune_problem *problem, const char *table, int in, int out);

/* tune_search.c */
struct tune_result {
  const struct tune_problem *problem;
  struct tune_candidate best; /* count 0: the sizes built in */
  double before, after, flop; /* seconds of a run */
  int tried, wrong;
  bool cut;               /* by time or an interrupt */
  char reason[TUNE_TEXT]; /* why nothing was searched; or "" */
};
void ctn_tune_search(struct tune_result *result, struct tune *tune, const struct tune_problem *problem, FILE *progress);

/* tune_file.c: adds the lines of a result to the file, which then has its new content or its old. */
clattn_status ctn_tune_save(const char *path, const struct tune *tune, const struct tune_result *result, clattn_error *error);

#endif
