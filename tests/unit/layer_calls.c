/* The layer's calls on the host: wrong arguments, lifetimes, what it says of itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clattn/clattn_opencl.h>

#include "layer_support.h"

static const struct layer_case self = {.name = "self",
                                       .dtype = CLATTN_F32,
                                       .batch = 2,
                                       .q_len = 9,
                                       .q_heads = 4,
                                       .kv_heads = 2,
                                       .d_model = 24,
                                       .biases = BIAS_ALL,
                                       .causal = true,
                                       .weights = true};
static const struct layer_case cross = {.name = "cross",
                                        .dtype = CLATTN_F16,
                                        .inputs = CLATTN_LAYER_SEPARATE,
                                        .batch = 2,
                                        .q_len = 9,
                                        .kv_len = 14,
                                        .q_heads = 4,
                                        .d_model = 24,
                                        .k_features = 10,
                                        .v_features = 7,
                                        .head_dim_v = 3,
                                        .out_features = 5,
                                        .biases = BIAS_Q | BIAS_OUT,
                                        .kv_lens = true,
                                        .offsets = true,
                                        .mask = FLOAT_MASK,
                                        .causal = true,
                                        .weights = true,
                                        .apart = true};

static clattn_context *host(void) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

static clattn_layer *create(clattn_context *context, const struct layer_data *d, const clattn_plan_options *options) {
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_layer_create(&layer, context, &d->problem, &d->weights, options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return layer;
}

/* Creating fails, with this in the text. */
static void refused(clattn_context *context, const clattn_layer_problem *problem, const clattn_layer_weights *weights,
                    const char *says) {
  clattn_layer *layer = (clattn_layer *)(void *)&layer;
  clattn_error error = CLATTN_ERROR_INIT;
  const clattn_status status = clattn_layer_create(&layer, context, problem, weights, NULL, &error);
  assert_int_equal(status, error.status);
  if (status != CLATTN_INVALID_ARGUMENT && status != CLATTN_TOO_LARGE) fail_msg("%s: status %d", says, (int)status);
  assert_null(layer);
  if (strstr(error.text, says) == NULL) fail_msg("'%s' does not say '%s'", error.text, says);
}

