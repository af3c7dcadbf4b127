/* Layers from checkpoints: every framework's names, sizes that follow from shapes, types, and files that are wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer_support.h"
#include "safetensors.h"

#define PREFIX "model.layers.3.attn."

/* The names as the frameworks write them, not as the library's table does. */
struct names {
  const char *q, *k, *v, *out;
  const char *q_bias, *k_bias, *v_bias, *out_bias; /* q alone: packed */
  bool packed, packed_bias, transposed;
};

static const struct names names[] = {
    {"in_proj_weight", NULL, NULL, "out_proj.weight", "in_proj_bias", NULL, NULL, "out_proj.bias", true, true, false},
    {"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight", "in_proj_bias", NULL, NULL, "out_proj.bias", false,
     true, false},
    {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", "q_proj.bias", "k_proj.bias", "v_proj.bias",
     "o_proj.bias", false, false, false},
    {"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight", "q_proj.bias", "k_proj.bias", "v_proj.bias",
     "out_proj.bias", false, false, false},
    {"q_proj.weight", "k_proj.weight", "v_proj.weight", "dense.weight", "q_proj.bias", "k_proj.bias", "v_proj.bias",
     "dense.bias", false, false, false},
    {"attention.self.query.weight", "attention.self.key.weight", "attention.self.value.weight", "attention.output.dense.weight",
     "attention.self.query.bias", "attention.self.key.bias", "attention.self.value.bias", "attention.output.dense.bias", false,
     false, false},
    {"self.query.weight", "self.key.weight", "self.value.weight", "output.dense.weight", "self.query.bias", "self.key.bias",
     "self.value.bias", "output.dense.bias", false, false, false},
    {"attention.query.weight", "attention.key.weight", "attention.value.weight", "output.dense.weight", "attention.query.bias",
     "attention.key.bias", "attention.value.bias", "output.dense.bias", false, false, false},
    {"query.weight", "key.weight", "value.weight", "output.dense.weight", "query.bias", "key.bias", "value.bias",
     "output.dense.bias", false, false, false},
    {"q_lin.weight", "k_lin.weight", "v_lin.weight", "out_lin.weight", "q_lin.bias", "k_lin.bias", "v_lin.bias", "out_lin.bias",
     false, false, false},
    {"to_q.weight", "to_k.weight", "to_v.weight", "to_out.0.weight", "to_q.bias", "to_k.bias", "to_v.bias", "to_out.0.bias",
     false, false, false},
    {"to_qkv.weight", NULL, NULL, "to_out.weight", "to_qkv.bias", NULL, NULL, "to_out.bias", true, true, false},
    {"wq.weight", "wk.weight", "wv.weight", "wo.weight", "wq.bias", "wk.bias", "wv.bias", "wo.bias", false, false, false},
    {"q.weight", "k.weight", "v.weight", "o.weight", "q.bias", "k.bias", "v.bias", "o.bias", false, false, false},
    {"qkv_proj.weight", NULL, NULL, "o_proj.weight", "qkv_proj.bias", NULL, NULL, "o_proj.bias", true, true, false},
    {"qkv.weight", NULL, NULL, "proj.weight", "qkv.bias", NULL, NULL, "proj.bias", true, true, false},
    {"Wqkv.weight", NULL, NULL, "out_proj.weight", "Wqkv.bias", NULL, NULL, "out_proj.bias", true, true, false},
    {"Wqkv.weight", NULL, NULL, "Wo.weight", "Wqkv.bias", NULL, NULL, "Wo.bias", true, true, false},
    {"c_attn.weight", NULL, NULL, "c_proj.weight", "c_attn.bias", NULL, NULL, "c_proj.bias", true, true, true},
};

enum { NAMINGS = sizeof names / sizeof names[0], TORCH = 0, TORCH_SEPARATE = 1, LLAMA = 2, GPT2 = NAMINGS - 1 };

static char path[64];

static int make_path(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/clattn-layer-XXXXXX");
  const int descriptor = mkstemp(path);
  if (descriptor < 0) return -1;
  return close(descriptor);
}

static int remove_path(void **state) {
  (void)state;
  return remove(path);
}

static clattn_context *host(void) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

