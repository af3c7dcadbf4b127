/* The memory between a layer's steps. */
#include <stdlib.h>

#include "layer.h"

static const char *segment_name(const clattn_layer *layer, int segment) {
  if (segment < MOST_INPUTS) return layer->input[segment].name;
  return segment == SEGMENT_HEADS ? "heads" : "workspace";
}

clattn_status ctn_layer_allocate(clattn_layer *layer, clattn_error *error) {
  for (int i = 0; i < SEGMENT_COUNT; i++) {
    const size_t bytes = layer->segment[i];
    if (bytes == 0 || layer->memory[i] != NULL || layer->host[i] != NULL) continue;
    if (layer->on_host) {
      layer->host[i] = aligned_alloc(WORKSPACE_ALIGNMENT, bytes);
      if (layer->host[i] == NULL) {
        return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", segment_name(layer, i), bytes);
      }
      continue;
    }
    cl_int code = CL_SUCCESS;
    layer->memory[i] = clCreateBuffer(layer->context->runtime->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
      layer->memory[i] = NULL;
      return ctn_fail_cl(error, code, "clCreateBuffer", "%s, %zu bytes", segment_name(layer, i), bytes);
    }
  }
  return CLATTN_OK;
}

void ctn_layer_own_segments(const clattn_layer *layer, struct layer_call *call) {
  for (int i = 0; i < SEGMENT_COUNT; i++)
    call->segment[i] = (clattn_buffer){layer->memory[i], 0};
}
