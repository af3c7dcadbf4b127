/* Checkpoints for tests of layers. */
#include "layer_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As the frameworks write them, not as the library's table does. */
const struct names layer_names[NAMINGS] = {
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

char layer_path[64];

int layer_file_make(void **state) {
  (void)state;
  snprintf(layer_path, sizeof layer_path, "/tmp/clattn-layer-XXXXXX");
  const int descriptor = mkstemp(layer_path);
  if (descriptor < 0) return -1;
  return close(descriptor);
}

int layer_file_remove(void **state) {
  (void)state;
  return remove(layer_path);
}

clattn_context *layer_file_host(void) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

static enum st_dtype stored(clattn_dtype dtype) {
  return dtype == CLATTN_F32 ? ST_F32 : dtype == CLATTN_F16 ? ST_F16 : ST_BF16;
}

void layer_file_add(struct writer *w, const char *prefix, const char *name, enum st_dtype dtype, int64_t rows, int64_t columns,
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
    layer_file_add(w, PREFIX, name, stored(d->c.dtype), rows, columns, data);
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
  layer_file_add(w, PREFIX, name, stored(d->c.dtype), columns, rows, turned);
}

/* All of a layer's tensors; biases as the case has them. */
void layer_file_add_layer(struct writer *w, const struct names *n, const struct layer_data *d) {
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
  if (n->packed_bias && c->biases & BIAS_Q) layer_file_add(w, PREFIX, n->q_bias, dtype, q + k + v, 0, d->packed_bias);
  if (!n->packed_bias && c->biases & BIAS_Q) layer_file_add(w, PREFIX, n->q_bias, dtype, q, 0, d->typed[D_BQ]);
  if (!n->packed_bias && c->biases & BIAS_K) layer_file_add(w, PREFIX, n->k_bias, dtype, k, 0, d->typed[D_BK]);
  if (!n->packed_bias && c->biases & BIAS_V) layer_file_add(w, PREFIX, n->v_bias, dtype, v, 0, d->typed[D_BV]);
  if (c->biases & BIAS_OUT) layer_file_add(w, PREFIX, n->out_bias, dtype, c->out_features, 0, d->typed[D_BO]);
}

static const float unrelated[6] = {1, 2, 3, 4, 5, 6};

/* What other layers and parts of a model would be. */
static void layer_file_add_others(struct writer *w) {
  layer_file_add(w, "model.layers.30.attn.", "q_proj.weight", ST_F32, 2, 3, unrelated);
  layer_file_add(w, "model.layers.3.", "output.dense.weight", ST_F32, 3, 2, unrelated);
  layer_file_add(w, PREFIX, "deeper.q_proj.weight", ST_F32, 3, 2, unrelated);
  layer_file_add(w, "model.layers.3.attn_", "wq.weight", ST_F32, 3, 2, unrelated);
  layer_file_add(w, "", "embed.weight", ST_F32, 6, 0, unrelated);
  layer_file_add(w, "", "in_proj_weight", ST_F32, 3, 2, unrelated);
}

void layer_file_finish(struct writer *w) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_write(&w->file, layer_path, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_st_clear(&w->file);
  for (int i = 0; i < w->count; i++)
    free(w->copies[i]);
  memset(w, 0, sizeof *w);
}

void layer_file_write(const struct names *n, const struct layer_data *d) {
  struct writer w = {0};
  layer_file_add_others(&w);
  layer_file_add_layer(&w, n, d);
  layer_file_finish(&w);
}

clattn_layer_problem layer_file_bare(const struct layer_data *d) {
  clattn_layer_problem p = d->problem;
  p.dtype = CLATTN_NONE;
  p.kv_heads = p.head_dim = p.head_dim_v = p.d_model = p.k_features = p.v_features = p.out_features = 0;
  return p;
}
