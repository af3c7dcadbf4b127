/* Whether a row of `clattn bench` computes the right thing: sampled rows of its result against the float64 reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "half.h"
#include "status.h"

enum { SAMPLES = 24 };

/* Rows of one sequence that are looked at: from first on, every step-th; the last row among them. An odd step meets every lane
 * of a vector. */
struct sample {
  int64_t first, step, count;
};

static struct sample sample_rows(int64_t rows) {
  struct sample sample = {0, 1, rows};
  if (rows <= SAMPLES) return sample;
  sample.count = SAMPLES;
  sample.step = ((rows - 1) / (SAMPLES - 1) - 1) | 1;
  if (sample.step * (SAMPLES - 1) > rows - 1) sample.step = 1;
  sample.first = rows - 1 - sample.step * (SAMPLES - 1);
  return sample;
}

/* What the results may differ by, as a share of their norm: float32's rounding over long sums, or the storage type's. */
static double allowed(clattn_dtype dtype) {
  return dtype == CLATTN_F16 ? 1e-3 : dtype == CLATTN_BF16 ? 8e-3 : 2e-6;
}

static const void *at(const struct bench_job *job, int tensor, int64_t element, size_t size) {
  return (const char *)job->memory[tensor] + (size_t)element * size;
}

/* Each sampled row is a problem of one query of a batch; all read the same keys. */
static clattn_status attention_reference(const struct bench *bench, const struct bench_shape *s, const struct bench_job *job,
                                         struct sample sample, int64_t b, void *want, clattn_error *error) {
  const size_t size = ctn_dtype_size(s->dtype);
  const int64_t keys = s->kv_heads * s->kv_len;
  int64_t offsets[SAMPLES];
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_plan *plan = NULL;
  clattn_problem problem = ctn_bench_attention(s);
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  options.path = CLATTN_PATH_REFERENCE;
  problem.batch = sample.count;
  problem.q_len = 1;
  problem.q = (clattn_layout){sample.step * s->head_dim, s->q_len * s->head_dim, s->head_dim};
  problem.k = (clattn_layout){0, s->kv_len * s->head_dim, s->head_dim};
  problem.v = (clattn_layout){0, s->kv_len * s->head_dim_v, s->head_dim_v};
  problem.has_query_offset = 1;
  for (int64_t i = 0; i < sample.count; i++)
    offsets[i] = sample.first + i * sample.step;
  arrays.q = at(job, 0, (b * s->q_heads * s->q_len + sample.first) * s->head_dim, size);
  arrays.k = at(job, 1, b * keys * s->head_dim, size);
  arrays.v = at(job, 2, b * keys * s->head_dim_v, size);
  arrays.query_offset = offsets;
  arrays.out = want;
  clattn_status status = clattn_plan_create(&plan, bench->places[0].context, &problem, &options, error);
  if (status == CLATTN_OK) status = clattn_plan_execute(plan, &arrays, error);
  clattn_plan_destroy(plan);
  return status;
}

static clattn_status projection_reference(const struct bench *bench, const struct bench_shape *s, const struct bench_job *job,
                                          struct sample sample, int64_t b, void *want, clattn_error *error) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_plan *plan = NULL;
  clattn_projection problem = ctn_bench_projection(s);
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  options.path = CLATTN_PATH_REFERENCE;
  problem.batch = 1;
  problem.length = sample.count;
  problem.x = (clattn_layout){s->q_len * s->head_dim, 0, sample.step * s->head_dim};
  arrays.x = at(job, 0, (b * s->q_len + sample.first) * s->head_dim, ctn_dtype_size(s->dtype));
  arrays.weight = job->memory[1];
  arrays.out = want;
  clattn_status status = clattn_projection_plan_create(&plan, bench->places[0].context, &problem, &options, error);
  if (status == CLATTN_OK) status = clattn_plan_execute(plan, &arrays, error);
  clattn_plan_destroy(plan);
  return status;
}

static clattn_status compare(const struct bench_shape *s, const struct bench_job *job, struct sample sample, int64_t b,
                             const void *want, clattn_error *error) {
  const int64_t heads = s->q_heads ? s->q_heads : 1;
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < sample.count; i++) {
    const int64_t row = sample.first + i * sample.step;
    for (int64_t h = 0; h < heads; h++) {
      for (int64_t e = 0; e < s->head_dim_v; e++) {
        const double right = ctn_load_f64(s->dtype, want, (i * heads + h) * s->head_dim_v + e);
        const double got = ctn_load_f64(s->dtype, job->memory[3], ((b * heads + h) * s->q_len + row) * s->head_dim_v + e);
        difference += (got - right) * (got - right);
        norm += right * right;
      }
    }
  }
  const double relative = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
  if (relative <= allowed(s->dtype)) return CLATTN_OK; /* false for NaN */
  return ctn_fail(error, CLATTN_INTERNAL, "wrong: differs from the reference by %.2g of its norm, %.0e is allowed", relative,
                  allowed(s->dtype));
}

clattn_status ctn_bench_check(const struct bench *bench, const struct bench_row *row, struct bench_job *job,
                              clattn_error *error) {
  const struct bench_shape *s = &row->shape;
  if (row->kind == BENCH_EMPTY) return CLATTN_OK;
  const struct sample sample = sample_rows(s->q_len);
  const int64_t heads = s->q_heads ? s->q_heads : 1;
  clattn_status status = ctn_bench_fetch(job, error);
  void *want = malloc((size_t)(sample.count * heads * s->head_dim_v) * ctn_dtype_size(s->dtype));
  if (!want && status == CLATTN_OK) status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the reference's result");
  /* The first sequence of the batch and the last. */
  for (int64_t b = 0; b < s->batch && status == CLATTN_OK; b += s->batch > 1 ? s->batch - 1 : 1) {
    status = row->kind == BENCH_PROJECTION ? projection_reference(bench, s, job, sample, b, want, error)
                                           : attention_reference(bench, s, job, sample, b, want, error);
    if (status == CLATTN_OK) status = compare(s, job, sample, b, want, error);
  }
  free(want);
  return status;
}
