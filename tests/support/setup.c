/* Problems with their memory, and the comparison of results. */
#include "setup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *new_memory(struct setup *setup, enum tensor tensor) {
  const struct tensor_info *info = &setup->problem.tensor[tensor];
  if (!info->used) return NULL;
  const size_t bytes = (size_t)info->extent * info->element;
  void *memory = malloc(bytes);
  assert_non_null(memory);
  memset(memory, info->result ? RESULT_POISON : INPUT_POISON, bytes);
  setup->memory[tensor] = memory;
  return memory;
}

static void allocate(struct setup *setup) {
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  memset(setup->memory, 0, sizeof setup->memory);
  arrays.q = new_memory(setup, T_Q);
  arrays.k = new_memory(setup, T_K);
  arrays.v = new_memory(setup, T_V);
  arrays.mask = new_memory(setup, T_MASK);
  arrays.kv_len = new_memory(setup, T_KV_LEN);
  arrays.query_offset = new_memory(setup, T_QUERY_OFFSET);
  arrays.cu_seqlens_q = new_memory(setup, T_CU_Q);
  arrays.cu_seqlens_kv = new_memory(setup, T_CU_KV);
  arrays.sinks = new_memory(setup, T_SINKS);
  arrays.alibi_slopes = new_memory(setup, T_ALIBI);
  arrays.tokens = new_memory(setup, T_TOKENS);
  arrays.table = new_memory(setup, T_TABLE);
  arrays.x = new_memory(setup, T_X);
  arrays.weight = new_memory(setup, T_WEIGHT);
  arrays.bias = new_memory(setup, T_BIAS);
  arrays.part_out = new_memory(setup, T_PART_OUT);
  arrays.part_lse = new_memory(setup, T_PART_LSE);
  arrays.out = new_memory(setup, T_OUT);
  arrays.lse = new_memory(setup, T_LSE);
  arrays.scores_raw = new_memory(setup, T_SCORES_RAW);
  arrays.scores_softcapped = new_memory(setup, T_SCORES_SOFTCAPPED);
  arrays.scores_masked = new_memory(setup, T_SCORES_MASKED);
  arrays.weights = new_memory(setup, T_WEIGHTS);
  setup->arrays = arrays;
}

#define DEFINE_SETUP(operation, descriptor)                                       \
  void support_##operation(struct setup *setup, const descriptor *problem) {      \
    clattn_error error = CLATTN_ERROR_INIT;                                       \
    if (ctn_problem_##operation(&setup->problem, problem, &error) != CLATTN_OK) { \
      fail_msg("the problem is refused: %s", error.text);                         \
    }                                                                             \
    allocate(setup);                                                              \
  }
DEFINE_SETUP(attention, clattn_problem)
DEFINE_SETUP(embedding, clattn_embedding)
DEFINE_SETUP(position, clattn_position)
DEFINE_SETUP(projection, clattn_projection)
DEFINE_SETUP(merge, clattn_merge)

void support_free(struct setup *setup) {
  for (int i = 0; i < TENSOR_COUNT; i++) {
    free(setup->memory[i]);
  }
}

void support_poison(struct setup *setup) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(&setup->arrays, table);
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &setup->problem.tensor[i];
    if (info->used && info->result) memset(table[i], RESULT_POISON, (size_t)info->extent * info->element);
  }
}

double support_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 40) * 0x1p-23 - 1;
}

void support_set(clattn_dtype dtype, const void *data, int64_t index, double value) {
  void *memory;
  memcpy(&memory, &data, sizeof memory); /* the arrays' inputs are const to the library alone */
  ctn_store_f64(dtype, memory, index, value);
}

void support_fill(clattn_dtype dtype, const void *data, int64_t count, const double *values) {
  for (int64_t i = 0; i < count; i++) {
    support_set(dtype, data, i, values[i]);
  }
}

double support_limit(clattn_dtype dtype, double largest) {
  if (dtype == CLATTN_F16) return 1e-3;
  if (dtype == CLATTN_BF16) return 8e-3;
  return 1e-6 * fmax(1, largest / 8);
}

/* Squared norms, added up row by row. */
struct norms {
  double difference, want;
  int64_t finite;
};

/* Where a verdict's words go. */
struct words {
  char *text;
  size_t size;
};

static bool add_row(struct norms *norms, clattn_dtype dtype, const void *got, const void *want, int64_t first, int64_t count,
                    const struct words *words) {
  for (int64_t i = first; i < first + count; i++) {
    const double a = ctn_load_f64(dtype, got, i), b = ctn_load_f64(dtype, want, i);
    if (isnan(a) && isnan(b)) continue;
    if (a == b && isinf(b)) continue;
    if (!isfinite(a) || !isfinite(b)) {
      snprintf(words->text, words->size, "element %lld is %g, not %g", (long long)i, a, b);
      return false;
    }
    norms->difference += (a - b) * (a - b);
    norms->want += b * b;
    norms->finite++;
  }
  return true;
}