static void wrong_problems(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d;
  layer_data_make(&d, &self);
#define WRONG(change, says)                 \
  do {                                      \
    clattn_layer_problem p = d.problem;     \
    change;                                 \
    refused(context, &p, &d.weights, says); \
  } while (0)
  WRONG(p.struct_size = 8000, "struct_size");
  WRONG(p.q_heads = 0, "q_heads");
  WRONG(p.q_heads = -1, "q_heads");
  WRONG(p.d_model = 0, "d_model");
  WRONG(p.d_model = 25, "head_dim");
  WRONG(p.kv_heads = 3, "kv_heads");
  WRONG(p.batch = 0, "batch");
  WRONG(p.q_len = -4, "q_len");
  WRONG(p.kv_len = 10, "self attention");
  WRONG(p.k_features = 23, "self attention");
  WRONG(p.v_features = 23, "v_features");
  WRONG(p.inputs = (clattn_layer_inputs)7, "inputs");
  WRONG(p.dtype = CLATTN_BOOL, "dtype");
  WRONG(p.outputs = CLATTN_OUTPUT_WEIGHTS, "CLATTN_OUTPUT_OUT");
  WRONG(p.outputs = 1u << 20 | CLATTN_OUTPUT_OUT, "outputs");
  WRONG(p.head_dim = INT32_MAX, "head_dim");
  WRONG(p.head_dim_v = (int64_t)1 << 40, "head_dim_v");
  WRONG(p.dropout = 1, "attention: dropout");
  WRONG(p.window_left = -2, "attention: window");
  WRONG((p.mask = (clattn_mask){CLATTN_BOOL, 2, {3, 9, 0, 0}, {0, 0, 0, 0}}), "attention: mask");
  WRONG(p.query.row_stride = -1, "projection of query, key and value: x");
  WRONG(p.out.row_stride = 3, "projection of the heads: out");
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void wrong_weights(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d;
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  layer_data_make(&d, &self);
#define WRONG_WEIGHTS(change, says)         \
  do {                                      \
    clattn_layer_weights w = d.weights;     \
    change;                                 \
    refused(context, &d.problem, &w, says); \
  } while (0)
  WRONG_WEIGHTS(w.struct_size = 0, "struct_size");
  WRONG_WEIGHTS(w.k_weight = NULL, "k_weight");
  WRONG_WEIGHTS(w.out_weight = NULL, "out_weight");
  WRONG_WEIGHTS(w.in_weight = d.packed_weight, "in_weight");
  WRONG_WEIGHTS(w.in_bias = d.packed_bias, "in_bias");
  refused(context, &d.problem, NULL, "weights");
  refused(context, NULL, &d.weights, "layer problem");
  refused(NULL, &d.problem, &d.weights, "context");
  assert_int_equal(clattn_layer_create(NULL, context, &d.problem, &d.weights, NULL, &error), CLATTN_INVALID_ARGUMENT);
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = (clattn_path)99;
  assert_int_equal(clattn_layer_create(&layer, context, &d.problem, &d.weights, &options, &error), CLATTN_INVALID_ARGUMENT);
  options.path = CLATTN_PATH_STAGED;
  assert_int_equal(clattn_layer_create(&layer, context, &d.problem, &d.weights, &options, &error), CLATTN_UNSUPPORTED);
  assert_null(layer);
  layer_data_free(&d);

  layer_data_make(&d, &cross);
  WRONG_WEIGHTS((w.in_weight = d.packed_weight, w.q_weight = w.k_weight = w.v_weight = NULL), "in_weight: one matrix");
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void wrong_arrays(void **state) {
  (void)state;
  clattn_context *context = host();
  clattn_error error = CLATTN_ERROR_INIT;
  struct layer_data d;
  layer_data_make(&d, &cross);
  clattn_layer *layer = create(context, &d, NULL);
#define WRONG_ARRAYS(change, says)                                                              \
  do {                                                                                          \
    clattn_layer_arrays a = d.arrays;                                                           \
    change;                                                                                     \
    assert_int_equal(clattn_layer_execute(layer, &a, &error), CLATTN_INVALID_ARGUMENT);         \
    if (strstr(error.text, says) == NULL) fail_msg("'%s' does not say '%s'", error.text, says); \
  } while (0)
  const float something[64] = {0};
  const int64_t too_long[2] = {14, 15};
  WRONG_ARRAYS(a.struct_size = 1, "struct_size");
  WRONG_ARRAYS(a.query = NULL, "query");
  WRONG_ARRAYS(a.key = NULL, "key");
  WRONG_ARRAYS(a.value = NULL, "value");
  WRONG_ARRAYS(a.out = NULL, "out");
  WRONG_ARRAYS(a.weights = NULL, "weights");
  WRONG_ARRAYS(a.mask = NULL, "mask");
  WRONG_ARRAYS(a.kv_len = NULL, "kv_len");
  WRONG_ARRAYS(a.sinks = something, "sinks");
  WRONG_ARRAYS(a.kv_len = too_long, "kv_len[1]: 15");
  assert_int_equal(clattn_layer_execute(layer, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_execute(NULL, &d.arrays, &error), CLATTN_INVALID_ARGUMENT);
  layer_data_execute(layer, &d, "after the refusals");
  clattn_layer_buffers buffers;
  CLATTN_LAYER_BUFFERS_INIT(buffers);
  assert_int_equal(clattn_layer_enqueue(layer, NULL, &buffers, 0, NULL, NULL, &error), CLATTN_UNSUPPORTED);
  clattn_layer_destroy(layer);
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void nothing_of_nothing(void **state) {
  (void)state;
  clattn_layer_destroy(NULL);
  assert_null(clattn_layer_get_problem(NULL));
  assert_string_equal(clattn_layer_describe(NULL), "");
  assert_string_equal(clattn_layer_family(NULL), "");
  assert_int_equal(clattn_layer_workspace_size(NULL), 0);
}

/* The layer keeps its context, and its weights, alive by itself. */
static void outlives(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d;
  layer_data_make(&d, &self);
  clattn_layer *layer = create(context, &d, NULL);
  clattn_context_destroy(context);
  for (int i = D_WQ; i < D_COUNT; i++) {
    if (d.typed[i] != NULL) memset(d.typed[i], INPUT_POISON, (size_t)d.count[i] * sizeof(float));
  }
  layer_data_execute(layer, &d, "alone");
  assert_true(clattn_layer_workspace_size(layer) > 0);
  clattn_layer_destroy(layer);
  layer_data_free(&d);
}

static void describes(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d;
  layer_data_make(&d, &cross);
  clattn_layer *layer = create(context, &d, NULL);
  const char *text = clattn_layer_describe(layer);
  const char *at = text;
  static const char *const order[] = {"layer: 4 heads",      "projection of query", "projection of key",
                                      "projection of value", "attention",           "projection of the heads"};
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    at = strstr(at, order[i]);
    if (at == NULL) fail_msg("'%s' lacks '%s' in its place", text, order[i]);
  }
  assert_string_equal(clattn_layer_family(layer), "cpu");
  clattn_layer_destroy(layer);
  layer_data_free(&d);
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_problems),     cmocka_unit_test(wrong_weights), cmocka_unit_test(wrong_arrays),
      cmocka_unit_test(nothing_of_nothing), cmocka_unit_test(outlives),      cmocka_unit_test(describes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
