/* One row of `clattn bench` made ready: random data, a plan, buffers on the device; and a timed run of it. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "half.h"
#include "philox.h"
#include "status.h"

clattn_problem ctn_bench_attention(const struct bench_shape *shape) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.dtype = shape->dtype;
  problem.batch = shape->batch;
  problem.q_heads = shape->q_heads;
  problem.kv_heads = shape->kv_heads;
  problem.q_len = shape->q_len;
  problem.kv_len = shape->kv_len;
  problem.head_dim = shape->head_dim;
  problem.head_dim_v = shape->head_dim_v;
  problem.causal = shape->causal;
  if (shape->window) problem.window_left = shape->window - 1;
  return problem;
}

clattn_projection ctn_bench_projection(const struct bench_shape *shape) {
  clattn_projection problem = CLATTN_PROJECTION_INIT;
  problem.dtype = shape->dtype;
  problem.batch = shape->batch;
  problem.length = shape->q_len;
  problem.in_features = shape->head_dim;
  problem.head_dim = shape->head_dim_v;
  return problem;
}

/* count numbers between -sqrt(3) and sqrt(3), so of variance 1: never zeros, which a processor may handle faster. */
static void fill(clattn_dtype dtype, void *data, int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; i += 4) {
    uint32_t words[4];
    float values[4];
    ctn_philox(seed, 0, (uint64_t)i, words);
    for (int w = 0; w < 4; w++)
      values[w] = ((float)(words[w] >> 8) * 0x1p-24f - 0.5f) * 3.46410162f;
    ctn_store_row(dtype, data, i, count - i < 4 ? count - i : 4, values);
  }
}

/* Host memory for the tensors: inputs random, the result (the last) not written yet. */
static clattn_status make_data(struct bench_job *job, const struct bench_row *row, clattn_error *error) {
  const struct bench_shape *s = &row->shape;
  const int64_t keys = s->batch * s->kv_heads * s->kv_len, queries = s->batch * s->q_heads * s->q_len;
  int64_t counts[4] = {queries * s->head_dim, keys * s->head_dim, keys * s->head_dim_v, queries * s->head_dim_v};
  if (row->kind == BENCH_PROJECTION) {
    const int64_t rows = s->batch * s->q_len;
    counts[0] = rows * s->head_dim;
    counts[1] = s->head_dim * s->head_dim_v;
    counts[2] = 0;
    counts[3] = rows * s->head_dim_v;
  }
  for (int i = 0; i < 4; i++) {
    if (counts[i] == 0) continue;
    job->bytes[i] = (size_t)counts[i] * ctn_dtype_size(s->dtype);
    job->memory[i] = malloc(job->bytes[i]);
    if (!job->memory[i]) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", job->bytes[i]);
    if (i < 3)
      fill(s->dtype, job->memory[i], counts[i], (uint64_t)i + 1);
    else
      memset(job->memory[i], 0x7b, job->bytes[i]);
  }
  return CLATTN_OK;
}

static clattn_status make_buffers(struct bench_job *job, clattn_context *device, clattn_error *error) {
  job->queue = clattn_context_cl_queue(device);
  for (int i = 0; i < 4; i++) {
    if (!job->bytes[i]) continue;
    cl_int code = CL_SUCCESS;
    job->memories[i] = clCreateBuffer(clattn_context_cl_context(device), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                      job->bytes[i], job->memory[i], &code);
    if (code != CL_SUCCESS) {
      return ctn_fail(error, CLATTN_OPENCL_FAILED, "a buffer of %zu bytes: OpenCL error %d", job->bytes[i], (int)code);
    }
  }
  return CLATTN_OK;
}

static clattn_status make_plan(struct bench_job *job, const struct bench *bench, const struct bench_row *row,
                               clattn_error *error) {
  clattn_plan_options options = bench->plan;
  const struct bench_place *place = &bench->places[row->place];
  clattn_context *context = row->on == BENCH_PART ? place->parts[0] : place->context;
  options.path = ctn_bench_path_of(bench, row);
  options.product = row->product;
  if (row->kind == BENCH_PROJECTION) {
    const clattn_projection problem = ctn_bench_projection(&row->shape);
    return clattn_projection_plan_create(&job->plan, context, &problem, &options, error);
  }
  const clattn_problem problem = ctn_bench_attention(&row->shape);
  return clattn_plan_create(&job->plan, context, &problem, &options, error);
}

