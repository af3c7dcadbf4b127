/* From a case to its results: see results.h. */
#include "results.h"

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "compare.h"
#include "status.h"

/* The library's bit of each result that a plan computes. */
static const uint32_t outputs[] = {
    [RESULT_OUT] = CLATTN_OUTPUT_OUT,
    [RESULT_LSE] = CLATTN_OUTPUT_LSE,
    [RESULT_WEIGHTS] = CLATTN_OUTPUT_WEIGHTS,
    [RESULT_SCORES_RAW] = CLATTN_OUTPUT_SCORES_RAW,
    [RESULT_SCORES_SOFTCAPPED] = CLATTN_OUTPUT_SCORES_SOFTCAPPED,
    [RESULT_SCORES_MASKED] = CLATTN_OUTPUT_SCORES_MASKED,
};

enum { COMPUTED = sizeof outputs / sizeof *outputs };

clattn_status ctn_results_plan(clattn_plan **plan, const struct case_file *c, clattn_context *context,
                               const clattn_plan_options *options, unsigned wanted, clattn_error *error) {
  clattn_problem problem = c->problem;
  problem.outputs = 0;
  for (int i = 0; i < COMPUTED; i++) {
    if (wanted & RESULT_BIT(i)) problem.outputs |= outputs[i];
  }
  return clattn_plan_create(plan, context, &problem, options, error);
}

/* The rank and shape of a computed result. */
static int result_shape(const struct case_file *c, enum result result, int64_t shape[4]) {
  const clattn_problem *p = &c->problem;
  if (result == RESULT_OUT && p->packed) {
    memcpy(shape, (const int64_t[]){p->total_q, p->q_heads, p->head_dim_v}, 3 * sizeof *shape);
    return 3;
  }
  if (result == RESULT_OUT && c->q_rank == 3) {
    memcpy(shape, (const int64_t[]){p->batch, p->q_len, p->q_heads * p->head_dim_v}, 3 * sizeof *shape);
    return 3;
  }
  if (result == RESULT_LSE && p->packed) {
    memcpy(shape, (const int64_t[]){p->q_heads, p->total_q}, 2 * sizeof *shape);
    return 2;
  }
  int64_t last = result == RESULT_OUT ? p->head_dim_v : p->kv_len;
  memcpy(shape, (const int64_t[]){p->batch, p->q_heads, p->q_len, last}, 4 * sizeof *shape);
  return result == RESULT_LSE ? 3 : 4;
}

static enum st_dtype result_type(const struct case_file *c, enum result result) {
  if (result != RESULT_OUT) return ST_F32;
  return c->problem.dtype == CLATTN_F32 ? ST_F32 : c->problem.dtype == CLATTN_F16 ? ST_F16 : ST_BF16;
}

/* Poisoned memory for one result, entered in the file. The plan has checked the sizes already; they are not trusted all the
 * same. */
static clattn_status add_result(struct results *results, const struct case_file *c, enum result result, clattn_error *error) {
  int64_t shape[4], bytes;
  int rank = result_shape(c, result, shape);
  enum st_dtype dtype = result_type(c, result);
  const char *name = ctn_result_name(result);
  if (!ctn_product(shape, (size_t)rank, &bytes) || !ctn_mul(bytes, (int64_t)ctn_st_size(dtype), &bytes) ||
      bytes > INT64_MAX - 64) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: the product of its dimensions overflows", name);
  }
  void *memory = results->memory[result] = aligned_alloc(64, ((size_t)bytes / 64 + 1) * 64);
  if (!memory) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %lld bytes", name, (long long)bytes);
  ctn_poison(dtype, memory, bytes / (int64_t)ctn_st_size(dtype));
  return ctn_st_add(&results->file, name, dtype, rank, shape, memory, error);
}

static clattn_status execute(struct results *results, const struct case_file *c, clattn_error *error) {
  clattn_arrays arrays = c->arrays;
  arrays.out = results->memory[RESULT_OUT];
  arrays.lse = results->memory[RESULT_LSE];
  arrays.weights = results->memory[RESULT_WEIGHTS];
  arrays.scores_raw = results->memory[RESULT_SCORES_RAW];
  arrays.scores_softcapped = results->memory[RESULT_SCORES_SOFTCAPPED];
  arrays.scores_masked = results->memory[RESULT_SCORES_MASKED];
  return clattn_plan_execute(results->plan, &arrays, error);
}

clattn_status ctn_results_compute(struct results *results, struct case_file *c, clattn_context *context,
                                  const clattn_plan_options *options, unsigned wanted, clattn_error *error) {
  memset(results, 0, sizeof *results);
  clattn_status status = CLATTN_OK;
  if (wanted & (RESULT_BIT(RESULT_PRESENT_K) | RESULT_BIT(RESULT_PRESENT_V))) status = ctn_case_present(c, error);
  if (status == CLATTN_OK && (wanted & RESULTS_COMPUTED)) {
    status = ctn_results_plan(&results->plan, c, context, options, wanted, error);
  }
  for (int i = 0; i < COMPUTED && status == CLATTN_OK; i++) {
    if (wanted & RESULT_BIT(i)) status = add_result(results, c, (enum result)i, error);
  }
  if (status == CLATTN_OK && results->plan) status = execute(results, c, error);
  const struct st_tensor *present[] = {&c->present_k, &c->present_v};
  for (int i = 0; i < 2 && status == CLATTN_OK; i++) {
    enum result result = i ? RESULT_PRESENT_V : RESULT_PRESENT_K;
    if (!(wanted & RESULT_BIT(result))) continue;
    status =
        ctn_st_add(&results->file, ctn_result_name(result), present[i]->dtype, 4, present[i]->shape, present[i]->data, error);
  }
  if (status) ctn_results_clear(results);
  return status;
}

void ctn_results_clear(struct results *results) {
  clattn_plan_destroy(results->plan);
  for (int i = 0; i < RESULT_COUNT; i++)
    free(results->memory[i]);
  ctn_st_clear(&results->file);
  memset(results, 0, sizeof *results);
}