static double ratio(const struct norms *norms) {
  if (norms->difference == 0) return 0;
  return norms->want > 0 ? sqrt(norms->difference / norms->want) : INFINITY;
}

double support_difference(clattn_dtype dtype, const void *got, const void *want, int64_t count, const char *what) {
  struct norms norms = {0};
  char text[200];
  if (!add_row(&norms, dtype, got, want, 0, count, &(struct words){text, sizeof text})) fail_msg("%s: %s", what, text);
  return ratio(&norms);
}

/* Where the rows of a result lie. */
struct rows {
  struct layout layout;
  int64_t batch, heads, rows, columns;
};

static struct rows rows_of(const struct problem *problem, enum tensor tensor) {
  const struct attention *a = &problem->as.attention;
  const struct projection *p = &problem->as.projection;
  if (tensor == T_OUT && problem->operation == OP_ATTENTION) {
    return (struct rows){a->out, a->packed ? 1 : a->batch, a->q_heads, a->packed ? a->total_q : a->q_len, a->head_dim_v};
  }
  if (tensor == T_OUT && problem->operation == OP_PROJECTION) {
    return (struct rows){p->out, p->batch, p->heads, p->length, p->head_dim};
  }
  return (struct rows){{0, 0, 0}, 1, 1, 1, problem->tensor[tensor].extent};
}

/* With few elements all can be small by chance, differences of larger terms: they count as of ordinary size. */
static void raise_small(struct norms *norms, enum tensor tensor) {
  enum { FEW = 64 };
  const double ordinary = 0.25;
  if (norms->finite < FEW && tensor != T_WEIGHTS) {
    norms->want = fmax(norms->want, ordinary * ordinary * (double)norms->finite);
  }
}

static bool rows_agree(const struct rows *r, const void *a, const void *b, enum tensor tensor, clattn_dtype dtype, double limit,
                       bool *covered, const struct words *words) {
  struct norms norms = {0};
  for (int64_t n = 0; n < r->batch * r->heads * r->rows; n++) {
    const int64_t bh = n / r->rows;
    const int64_t place = bh / r->heads * r->layout.batch + bh % r->heads * r->layout.head + n % r->rows * r->layout.row;
    if (!add_row(&norms, dtype, a, b, place, r->columns, words)) return false;
    memset(covered + place, 1, (size_t)r->columns * sizeof *covered);
  }
  raise_small(&norms, tensor);
  if (ratio(&norms) <= limit) return true;
  snprintf(words->text, words->size, "differs by %g, more than %g", ratio(&norms), limit);
  return false;
}

static bool tensor_agrees(const struct setup *got, const void *a, const void *b, enum tensor tensor, clattn_dtype dtype,
                          double limit, const struct words *words) {
  const struct rows r = rows_of(&got->problem, tensor);
  const struct tensor_info *info = &got->problem.tensor[tensor];
  bool *covered = calloc((size_t)info->extent, sizeof *covered);
  assert_non_null(covered);
  bool agrees = rows_agree(&r, a, b, tensor, dtype, limit, covered, words);
  for (int64_t n = 0; agrees && n < info->extent * (int64_t)info->element; n++) {
    const bool poison = ((const unsigned char *)a)[n] == RESULT_POISON;
    agrees = covered[n / (int64_t)info->element] || poison;
    if (!agrees) snprintf(words->text, words->size, "byte %lld between rows was written", (long long)n);
  }
  free(covered);
  return agrees;
}

static clattn_dtype result_dtype(const struct problem *problem, enum tensor tensor) {
  if (tensor != T_OUT) return CLATTN_F32;
  switch (problem->operation) {
    case OP_EMBEDDING:
      return problem->as.embedding.dtype;
    case OP_POSITION:
      return problem->as.position.dtype;
    case OP_PROJECTION:
      return problem->as.projection.dtype;
    case OP_MERGE:
      return problem->as.merge.dtype;
    default:
      return problem->as.attention.dtype;
  }
}

bool support_agrees(const struct setup *got, const struct setup *want, double largest, char *text, size_t size) {
  void *a[TENSOR_COUNT], *b[TENSOR_COUNT];
  ctn_arrays_table(&got->arrays, a);
  ctn_arrays_table(&want->arrays, b);
  for (int t = T_OUT; t < TENSOR_COUNT; t++) {
    if (!got->problem.tensor[t].used) continue;
    const clattn_dtype dtype = result_dtype(&got->problem, (enum tensor)t);
    const size_t length = (size_t)snprintf(text, size, "%s: ", ctn_tensor_name((enum tensor)t));
    const struct words words = {text + length, size - length};
    if (!tensor_agrees(got, a[t], b[t], (enum tensor)t, dtype, support_limit(dtype, largest), &words)) return false;
  }
  return true;
}

void support_compare(const struct setup *got, const struct setup *want, double largest, const char *what) {
  char text[256];
  if (!support_agrees(got, want, largest, text, sizeof text)) fail_msg("%s: %s", what, text);
}
