/* What plans say of themselves, and what is refused: by each family with its reason, by each descriptor with the argument's
 * name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "on_device.h"

/* The host alone: no device is opened. */
static clattn_context *host_context(void) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  assert_int_equal(clattn_context_create(&context, &options, NULL), CLATTN_OK);
  return context;
}

static void expect(clattn_status got, clattn_status status, const clattn_error *error, const char *words) {
  if (got != status || error->status != status || strstr(error->text, words) == NULL) {
    fail_msg("status %d, \"%s\" is not status %d about: %s", (int)got, error->text, (int)status, words);
  }
  if (strchr(error->text, '\n') != NULL) fail_msg("\"%s\" is more than one line", error->text);
}

/* The attention problem is refused, with these words. */
static void refused(clattn_context *context, const clattn_problem *problem, const clattn_plan_options *options,
                    clattn_status status, const char *words) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan *plan = (clattn_plan *)&error; /* not NULL: create has to set it */
  expect(clattn_plan_create(&plan, context, problem, options, &error), status, &error, words);
  assert_null(plan);
}

static clattn_problem small_problem(void) {
  clattn_problem p = CLATTN_PROBLEM_INIT;
  p.q_heads = 8;
  p.kv_heads = 4;
  p.q_len = 5;
  p.kv_len = 7;
  p.head_dim = p.head_dim_v = 16;
  return p;
}

static void test_descriptions(void **state) {
  (void)state;
  const clattn_problem problem = small_problem();
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_context *context = support_device();
  options.path = CLATTN_PATH_STAGED;
  clattn_plan *plan = support_attention_plan(context, &problem, &options);
  const char *text = clattn_plan_describe(plan);
  assert_non_null(strstr(text, "family: staged"));
  assert_non_null(strstr(text, clattn_context_device(context)->name));
  assert_non_null(strstr(text, "cpu: the staged path was asked for"));
  assert_non_null(strstr(text, "reference: the staged path was asked for"));
  assert_non_null(strstr(text, "products: own kernel"));
  char workspace[64];
  snprintf(workspace, sizeof workspace, "workspace: %zu bytes", clattn_plan_workspace_size(plan));
  assert_non_null(strstr(text, workspace));
  assert_string_equal(clattn_plan_family(plan), "staged");
  clattn_plan_destroy(plan);
  options.product = CLATTN_PRODUCT_CLBLAST;
  plan = support_attention_plan(context, &problem, &options);
  assert_non_null(strstr(clattn_plan_describe(plan), "products: CLBlast"));
  clattn_plan_destroy(plan);
  /* Left to itself: not the host's reference, and every family that lost is named. */
  plan = support_attention_plan(context, &problem, NULL);
  assert_string_not_equal(clattn_plan_family(plan), "reference");
  assert_non_null(strstr(clattn_plan_describe(plan), "cpu: would take it, at "));
  assert_non_null(strstr(clattn_plan_describe(plan), "reference: runs only when asked for by name"));
  clattn_plan_destroy(plan);
  clattn_plan_destroy(NULL);
}

/* Without a device every device family says so, for all four operations; with no_host nothing is left. */
static void test_no_device(void **state) {
  (void)state;
  clattn_context *context = host_context();
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = small_problem();
  clattn_plan *plan = support_attention_plan(context, &problem, NULL);
  assert_string_equal(clattn_plan_family(plan), "cpu");
  assert_non_null(strstr(clattn_plan_describe(plan), "runs on: the host"));
  assert_non_null(strstr(clattn_plan_describe(plan), "staged: the context has no OpenCL device"));
  clattn_plan_destroy(plan);
  options.no_host = 1;
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, "staged: the context has no OpenCL device");
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, "cpu: the options forbid the host");
  options.path = CLATTN_PATH_CPU;
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, "cpu: the options forbid the host");
  options.path = CLATTN_PATH_FUSED;
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, "cpu: the fused path was asked for");

  const clattn_embedding embedding = CLATTN_EMBEDDING_INIT;
  const clattn_position position = CLATTN_POSITION_INIT;
  const clattn_projection projection = CLATTN_PROJECTION_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.path = CLATTN_PATH_STAGED;
  const char *reason = "the context has no OpenCL device";
  expect(clattn_embedding_plan_create(&plan, context, &embedding, &options, &error), CLATTN_UNSUPPORTED, &error, reason);
  expect(clattn_position_plan_create(&plan, context, &position, &options, &error), CLATTN_UNSUPPORTED, &error, reason);
  expect(clattn_projection_plan_create(&plan, context, &projection, &options, &error), CLATTN_UNSUPPORTED, &error, reason);
  clattn_context_destroy(context);
}

