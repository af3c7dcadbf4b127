/* Layers from checkpoints: every framework's names, sizes that follow from shapes, types. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_file.h"

static clattn_layer *load(clattn_context *context, const clattn_layer_problem *problem, const char *prefix, const char *what) {
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  const clattn_plan_options options = {.struct_size = sizeof options, .path = CLATTN_PATH_REFERENCE};
  if (clattn_layer_load(&layer, context, problem, layer_path, prefix, &options, &error) != CLATTN_OK) {
    fail_msg("%s: %s", what, error.text);
  }
  return layer;
}

static void same_sizes(const clattn_layer *layer, const struct layer_data *d) {
  const clattn_layer_problem *p = clattn_layer_get_problem(layer);
  assert_int_equal(p->dtype, d->c.dtype);
  assert_int_equal(p->kv_len, d->c.kv_len);
  assert_int_equal(p->kv_heads, d->c.kv_heads);
  assert_int_equal(p->head_dim, d->c.head_dim);
  assert_int_equal(p->head_dim_v, d->c.head_dim_v);
  assert_int_equal(p->d_model, d->c.d_model);
  assert_int_equal(p->k_features, d->c.k_features);
  assert_int_equal(p->v_features, d->c.v_features);
  assert_int_equal(p->out_features, d->c.out_features);
}

static void round_trip(clattn_context *context, const struct names *n, const struct layer_case *c, const char *prefix) {
  struct layer_data d;
  char what[128];
  snprintf(what, sizeof what, "%s and %s, %s", n->q, n->out, ctn_dtype_name(c->dtype));
  layer_data_make(&d, c);
  layer_file_write(n, &d);
  const clattn_layer_problem problem = layer_file_bare(&d);
  clattn_layer *layer = load(context, &problem, prefix, what);
  same_sizes(layer, &d);
  layer_data_execute(layer, &d, what);
  clattn_layer_destroy(layer);
  layer_data_free(&d);
}

static void every_naming(void **state) {
  (void)state;
  static const clattn_dtype dtypes[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  clattn_context *context = layer_file_host();
  for (int i = 0; i < NAMINGS; i++) {
    for (int dtype = 0; dtype < 3; dtype++) {
      struct layer_case c = {.dtype = dtypes[dtype], .batch = 2, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
      round_trip(context, &layer_names[i], &c, PREFIX);
      c.biases = 0;
      c.causal = true;
      round_trip(context, &layer_names[i], &c, "model.layers.3.attn"); /* the dot is optional */
    }
  }
  clattn_context_destroy(context);
}

static void sizes_from_shapes(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  const struct layer_case grouped = {.dtype = CLATTN_F32,
                                     .batch = 1,
                                     .q_len = 4,
                                     .q_heads = 6,
                                     .kv_heads = 2,
                                     .d_model = 10,
                                     .head_dim = 3,
                                     .head_dim_v = 5,
                                     .out_features = 7,
                                     .biases = BIAS_Q | BIAS_V};
  round_trip(context, &layer_names[LLAMA], &grouped, PREFIX);
  struct layer_case packed = grouped; /* the default: head_dim = head_dim_v */
  packed.head_dim_v = 3;
  packed.biases = BIAS_ALL;
  round_trip(context, &layer_names[TORCH], &packed, PREFIX);
  round_trip(context, &layer_names[GPT2], &packed, PREFIX);
  struct layer_case cross = grouped;
  cross.inputs = CLATTN_LAYER_CROSS, cross.kv_len = 9, cross.k_features = 8;
  round_trip(context, &layer_names[LLAMA], &cross, PREFIX);
  cross.inputs = CLATTN_LAYER_SEPARATE, cross.v_features = 11, cross.biases = BIAS_ALL;
  round_trip(context, &layer_names[TORCH_SEPARATE], &cross, PREFIX);
  clattn_context_destroy(context);
}

/* Packed rows that only a given kv_heads or head_dim can part. */
static void sizes_given(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32,
                               .batch = 1,
                               .q_len = 4,
                               .q_heads = 4,
                               .kv_heads = 2,
                               .d_model = 10,
                               .head_dim = 3,
                               .head_dim_v = 5,
                               .biases = BIAS_ALL};
  layer_data_make(&d, &c);
  layer_file_write(&layer_names[TORCH], &d);
  clattn_layer_problem problem = layer_file_bare(&d);
  problem.kv_heads = 2;
  clattn_layer *layer = load(context, &problem, PREFIX, "kv_heads given");
  same_sizes(layer, &d);
  layer_data_execute(layer, &d, "kv_heads given");
  clattn_layer_destroy(layer);
  problem.kv_heads = 0;
  problem.head_dim = 3;
  layer = load(context, &problem, PREFIX, "head_dim given");
  same_sizes(layer, &d);
  clattn_layer_destroy(layer);
  layer = load(context, &d.problem, PREFIX, "all given");
  layer_data_execute(layer, &d, "all given");
  clattn_layer_destroy(layer);
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void without_prefix(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  const float one[1] = {1};
  clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
  problem.q_heads = 1;
  for (int i = 0; i < 2; i++) {
    struct writer w = {0};
    layer_file_add(&w, "", "wq.weight", ST_F32, 1, 1, one);
    layer_file_add(&w, "", "wk.weight", ST_F32, 1, 1, one);
    layer_file_add(&w, "", "wv.weight", ST_F32, 1, 1, one);
    layer_file_add(&w, "", "wo.weight", ST_F32, 1, 1, one);
    layer_file_finish(&w);
    clattn_layer_destroy(load(context, &problem, i == 0 ? NULL : "", "no prefix"));
  }
  clattn_context_destroy(context);
}

/* bfloat16 weights in a float32 layer: the plain loops have the same numbers. */
static void converted(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  struct layer_data d, wide;
  struct layer_case c = {.dtype = CLATTN_BF16, .batch = 2, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
  for (int i = 0; i < 2; i++) {
    const struct names *n = &layer_names[i == 0 ? LLAMA : GPT2];
    layer_data_make(&d, &c);
    layer_file_write(n, &d);
    struct layer_case f32 = c;
    f32.dtype = CLATTN_F32;
    layer_data_make(&wide, &f32);
    support_fill(CLATTN_F32, wide.input[0], d.count[D_QUERY], d.plain[D_QUERY]);
    memcpy(wide.want_out, d.want_out, (size_t)(c.batch * c.q_len * c.d_model) * sizeof(double));
    clattn_layer_problem problem = layer_file_bare(&wide);
    problem.dtype = CLATTN_F32;
    clattn_layer *layer = load(context, &problem, PREFIX, "converted");
    same_sizes(layer, &wide);
    layer_data_execute(layer, &wide, "converted");
    clattn_layer_destroy(layer);
    layer_data_free(&d);
    layer_data_free(&wide);
  }
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_naming, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(sizes_from_shapes, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(sizes_given, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(without_prefix, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(converted, layer_file_make, layer_file_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
