/*
 * Offsets past 2^31 and 2^32 elements: tensors whose batches and heads lie gigabytes apart, in memory that is mostly never
 * touched, and dropout's element numbers. On a device as far as its largest buffer goes.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "on_device.h"
#include "philox.h"

enum { BATCH = 2, HEADS = 2, Q_LEN = 5, KV_LEN = 37, DIM = 9 };
static const int64_t FAR_HEAD = (INT64_C(1) << 31) + 11, FAR_BATCH = (INT64_C(1) << 32) + 35;

static clattn_problem problem_of(clattn_dtype dtype) {
  clattn_problem p = CLATTN_PROBLEM_INIT;
  p.dtype = dtype;
  p.batch = BATCH;
  p.q_heads = p.kv_heads = HEADS;
  p.q_len = Q_LEN;
  p.kv_len = KV_LEN;
  p.head_dim = p.head_dim_v = DIM;
  p.mask = (clattn_mask){CLATTN_BOOL, 4, {BATCH, HEADS, Q_LEN, KV_LEN}, {0, 0, 0, 0}};
  p.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
  return p;
}

static void fill(struct setup *s) {
  uint64_t state = 5;
  for (int64_t n = 0; n < s->problem.tensor[T_Q].extent; n++) {
    support_set(s->problem.as.attention.dtype, s->arrays.q, n, support_random(&state));
  }
  for (int64_t n = 0; n < s->problem.tensor[T_K].extent; n++) {
    support_set(s->problem.as.attention.dtype, s->arrays.k, n, support_random(&state));
    support_set(s->problem.as.attention.dtype, s->arrays.v, n, support_random(&state));
  }
  for (int64_t n = 0; n < s->problem.tensor[T_MASK].extent; n++) {
    ((uint8_t *)s->memory[T_MASK])[n] = support_random(&state) > -0.5;
  }
}

/* Zeros that cost nothing until they are written. NULL where the machine does not give so much room. */
static void *reserve(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Planes [batch, heads] of `bytes` each, between a dense tensor and one that is far apart. */
static void move_planes(char *far, char *dense, size_t bytes, size_t element, bool back) {
  for (int64_t b = 0; b < BATCH; b++) {
    for (int64_t h = 0; h < HEADS; h++) {
      char *place = far + (size_t)(b * FAR_BATCH + h * FAR_HEAD) * element, *plane = dense + (size_t)(b * HEADS + h) * bytes;
      memcpy(back ? plane : place, back ? place : plane, bytes);
    }
  }
}

static void execute(const clattn_problem *problem, struct setup *s, clattn_path path) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.path = path;
  clattn_plan *plan = support_attention_plan(support_device(), problem, &options);
  if (clattn_plan_execute(plan, &s->arrays, &error) != CLATTN_OK) fail_msg("%s", error.text);
  clattn_plan_destroy(plan);
}

/* The same numbers, near and far, give the same bits. */
static void check_host(clattn_dtype dtype, clattn_path path) {
  static const enum tensor tensors[] = {T_Q, T_K, T_V, T_MASK, T_OUT};
  enum { COUNT = sizeof tensors / sizeof tensors[0] };
  struct setup near, far;
  void *memory[COUNT] = {NULL};
  size_t bytes[COUNT];
  bool room = true;
  clattn_problem problem = problem_of(dtype);
  support_attention(&near, &problem);
  fill(&near);
  execute(&problem, &near, path);
  problem.q = problem.k = problem.v = problem.out = (clattn_layout){FAR_BATCH, FAR_HEAD, DIM};
  problem.mask.stride[0] = FAR_BATCH;
  problem.mask.stride[1] = FAR_HEAD;
  problem.mask.stride[2] = KV_LEN;
  problem.mask.stride[3] = 1;
  far = near;
  assert_int_equal(ctn_problem_attention(&far.problem, &problem, NULL), CLATTN_OK);
  float lse[BATCH * HEADS * Q_LEN];
  char out[BATCH * HEADS * Q_LEN * DIM * sizeof(float)];
  far.arrays.lse = lse;
  for (size_t n = 0; n < COUNT; n++) {
    const struct tensor_info *info = &far.problem.tensor[tensors[n]];
    assert_true(info->extent > FAR_BATCH + FAR_HEAD);
    bytes[n] = (size_t)info->extent * info->element;
    memory[n] = reserve(bytes[n]);
    room = room && memory[n] != NULL;
  }
  if (room) {
    for (size_t n = 0; n < COUNT; n++) {
      const struct tensor_info *info = &near.problem.tensor[tensors[n]];
      const size_t plane = (size_t)info->extent * info->element / (BATCH * HEADS);
      if (tensors[n] != T_OUT) move_planes(memory[n], near.memory[tensors[n]], plane, info->element, false);
    }
    far.arrays.q = memory[0];
    far.arrays.k = memory[1];
    far.arrays.v = memory[2];
    far.arrays.mask = memory[3];
    far.arrays.out = memory[4];
    execute(&problem, &far, path);
    const size_t size = (size_t)near.problem.tensor[T_OUT].extent * near.problem.tensor[T_OUT].element;
    move_planes(memory[4], out, size / (BATCH * HEADS), near.problem.tensor[T_OUT].element, true);
    assert_memory_equal(out, near.arrays.out, size);
    assert_memory_equal(lse, near.arrays.lse, sizeof lse);
  }
  for (size_t n = 0; n < COUNT; n++) {
    if (memory[n] != NULL) munmap(memory[n], bytes[n]);
  }
  support_free(&near);
  if (!room) {
    print_message("no room for sparse tensors of 2^33 elements\n");
    skip();
  }
}

