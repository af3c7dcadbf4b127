/* A layer's weights: what the caller may give, and their copy where the plans run, rows with one input in one matrix. */
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "layer.h"

static clattn_status both(const char *packed, const char *separate, clattn_error *error) {
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: given together with %s, which says the same: give one form", packed,
                  separate);
}

clattn_status ctn_layer_read_weights(const clattn_layer *layer, clattn_layer_weights *w, const clattn_layer_weights *in,
                                     bool has_bias[PART_COUNT], clattn_error *error) {
  const clattn_layer_problem *p = &layer->problem;
  *w = (clattn_layer_weights)CLATTN_LAYER_WEIGHTS_INIT;
  const clattn_status status = ctn_descriptor_read(w, sizeof *w, in, "weights", error);
  if (status != CLATTN_OK) return status;
  const void *const weights[PART_COUNT] = {w->q_weight, w->k_weight, w->v_weight};
  const void *const biases[PART_COUNT] = {w->q_bias, w->k_bias, w->v_bias};
  static const char *const names[PART_COUNT] = {"q_weight", "k_weight", "v_weight"};
  static const char *const bias_names[PART_COUNT] = {"q_bias", "k_bias", "v_bias"};
  for (int part = 0; part < PART_COUNT; part++) {
    if (w->in_weight != NULL && weights[part] != NULL) return both("in_weight", names[part], error);
    if (w->in_bias != NULL && biases[part] != NULL) return both("in_bias", bias_names[part], error);
    if (w->in_weight == NULL && weights[part] == NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: NULL, and so is in_weight: give one of them", names[part]);
    }
    has_bias[part] = w->in_bias != NULL || biases[part] != NULL;
  }
  if (w->in_weight != NULL && (p->k_features != p->d_model || p->v_features != p->d_model)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "in_weight: one matrix for inputs of %lld, %lld and %lld features: give q_weight, k_weight and v_weight",
                    (long long)p->d_model, (long long)p->k_features, (long long)p->v_features);
  }
  if (w->out_weight == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "out_weight: NULL");
  return CLATTN_OK;
}

static clattn_status make_store(clattn_layer *layer, struct store *store, size_t bytes, const char *name, clattn_error *error) {
  if (layer->on_host) {
    store->host = malloc(bytes);
    return store->host != NULL ? CLATTN_OK
                               : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes of weights", name, bytes);
  }
  cl_int code = CL_SUCCESS;
  store->memory = clCreateBuffer(layer->context->runtime->context, CL_MEM_READ_ONLY, bytes, NULL, &code);
  if (code == CL_SUCCESS) return CLATTN_OK;
  store->memory = NULL;
  return ctn_fail_cl(error, code, "clCreateBuffer", "weights of the %s, %zu bytes", name, bytes);
}

/* data NULL stores zeros: the bias of a part that has none, beside parts that do. */
static clattn_status put(clattn_layer *layer, struct store *store, size_t offset, size_t bytes, const void *data,
                         const char *name, clattn_error *error) {
  if (layer->on_host) {
    if (data != NULL) {
      memcpy((char *)store->host + offset, data, bytes);
    } else {
      memset((char *)store->host + offset, 0, bytes);
    }
    return CLATTN_OK;
  }
  void *zeros = data == NULL ? calloc(1, bytes) : NULL;
  if (data == NULL && zeros == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", name, bytes);
  const cl_int code = clEnqueueWriteBuffer(layer->context->runtime->queue, store->memory, CL_TRUE, offset, bytes,
                                           data != NULL ? data : zeros, 0, NULL, NULL);
  free(zeros);
  return code == CL_SUCCESS ? CLATTN_OK
                            : ctn_fail_cl(error, code, "clEnqueueWriteBuffer", "weights of the %s, %zu bytes", name, bytes);
}

static clattn_status make_stores(clattn_layer *layer, struct linear *linear, clattn_error *error) {
  const clattn_plan *plan = linear->plan;
  const size_t weight = (size_t)plan->problem.tensor[T_WEIGHT].extent * layer->element;
  const size_t bias = (size_t)linear->features * layer->element;
  clattn_status status = make_store(layer, &linear->weight, weight, linear->name, error);
  if (status == CLATTN_OK && linear->has_bias) status = make_store(layer, &linear->bias, bias, linear->name, error);
  return status;
}

static const void *at(const void *base, size_t offset) {
  return base != NULL ? (const char *)base + offset : NULL;
}

static clattn_status put_part(clattn_layer *layer, const clattn_layer_weights *w, int part, size_t first_row,
                              clattn_error *error) {
  const void *const weights[PART_COUNT] = {w->q_weight, w->k_weight, w->v_weight};
  const void *const biases[PART_COUNT] = {w->q_bias, w->k_bias, w->v_bias};
  const struct place *place = &layer->part[part];
  struct linear *linear = &layer->input[place->linear];
  const size_t row = (size_t)linear->in_features * layer->element;
  const size_t rows = (size_t)place->rows, column = (size_t)place->column;
  const void *weight = weights[part] != NULL ? weights[part] : at(w->in_weight, first_row * row);
  const void *bias = biases[part] != NULL ? biases[part] : at(w->in_bias, first_row * layer->element);
  clattn_status status = put(layer, &linear->weight, column * row, rows * row, weight, linear->name, error);
  if (status == CLATTN_OK && linear->has_bias) {
    status = put(layer, &linear->bias, column * layer->element, rows * layer->element, bias, linear->name, error);
  }
  return status;
}

clattn_status ctn_layer_store_weights(clattn_layer *layer, const clattn_layer_weights *weights, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < layer->inputs && status == CLATTN_OK; i++)
    status = make_stores(layer, &layer->input[i], error);
  size_t row = 0;
  for (int part = 0; part < PART_COUNT && status == CLATTN_OK; part++) {
    status = put_part(layer, weights, part, row, error);
    row += (size_t)layer->part[part].rows;
  }
  struct linear *out = &layer->output;
  if (status == CLATTN_OK) status = make_stores(layer, out, error);
  if (status != CLATTN_OK) return status;
  const size_t bytes = (size_t)out->features * layer->element;
  status = put(layer, &out->weight, 0, bytes * (size_t)out->in_features, weights->out_weight, out->name, error);
  if (status == CLATTN_OK && out->has_bias) status = put(layer, &out->bias, 0, bytes, weights->out_bias, out->name, error);
  return status;
}
