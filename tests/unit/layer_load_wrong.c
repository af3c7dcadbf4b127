/* Checkpoints that are wrong: what the error says, and that nothing is left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_file.h"

/* One wrong file after another: what the error has to say. */
struct wrong {
  const char *what;
  clattn_status status;
  const char *says[4];
};

static void expect(clattn_context *context, const clattn_layer_problem *problem, const char *prefix,
                   const struct wrong *wrong) {
  clattn_layer *layer = (clattn_layer *)(void *)&layer;
  clattn_error error = CLATTN_ERROR_INIT;
  const clattn_status status = clattn_layer_load(&layer, context, problem, layer_path, prefix, NULL, &error);
  assert_null(layer);
  if (status != wrong->status || error.status != wrong->status) {
    fail_msg("%s: %s (%s)", wrong->what, clattn_status_name(status), error.text);
  }
  for (int i = 0; i < 4 && wrong->says[i] != NULL; i++) {
    if (strstr(error.text, wrong->says[i]) == NULL) {
      fail_msg("%s: '%s' does not say '%s'", wrong->what, error.text, wrong->says[i]);
    }
  }
  assert_null(strchr(error.text, '\n'));
}

/* The Llama tensors of a layer with 3 heads of 4; `leave` is left out, `instead` written as given. */
struct change {
  const char *leave;
  const char *add;
  enum st_dtype dtype;
  int64_t rows, columns;
};

static void write_changed(const struct layer_data *d, const struct change *change) {
  struct writer w = {0};
  struct st_file all;
  layer_file_add_layer(&w, &layer_names[LLAMA], d);
  all = w.file;
  memset(&w.file, 0, sizeof w.file);
  for (size_t i = 0; i < all.count; i++) {
    const struct st_tensor *t = &all.tensors[i];
    if (change->leave != NULL && strcmp(t->name + strlen(PREFIX), change->leave) == 0) continue;
    clattn_error error = CLATTN_ERROR_INIT;
    assert_int_equal(ctn_st_add(&w.file, t->name, t->dtype, t->rank, t->shape, t->data, &error), CLATTN_OK);
  }
  static const double zeros[1024];
  if (change->add != NULL) layer_file_add(&w, PREFIX, change->add, change->dtype, change->rows, change->columns, zeros);
  ctn_st_clear(&all);
  layer_file_finish(&w);
}

