/* Validates a clattn_layer_problem and fills in its defaults. */
#include "checked.h"
#include "descriptor.h"
#include "half.h"
#include "layer.h"

static void default_to(int64_t *size, int64_t value) {
  if (*size == 0) *size = value;
}

static clattn_status fill_in(clattn_layer_problem *p, clattn_error *error) {
  if (p->dtype == CLATTN_NONE) p->dtype = CLATTN_F32;
  if (p->q_heads == 0) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "q_heads: 0: the number of heads has no default");
  if (p->d_model == 0) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "d_model: 0: the features of query have no default");
  if (p->head_dim == 0 && p->q_heads > 0) {
    if (p->d_model % p->q_heads != 0) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "head_dim: not given, and %lld heads do not divide d_model %lld",
                      (long long)p->q_heads, (long long)p->d_model);
    }
    p->head_dim = p->d_model / p->q_heads;
  }
  default_to(&p->kv_len, p->q_len);
  default_to(&p->kv_heads, p->q_heads);
  default_to(&p->head_dim_v, p->head_dim);
  default_to(&p->k_features, p->d_model);
  default_to(&p->v_features, p->k_features);
  default_to(&p->out_features, p->d_model);
  return CLATTN_OK;
}

static clattn_status check_sizes(const clattn_layer_problem *p, clattn_error *error) {
  const struct {
    int64_t value;
    const char *name;
  } sizes[] = {
      {p->batch, "batch"},
      {p->q_len, "q_len"},
      {p->kv_len, "kv_len"},
      {p->q_heads, "q_heads"},
      {p->kv_heads, "kv_heads"},
      {p->head_dim, "head_dim"},
      {p->head_dim_v, "head_dim_v"},
      {p->d_model, "d_model"},
      {p->k_features, "k_features"},
      {p->v_features, "v_features"},
      {p->out_features, "out_features"},
  };
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const clattn_status status = ctn_check_size(sizes[i].value, sizes[i].name, error);
    if (status != CLATTN_OK) return status;
  }
  if (p->q_heads % p->kv_heads != 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "kv_heads: %lld does not divide q_heads %lld", (long long)p->kv_heads,
                    (long long)p->q_heads);
  }
  return CLATTN_OK;
}

static clattn_status check_inputs(const clattn_layer_problem *p, clattn_error *error) {
  if (p->inputs > CLATTN_LAYER_SEPARATE) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "inputs: %d is no clattn_layer_inputs", (int)p->inputs);
  }
  if (p->inputs == CLATTN_LAYER_SELF && (p->kv_len != p->q_len || p->k_features != p->d_model)) {
    return ctn_fail(
        error, CLATTN_INVALID_ARGUMENT,
        "inputs: self attention has one sequence, but kv_len is %lld and q_len %lld, k_features %lld and d_model %lld",
        (long long)p->kv_len, (long long)p->q_len, (long long)p->k_features, (long long)p->d_model);
  }
  if (p->inputs != CLATTN_LAYER_SEPARATE && p->v_features != p->k_features) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "inputs: keys and values come from one sequence, but k_features is %lld and v_features %lld",
                    (long long)p->k_features, (long long)p->v_features);
  }
  if (!(p->outputs & CLATTN_OUTPUT_OUT)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "outputs: 0x%x lacks CLATTN_OUTPUT_OUT, which a layer always computes",
                    (unsigned)p->outputs);
  }
  return CLATTN_OK;
}

/* Rows and columns of each part, those with one input beside each other. */
static clattn_status place_parts(clattn_layer *layer, clattn_error *error) {
  const clattn_layer_problem *p = &layer->problem;
  static const int linear_of[3][PART_COUNT] = {{0, 0, 0}, {0, 1, 1}, {0, 1, 2}};
  static const char *const names[3][MOST_INPUTS] = {
      {"projection of query, key and value"},
      {"projection of query", "projection of key and value"},
      {"projection of query", "projection of key", "projection of value"},
  };
  const int64_t heads[PART_COUNT] = {p->q_heads, p->kv_heads, p->kv_heads};
  const int64_t dims[PART_COUNT] = {p->head_dim, p->head_dim, p->head_dim_v};
  const int64_t features[PART_COUNT] = {p->d_model, p->k_features, p->v_features};
  for (int part = 0; part < PART_COUNT; part++) {
    const int index = linear_of[p->inputs][part];
    struct linear *linear = &layer->input[index];
    struct place *place = &layer->part[part];
    *place = (struct place){index, 0, linear->features};
    if (!ctn_mul(heads[part], dims[part], &place->rows) || !ctn_add(linear->features, place->rows, &linear->features)) {
      return ctn_fail(error, CLATTN_TOO_LARGE, "heads * head_dim: overflows");
    }
    if (linear->name != NULL) continue;
    linear->name = names[p->inputs][index];
    linear->input = (enum layer_tensor)(L_QUERY + part);
    linear->length = part == PART_Q ? p->q_len : p->kv_len;
    linear->in_features = features[part];
    layer->inputs = index + 1;
  }
  layer->output = (struct linear){.name = "projection of the heads", .length = p->q_len, .features = p->out_features};
  if (!ctn_mul(p->q_heads, p->head_dim_v, &layer->output.in_features)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "q_heads * head_dim_v: overflows");
  }
  return CLATTN_OK;
}

clattn_status ctn_layer_resolve(clattn_layer *layer, const clattn_layer_problem *in, clattn_error *error) {
  clattn_layer_problem *p = &layer->problem;
  *p = (clattn_layer_problem)CLATTN_LAYER_PROBLEM_INIT;
  clattn_status status = ctn_descriptor_read(p, sizeof *p, in, "layer problem", error);
  if (status == CLATTN_OK) status = fill_in(p, error);
  if (status == CLATTN_OK) status = ctn_check_storage(p->dtype, error);
  if (status == CLATTN_OK) status = check_sizes(p, error);
  if (status == CLATTN_OK) status = check_inputs(p, error);
  if (status == CLATTN_OK) status = place_parts(layer, error);
  layer->element = ctn_dtype_size(p->dtype);
  return status;
}
