/* The staged family's state, shared by its files: staged.c (refuse, size, describe), staged_run.c (enqueue), staged_clblast.c
 * (the two products through CLBlast). */
#ifndef CTN_STAGED_H
#define CTN_STAGED_H

#include "gemm.h"
#include "parameters.h"
#include "product.h"

/* Where things lie in the workspace, in bytes. Those after panel are CLBlast's alone. */
struct staged_workspace {
  size_t panel; /* scores, then probabilities, of one chunk */
  size_t q, k;  /* dense float32 copies */
  size_t v;     /* likewise, with 0 for what is not finite */
  size_t flags; /* int32: 1 + one per (batch, kv head, key): which keys of v hold such values; [0]: whether any */
  size_t out;   /* float32 results of one chunk */
  size_t total;
};

struct staged {
  const struct problem *problem;
  struct runtime *runtime;
  struct product product;
  size_t softmax_items;
  const struct tuning_entry *softmax_tuned;
  int64_t chunk_heads, chunk_rows; /* of the flattened [batch * q_heads], and query rows */
  struct staged_workspace workspace;
  cl_kernel scores, softmax, values; /* own product: all three */
  cl_kernel widen, finish;           /* CLBlast: these and softmax */
};

/* One chunk of one execution. */
struct staged_chunk {
  const struct call *call;
  struct attention_parameters parameters;
  struct panel chunk;              /* its first head and row, its rows */
  int64_t heads;                   /* its heads */
  struct slice raw, probabilities; /* buffers of the two panels */
  struct panel raw_panel, probabilities_panel;
  bool complete; /* raw scores are wanted for excluded keys too */
  bool last;     /* of the execution */
};

/* CLBlast: why it cannot take the problem. */
bool ctn_staged_clblast_refuse(const struct request *request, struct text *reason);
/* Sizes of the segments after the panel; and the kernels beside softmax. */
bool ctn_staged_clblast_size(struct staged *staged);
clattn_status ctn_staged_clblast_prepare(struct staged *staged, clattn_error *error);
/* Float32 copies, once an execution. */
clattn_status ctn_staged_clblast_begin(struct staged *staged, const struct call *call, clattn_error *error);
clattn_status ctn_staged_clblast_scores(struct staged *staged, const struct staged_chunk *chunk, clattn_error *error);
clattn_status ctn_staged_clblast_values(struct staged *staged, const struct staged_chunk *chunk, clattn_error *error);

/* Enqueues one execution: staged_run.c. */
clattn_status ctn_staged_enqueue(void *state, const struct call *call, clattn_error *error);

#endif