/* The scores and weights of a path that keeps them can be more than a machine has: such a row is left out. */
static clattn_status refuse_huge(const struct bench *bench, const struct bench_row *row, clattn_error *error) {
  const struct bench_shape *s = &row->shape;
  const double bytes = 4.0 * (double)s->batch * (double)s->q_heads * (double)s->q_len * (double)s->kv_len;
  if (row->kind != BENCH_ATTENTION || ctn_bench_path_of(bench, row) != CLATTN_PATH_STAGED || bytes <= 1.1 * 1024 * 1024 * 1024)
    return CLATTN_OK;
  return ctn_fail(error, CLATTN_TOO_LARGE, "its scores would take %.1f GiB; bench stops at 1", bytes / (1024 * 1024 * 1024));
}

clattn_status ctn_bench_prepare(struct bench_job *job, const struct bench *bench, const struct bench_row *row,
                                clattn_error *error) {
  memset(job, 0, sizeof *job);
  CLATTN_BUFFERS_INIT(job->buffers);
  job->arrays = (clattn_arrays)CLATTN_ARRAYS_INIT;
  if (row->kind == BENCH_EMPTY) {
    job->queue = clattn_context_cl_queue(bench->places[row->place].context);
    job->empty = ctn_peak_empty(bench->places[row->place].peak);
    return job->empty ? CLATTN_OK : ctn_fail(error, CLATTN_OPENCL_FAILED, "an empty kernel does not compile on this device");
  }
  clattn_status status = refuse_huge(bench, row, error);
  if (status == CLATTN_OK) {
    const bool split = row->on == BENCH_BOTH_PARTS || row->on == BENCH_TOGETHER;
    status = split ? ctn_bench_make_split(job, bench, row, error) : make_plan(job, bench, row, error);
  }
  if (status == CLATTN_OK) status = make_data(job, row, error);
  if (status == CLATTN_OK && row->place > 0 && row->on == BENCH_BUFFERS)
    status = make_buffers(job, bench->places[row->place].context, error);
  if (status != CLATTN_OK) return status;
  if (row->kind == BENCH_PROJECTION) {
    job->arrays.x = job->memory[0], job->arrays.weight = job->memory[1];
    job->buffers.x.memory = job->memories[0], job->buffers.weight.memory = job->memories[1];
  } else {
    job->arrays.q = job->memory[0], job->arrays.k = job->memory[1], job->arrays.v = job->memory[2];
    job->buffers.q.memory = job->memories[0], job->buffers.k.memory = job->memories[1];
    job->buffers.v.memory = job->memories[2];
  }
  job->arrays.out = job->memory[3];
  job->buffers.out.memory = job->memories[3];
  return CLATTN_OK;
}

clattn_status ctn_bench_run(struct bench_job *job, double *seconds, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  cl_int code = CL_SUCCESS;
  const double start = ctn_seconds();
  if (job->empty) {
    const size_t one = 1;
    code = clEnqueueNDRangeKernel(job->queue, job->empty, 1, NULL, &one, &one, 0, NULL, NULL);
  } else if (job->queue) {
    status = clattn_plan_enqueue(job->plan, job->queue, &job->buffers, 0, NULL, NULL, error);
  } else if (job->split) {
    status = clattn_split_execute(job->split, &job->arrays, error);
  } else {
    status = clattn_plan_execute(job->plan, &job->arrays, error);
  }
  if (job->queue && status == CLATTN_OK && code == CL_SUCCESS) code = clFinish(job->queue);
  *seconds = ctn_seconds() - start;
  if (status != CLATTN_OK) return status;
  return code == CL_SUCCESS ? CLATTN_OK : ctn_fail(error, CLATTN_OPENCL_FAILED, "OpenCL error %d while running", (int)code);
}

clattn_status ctn_bench_fetch(struct bench_job *job, clattn_error *error) {
  if (!job->memories[3]) return CLATTN_OK;
  const cl_int code =
      clEnqueueReadBuffer(job->queue, job->memories[3], CL_TRUE, 0, job->bytes[3], job->memory[3], 0, NULL, NULL);
  return code == CL_SUCCESS ? CLATTN_OK : ctn_fail(error, CLATTN_OPENCL_FAILED, "OpenCL error %d while reading", (int)code);
}

void ctn_bench_release(struct bench_job *job) {
  clattn_plan_destroy(job->plan);
  clattn_split_destroy(job->split);
  if (job->empty) clReleaseKernel(job->empty);
  for (int i = 0; i < 4; i++) {
    if (job->memories[i]) clReleaseMemObject(job->memories[i]);
    free(job->memory[i]);
  }
  memset(job, 0, sizeof *job);
}
