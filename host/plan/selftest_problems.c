/* The small problems of a self-test: one that is plain, others with every option, of the same types as the request. */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "half.h"
#include "selftest.h"

/* Past one block of every kernel, and no multiple of any. */
enum { MASKED_KEY = 50, MASKED_ROW = 4, NAN_KEY = 61, CAUSAL_NAN_KEY = 3 }; /* excluded for all rows; without keys; NaN */
enum { Q_LEN = 9, KV_LEN = 203, HEADS = 4, KV_HEADS = 2, LONG_HEAD_DIM = 259, AWKWARD_DIM = 37, MOST_HEAD_DIM_V = 136 };

#define STAGES \
  (CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED | CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS)

static clattn_layout apart(int64_t heads, int64_t rows, int64_t columns) {
  const int64_t row = heads * (columns + 3) + 1;
  return (clattn_layout){rows * row + 2, columns + 3, row};
}

/* A head_dim that is no multiple of anything and that the same program serves: some are made for steps of 32. */
static int64_t awkward_dim(int64_t head_dim) {
  if (head_dim > 256) return AWKWARD_DIM;
  return head_dim <= AWKWARD_DIM ? head_dim : ctn_min(head_dim, ctn_ceil_div(head_dim, 32) * 32 - 32 + AWKWARD_DIM % 32);
}

static clattn_problem attention_base(const struct attention *a) {
  clattn_problem p = CLATTN_PROBLEM_INIT;
  p.dtype = a->dtype;
  p.q_heads = HEADS;
  p.kv_heads = KV_HEADS;
  p.q_len = Q_LEN;
  p.kv_len = KV_LEN;
  p.head_dim = awkward_dim(a->head_dim);
  p.head_dim_v = ctn_min(a->head_dim_v, MOST_HEAD_DIM_V); /* kernels are made for widths up to 128 */
  p.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
  if (a->mask_dtype != CLATTN_NONE) p.mask = (clattn_mask){a->mask_dtype, 2, {Q_LEN, KV_LEN}, {0, 0}};
  return p;
}

static void everything(clattn_problem *p) {
  p->batch = 2;
  p->q = apart(HEADS, Q_LEN, p->head_dim);
  p->k = apart(KV_HEADS, KV_LEN, p->head_dim);
  p->v = apart(KV_HEADS, KV_LEN, p->head_dim_v);
  p->out = apart(HEADS, Q_LEN, p->head_dim_v);
  p->softcap = 3;
  p->causal = 1;
  p->window_left = 150;
  p->has_kv_len = p->has_query_offset = p->has_sinks = p->has_alibi = 1;
  p->dropout = 0.25f;
  if (p->mask.dtype != CLATTN_NONE) p->mask = (clattn_mask){p->mask.dtype, 4, {2, 1, Q_LEN, KV_LEN - 20}, {0, 0, 0, 0}};
}

static void packed(clattn_problem *p) {
  p->batch = 2;
  p->packed = 1;
  p->total_q = Q_LEN + Q_LEN / 2;
  p->total_kv = KV_LEN + KV_LEN / 2;
  p->window_left = 100; /* begins and ends in different blocks */
  p->window_right = 6;
  p->has_query_offset = 1;
  if (p->mask.dtype != CLATTN_NONE) p->mask = (clattn_mask){p->mask.dtype, 3, {HEADS, 1, 1}, {0, 0, 0}};
}

static bool attention(struct problem *problem, const char **title, const struct attention *a, int index, bool stages) {
  static const char *const titles[] = {"plain", "every option", "packed", "alibi"};
  clattn_problem p = attention_base(a);
  if (index >= 4) return false;
  if (index == 0) p.head_dim = ctn_min(a->head_dim, LONG_HEAD_DIM); /* long sums are made in pieces */
  if (index == 1) everything(&p);
  if (index == 2) packed(&p);
  if (index == 3) p.has_alibi = 1; /* without causality */
  if (index == 1 && stages) p.outputs |= STAGES;
  *title = titles[index];
  return ctn_problem_attention(problem, &p, NULL) == CLATTN_OK;
}

