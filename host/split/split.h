/* The problem behind clattn_split: pairs of (batch, key/value head), and who computes which. */
#ifndef CTN_SPLIT_H
#define CTN_SPLIT_H

#include <clattn/clattn_split.h>

#include "context.h"
#include "pool.h"
#include "problem.h"
#include "text.h"

/* A run of pairs, counted batch by batch, is at most three boxes: the end of a batch, whole batches, the beginning of one. */
enum { BOXES = 3 };

/* Heads are key/value heads. */
struct box {
  int64_t batch, batches;
  int64_t head, heads;
};

/* One box with its plan. Dense results of a box that is not one run of the whole tensor are computed into `dense`. */
struct piece {
  struct box box;
  clattn_plan *plan;
  float *dense[TENSOR_COUNT];
};

struct part {
  clattn_context *context;
  double speed;  /* relative to the others */
  int64_t pairs; /* from `first` on */
  int64_t first;
  int pieces;
  struct piece piece[BOXES];
  clattn_error error; /* of the last execution */
};

struct clattn_split {
  struct problem problem;
  size_t count;
  struct part *part;
  struct pool *pool; /* a thread a part */
  struct text description;
};

/* How many pairs the problem is shared out in, and how many of them one step takes: packed sequences are not cut between
 * batches. */
int64_t ctn_split_pairs(const struct attention *a);

/* Splits the run of `pairs` pairs from first on into boxes; returns how many. */
int ctn_split_boxes(const struct attention *a, int64_t first, int64_t pairs, struct box boxes[BOXES]);

/* The problem of one box, whose tensors lie inside the whole problem's. */
clattn_problem ctn_split_problem(const struct problem *problem, const struct box *box);

/* The arrays of one piece; its dense results point into the whole ones where they are one run there. */
clattn_arrays ctn_split_arrays(const struct problem *problem, const struct piece *piece, const clattn_arrays *whole);

/* Memory for dense results that are no run of the whole tensor, and their way there afterwards. */
clattn_status ctn_split_allocate(const struct problem *problem, struct piece *piece, clattn_error *error);
void ctn_split_scatter(const struct problem *problem, const struct piece *piece, const clattn_arrays *whole);

/* Pairs for each of count speeds, so that the last to finish finishes as early as possible. */
void ctn_split_share_out(const double *speeds, size_t count, int64_t pairs, int64_t *shares);

/* Runs a part of the problem on all contexts at once and fills in part[].speed. */
clattn_status ctn_split_measure(struct clattn_split *split, const clattn_plan_options *options, clattn_error *error);

#endif
