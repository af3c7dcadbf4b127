/* The layer on every path against plain float64 loops: sizes, weights' forms, biases, inputs, masks, types; and on the
 * reference path, bit for bit, against the four steps planned one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_support.h"
#include "on_device.h"

#define SIZES .batch = 2, .q_len = 9, .q_heads = 4, .d_model = 24

static const struct layer_case cases[] = {
    {"one of everything", .batch = 1, .q_len = 1, .q_heads = 1, .d_model = 1},
    {"self", SIZES, .weights = true},
    {"self, packed weights", SIZES, .packed_weights = true},
    {"self, packed weights and biases", SIZES, .packed_weights = true, .packed_biases = true, .biases = BIAS_ALL},
    {"self, separate biases", SIZES, .biases = BIAS_ALL, .weights = true},
    {"self, packed weights, separate biases", SIZES, .packed_weights = true, .biases = BIAS_ALL},
    {"self, separate weights, packed biases", SIZES, .packed_biases = true, .biases = BIAS_ALL},
    {"no bias of keys", SIZES, .biases = BIAS_Q | BIAS_V | BIAS_OUT},
    {"bias of out alone", SIZES, .biases = BIAS_OUT},
    {"biases of inputs alone", SIZES, .biases = BIAS_Q | BIAS_K | BIAS_V},
    {"causal", SIZES, .causal = true, .weights = true},
    {"grouped queries", SIZES, .kv_heads = 2, .causal = true, .biases = BIAS_ALL},
    {"one key head, packed", SIZES, .kv_heads = 1, .packed_weights = true, .weights = true},
    {"free head sizes", SIZES, .head_dim = 5, .head_dim_v = 7, .out_features = 11, .biases = BIAS_ALL, .weights = true},
    {"free head sizes, grouped, packed", SIZES, .kv_heads = 2, .head_dim = 5, .head_dim_v = 3, .packed_weights = true},
    {"cross", SIZES, .inputs = CLATTN_LAYER_CROSS, .kv_len = 13, .k_features = 17, .biases = BIAS_ALL, .weights = true},
    {"cross, packed", SIZES, .inputs = CLATTN_LAYER_CROSS, .kv_len = 5, .packed_weights = true, .packed_biases = true,
     .biases = BIAS_ALL},
    {"cross, grouped, causal, offsets", SIZES, .inputs = CLATTN_LAYER_CROSS, .kv_len = 13, .kv_heads = 2, .causal = true,
     .offsets = true, .weights = true},
    {"separate", SIZES, .inputs = CLATTN_LAYER_SEPARATE, .kv_len = 6, .k_features = 10, .v_features = 31, .head_dim_v = 9,
     .biases = BIAS_ALL, .weights = true},
    {"separate, one width, packed", SIZES, .inputs = CLATTN_LAYER_SEPARATE, .kv_len = 6, .packed_weights = true,
     .biases = BIAS_V},
    {"boolean mask", SIZES, .mask = BOOL_MASK, .weights = true},
    {"boolean mask, causal, cross", SIZES, .inputs = CLATTN_LAYER_CROSS, .kv_len = 13, .mask = BOOL_MASK, .causal = true},
    {"float mask", SIZES, .mask = FLOAT_MASK, .weights = true},
    {"lengths, one of them 0", SIZES, .kv_lens = true, .biases = BIAS_ALL, .weights = true},
    {"apart", SIZES, .apart = true, .biases = BIAS_ALL},
    {"apart, separate", SIZES, .inputs = CLATTN_LAYER_SEPARATE, .kv_len = 6, .k_features = 10, .v_features = 31, .apart = true},
    {"larger", .batch = 2, .q_len = 70, .q_heads = 3, .d_model = 96, .biases = BIAS_ALL, .causal = true, .weights = true},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static clattn_layer *create(clattn_context *context, const struct layer_data *d, clattn_path path, const char *what) {
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = path;
  if (clattn_layer_create(&layer, context, &d->problem, &d->weights, &options, &error) != CLATTN_OK) {
    fail_msg("%s: %s", what, error.text);
  }
  return layer;
}

/* Every case in one type; twice, so that what the first execution leaves behind is seen. */
static void run_cases(clattn_context *context, clattn_path path, clattn_dtype dtype) {
  for (int i = 0; i < CASES; i++) {
    struct layer_case c = cases[i];
    struct layer_data d;
    char what[128];
    c.dtype = dtype;
    snprintf(what, sizeof what, "%s, %s", c.name, ctn_dtype_name(dtype));
    layer_data_make(&d, &c);
    clattn_layer *layer = create(context, &d, path, what);
    layer_data_execute(layer, &d, what);
    layer_data_execute(layer, &d, what);
    clattn_layer_destroy(layer);
    layer_data_free(&d);
  }
}