static bool embedding(struct problem *problem, const struct embedding *e) {
  clattn_embedding p = CLATTN_EMBEDDING_INIT;
  p.dtype = e->dtype;
  p.token_dtype = e->token_dtype;
  p.vocabulary = 5;
  p.dim = 19;
  p.count = 12;
  p.padding_id = 2;
  return ctn_problem_embedding(problem, &p, NULL) == CLATTN_OK;
}

static bool position(struct problem *problem, const struct position *q, int index) {
  clattn_position p = CLATTN_POSITION_INIT;
  p.dtype = q->dtype;
  p.batch = 2;
  p.length = 5;
  p.dim = 13;
  p.start = 999990;
  p.has_x = index;
  return ctn_problem_position(problem, &p, NULL) == CLATTN_OK;
}

/* Small, and past one block in every direction with the heads split. */
static bool projection(struct problem *problem, const char **title, const struct projection *q, int index) {
  clattn_projection p = CLATTN_PROJECTION_INIT;
  if (index >= 2) return false;
  *title = index == 0 ? "small" : "heads split";
  p.dtype = q->dtype;
  p.has_bias = index;
  p.batch = 2;
  p.length = index == 0 ? 3 : 101;
  p.in_features = index == 0 ? 7 : 259;
  p.heads = 3;
  p.head_dim = index == 0 ? 2 : 13;
  if (index == 1) p.out = (clattn_layout){p.heads * p.length * p.head_dim, p.length * p.head_dim, p.head_dim};
  return ctn_problem_projection(problem, &p, NULL) == CLATTN_OK;
}

static bool merge(struct problem *problem, const struct merge *q) {
  clattn_merge p = CLATTN_MERGE_INIT;
  p.dtype = q->dtype;
  p.part_dtype = q->part_dtype;
  p.parts = 3;
  p.rows = 7;
  p.head_dim_v = 11;
  p.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
  return ctn_problem_merge(problem, &p, NULL) == CLATTN_OK;
}

bool ctn_selftest_problem(struct problem *problem, const char **title, const struct request *request, int index, bool stages) {
  const struct problem *like = request->problem;
  *title = "small";
  switch (like->operation) {
    case OP_ATTENTION:
      return attention(problem, title, &like->as.attention, index, stages);
    case OP_EMBEDDING:
      return index == 0 && embedding(problem, &like->as.embedding);
    case OP_POSITION:
      return index < 2 && position(problem, &like->as.position, index);
    case OP_PROJECTION:
      return projection(problem, title, &like->as.projection, index);
    case OP_MERGE:
      return index == 0 && merge(problem, &like->as.merge);
  }
  return false;
}

/* -------------------------------------------------------------------------------------------------------------------- data */

/* From -1 to 1. */
static double next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 40) * 0x1p-23 - 1;
}

static clattn_dtype input_dtype(const struct problem *problem, enum tensor tensor) {
  switch (problem->operation) {
    case OP_ATTENTION:
      if (tensor == T_MASK) return problem->as.attention.mask_dtype;
      return tensor == T_SINKS || tensor == T_ALIBI ? CLATTN_F32 : problem->as.attention.dtype;
    case OP_EMBEDDING:
      return problem->as.embedding.dtype;
    case OP_POSITION:
      return problem->as.position.dtype;
    case OP_PROJECTION:
      return problem->as.projection.dtype;
    case OP_MERGE:
      return tensor == T_PART_LSE ? CLATTN_F32 : problem->as.merge.part_dtype;
  }
  return CLATTN_NONE;
}

/* Lengths, offsets and ids. False for tensors of other kinds. */
static bool fill_integers(const struct problem *problem, enum tensor tensor, int64_t *data) {
  const bool is_packed = problem->operation == OP_ATTENTION && problem->as.attention.packed;
  switch (tensor) {
    case T_KV_LEN:
      data[0] = KV_LEN - 8;
      data[1] = 4; /* fewer than causality allows */
      return true;
    case T_QUERY_OFFSET:
      data[0] = is_packed ? KV_LEN / 2 - 6 : KV_LEN - 2 * Q_LEN; /* its windows reach past its end */
      data[1] = is_packed ? 110 : -3;                            /* some rows attend nothing */
      return true;
    case T_CU_Q:
    case T_CU_KV:
      data[0] = 0;
      data[1] = tensor == T_CU_Q ? Q_LEN / 2 : KV_LEN / 2;
      data[2] = data[1] + (tensor == T_CU_Q ? Q_LEN : KV_LEN);
      return true;
    default:
      return false;
  }
}