/* A file in the making, and the copies that its tensors need. */
struct writer {
  struct st_file file;
  void *copies[8];
  int count;
};

static enum st_dtype stored(clattn_dtype dtype) {
  return dtype == CLATTN_F32 ? ST_F32 : dtype == CLATTN_F16 ? ST_F16 : ST_BF16;
}

static void add(struct writer *w, const char *prefix, const char *name, enum st_dtype dtype, int64_t rows, int64_t columns,
                const void *data) {
  char full[256];
  const int64_t shape[2] = {rows, columns};
  clattn_error error = CLATTN_ERROR_INIT;
  snprintf(full, sizeof full, "%s%s", prefix, name);
  assert_int_equal(ctn_st_add(&w->file, full, dtype, columns > 0 ? 2 : 1, shape, data, &error), CLATTN_OK);
}

static void add_weight(struct writer *w, const struct names *n, const char *name, const struct layer_data *d, int64_t rows,
                       int64_t columns, const void *data) {
  if (!n->transposed) {
    add(w, PREFIX, name, stored(d->c.dtype), rows, columns, data);
    return;
  }
  const size_t element = ctn_dtype_size(d->c.dtype);
  char *turned = malloc((size_t)(rows * columns) * element);
  assert_non_null(turned);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++) {
      memcpy(turned + (size_t)(c * rows + r) * element, (const char *)data + (size_t)(r * columns + c) * element, element);
    }
  }
  w->copies[w->count++] = turned;
  add(w, PREFIX, name, stored(d->c.dtype), columns, rows, turned);
}

/* All of a layer's tensors; biases as the case has them. */
static void add_layer(struct writer *w, const struct names *n, const struct layer_data *d) {
  const struct layer_case *c = &d->c;
  const int64_t q = c->q_heads * c->head_dim, k = c->kv_heads * c->head_dim, v = c->kv_heads * c->head_dim_v;
  const enum st_dtype dtype = stored(c->dtype);
  if (n->packed) {
    add_weight(w, n, n->q, d, q + k + v, c->d_model, d->packed_weight);
  } else {
    add_weight(w, n, n->q, d, q, c->d_model, d->typed[D_WQ]);
    add_weight(w, n, n->k, d, k, c->k_features, d->typed[D_WK]);
    add_weight(w, n, n->v, d, v, c->v_features, d->typed[D_WV]);
  }
  add_weight(w, n, n->out, d, c->out_features, c->q_heads * c->head_dim_v, d->typed[D_WO]);
  if (n->packed_bias && c->biases & BIAS_Q) add(w, PREFIX, n->q_bias, dtype, q + k + v, 0, d->packed_bias);
  if (!n->packed_bias && c->biases & BIAS_Q) add(w, PREFIX, n->q_bias, dtype, q, 0, d->typed[D_BQ]);
  if (!n->packed_bias && c->biases & BIAS_K) add(w, PREFIX, n->k_bias, dtype, k, 0, d->typed[D_BK]);
  if (!n->packed_bias && c->biases & BIAS_V) add(w, PREFIX, n->v_bias, dtype, v, 0, d->typed[D_BV]);
  if (c->biases & BIAS_OUT) add(w, PREFIX, n->out_bias, dtype, c->out_features, 0, d->typed[D_BO]);
}

static const float unrelated[6] = {1, 2, 3, 4, 5, 6};

/* What other layers and parts of a model would be. */
static void add_others(struct writer *w) {
  add(w, "model.layers.30.attn.", "q_proj.weight", ST_F32, 2, 3, unrelated);
  add(w, "model.layers.3.", "output.dense.weight", ST_F32, 3, 2, unrelated);
  add(w, PREFIX, "deeper.q_proj.weight", ST_F32, 3, 2, unrelated);
  add(w, "", "embed.weight", ST_F32, 6, 0, unrelated);
  add(w, "", "in_proj_weight", ST_F32, 3, 2, unrelated);
}

static void finish(struct writer *w) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_write(&w->file, path, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_st_clear(&w->file);
  for (int i = 0; i < w->count; i++)
    free(w->copies[i]);
  memset(w, 0, sizeof *w);
}

static void write_layer(const struct names *n, const struct layer_data *d) {
  struct writer w = {0};
  add_others(&w);
  add_layer(&w, n, d);
  finish(&w);
}

