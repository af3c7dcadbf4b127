/* A checkpoint's shapes: the sizes of the problem that follow from them, and every tensor held to what it should be. */
#include <stdio.h>

#include "checked.h"
#include "checkpoint.h"
#include "descriptor.h"

static int64_t rows_of(const struct checkpoint *c, int weight) {
  return c->weight[weight]->shape[c->transposed ? 1 : 0];
}

static int64_t columns_of(const struct checkpoint *c, int weight) {
  return c->weight[weight]->shape[c->transposed ? 0 : 1];
}

static void shape_text(const int64_t *shape, int rank, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "[");
  for (int i = 0; i < rank && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%lld", i > 0 ? ", " : "", (long long)shape[i]);
  if (at < size) snprintf(text + at, size - at, "]");
}

clattn_dtype ctn_checkpoint_dtype(const struct st_tensor *tensor) {
  switch (tensor->dtype) {
    case ST_F32:
      return CLATTN_F32;
    case ST_F16:
      return CLATTN_F16;
    case ST_BF16:
      return CLATTN_BF16;
    default:
      return CLATTN_NONE;
  }
}

/* Ranks and types, before anything is read from a shape. */
static clattn_status check_kind(const struct checkpoint *c, const struct st_tensor *tensor, int rank, clattn_error *error) {
  if (tensor == NULL) return CLATTN_OK;
  if (ctn_checkpoint_dtype(tensor) == CLATTN_NONE) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%.300s: tensor '%.300s': dtype %s: F32, F16 or BF16 is accepted", c->path,
                    tensor->name, ctn_st_name(tensor->dtype));
  }
  if (tensor->rank == rank && tensor->count > 0) return CLATTN_OK;
  if (tensor->rank == rank) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%.300s: tensor '%.300s': has no elements", c->path, tensor->name);
  }
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%.300s: tensor '%.300s': %d dimensions, not %d", c->path, tensor->name,
                  tensor->rank, rank);
}

static clattn_status check_shape(const struct checkpoint *c, const struct st_tensor *tensor, const int64_t *wanted, int rank,
                                 const char *made_of, clattn_error *error) {
  bool same = true;
  if (tensor == NULL) return CLATTN_OK;
  for (int i = 0; i < rank; i++)
    same = same && tensor->shape[i] == wanted[i];
  if (same) return CLATTN_OK;
  char is[64], should[64];
  shape_text(tensor->shape, rank, is, sizeof is);
  shape_text(wanted, rank, should, sizeof should);
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%.300s: tensor '%.300s': shape %s, not %s (%s)", c->path, tensor->name, is,
                  should, made_of);
}

static clattn_status fail_sizes(const struct checkpoint *c, const struct st_tensor *tensor, const char *what, int64_t rows,
                                int64_t parts, clattn_error *error) {
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                  "%.300s: tensor '%.300s': %lld does not split into %lld heads, so %s does not follow from it: give it",
                  c->path, tensor->name, (long long)rows, (long long)parts, what);
}

/* *size, where it is 0, <- rows / parts. */
static clattn_status split(const struct checkpoint *c, int weight, const char *what, int64_t rows, int64_t parts, int64_t *size,
                           clattn_error *error) {
  if (*size != 0) return CLATTN_OK;
  if (parts < 1 || rows < parts || rows % parts != 0) return fail_sizes(c, c->weight[weight], what, rows, parts, error);
  *size = rows / parts;
  return CLATTN_OK;
}

static clattn_status measure_separate(const struct checkpoint *c, clattn_layer_problem *p, clattn_error *error) {
  clattn_status status = split(c, W_Q, "head_dim", rows_of(c, W_Q), p->q_heads, &p->head_dim, error);
  if (status == CLATTN_OK) status = split(c, W_K, "kv_heads", rows_of(c, W_K), p->head_dim, &p->kv_heads, error);
  if (status == CLATTN_OK) status = split(c, W_V, "head_dim_v", rows_of(c, W_V), p->kv_heads, &p->head_dim_v, error);
  return status;
}

/* rows = (q_heads + kv_heads) * head_dim + kv_heads * head_dim_v, with head_dim_v from the output weights. */
static clattn_status measure_packed(const struct checkpoint *c, clattn_layer_problem *p, clattn_error *error) {
  const int64_t rows = rows_of(c, W_IN);
  clattn_status status = split(c, W_OUT, "head_dim_v", columns_of(c, W_OUT), p->q_heads, &p->head_dim_v, error);
  if (status != CLATTN_OK) return status;
  if (p->kv_heads != 0) {
    int64_t values = 0;
    if (p->head_dim != 0) return CLATTN_OK;
    if (!ctn_mul(p->kv_heads, p->head_dim_v, &values) || values > rows) values = rows;
    return split(c, W_IN, "head_dim", rows - values, p->q_heads + p->kv_heads, &p->head_dim, error);
  }
  if (p->head_dim == 0) p->head_dim = p->head_dim_v;
  int64_t queries = 0;
  if (!ctn_mul(p->q_heads, p->head_dim, &queries) || queries > rows) queries = rows;
  return split(c, W_IN, "kv_heads", rows - queries, p->head_dim + p->head_dim_v, &p->kv_heads, error);
}