static void fill_tokens(const struct embedding *e, void *data) {
  for (int64_t n = 0; n < e->count; n++) {
    if (e->token_dtype == CLATTN_I32) ((int32_t *)data)[n] = (int32_t)(n * 3 % e->vocabulary);
    if (e->token_dtype == CLATTN_I64) ((int64_t *)data)[n] = n * 3 % e->vocabulary;
  }
}

static void fill_floats(const struct problem *problem, enum tensor tensor, void *data) {
  const clattn_dtype dtype = input_dtype(problem, tensor);
  uint64_t state = (uint64_t)tensor + 1;
  for (int64_t n = 0; n < problem->tensor[tensor].extent; n++) {
    double value = next(&state);
    if (dtype == CLATTN_BOOL) {
      ((uint8_t *)data)[n] = value > -0.5;
      continue;
    }
    if ((tensor == T_MASK && value < -0.7) || (tensor == T_PART_LSE && value < -0.5)) value = -INFINITY;
    if (tensor == T_Q) value *= 3;
    if (tensor == T_ALIBI) value = 0.01 * (value + 2);
    ctn_store_f64(dtype, data, n, value);
  }
}

/* One key that no row attends, and one row that attends nothing. */
static void exclude(const struct attention *a, void *mask, int64_t extent) {
  for (int64_t n = 0; n < extent; n++) {
    const int64_t key = n % a->mask_kv_len, row = n / a->mask_kv_len % a->q_len;
    if (key != MASKED_KEY && (a->mask_stride[2] == 0 || row != MASKED_ROW)) continue;
    if (a->mask_dtype == CLATTN_BOOL) {
      ((uint8_t *)mask)[n] = 0;
    } else {
      ctn_store_f64(a->mask_dtype, mask, n, -INFINITY);
    }
  }
}

/* What is not attended holds NaN or an infinity: keys past kv_len or the mask, and the one that is masked. */
static void spoil_rows(const struct attention *a, const clattn_arrays *arrays, void *k, void *v) {
  const bool masked = a->mask_dtype != CLATTN_NONE && a->mask_stride[3] != 0;
  for (int64_t n = 0; n < a->batch * a->kv_heads; n++) {
    const int64_t b = n / a->kv_heads, h = n % a->kv_heads;
    const struct sequence s = ctn_sequence(a, arrays, b);
    for (int64_t j = 0; j < s.kv_rows; j++) {
      if (j < s.kv_len && j < a->mask_kv_len && !(masked && j == MASKED_KEY)) continue;
      const double value = j % 2 == 0 ? NAN : INFINITY;
      ctn_store_f64(a->dtype, k, b * a->k.batch + h * a->k.head + (s.kv_first + j) * a->k.row, value);
      const int64_t row = b * a->v.batch + h * a->v.head + (s.kv_first + j) * a->v.row;
      ctn_store_f64(a->dtype, v, row, value);
      ctn_store_f64(a->dtype, v, row + a->head_dim_v - 1, value);
    }
  }
  /* One number that is attended, in the last head's last column: it has to show. Under causality in the last rows alone. */
  const int64_t b = a->causal ? a->batch - 1 : 0, key = a->causal ? CAUSAL_NAN_KEY : NAN_KEY;
  const int64_t place = b * a->v.batch + (a->kv_heads - 1) * a->v.head + key * a->v.row + a->head_dim_v - 1;
  ctn_store_f64(a->dtype, v, place, NAN);
}

void ctn_selftest_fill(const struct problem *problem, const clattn_arrays *arrays) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(arrays, table);
  for (int t = 0; t < T_OUT; t++) {
    if (!problem->tensor[t].used || fill_integers(problem, (enum tensor)t, table[t])) continue;
    if (t == T_TOKENS) {
      fill_tokens(&problem->as.embedding, table[t]);
    } else {
      fill_floats(problem, (enum tensor)t, table[t]);
    }
  }
  if (problem->operation != OP_ATTENTION) return;
  const struct attention *a = &problem->as.attention;
  if (a->mask_dtype != CLATTN_NONE && a->mask_stride[3] != 0) exclude(a, table[T_MASK], problem->tensor[T_MASK].extent);
  spoil_rows(a, arrays, table[T_K], table[T_V]);
}
