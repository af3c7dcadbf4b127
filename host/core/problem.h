/* The one validation of every public descriptor, and its normalised form that all families work on: defaults resolved, sizes
 * known not to overflow. */
#ifndef CTN_PROBLEM_H
#define CTN_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include <clattn/clattn.h>

#include "status.h"

/* Tensors by role: the index of every table about tensors. */
enum tensor {
  T_Q,
  T_K,
  T_V,
  T_MASK,
  T_KV_LEN,
  T_QUERY_OFFSET,
  T_CU_Q,
  T_CU_KV,
  T_SINKS,
  T_ALIBI,
  T_TOKENS,
  T_TABLE,
  T_X,
  T_WEIGHT,
  T_BIAS,
  T_PART_OUT,
  T_PART_LSE,
  T_OUT,
  T_LSE,
  T_SCORES_RAW,
  T_SCORES_SOFTCAPPED,
  T_SCORES_MASKED,
  T_WEIGHTS,
  TENSOR_COUNT
};

/* The public field's name: "q", "kv_len", "scores_raw", ... */
const char *ctn_tensor_name(enum tensor tensor);

/* Element strides; a row is contiguous. The kernels' `struct layout` has the same three 64-bit fields. */
struct layout {
  int64_t batch;
  int64_t head;
  int64_t row;
};

enum operation { OP_ATTENTION, OP_EMBEDDING, OP_POSITION, OP_PROJECTION, OP_MERGE };

/* attention.md in numbers. With packed, batch counts sequences, q_len and kv_len are the longest, layout.batch is 0 and a
 * sequence's first row is cu[b]. */
struct attention {
  clattn_dtype dtype;
  int64_t batch, q_heads, kv_heads, group; /* group = q_heads / kv_heads */
  int64_t q_len, kv_len, head_dim, head_dim_v;
  bool packed;
  int64_t total_q, total_kv;
  struct layout q, k, v, out;
  float scale;
  float softcap;           /* 0: none */
  clattn_dtype mask_dtype; /* CLATTN_NONE: no mask */
  int64_t mask_stride[4];  /* of batch, head, row, key; 0 where it broadcasts */
  int64_t mask_kv_len;     /* keys from here on are excluded; kv_len where the mask is long enough or broadcasts */
  bool causal;
  int64_t window_left, window_right; /* -1: open; clamped to POSITION_LIMIT */
  bool has_kv_len, has_query_offset, has_sinks, has_alibi;
  float dropout;
  uint32_t outputs;
};

struct embedding {
  clattn_dtype dtype, token_dtype;
  int64_t vocabulary, dim, count, padding_id;
  float scale;
};

struct position {
  clattn_dtype dtype;
  int64_t batch, length, dim, start;
  bool has_x;
  double base;
};

struct projection {
  clattn_dtype dtype;
  int64_t batch, length, in_features, heads, head_dim;
  bool has_bias;
  struct layout x, out;
};

struct merge {
  clattn_dtype dtype, part_dtype;
  int64_t parts, rows, dim; /* rows of all heads and batches */
};

/* What an execution needs to know about one tensor of the problem. */
struct tensor_info {
  bool used;
  bool result;
  size_t element; /* bytes */
  int64_t extent; /* elements from the first to the last, gaps included */
};

/* A problem of any operation. */
struct problem {
  enum operation operation;
  union {
    struct attention attention;
    struct embedding embedding;
    struct position position;
    struct projection projection;
    struct merge merge;
  } as;
  struct tensor_info tensor[TENSOR_COUNT];
};

clattn_status ctn_problem_attention(struct problem *out, const clattn_problem *public_problem, clattn_error *error);
clattn_status ctn_problem_embedding(struct problem *out, const clattn_embedding *public_problem, clattn_error *error);
clattn_status ctn_problem_position(struct problem *out, const clattn_position *public_problem, clattn_error *error);
clattn_status ctn_problem_projection(struct problem *out, const clattn_projection *public_problem, clattn_error *error);
clattn_status ctn_problem_merge(struct problem *out, const clattn_merge *public_problem, clattn_error *error);

/* The address of each tensor in arrays, const removed (results are written, inputs are not). */
void ctn_arrays_table(const clattn_arrays *arrays, void *table[TENSOR_COUNT]);
void ctn_arrays_put(clattn_arrays *arrays, enum tensor tensor, void *data);

/* Checks that arrays gives exactly the tensors that the problem names, and the values of kv_len, cu_seqlens and tokens. */
clattn_status ctn_arrays_check(const struct problem *problem, const clattn_arrays *arrays, clattn_error *error);

/* Positions are clamped to +-POSITION_LIMIT, far outside any tensor, so that p - window and p + window cannot overflow. */
#define POSITION_LIMIT ((int64_t)1 << 61)

/* Batch b of a problem with its data: where its rows lie and which keys can be attended at all. */
struct sequence {
  int64_t q_first, q_rows;   /* first row in q, rows */
  int64_t kv_first, kv_rows; /* first row in k and v, rows that exist */
  int64_t kv_len;            /* rows that may be attended */
  int64_t query_offset;      /* clamped */
};

struct sequence ctn_sequence(const struct attention *problem, const clattn_arrays *arrays, int64_t batch);

#endif
