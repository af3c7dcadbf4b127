/* clattn_layer_load: a layer with the weights of a .safetensors file. */
#include <stdlib.h>

#include "checkpoint.h"
#include "descriptor.h"
#include "half.h"

/* tensor as the layer wants it: [out, in] in its dtype. The file's own data where it is that already, else *owned. */
static clattn_status convert(const struct checkpoint *c, const struct st_tensor *tensor, clattn_dtype dtype, const void **data,
                             void **owned, clattn_error *error) {
  const bool turn = c->transposed && tensor->rank == 2;
  const clattn_dtype stored = ctn_checkpoint_dtype(tensor);
  *data = tensor->data;
  if (stored == dtype && !turn) return CLATTN_OK;
  const int64_t rows = turn ? tensor->shape[1] : tensor->count, columns = turn ? tensor->shape[0] : 1;
  const size_t bytes = (size_t)tensor->count * ctn_dtype_size(dtype);
  *owned = malloc(bytes);
  if (*owned == NULL) {
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%.300s: tensor '%.300s': no memory for a copy of %zu bytes", c->path,
                    tensor->name, bytes);
  }
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t column = 0; column < columns; column++)
      ctn_store_f64(dtype, *owned, row * columns + column, ctn_load_f64(stored, tensor->data, column * rows + row));
  }
  *data = *owned;
  return CLATTN_OK;
}

static clattn_status make(clattn_layer **layer, clattn_context *context, const clattn_layer_problem *problem,
                          const struct checkpoint *c, const clattn_plan_options *options, clattn_error *error) {
  void *owned[2 * W_COUNT] = {NULL};
  const void *data[2 * W_COUNT] = {NULL};
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < 2 * W_COUNT && status == CLATTN_OK; i++) {
    const struct st_tensor *tensor = i < W_COUNT ? c->weight[i] : c->bias[i - W_COUNT];
    if (tensor != NULL) status = convert(c, tensor, problem->dtype, &data[i], &owned[i], error);
  }
  clattn_layer_weights weights = CLATTN_LAYER_WEIGHTS_INIT;
  weights.q_weight = data[W_Q];
  weights.k_weight = data[W_K];
  weights.v_weight = data[W_V];
  weights.in_weight = data[W_IN];
  weights.out_weight = data[W_OUT];
  weights.q_bias = data[W_COUNT + W_Q];
  weights.k_bias = data[W_COUNT + W_K];
  weights.v_bias = data[W_COUNT + W_V];
  weights.in_bias = data[W_COUNT + W_IN];
  weights.out_bias = data[W_COUNT + W_OUT];
  if (status == CLATTN_OK) status = clattn_layer_create(layer, context, problem, &weights, options, error);
  for (int i = 0; i < 2 * W_COUNT; i++)
    free(owned[i]);
  return status;
}

clattn_status clattn_layer_load(clattn_layer **layer, clattn_context *context, const clattn_layer_problem *in, const char *path,
                                const char *prefix, const clattn_plan_options *options, clattn_error *error) {
  clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
  struct checkpoint checkpoint = {.path = path, .prefix = prefix};
  ctn_clear(error);
  if (layer == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "layer: the place for the result is NULL");
  *layer = NULL;
  if (context == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: NULL");
  if (path == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "path: NULL");
  clattn_status status = ctn_descriptor_read(&problem, sizeof problem, in, "layer problem", error);
  if (status == CLATTN_OK && problem.dtype != CLATTN_NONE) status = ctn_check_storage(problem.dtype, error);
  if (status == CLATTN_OK) status = ctn_st_read_prefix(&checkpoint.file, path, prefix, error);
  if (status == CLATTN_OK) status = ctn_checkpoint_find(&checkpoint, error);
  if (status == CLATTN_OK) status = ctn_checkpoint_measure(&checkpoint, &problem, error);
  if (status == CLATTN_OK) status = make(layer, context, &problem, &checkpoint, options, error);
  ctn_st_clear(&checkpoint.file);
  return status;
}
