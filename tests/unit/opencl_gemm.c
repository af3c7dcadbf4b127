/* CLBlast's product against a plain loop, and what it must refuse. */
#include "opencl_support.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

static struct runtime *runtime;

/* One runtime for all: CLBlast compiles anew, for seconds, in every context. */
static void open_runtime(void) {
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.no_cache = 1;
  if (runtime == NULL) runtime = support_open(&options);
}

static int close_runtime(void **state) {
  (void)state;
  ctn_runtime_close(runtime);
  return 0;
}

/* A dense problem: offset elements before each operand, gap elements after each row and each matrix. */
static struct gemm dense(int64_t m, int64_t n, int64_t k, int64_t batch, bool transpose_b, int64_t offset, int64_t gap) {
  struct gemm g = {transpose_b, m, n, k, 0.5f, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0, batch};
  g.a_row = k + gap;
  g.b_row = (transpose_b ? k : n) + gap;
  g.c_row = n + gap;
  g.a_batch = m * g.a_row + gap;
  g.b_batch = (transpose_b ? n : k) * g.b_row + gap;
  g.c_batch = m * g.c_row + gap;
  g.a.offset = g.b.offset = g.c.offset = (size_t)offset * sizeof(float);
  return g;
}

/* count floats in a buffer and on the host, small multiples of 1/8. */
static float *fill(struct slice *slice, int64_t count, uint32_t seed) {
  cl_int code = CL_SUCCESS;
  float *host = malloc((size_t)count * sizeof *host);
  assert_non_null(host);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    host[i] = (float)(seed >> 28) / 8.0f - 1.0f;
  }
  slice->memory = clCreateBuffer(runtime->context, CL_MEM_COPY_HOST_PTR, (size_t)count * sizeof *host, host, &code);
  assert_int_equal(code, CL_SUCCESS);
  return host;
}

static float plain(const struct gemm *g, const float *a, const float *b, int64_t batch, int64_t i, int64_t j) {
  double sum = 0.0;
  a += g->a.offset / sizeof(float);
  b += g->b.offset / sizeof(float);
  for (int64_t t = 0; t < g->k; t++) {
    int64_t at = g->transpose_b ? j * g->b_row + t : t * g->b_row + j;
    sum += (double)a[batch * g->a_batch + i * g->a_row + t] * (double)b[batch * g->b_batch + at];
  }
  return (float)((double)g->alpha * sum);
}

/* Runs g twice in one chain (the second waits for the first) and compares; what lies between the rows must stay. */
static void check(struct gemm g, cl_command_queue_properties properties) {
  clattn_error error = CLATTN_ERROR_INIT;
  cl_int code = CL_SUCCESS;
  struct chain chain;
  cl_event gate = NULL, done = NULL;
  const int64_t count_a = (int64_t)(g.a.offset / sizeof(float)) + g.batch * g.a_batch + g.m * g.a_row;
  const int64_t count_b = (int64_t)(g.b.offset / sizeof(float)) + g.batch * g.b_batch + (g.transpose_b ? g.n : g.k) * g.b_row;
  const int64_t count_c = (int64_t)(g.c.offset / sizeof(float)) + g.batch * g.c_batch + g.m * g.c_row;
  float *a = fill(&g.a, count_a, 1), *b = fill(&g.b, count_b, 2), *c = fill(&g.c, count_c, 3);
  assert_null(ctn_gemm_refusal(&g));
  for (int64_t batch = 0; batch < g.batch; batch++) {
    for (int64_t i = 0; i < g.m; i++) {
      for (int64_t j = 0; j < g.n; j++) {
        c[(int64_t)(g.c.offset / sizeof(float)) + batch * g.c_batch + i * g.c_row + j] = plain(&g, a, b, batch, i, j);
      }
    }
  }
  cl_command_queue queue = clCreateCommandQueue(runtime->context, runtime->device.id, properties, &code);
  assert_int_equal(code, CL_SUCCESS);
  gate = clCreateUserEvent(runtime->context, &code);
  assert_int_equal(code, CL_SUCCESS);
  assert_int_equal(ctn_chain_begin(&chain, queue, 1, &gate, &done, &error), CLATTN_OK);
  for (int i = 0; i < 2; i++) {
    if (ctn_gemm_enqueue(runtime, &chain, &g, i == 1, &error) != CLATTN_OK) fail_msg("%s", error.text);
  }
  ctn_chain_end(&chain);
  assert_non_null(done);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
  float *result = malloc((size_t)count_c * sizeof *result);
  assert_non_null(result);
  code = clEnqueueReadBuffer(queue, g.c.memory, CL_TRUE, 0, (size_t)count_c * sizeof *result, result, 0, NULL, NULL);
  assert_int_equal(code, CL_SUCCESS);
  for (int64_t i = 0; i < count_c; i++) {
    if (fabsf(result[i] - c[i]) > 1e-5f * (float)g.k)
      fail_msg("element %lld: %g, not %g", (long long)i, (double)result[i], (double)c[i]);
  }
  clReleaseEvent(done);
  clReleaseEvent(gate);
  clReleaseCommandQueue(queue);
  clReleaseMemObject(g.a.memory);
  clReleaseMemObject(g.b.memory);
  clReleaseMemObject(g.c.memory);
  free(result);
  free(a);
  free(b);
  free(c);
}