/* A tensor over the device's largest buffer: both numbers in the text, by all four operations. No memory is touched. */
static void test_too_large(void **state) {
  (void)state;
  clattn_context *context = support_device();
  const unsigned long long limit = clattn_context_device(context)->max_allocation;
  const int64_t rows = (int64_t)(limit / 4096) + 1; /* of 1024 float32 */
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan *plan = NULL;
  char words[160];
  options.no_host = 1;
  snprintf(words, sizeof words, "needs a buffer of %llu bytes, the device's largest is %llu", (unsigned long long)rows * 4096,
           limit);
  clattn_problem problem = small_problem();
  problem.q_len = rows;
  problem.head_dim = 1024 / problem.q_heads;
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, words);
  clattn_embedding embedding = CLATTN_EMBEDDING_INIT;
  embedding.vocabulary = rows;
  embedding.dim = 1024;
  expect(clattn_embedding_plan_create(&plan, context, &embedding, &options, &error), CLATTN_UNSUPPORTED, &error, words);
  clattn_position position = CLATTN_POSITION_INIT;
  position.length = rows;
  position.dim = 1024;
  expect(clattn_position_plan_create(&plan, context, &position, &options, &error), CLATTN_UNSUPPORTED, &error, words);
  clattn_projection projection = CLATTN_PROJECTION_INIT;
  projection.in_features = 1024;
  projection.head_dim = rows;
  expect(clattn_projection_plan_create(&plan, context, &projection, &options, &error), CLATTN_UNSUPPORTED, &error, words);
  /* One row of scores past the largest buffer. */
  problem = small_problem();
  problem.kv_heads = 1;
  problem.kv_len = (int64_t)(limit / 4) + 1;
  problem.head_dim = problem.head_dim_v = 1;
  problem.k.row_stride = problem.v.row_stride = 1;
  options.path = CLATTN_PATH_STAGED;
  refused(context, &problem, &options, CLATTN_UNSUPPORTED, "needs a");
}

static void test_clblast(void **state) {
  (void)state;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_problem problem = small_problem();
  problem.packed = 1;
  problem.total_q = 5;
  problem.total_kv = 7;
  options.path = CLATTN_PATH_STAGED;
  options.product = CLATTN_PRODUCT_CLBLAST;
  refused(support_device(), &problem, &options, CLATTN_UNSUPPORTED, "staged: CLBlast's batches have one size");
}

/* Each wrong field of each descriptor, by name. */
#define WRONG(field, value, status, words)         \
  do {                                             \
    clattn_problem wrong = small_problem();        \
    wrong.field = value;                           \
    refused(context, &wrong, NULL, status, words); \
  } while (0)