static void run_types(clattn_context *context, clattn_path path) {
  run_cases(context, path, CLATTN_F32);
  run_cases(context, path, CLATTN_F16);
  run_cases(context, path, CLATTN_BF16);
}

static clattn_context *host(void) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  options.threads = 3;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

static void cpu(void **state) {
  (void)state;
  clattn_context *context = host();
  run_types(context, CLATTN_PATH_CPU);
  clattn_context_destroy(context);
}

static void reference(void **state) {
  (void)state;
  clattn_context *context = host();
  run_types(context, CLATTN_PATH_REFERENCE);
  clattn_context_destroy(context);
}

static void automatic_without_device(void **state) {
  (void)state;
  clattn_context *context = host();
  run_cases(context, CLATTN_PATH_AUTO, CLATTN_F32);
  clattn_context_destroy(context);
}

static void staged(void **state) {
  (void)state;
  run_types(support_device(), CLATTN_PATH_STAGED);
}

static void automatic(void **state) {
  (void)state;
  run_types(support_device(), CLATTN_PATH_AUTO);
}

static void automatic_stays_on_the_device(void **state) {
  (void)state;
  struct layer_data d;
  layer_data_make(&d, &cases[1]);
  d.problem.outputs = CLATTN_OUTPUT_OUT;
  clattn_layer *layer = create(support_device(), &d, CLATTN_PATH_AUTO, "auto");
  assert_null(strstr(clattn_layer_describe(layer), "runs on: the host"));
  assert_non_null(strstr(clattn_layer_describe(layer), "runs on: "));
  clattn_layer_destroy(layer);
  layer_data_free(&d);
}