static void test_cpu(void **state) {
  (void)state;
  check_host(CLATTN_F32, CLATTN_PATH_CPU);
  check_host(CLATTN_F16, CLATTN_PATH_CPU);
  check_host(CLATTN_BF16, CLATTN_PATH_CPU);
}

static void test_reference(void **state) {
  (void)state;
  check_host(CLATTN_F16, CLATTN_PATH_REFERENCE);
}

/* One row of the problem below, whose keys are one and weigh the same. The reference walks all keys that a problem names, which
 * takes too long. */
static void expect_row(const struct setup *s, int64_t b, int64_t i, float out[3]) {
  const struct attention *a = &s->problem.as.attention;
  const float *v = (const float *)s->arrays.v + b * 3;
  double kept = 0;
  for (int64_t j = 0; j < s->arrays.kv_len[b]; j++) {
    const uint64_t n = (uint64_t)((b * a->q_len + i) * a->kv_len + j);
    kept += ctn_dropout_keeps(s->arrays.dropout_seed, s->arrays.dropout_offset, n, a->dropout);
  }
  for (int d = 0; d < 3; d++) {
    out[d] = (float)(kept / (double)s->arrays.kv_len[b] / (1 - (double)a->dropout) * (double)v[d]);
  }
}

/* Element numbers of weights up to 2^34: few keys are attended of very many, which are all one row of k and of v. */
static void test_dropout(void **state) {
  static const clattn_path paths[] = {CLATTN_PATH_CPU, CLATTN_PATH_FUSED};
  static const int64_t lengths[3] = {7, 5, 9};
  (void)state;
  struct setup s;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.batch = 3;
  problem.q_len = 64;
  problem.kv_len = INT64_C(1) << 26;
  problem.head_dim = problem.head_dim_v = 3;
  problem.k = problem.v = (clattn_layout){3, 0, 0};
  problem.has_kv_len = 1;
  problem.dropout = 0.5f;
  support_attention(&s, &problem);
  uint64_t random = 1;
  for (int64_t i = 0; i < s.problem.tensor[T_Q].extent; i++) {
    support_set(CLATTN_F32, s.arrays.q, i, support_random(&random));
  }
  for (int64_t i = 0; i < s.problem.tensor[T_K].extent; i++) {
    support_set(CLATTN_F32, s.arrays.k, i, support_random(&random));
    support_set(CLATTN_F32, s.arrays.v, i, support_random(&random));
  }
  memcpy(s.memory[T_KV_LEN], lengths, sizeof lengths);
  s.arrays.dropout_seed = 3;
  for (size_t n = 0; n < sizeof paths / sizeof paths[0]; n++) {
    /* A device that ends loops early gets a launch for every few thousand of these keys: that takes hours. */
    if (paths[n] == CLATTN_PATH_FUSED && clattn_context_device(support_device())->native_float_width < 8) continue;
    support_poison(&s);
    execute(&problem, &s, paths[n]);
    for (int64_t row = 0; row < 3 * 64; row++) {
      float want[3];
      expect_row(&s, row / 64, row % 64, want);
      const float *got = (const float *)s.arrays.out + row * 3;
      assert_true(support_difference(CLATTN_F32, got, want, 3, "dropout far out") < 1e-6);
    }
  }
  support_free(&s);
}

