/* clattn_layer: from a descriptor and weights to plans that run, and back. */
#include "layer.h"

#include <stdlib.h>

clattn_status clattn_layer_create(clattn_layer **out, clattn_context *context, const clattn_layer_problem *problem,
                                  const clattn_layer_weights *in, const clattn_plan_options *options, clattn_error *error) {
  clattn_layer_weights weights;
  bool has_bias[PART_COUNT] = {false, false, false};
  ctn_clear(error);
  if (out == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "layer: the place for the result is NULL");
  *out = NULL;
  if (context == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: NULL");
  clattn_layer *layer = calloc(1, sizeof *layer);
  if (layer == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "layer: no memory");
  ctn_context_retain(context);
  layer->context = context;
  clattn_status status = ctn_layer_resolve(layer, problem, error);
  if (status == CLATTN_OK) status = ctn_layer_read_weights(layer, &weights, in, has_bias, error);
  if (status == CLATTN_OK) status = ctn_layer_plan(layer, options, has_bias, weights.out_bias != NULL, error);
  if (status == CLATTN_OK) status = ctn_layer_store_weights(layer, &weights, error);
  if (status == CLATTN_OK && !(layer->options.user_workspace && !layer->on_host)) status = ctn_layer_allocate(layer, error);
  if (status != CLATTN_OK) {
    clattn_layer_destroy(layer);
    return status;
  }
  *out = layer;
  return CLATTN_OK;
}

const clattn_layer_problem *clattn_layer_get_problem(const clattn_layer *layer) {
  return layer != NULL ? &layer->problem : NULL;
}

size_t clattn_layer_workspace_size(const clattn_layer *layer) {
  return layer != NULL ? layer->workspace_size : 0;
}

const char *clattn_layer_describe(const clattn_layer *layer) {
  return layer != NULL ? layer->description.data : "";
}

const char *clattn_layer_family(const clattn_layer *layer) {
  return layer != NULL ? clattn_plan_family(layer->attention) : "";
}

static void release(cl_mem memory) {
  if (memory != NULL) clReleaseMemObject(memory);
}

static void release_linear(struct linear *linear) {
  release(linear->weight.memory);
  release(linear->bias.memory);
  free(linear->weight.host);
  free(linear->bias.host);
}

void clattn_layer_destroy(clattn_layer *layer) {
  if (layer == NULL) return;
  ctn_layer_drop_plans(layer);
  for (int i = 0; i < MOST_INPUTS; i++)
    release_linear(&layer->input[i]);
  release_linear(&layer->output);
  for (int i = 0; i < SEGMENT_COUNT; i++) {
    release(layer->memory[i]);
    free(layer->host[i]);
  }
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++)
    release(layer->buffers[i]);
  free(layer->gaps);
  ctn_text_free(&layer->description);
  ctn_context_release(layer->context);
  free(layer);
}