static void test_attention_arguments(void **state) {
  (void)state;
  clattn_context *context = host_context();
  WRONG(kv_heads, 3, CLATTN_INVALID_ARGUMENT, "k: 3 heads do not divide q's 8");
  WRONG(dtype, CLATTN_I32, CLATTN_INVALID_ARGUMENT, "dtype: i32");
  WRONG(dtype, (clattn_dtype)77, CLATTN_INVALID_ARGUMENT, "dtype: none (77)");
  WRONG(batch, 0, CLATTN_INVALID_ARGUMENT, "batch: 0 is not positive");
  WRONG(q_heads, -1, CLATTN_INVALID_ARGUMENT, "q_heads: -1");
  WRONG(kv_heads, 0, CLATTN_INVALID_ARGUMENT, "kv_heads: 0");
  WRONG(q_len, INT64_MIN, CLATTN_INVALID_ARGUMENT, "q_len: ");
  WRONG(kv_len, INT64_MAX, CLATTN_TOO_LARGE, "kv_len: ");
  WRONG(head_dim, 0, CLATTN_INVALID_ARGUMENT, "head_dim: 0");
  WRONG(head_dim_v, -7, CLATTN_INVALID_ARGUMENT, "head_dim_v: -7");
  WRONG(q.row_stride, -1, CLATTN_INVALID_ARGUMENT, "q: strides 0, 0, -1");
  WRONG(k.head_stride, -1, CLATTN_INVALID_ARGUMENT, "k: strides");
  WRONG(v.batch_stride, -1, CLATTN_INVALID_ARGUMENT, "v: strides");
  WRONG(k.row_stride, INT64_MAX, CLATTN_TOO_LARGE, "k: its last element's offset overflows");
  WRONG(out.row_stride, 1, CLATTN_INVALID_ARGUMENT, "out: strides 0, 0, 1 make results overlap");
  WRONG(packed, 1, CLATTN_INVALID_ARGUMENT, "total_q: 0 is not positive");
  WRONG(softcap, -1, CLATTN_INVALID_ARGUMENT, "softcap: -1");
  WRONG(dropout, 1, CLATTN_INVALID_ARGUMENT, "dropout: 1 is not in [0, 1)");
  WRONG(window_left, -2, CLATTN_INVALID_ARGUMENT, "window: -2 left");
  WRONG(outputs, 0, CLATTN_INVALID_ARGUMENT, "outputs: 0x0");
  WRONG(outputs, 64, CLATTN_INVALID_ARGUMENT, "outputs: 0x40");
  WRONG(mask, ((clattn_mask){CLATTN_I64, 1, {7}, {0}}), CLATTN_INVALID_ARGUMENT, "mask: dtype i64");
  WRONG(mask, ((clattn_mask){CLATTN_BOOL, 5, {7}, {0}}), CLATTN_INVALID_ARGUMENT, "mask: rank 5 is not 1 to 4");
  WRONG(mask, ((clattn_mask){CLATTN_BOOL, 1, {8}, {0}}), CLATTN_INVALID_ARGUMENT, "mask: dimension 0 has size 8");
  WRONG(mask, ((clattn_mask){CLATTN_F32, 2, {4, 7}, {0}}), CLATTN_INVALID_ARGUMENT, "mask: dimension 0 has size 4");
  WRONG(mask, ((clattn_mask){CLATTN_F32, 1, {7}, {-1}}), CLATTN_INVALID_ARGUMENT, "mask: stride -1 is negative");
  clattn_problem wrong = small_problem();
  wrong.scale_given = 1;
  wrong.scale = (float)strtod("nan", NULL);
  refused(context, &wrong, NULL, CLATTN_INVALID_ARGUMENT, "scale: nan is not finite");
  wrong = small_problem();
  refused(NULL, &wrong, NULL, CLATTN_INVALID_ARGUMENT, "context: NULL");
  refused(context, NULL, NULL, CLATTN_INVALID_ARGUMENT, "problem: NULL");
  clattn_context_destroy(context);
}

#define WRONG_OPERATION(operation, INIT, field, value, words)                                         \
  do {                                                                                                \
    clattn_##operation wrong = INIT;                                                                  \
    wrong.field = value;                                                                              \
    clattn_error error = CLATTN_ERROR_INIT;                                                           \
    clattn_plan *plan = NULL;                                                                         \
    const clattn_status got = clattn_##operation##_plan_create(&plan, context, &wrong, NULL, &error); \
    expect(got, CLATTN_INVALID_ARGUMENT, &error, words);                                              \
    assert_null(plan);                                                                                \
  } while (0)

static void test_operation_arguments(void **state) {
  (void)state;
  clattn_context *context = host_context();
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, dtype, CLATTN_BOOL, "dtype: bool");
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, token_dtype, CLATTN_F32, "token_dtype: f32");
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, vocabulary, 0, "vocabulary: 0");
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, dim, -1, "dim: -1");
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, count, 0, "count: 0");
  WRONG_OPERATION(embedding, CLATTN_EMBEDDING_INIT, padding_id, 1, "padding_id: 1 is not in the table of 1 rows");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, dtype, CLATTN_NONE, "dtype: none");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, batch, 0, "batch: 0");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, length, 0, "length: 0");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, dim, 0, "dim: 0");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, start, -1, "start: -1");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, start, INT64_C(1) << 40, "start: 1099511627776");
  WRONG_OPERATION(position, CLATTN_POSITION_INIT, base, 1.0, "base: 1");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, dtype, CLATTN_I64, "dtype: i64");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, batch, -3, "batch: -3");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, length, 0, "length: 0");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, in_features, 0, "in_features: 0");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, heads, 0, "heads: 0");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, head_dim, 0, "head_dim: 0");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, x.row_stride, -1, "x: strides 0, 0, -1");
  WRONG_OPERATION(projection, CLATTN_PROJECTION_INIT, out.batch_stride, -5, "out: strides -5");
  clattn_context_destroy(context);
}