static cl_mem buffer(size_t bytes, const void *data, size_t offset, size_t count) {
  cl_int code = CL_SUCCESS;
  clattn_context *context = support_device();
  cl_mem memory = clCreateBuffer(clattn_context_cl_context(context), CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (code != CL_SUCCESS) return NULL;
  if (data != NULL && clEnqueueWriteBuffer(clattn_context_cl_queue(context), memory, CL_TRUE, offset, count, data, 0, NULL,
                                           NULL) != CL_SUCCESS) {
    clReleaseMemObject(memory);
    return NULL;
  }
  return memory;
}

/* Writes the mask's planes far apart. */
static bool write_mask(cl_mem memory, const struct setup *s, int64_t far_batch) {
  const size_t plane = (size_t)s->problem.tensor[T_MASK].extent / BATCH;
  for (int64_t b = 0; b < BATCH; b++) {
    const char *from = (const char *)s->arrays.mask + (size_t)b * plane;
    if (clEnqueueWriteBuffer(clattn_context_cl_queue(support_device()), memory, CL_TRUE, (size_t)(b * far_batch), plane, from,
                             0, NULL, NULL) != CL_SUCCESS) {
      return false;
    }
  }
  return true;
}

/* A boolean mask whose batches lie as far apart as the device's largest buffer allows, past 2^31 elements where it does. */
static void check_device(clattn_path path) {
  struct setup near;
  clattn_context *context = support_device();
  clattn_problem problem = problem_of(CLATTN_F32);
  const int64_t plane = HEADS * Q_LEN * KV_LEN, wanted = (INT64_C(1) << 31) + 7;
  const int64_t limit = (int64_t)clattn_context_device(context)->max_allocation;
  const int64_t far_batch = limit < wanted + plane ? limit - plane : wanted;
  if (support_on_oclgrind()) skip(); /* it holds all of a buffer in memory */
  if (far_batch < wanted) print_message("the largest buffer ends at element %lld, before 2^31\n", (long long)limit);
  support_attention(&near, &problem);
  fill(&near);
  execute(&problem, &near, path);
  problem.mask.stride[0] = far_batch;
  problem.mask.stride[1] = Q_LEN * KV_LEN;
  problem.mask.stride[2] = KV_LEN;
  problem.mask.stride[3] = 1;
  const size_t bytes = (size_t)near.problem.tensor[T_Q].extent * sizeof(float);
  const size_t kv_bytes = (size_t)near.problem.tensor[T_K].extent * sizeof(float);
  clattn_buffers buffers;
  CLATTN_BUFFERS_INIT(buffers);
  buffers.q.memory = buffer(bytes, near.arrays.q, 0, bytes);
  buffers.k.memory = buffer(kv_bytes, near.arrays.k, 0, kv_bytes);
  buffers.v.memory = buffer(kv_bytes, near.arrays.v, 0, kv_bytes);
  buffers.out.memory = buffer(bytes, NULL, 0, 0);
  buffers.lse.memory = buffer(bytes, NULL, 0, 0);
  buffers.mask.memory = buffer((size_t)(far_batch + plane), NULL, 0, 0);
  const bool room = buffers.mask.memory != NULL && write_mask(buffers.mask.memory, &near, far_batch);
  if (room) {
    clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
    clattn_error error = CLATTN_ERROR_INIT;
    float out[BATCH * HEADS * Q_LEN * DIM];
    options.path = path;
    clattn_plan *plan = support_attention_plan(context, &problem, &options);
    cl_command_queue queue = clattn_context_cl_queue(context);
    if (clattn_plan_enqueue(plan, queue, &buffers, 0, NULL, NULL, &error) != CLATTN_OK) fail_msg("%s", error.text);
    assert_int_equal(clEnqueueReadBuffer(queue, buffers.out.memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), CL_SUCCESS);
    assert_memory_equal(out, near.arrays.out, sizeof out);
    clattn_plan_destroy(plan);
  }
  const clattn_buffer all[] = {buffers.q, buffers.k, buffers.v, buffers.out, buffers.lse, buffers.mask};
  for (size_t n = 0; n < sizeof all / sizeof all[0]; n++) {
    if (all[n].memory != NULL) clReleaseMemObject(all[n].memory);
  }
  support_free(&near);
  if (!room) {
    print_message("the device does not give its largest buffer\n");
    skip();
  }
}

static void test_fused(void **state) {
  (void)state;
  check_device(CLATTN_PATH_FUSED);
}

static void test_staged(void **state) {
  (void)state;
  check_device(CLATTN_PATH_STAGED);
}

/* One element more than the largest buffer holds: refused with both numbers, by every device family, before anything is made.
 */
static void test_over_the_limit(void **state) {
  (void)state;
  const unsigned long long limit = clattn_context_device(support_device())->max_allocation;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan *plan = NULL;
  char words[160];
  clattn_problem problem = problem_of(CLATTN_F32);
  problem.mask.stride[0] = (int64_t)limit - HEADS * Q_LEN * KV_LEN + 1;
  problem.mask.stride[1] = Q_LEN * KV_LEN;
  problem.mask.stride[2] = KV_LEN;
  problem.mask.stride[3] = 1;
  snprintf(words, sizeof words, "mask needs a buffer of %llu bytes, the device's largest is %llu", limit + 1, limit);
  static const clattn_path paths[] = {CLATTN_PATH_FUSED, CLATTN_PATH_STAGED};
  for (size_t n = 0; n < sizeof paths / sizeof paths[0]; n++) {
    options.path = paths[n];
    assert_int_equal(clattn_plan_create(&plan, support_device(), &problem, &options, &error), CLATTN_UNSUPPORTED);
    if (strstr(error.text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cpu),   cmocka_unit_test(test_reference), cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_fused), cmocka_unit_test(test_staged),    cmocka_unit_test(test_over_the_limit),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