static void products(void **state) {
  static const struct {
    int64_t m, n, k, batch, offset, gap;
  } rows[] = {
      {1, 1, 1, 1, 0, 0},    {1, 7, 5, 3, 0, 0},    {17, 1, 8, 2, 3, 0},
      {32, 32, 32, 2, 0, 0}, {33, 31, 65, 4, 5, 3}, {64, 48, 24, 1, 0, 1},
  };
  (void)state;
  open_runtime();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (int transpose = 0; transpose < 2; transpose++) {
      const struct gemm g = dense(rows[i].m, rows[i].n, rows[i].k, rows[i].batch, transpose, rows[i].offset, rows[i].gap);
      check(g, 0);
    }
  }
}

static void out_of_order(void **state) {
  (void)state;
  open_runtime();
  check(dense(33, 31, 65, 4, true, 5, 3), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  check(dense(8, 9, 10, 1, false, 0, 0), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Grouped heads read one key matrix for many query heads: a batch stride of 0. One batch may have any. */
static void strides_of_zero(void **state) {
  (void)state;
  open_runtime();
  struct gemm g = dense(9, 11, 16, 3, true, 0, 0);
  g.b_batch = 0;
  check(g, 0);
  g = dense(9, 11, 16, 3, false, 0, 0);
  g.a_batch = 0;
  check(g, 0);
  g = dense(9, 11, 16, 1, false, 0, 0);
  g.a_batch = g.b_batch = g.c_batch = 0;
  check(g, 0);
}

/* The two-pass kernels for large matrices, with padded temporaries. */
static void large_product(void **state) {
  (void)state;
  open_runtime();
  check(dense(260, 270, 280, 2, true, 1, 1), 0);
}

static void refusals(void **state) {
  const struct gemm sound = dense(8, 9, 10, 4, true, 0, 0);
  struct gemm g = sound;
  (void)state;
  assert_null(ctn_gemm_refusal(&sound));
#define REFUSED(field, value, part)                     \
  do {                                                  \
    g = sound;                                          \
    g.field = (value);                                  \
    const char *why = ctn_gemm_refusal(&g);             \
    assert_non_null(why);                               \
    if (strstr(why, part) == NULL) fail_msg("%s", why); \
  } while (0)
  REFUSED(m, 0, "empty");
  REFUSED(k, 0, "empty");
  REFUSED(batch, 0, "empty");
  REFUSED(m, (int64_t)INT_MAX + 1, "int");
  REFUSED(a_row, 9, "rows");
  REFUSED(b_row, 0, "rows");
  REFUSED(c_row, 8, "rows");
  REFUSED(c_batch, 0, "stride of 0");
  REFUSED(a_batch, -1, "negative");
  REFUSED(a.offset, 2, "offset");
  REFUSED(b.offset, ((size_t)INT_MAX + 1) * 4, "int");
  REFUSED(c_batch, (int64_t)INT_MAX + 1, "int");
  REFUSED(a_batch, INT_MAX / 3, "int");
  REFUSED(b_row, (int64_t)1 << 60, "int");
  REFUSED(c_batch, INT64_MAX, "int");
  g = dense(1, 1, 1, 200000, false, 0, 0);
  assert_non_null(strstr(ctn_gemm_refusal(&g), "padded"));
  clattn_error error = CLATTN_ERROR_INIT;
  struct chain chain = {0};
  assert_int_equal(ctn_gemm_enqueue(NULL, &chain, &g, true, &error), CLATTN_UNSUPPORTED);
  assert_non_null(strstr(error.text, "padded"));
}

static void without_clblast(void **state) {
  const struct gemm g = dense(8, 9, 10, 4, true, 0, 0);
  (void)state;
  assert_non_null(strstr(ctn_gemm_refusal(&g), "without CLBlast"));
}

int main(void) {
  const struct CMUnitTest with[] = {
      cmocka_unit_test(products),      cmocka_unit_test(out_of_order), cmocka_unit_test(strides_of_zero),
      cmocka_unit_test(large_product), cmocka_unit_test(refusals),
  };
  const struct CMUnitTest without[] = {cmocka_unit_test(without_clblast)};
#ifdef CLATTN_WITH_CLBLAST
  (void)without;
  return cmocka_run_group_tests(with, NULL, close_runtime);
#else
  (void)with;
  return cmocka_run_group_tests(without, NULL, close_runtime);
#endif
}