static clattn_layer *load(clattn_context *context, const clattn_layer_problem *problem, const char *prefix, const char *what) {
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  const clattn_plan_options options = {.struct_size = sizeof options, .path = CLATTN_PATH_REFERENCE};
  if (clattn_layer_load(&layer, context, problem, path, prefix, &options, &error) != CLATTN_OK) {
    fail_msg("%s: %s", what, error.text);
  }
  return layer;
}

/* Nothing but what the file cannot say. */
static clattn_layer_problem bare(const struct layer_data *d) {
  clattn_layer_problem p = d->problem;
  p.dtype = CLATTN_NONE;
  p.kv_heads = p.head_dim = p.head_dim_v = p.d_model = p.k_features = p.v_features = p.out_features = 0;
  return p;
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
  write_layer(n, &d);
  const clattn_layer_problem problem = bare(&d);
  clattn_layer *layer = load(context, &problem, prefix, what);
  same_sizes(layer, &d);
  layer_data_execute(layer, &d, what);
  clattn_layer_destroy(layer);
  layer_data_free(&d);
}

static void every_naming(void **state) {
  (void)state;
  static const clattn_dtype dtypes[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  clattn_context *context = host();
  for (int i = 0; i < NAMINGS; i++) {
    for (int dtype = 0; dtype < 3; dtype++) {
      struct layer_case c = {.dtype = dtypes[dtype], .batch = 2, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
      round_trip(context, &names[i], &c, PREFIX);
      c.biases = 0;
      c.causal = true;
      round_trip(context, &names[i], &c, "model.layers.3.attn"); /* the dot is optional */
    }
  }
  clattn_context_destroy(context);
}

static void sizes_from_shapes(void **state) {
  (void)state;
  clattn_context *context = host();
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
  round_trip(context, &names[LLAMA], &grouped, PREFIX);
  struct layer_case packed = grouped; /* the default: head_dim = head_dim_v */
  packed.head_dim_v = 3;
  packed.biases = BIAS_ALL;
  round_trip(context, &names[TORCH], &packed, PREFIX);
  round_trip(context, &names[GPT2], &packed, PREFIX);
  struct layer_case cross = grouped;
  cross.inputs = CLATTN_LAYER_CROSS, cross.kv_len = 9, cross.k_features = 8;
  round_trip(context, &names[LLAMA], &cross, PREFIX);
  cross.inputs = CLATTN_LAYER_SEPARATE, cross.v_features = 11, cross.biases = BIAS_ALL;
  round_trip(context, &names[TORCH_SEPARATE], &cross, PREFIX);
  clattn_context_destroy(context);
}

/* Packed rows that only a given kv_heads or head_dim can part. */
static void sizes_given(void **state) {
  (void)state;
  clattn_context *context = host();
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
  write_layer(&names[TORCH], &d);
  clattn_layer_problem problem = bare(&d);
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
  clattn_context *context = host();
  const float one[1] = {1};
  clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
  problem.q_heads = 1;
  for (int i = 0; i < 2; i++) {
    struct writer w = {0};
    add(&w, "", "wq.weight", ST_F32, 1, 1, one);
    add(&w, "", "wk.weight", ST_F32, 1, 1, one);
    add(&w, "", "wv.weight", ST_F32, 1, 1, one);
    add(&w, "", "wo.weight", ST_F32, 1, 1, one);
    finish(&w);
    clattn_layer_destroy(load(context, &problem, i == 0 ? NULL : "", "no prefix"));
  }
  clattn_context_destroy(context);
}

/* bfloat16 weights in a float32 layer: the plain loops have the same numbers. */
static void converted(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d, wide;
  struct layer_case c = {.dtype = CLATTN_BF16, .batch = 2, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
  for (int i = 0; i < 2; i++) {
    const struct names *n = &names[i == 0 ? LLAMA : GPT2];
    layer_data_make(&d, &c);
    write_layer(n, &d);
    struct layer_case f32 = c;
    f32.dtype = CLATTN_F32;
    layer_data_make(&wide, &f32);
    support_fill(CLATTN_F32, wide.input[0], d.count[D_QUERY], d.plain[D_QUERY]);
    memcpy(wide.want_out, d.want_out, (size_t)(c.batch * c.q_len * c.d_model) * sizeof(double));
    clattn_layer_problem problem = bare(&wide);
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
  const clattn_status status = clattn_layer_load(&layer, context, problem, path, prefix, NULL, &error);
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
  add_layer(&w, &names[LLAMA], d);
  all = w.file;
  memset(&w.file, 0, sizeof w.file);
  for (size_t i = 0; i < all.count; i++) {
    const struct st_tensor *t = &all.tensors[i];
    if (change->leave != NULL && strcmp(t->name + strlen(PREFIX), change->leave) == 0) continue;
    clattn_error error = CLATTN_ERROR_INIT;
    assert_int_equal(ctn_st_add(&w.file, t->name, t->dtype, t->rank, t->shape, t->data, &error), CLATTN_OK);
  }
  static const double zeros[1024];
  if (change->add != NULL) add(&w, PREFIX, change->add, change->dtype, change->rows, change->columns, zeros);
  ctn_st_clear(&all);
  finish(&w);
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
  clattn_context *context = host();
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12, .biases = BIAS_ALL};
  layer_data_make(&d, &c);
  const clattn_layer_problem problem = bare(&d);
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    write_changed(&d, &table[i].change);
    expect(context, &problem, PREFIX, &table[i].wrong);
  }
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void wrong_problems(void **state) {
  (void)state;
  clattn_context *context = host();
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12};
  layer_data_make(&d, &c);
  write_layer(&names[LLAMA], &d);
  clattn_layer_problem p = bare(&d);
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
  write_layer(&names[GPT2], &d); /* stored as [in, out]: the other way round is another shape */
  p = bare(&d);
  p.d_model = 36;
  expect(context, &p, PREFIX, &(struct wrong){"turned", CLATTN_INVALID_ARGUMENT, {"c_attn.weight", "stored as [in, out]"}});
  layer_data_free(&d);
  clattn_context_destroy(context);
}

static void write_bytes(const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

static void wrong_files(void **state) {
  (void)state;
  clattn_context *context = host();
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  struct layer_data d;
  const struct layer_case c = {.dtype = CLATTN_F32, .batch = 1, .q_len = 5, .q_heads = 3, .d_model = 12};
  layer_data_make(&d, &c);
  const clattn_layer_problem p = bare(&d);
  assert_int_equal(clattn_layer_load(&layer, context, &p, "/nonexistent/a.safetensors", NULL, NULL, &error), CLATTN_IO_FAILED);
  assert_non_null(strstr(error.text, "/nonexistent/a.safetensors"));
  assert_int_equal(clattn_layer_load(&layer, context, &p, NULL, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(&layer, NULL, &p, path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(&layer, context, NULL, path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_layer_load(NULL, context, &p, path, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_null(layer);

  write_bytes("hello", 5);
  expect(context, &p, PREFIX, &(struct wrong){"no safetensors", CLATTN_INVALID_ARGUMENT, {"/tmp/clattn-layer-"}});
  /* Cut at every length: never a crash, always an error. */
  write_layer(&names[LLAMA], &d);
  static char bytes[16384];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size > 2000 && size < sizeof bytes);
  for (size_t cut = 0; cut < size; cut += 37) {
    write_bytes(bytes, cut);
    if (clattn_layer_load(&layer, context, &p, path, PREFIX, NULL, NULL) == CLATTN_OK) fail_msg("cut at %zu is taken", cut);
    assert_null(layer);
  }
  layer_data_free(&d);
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_naming, make_path, remove_path),
      cmocka_unit_test_setup_teardown(sizes_from_shapes, make_path, remove_path),
      cmocka_unit_test_setup_teardown(sizes_given, make_path, remove_path),
      cmocka_unit_test_setup_teardown(without_prefix, make_path, remove_path),
      cmocka_unit_test_setup_teardown(converted, make_path, remove_path),
      cmocka_unit_test_setup_teardown(wrong_tensors, make_path, remove_path),
      cmocka_unit_test_setup_teardown(wrong_problems, make_path, remove_path),
      cmocka_unit_test_setup_teardown(wrong_files, make_path, remove_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
