/* Problems with their memory, for tests. */
#include "reference_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *new_memory(const struct tensor_info *info) {
  if (!info->used) return NULL;
  const size_t bytes = (size_t)info->extent * info->element;
  void *memory = malloc(bytes);
  assert_non_null(memory);
  memset(memory, 0xff, bytes);
  return memory;
}

static void allocate(struct setup *setup) {
  const struct tensor_info *info = setup->problem.tensor;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = new_memory(&info[T_Q]);
  arrays.k = new_memory(&info[T_K]);
  arrays.v = new_memory(&info[T_V]);
  arrays.mask = new_memory(&info[T_MASK]);
  arrays.kv_len = new_memory(&info[T_KV_LEN]);
  arrays.query_offset = new_memory(&info[T_QUERY_OFFSET]);
  arrays.cu_seqlens_q = new_memory(&info[T_CU_Q]);
  arrays.cu_seqlens_kv = new_memory(&info[T_CU_KV]);
  arrays.sinks = new_memory(&info[T_SINKS]);
  arrays.alibi_slopes = new_memory(&info[T_ALIBI]);
  arrays.tokens = new_memory(&info[T_TOKENS]);
  arrays.table = new_memory(&info[T_TABLE]);
  arrays.x = new_memory(&info[T_X]);
  arrays.weight = new_memory(&info[T_WEIGHT]);
  arrays.bias = new_memory(&info[T_BIAS]);
  arrays.out = new_memory(&info[T_OUT]);
  arrays.lse = new_memory(&info[T_LSE]);
  arrays.scores_raw = new_memory(&info[T_SCORES_RAW]);
  arrays.scores_softcapped = new_memory(&info[T_SCORES_SOFTCAPPED]);
  arrays.scores_masked = new_memory(&info[T_SCORES_MASKED]);
  arrays.weights = new_memory(&info[T_WEIGHTS]);
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

void support_free(struct setup *setup) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(&setup->arrays, table);
  for (int i = 0; i < TENSOR_COUNT; i++) {
    free(table[i]);
  }
}

void support_poison(struct setup *setup) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(&setup->arrays, table);
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &setup->problem.tensor[i];
    if (info->used && info->result) memset(table[i], 0xff, (size_t)info->extent * info->element);
  }
}

static void run_oracle(const struct setup *setup) {
  const struct problem *p = &setup->problem;
  if (p->operation == OP_ATTENTION) ctn_oracle_attention(&p->as.attention, &setup->arrays);
  if (p->operation == OP_EMBEDDING) ctn_oracle_embedding(&p->as.embedding, &setup->arrays);
  if (p->operation == OP_POSITION) ctn_oracle_position(&p->as.position, &setup->arrays);
  if (p->operation == OP_PROJECTION) ctn_oracle_projection(&p->as.projection, &setup->arrays);
}

static void run_cpu(const struct setup *setup, struct pool *pool) {
  const struct problem *p = &setup->problem;
  size_t bytes = 0;
  if (p->operation == OP_ATTENTION) bytes = ctn_cpu_attention_scratch(&p->as.attention, pool);
  if (p->operation == OP_PROJECTION) bytes = ctn_cpu_projection_scratch(&p->as.projection, pool);
  void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes);
  if (p->operation == OP_ATTENTION) ctn_cpu_attention(&p->as.attention, &setup->arrays, pool, scratch);
  if (p->operation == OP_EMBEDDING) ctn_cpu_embedding(&p->as.embedding, &setup->arrays, pool);
  if (p->operation == OP_POSITION) ctn_cpu_position(&p->as.position, &setup->arrays, pool);
  if (p->operation == OP_PROJECTION) ctn_cpu_projection(&p->as.projection, &setup->arrays, pool, scratch);
  free(scratch);
}

void support_run(struct setup *setup, struct pool *pool) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_arrays_check(&setup->problem, &setup->arrays, &error) != CLATTN_OK) {
    fail_msg("the arrays are refused: %s", error.text);
  }
  if (pool == NULL) {
    run_oracle(setup);
  } else {
    run_cpu(setup, pool);
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

double support_difference(clattn_dtype dtype, const void *got, const void *want, int64_t count, const char *what) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < count; i++) {
    const double a = ctn_load_f64(dtype, got, i), b = ctn_load_f64(dtype, want, i);
    if (isnan(a) && isnan(b)) continue;
    if (a == b && isinf(b)) continue;
    if (!isfinite(a) || !isfinite(b)) fail_msg("%s: element %lld is %g, not %g", what, (long long)i, a, b);
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  if (difference > 0 && norm == 0) return INFINITY;
  return difference > 0 ? sqrt(difference / norm) : 0;
}