static void wrong_tensors(void **state) {
  (void)state;
  static const struct {
    struct change change;
    struct wrong wrong;
  } table[] = {
      {{.leave = "k_proj.weight"},
       {"no k", CLATTN_INVALID_ARGUMENT, {"no tensor '" PREFIX "k_proj.weight'", "q_proj.weight", "/tmp/clattn-layer-"}}},
      {{.leave = "q_proj.weight"},
       {"no q", CLATTN_INVALID_ARGUMENT, {"no tensor '" PREFIX "q_proj.weight'", "'k_proj.weight' is there"}}},
      {{.leave = "o_proj.weight"},
       {"no out",
        CLATTN_INVALID_ARGUMENT,
        {"no output weights", "'o_proj.weight' or 'out_proj.weight' or 'dense.weight'", PREFIX, "/tmp/clattn-layer-"}}},
      {{.add = "in_proj_weight", .dtype = ST_F32, .rows = 36, .columns = 12},
       {"two namings", CLATTN_INVALID_ARGUMENT, {PREFIX "in_proj_weight'", PREFIX "q_proj.weight'", "both"}}},
      {{.add = "out_proj.weight", .dtype = ST_F32, .rows = 12, .columns = 12},
       {"two outs", CLATTN_INVALID_ARGUMENT, {PREFIX "o_proj.weight'", PREFIX "out_proj.weight'", "both"}}},
      {{.leave = "k_proj.weight", .add = "k_proj.weight", .dtype = ST_F32, .rows = 12, .columns = 11},
       {"k too narrow", CLATTN_INVALID_ARGUMENT, {PREFIX "k_proj.weight'", "[12, 11]", "[12, 12]", "k_features"}}},
      {{.leave = "v_proj.weight", .add = "v_proj.weight", .dtype = ST_F32, .rows = 13, .columns = 12},
       {"v does not split", CLATTN_INVALID_ARGUMENT, {PREFIX "v_proj.weight'", "13", "head_dim_v"}}},
      {{.leave = "q_proj.weight", .add = "q_proj.weight", .dtype = ST_F32, .rows = 11, .columns = 12},
       {"q does not split", CLATTN_INVALID_ARGUMENT, {PREFIX "q_proj.weight'", "11", "3 heads", "head_dim"}}},
      {{.leave = "q_proj.weight", .add = "q_proj.weight", .dtype = ST_F32, .rows = 144},
       {"q of one dimension", CLATTN_INVALID_ARGUMENT, {PREFIX "q_proj.weight'", "1 dimensions, not 2"}}},
      {{.leave = "o_proj.weight", .add = "o_proj.weight", .dtype = ST_F32, .rows = 12, .columns = 13},
       {"out too wide", CLATTN_INVALID_ARGUMENT, {PREFIX "o_proj.weight'", "[12, 13]", "q_heads * head_dim_v"}}},
      {{.leave = "v_proj.bias", .add = "v_proj.bias", .dtype = ST_F32, .rows = 11},
       {"short bias", CLATTN_INVALID_ARGUMENT, {PREFIX "v_proj.bias'", "[11]", "[12]"}}},
      {{.leave = "v_proj.weight", .add = "v_proj.weight", .dtype = ST_I32, .rows = 12, .columns = 12},
       {"integers", CLATTN_INVALID_ARGUMENT, {PREFIX "v_proj.weight'", "I32", "F32, F16 or BF16"}}},
      {{.leave = "k_proj.bias", .add = "k_proj.bias", .dtype = ST_F64, .rows = 12},
       {"float64", CLATTN_INVALID_ARGUMENT, {PREFIX "k_proj.bias'", "F64"}}},
      {{.add = "q_norm.weight", .dtype = ST_F32, .rows = 4}, {"normalised", CLATTN_UNSUPPORTED, {PREFIX "q_norm.weight'"}}},
      {{.add = "bias_k", .dtype = ST_F32, .rows = 12}, {"key of its own", CLATTN_UNSUPPORTED, {PREFIX "bias_k'"}}},
  };
  clattn_context *context = layer_file_host();
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
  layer_data_make(&d, &c);
  const clattn_layer_problem problem = layer_file_bare(&d);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    write_changed(&d, &table[i].change);
    expect(context, &problem, PREFIX, &table[i].wrong);
  }
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void wrong_problems(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12};
  layer_data_make(&d, &c);
  layer_file_write(&layer_names[LLAMA], &d);
  clattn_layer_problem p = layer_file_bare(&d);
  expect(
      context, &p, "model.layers.4.attn.",
      &(struct wrong){"prefix", CLATTN_INVALID_ARGUMENT, {"'model.layers.4.attn.'", "under 'model.layers.", "in_proj_weight"}});
  expect(context, &p, "model.layers.3",
         &(struct wrong){"short prefix", CLATTN_INVALID_ARGUMENT, {"no query weights", "c_attn.weight"}});
  expect(context, &p, "model.layers.3.att", &(struct wrong){"cut prefix", CLATTN_INVALID_ARGUMENT, {"no query weights"}});
  p.q_heads = 0;
  expect(context, &p, PREFIX, &(struct wrong){"no heads", CLATTN_INVALID_ARGUMENT, {"q_heads"}});
  p.q_heads = -3;
  expect(context, &p, PREFIX, &(struct wrong){"negative heads", CLATTN_INVALID_ARGUMENT, {"q_heads"}});
  p.q_heads = 5;
  expect(context, &p, PREFIX, &(struct wrong){"5 heads", CLATTN_INVALID_ARGUMENT, {"q_proj.weight", "5 heads"}});
  p.q_heads = 3, p.head_dim = 5;
  expect(context, &p, PREFIX, &(struct wrong){"head_dim 5", CLATTN_INVALID_ARGUMENT, {"k_proj.weight", "kv_heads"}});
  p.head_dim = 0, p.d_model = 13;
  expect(context, &p, PREFIX, &(struct wrong){"d_model", CLATTN_INVALID_ARGUMENT, {"q_proj.weight", "[12, 12]", "[12, 13]"}});
  p.d_model = 0, p.dtype = CLATTN_I32;
  expect(context, &p, PREFIX, &(struct wrong){"dtype", CLATTN_INVALID_ARGUMENT, {"dtype"}});
  p.dtype = CLATTN_NONE, p.struct_size = 3;
  expect(context, &p, PREFIX, &(struct wrong){"struct_size", CLATTN_INVALID_ARGUMENT, {"struct_size"}});
  layer_file_write(&layer_names[GPT2], &d); /* stored as [in, out]: the other way round is another shape */
  p = layer_file_bare(&d);
  p.d_model = 36;
  expect(context, &p, PREFIX, &(struct wrong){"turned", CLATTN_INVALID_ARGUMENT, {"c_attn.weight", "stored as [in, out]"}});
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void write_bytes(const void *bytes, size_t count) {
  FILE *file = fopen(layer_path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

static void wrong_files(void **state) {
  (void)state;
  clattn_context *context = layer_file_host();
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12};
  layer_data_make(&d, &c);
  const clattn_layer_problem p = layer_file_bare(&d);
  assert_int_equal(clattn_layer_load(&layer, context, &p, "/nonexistent/a.safetensors", NULL, NULL, &error), CLATTN_IO_FAILED);
  assert_non_null(strstr(error.text, "/nonexistent/a.safetensors"));
  assert_int_equal(clattn_layer_load(&layer, context, &p, NULL, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(&layer, NULL, &p, layer_path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(&layer, context, NULL, layer_path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(NULL, context, &p, layer_path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_null(layer);

  write_bytes("hello", 5);
  expect(context, &p, PREFIX, &(struct wrong){"no safetensors", CLATTN_INVALID_ARGUMENT, {"/tmp/clattn-layer-"}});
  /* Cut at every length: never a crash, always an error. */
  layer_file_write(&layer_names[LLAMA], &d);
  static char bytes[16384];
  FILE *file = fopen(layer_path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size > 2000 && size < sizeof bytes);
  for (size_t cut = 0; cut < size; cut += 37) {
    write_bytes(bytes, cut);
    if (clattn_layer_load(&layer, context, &p, layer_path, PREFIX, NULL, NULL) == CLATTN_OK)
      fail_msg("cut at %zu is taken", cut);
    assert_null(layer);
  }
  layer_data_free(&d);
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(wrong_tensors, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(wrong_problems, layer_file_make, layer_file_remove),
      cmocka_unit_test_setup_teardown(wrong_files, layer_file_make, layer_file_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