/* A projection by itself: its heads as [batch, heads, length, dim]. */
static void *project_alone(clattn_context *context, const struct layer_data *d, int input, int part, int64_t length,
                           int64_t features, int64_t heads, int64_t dim) {
  const int64_t count = d->c.batch * length * heads * dim;
  clattn_projection problem = CLATTN_PROJECTION_INIT;
  problem.dtype = d->c.dtype;
  problem.batch = d->c.batch, problem.length = length, problem.in_features = features;
  problem.heads = heads, problem.head_dim = dim;
  problem.has_bias = d->typed[D_BQ + part] != NULL;
  problem.out = (clattn_layout){heads * length * dim, length * dim, dim};
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.x = d->typed[D_QUERY + input];
  arrays.weight = d->typed[D_WQ + part];
  arrays.bias = d->typed[D_BQ + part];
  void *out = malloc((size_t)count * ctn_dtype_size(d->c.dtype));
  arrays.out = out;
  clattn_plan *plan = NULL;
  const clattn_plan_options options = {.struct_size = sizeof options, .path = CLATTN_PATH_REFERENCE};
  clattn_error error = CLATTN_ERROR_INIT;
  assert_non_null(out);
  if (clattn_projection_plan_create(&plan, context, &problem, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  if (clattn_plan_execute(plan, &arrays, &error) != CLATTN_OK) fail_msg("%s", error.text);
  clattn_plan_destroy(plan);
  return out;
}

static void *compose(clattn_context *context, const struct layer_data *d) {
  const struct layer_case *c = &d->c;
  const int key = c->inputs == CLATTN_LAYER_SELF ? 0 : 1, value = c->inputs == CLATTN_LAYER_SEPARATE ? 2 : key;
  void *q = project_alone(context, d, 0, 0, c->q_len, c->d_model, c->q_heads, c->head_dim);
  void *k = project_alone(context, d, key, 1, c->kv_len, c->k_features, c->kv_heads, c->head_dim);
  void *v = project_alone(context, d, value, 2, c->kv_len, c->v_features, c->kv_heads, c->head_dim_v);
  const size_t element = ctn_dtype_size(c->dtype), rows = (size_t)(c->batch * c->q_len);
  void *heads = malloc(rows * (size_t)(c->q_heads * c->head_dim_v) * element);
  void *out = malloc(rows * (size_t)c->out_features * element);
  assert_true(heads != NULL && out != NULL);
  const clattn_plan_options options = {.struct_size = sizeof options, .path = CLATTN_PATH_REFERENCE};
  clattn_problem a = CLATTN_PROBLEM_INIT;
  a.dtype = c->dtype, a.batch = c->batch, a.q_heads = c->q_heads, a.kv_heads = c->kv_heads;
  a.q_len = c->q_len, a.kv_len = c->kv_len, a.head_dim = c->head_dim, a.head_dim_v = c->head_dim_v;
  a.causal = c->causal, a.has_kv_len = c->kv_lens, a.has_query_offset = c->offsets, a.mask = d->problem.mask;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = q, arrays.k = k, arrays.v = v, arrays.out = heads;
  arrays.mask = d->arrays.mask, arrays.kv_len = d->kv_len, arrays.query_offset = d->query_offset;
  clattn_plan *plan = support_attention_plan(context, &a, &options);
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_plan_execute(plan, &arrays, &error) != CLATTN_OK) fail_msg("%s", error.text);
  clattn_plan_destroy(plan);
  clattn_projection p = CLATTN_PROJECTION_INIT;
  p.dtype = c->dtype, p.batch = c->batch, p.length = c->q_len;
  p.in_features = c->q_heads * c->head_dim_v, p.head_dim = c->out_features, p.has_bias = d->typed[D_BO] != NULL;
  /* [batch, heads, length, dim] to [batch, length, heads * dim] by hand. */
  char *merged = malloc(rows * (size_t)p.in_features * element);
  assert_non_null(merged);
  for (int64_t b = 0; b < c->batch; b++) {
    for (int64_t h = 0; h < c->q_heads; h++) {
      for (int64_t i = 0; i < c->q_len; i++) {
        const int64_t to = (b * c->q_len + i) * p.in_features + h * c->head_dim_v;
        const int64_t from = ((b * c->q_heads + h) * c->q_len + i) * c->head_dim_v;
        memcpy(merged + (size_t)to * element, (char *)heads + (size_t)from * element, (size_t)c->head_dim_v * element);
      }
    }
  }
  clattn_arrays last = CLATTN_ARRAYS_INIT;
  last.x = merged, last.weight = d->typed[D_WO], last.bias = d->typed[D_BO], last.out = out;
  if (clattn_projection_plan_create(&plan, context, &p, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  if (clattn_plan_execute(plan, &last, &error) != CLATTN_OK) fail_msg("%s", error.text);
  clattn_plan_destroy(plan);
  free(q);
  free(k);
  free(v);
  free(heads);
  free(merged);
  return out;
}

static void equals_its_steps(void **state) {
  (void)state;
  static const clattn_dtype dtypes[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  clattn_context *context = host();
  for (int i = 0; i < 3 * CASES; i++) {
    struct layer_case c = cases[i / 3];
    struct layer_data d;
    if (c.apart) continue;
    c.dtype = dtypes[i % 3];
    layer_data_make(&d, &c);
    clattn_layer *layer = create(context, &d, CLATTN_PATH_REFERENCE, c.name);
    layer_data_execute(layer, &d, c.name);
    void *want = compose(context, &d);
    if (memcmp(want, d.out, layer_data_out_bytes(&d)) != 0) fail_msg("%s: not what its steps give one by one", c.name);
    free(want);
    clattn_layer_destroy(layer);
    layer_data_free(&d);
  }
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cpu),
      cmocka_unit_test(reference),
      cmocka_unit_test(automatic_without_device),
      cmocka_unit_test(equals_its_steps),
      cmocka_unit_test(staged),
      cmocka_unit_test(automatic),
      cmocka_unit_test(automatic_stays_on_the_device),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