static void default_to(int64_t *size, int64_t value) {
  if (*size == 0) *size = value;
}

static clattn_status measure(const struct checkpoint *c, clattn_layer_problem *p, clattn_error *error) {
  const bool packed = c->weight[W_IN] != NULL;
  default_to(&p->d_model, columns_of(c, packed ? W_IN : W_Q));
  default_to(&p->k_features, packed || p->inputs == CLATTN_LAYER_SELF ? p->d_model : columns_of(c, W_K));
  default_to(&p->v_features, packed || p->inputs != CLATTN_LAYER_SEPARATE ? p->k_features : columns_of(c, W_V));
  default_to(&p->out_features, rows_of(c, W_OUT));
  if (p->dtype == CLATTN_NONE) p->dtype = ctn_checkpoint_dtype(c->weight[packed ? W_IN : W_Q]);
  return packed ? measure_packed(c, p, error) : measure_separate(c, p, error);
}

static clattn_status check_all(const struct checkpoint *c, const clattn_layer_problem *p, clattn_error *error) {
  int64_t q = 0, k = 0, v = 0, kv = 0, all = 0, heads = 0;
  if (!ctn_mul(p->q_heads, p->head_dim, &q) || !ctn_mul(p->kv_heads, p->head_dim, &k) ||
      !ctn_mul(p->kv_heads, p->head_dim_v, &v) || !ctn_add(k, v, &kv) || !ctn_add(q, kv, &all) ||
      !ctn_mul(p->q_heads, p->head_dim_v, &heads)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "heads * head_dim: overflows");
  }
  const struct {
    int64_t rows, columns;
    const char *made_of, *bias_made_of;
  } wanted[W_COUNT] = {
      {q, p->d_model, "q_heads * head_dim, d_model", "q_heads * head_dim"},
      {k, p->k_features, "kv_heads * head_dim, k_features", "kv_heads * head_dim"},
      {v, p->v_features, "kv_heads * head_dim_v, v_features", "kv_heads * head_dim_v"},
      {all, p->d_model, "(q_heads + kv_heads) * head_dim + kv_heads * head_dim_v, d_model",
       "(q_heads + kv_heads) * head_dim + kv_heads * head_dim_v"},
      {p->out_features, heads, "out_features, q_heads * head_dim_v", "out_features"},
  };
  for (int i = 0; i < W_COUNT; i++) {
    const int64_t as_is[2] = {wanted[i].rows, wanted[i].columns}, turned[2] = {wanted[i].columns, wanted[i].rows};
    char made_of[128];
    snprintf(made_of, sizeof made_of, "%s%s", wanted[i].made_of, c->transposed ? ", stored as [in, out]" : "");
    clattn_status status = check_shape(c, c->weight[i], c->transposed ? turned : as_is, 2, made_of, error);
    if (status == CLATTN_OK) status = check_shape(c, c->bias[i], as_is, 1, wanted[i].bias_made_of, error);
    if (status != CLATTN_OK) return status;
  }
  return CLATTN_OK;
}

clattn_status ctn_checkpoint_measure(const struct checkpoint *c, clattn_layer_problem *p, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < W_COUNT && status == CLATTN_OK; i++) {
    status = check_kind(c, c->weight[i], 2, error);
    if (status == CLATTN_OK) status = check_kind(c, c->bias[i], 1, error);
  }
  if (status == CLATTN_OK && p->q_heads == 0) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "q_heads: 0: the number of heads does not follow from a file's shapes");
  }
  if (status == CLATTN_OK) status = ctn_check_size(p->q_heads, "q_heads", error);
  if (status == CLATTN_OK && (p->kv_heads < 0 || p->head_dim < 0 || p->head_dim_v < 0 || p->kv_heads > INT32_MAX ||
                              p->head_dim > INT32_MAX || p->head_dim_v > INT32_MAX)) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "kv_heads, head_dim, head_dim_v: %lld, %lld, %lld: one is out of range",
                      (long long)p->kv_heads, (long long)p->head_dim, (long long)p->head_dim_v);
  }
  if (status == CLATTN_OK) status = measure(c, p, error);
  return status == CLATTN_OK ? check_all(c, p, error) : status;
}