static void test_options(void **state) {
  (void)state;
  clattn_context *context = host_context();
  const clattn_problem problem = small_problem();
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = (clattn_path)9;
  refused(context, &problem, &options, CLATTN_INVALID_ARGUMENT, "path: 9 is no clattn_path");
  options.path = CLATTN_PATH_AUTO;
  options.product = (clattn_product)5;
  refused(context, &problem, &options, CLATTN_INVALID_ARGUMENT, "product: 5 is no clattn_product");
  options.product = CLATTN_PRODUCT_AUTO;
  options.vector_width = 4;
  refused(context, &problem, &options, CLATTN_INVALID_ARGUMENT, "vector_width: 4 is not 0, 8 or 16");
  clattn_context_destroy(context);
}

/* A struct of an older header is shorter: what it lacks keeps its default. A size that no version has is refused. */
static void test_struct_sizes(void **state) {
  (void)state;
  clattn_context *context = host_context();
  clattn_problem problem = small_problem();
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = CLATTN_PATH_REFERENCE;
  options.no_host = -1;
  options.product = (clattn_product)99; /* past the older struct's end */
  options.struct_size = offsetof(clattn_plan_options, no_host);
  problem.struct_size = offsetof(clattn_problem, softcap);
  problem.softcap = -5;
  problem.outputs = 0;
  clattn_plan *plan = support_attention_plan(context, &problem, &options);
  assert_string_equal(clattn_plan_family(plan), "reference");
  clattn_plan_destroy(plan);
  const size_t forged[] = {0, 1, sizeof(size_t) - 1, sizeof problem + 1, SIZE_MAX};
  for (size_t n = 0; n < sizeof forged / sizeof forged[0]; n++) {
    problem = small_problem();
    problem.struct_size = forged[n];
    refused(context, &problem, NULL, CLATTN_INVALID_ARGUMENT, "problem: struct_size");
    problem = small_problem();
    options.struct_size = forged[n];
    refused(context, &problem, &options, CLATTN_INVALID_ARGUMENT, "plan options: struct_size");
  }
  clattn_context_destroy(context);
}

/* Wrong arrays: what is missing, what is too much, lengths and ids out of range. */
static void test_arrays(void **state) {
  (void)state;
  clattn_context *context = host_context();
  clattn_problem problem = small_problem();
  struct setup s;
  clattn_error error = CLATTN_ERROR_INIT;
  problem.has_kv_len = 1;
  support_attention(&s, &problem);
  clattn_plan *plan = support_attention_plan(context, &problem, NULL);
  clattn_arrays arrays = s.arrays;
  arrays.k = NULL;
  expect(clattn_plan_execute(plan, &arrays, &error), CLATTN_INVALID_ARGUMENT, &error, "k: NULL, but");
  arrays = s.arrays;
  arrays.sinks = s.arrays.lse = s.memory[T_Q];
  expect(clattn_plan_execute(plan, &arrays, &error), CLATTN_INVALID_ARGUMENT, &error, "sinks: given, but");
  arrays = s.arrays;
  arrays.lse = NULL;
  arrays.kv_len = (const int64_t[]){8};
  expect(clattn_plan_execute(plan, &arrays, &error), CLATTN_INVALID_ARGUMENT, &error, "kv_len[0]: 8 is not in 0 to 7");
  expect(clattn_plan_execute(plan, NULL, &error), CLATTN_INVALID_ARGUMENT, &error, "arrays: NULL");
  expect(clattn_plan_execute(NULL, &arrays, &error), CLATTN_INVALID_ARGUMENT, &error, "plan: NULL");
  clattn_plan_destroy(plan);
  support_free(&s);
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_descriptions),
      cmocka_unit_test(test_no_device),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_clblast),
      cmocka_unit_test(test_attention_arguments),
      cmocka_unit_test(test_operation_arguments),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
