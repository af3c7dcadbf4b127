/* clattn_layer_enqueue: the layer's plans one after another on the caller's queue and buffers. */
#include <string.h>

#include "descriptor.h"
#include "layer.h"

/* Steps in their order: the input projections, the attention, the projection of the heads. */
static clattn_plan *step_plan(const clattn_layer *layer, int step) {
  if (step < layer->inputs) return layer->input[step].plan;
  return step == layer->inputs ? layer->attention : layer->output.plan;
}

static void linear_buffers(const struct linear *linear, clattn_buffer x, clattn_buffer out, clattn_buffers *b) {
  b->x = x;
  b->weight = (clattn_buffer){linear->weight.memory, 0};
  b->bias = (clattn_buffer){linear->bias.memory, 0};
  b->out = out;
}

static clattn_buffer part_buffer(const clattn_layer *layer, const struct layer_call *call, enum part part) {
  const struct place *place = &layer->part[part];
  const clattn_buffer whole = call->segment[place->linear];
  return (clattn_buffer){whole.memory, whole.offset + (size_t)place->column * layer->element};
}

static void attention_buffers(const clattn_layer *layer, const struct layer_call *call, clattn_buffers *b) {
  b->q = part_buffer(layer, call, PART_Q);
  b->k = part_buffer(layer, call, PART_K);
  b->v = part_buffer(layer, call, PART_V);
  b->out = call->segment[SEGMENT_HEADS];
  b->mask = call->tensor[L_MASK];
  b->kv_len = call->tensor[L_KV_LEN];
  b->query_offset = call->tensor[L_QUERY_OFFSET];
  b->sinks = call->tensor[L_SINKS];
  b->alibi_slopes = call->tensor[L_ALIBI];
  b->lse = call->tensor[L_LSE];
  b->scores_raw = call->tensor[L_SCORES_RAW];
  b->scores_softcapped = call->tensor[L_SCORES_SOFTCAPPED];
  b->scores_masked = call->tensor[L_SCORES_MASKED];
  b->weights = call->tensor[L_WEIGHTS];
  b->dropout_seed = call->dropout_seed;
  b->dropout_offset = call->dropout_offset;
}

static void step_buffers(const clattn_layer *layer, const struct layer_call *call, int step, clattn_buffers *b) {
  CLATTN_BUFFERS_INIT(*b);
  if (step < layer->inputs) {
    linear_buffers(&layer->input[step], call->tensor[layer->input[step].input], call->segment[step], b);
  } else if (step == layer->inputs) {
    attention_buffers(layer, call, b);
  } else {
    linear_buffers(&layer->output, call->segment[SEGMENT_HEADS], call->tensor[L_OUT], b);
  }
  b->workspace = call->segment[SEGMENT_WORKSPACE];
}

clattn_status ctn_layer_enqueue_steps(clattn_layer *layer, cl_command_queue queue, const struct layer_call *call,
                                      cl_uint wait_count, const cl_event *wait_list, cl_event *event, clattn_error *error) {
  cl_command_queue_properties properties = 0;
  cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetCommandQueueInfo", "properties of the queue given");
  const bool in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  const int last = layer->inputs + 1;
  cl_event previous = NULL;
  clattn_status status = CLATTN_OK;
  for (int step = 0; step <= last && status == CLATTN_OK; step++) {
    clattn_buffers buffers;
    cl_event done = NULL;
    step_buffers(layer, call, step, &buffers);
    cl_event *wanted = step == last ? event : in_order ? NULL : &done;
    const cl_uint waits = step == 0 ? wait_count : previous != NULL ? 1 : 0;
    const cl_event *list = step == 0 ? wait_list : previous != NULL ? &previous : NULL;
    status = clattn_plan_enqueue(step_plan(layer, step), queue, &buffers, waits, list, wanted, error);
    if (previous != NULL) clReleaseEvent(previous);
    previous = done;
  }
  if (previous != NULL) clReleaseEvent(previous);
  return status;
}

static clattn_status read_tensors(const clattn_layer *layer, const clattn_layer_buffers *buffers, struct layer_call *call,
                                  clattn_error *error) {
  ctn_layer_buffers_table(buffers, call->tensor);
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++) {
    const struct layer_tensor_info *info = &layer->tensor[i];
    const char *name = ctn_layer_tensor_name((enum layer_tensor)i);
    if (info->used != (call->tensor[i].memory != NULL)) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      info->used ? "%s: no buffer, but the layer's problem names it"
                                 : "%s: given, but the layer's problem does not name it",
                      name);
    }
    if (!info->used) continue;
    const clattn_status status =
        ctn_check_buffer(layer->context->runtime, &call->tensor[i], name, info->bytes, info->element, error);
    if (status != CLATTN_OK) return status;
  }
  return CLATTN_OK;
}

static clattn_status choose_segments(const clattn_layer *layer, const clattn_layer_buffers *buffers, struct layer_call *call,
                                     clattn_error *error) {
  if (!layer->options.user_workspace) {
    if (buffers->workspace.memory != NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "workspace: given, but the layer has its own (see user_workspace)");
    }
    ctn_layer_own_segments(layer, call);
    return CLATTN_OK;
  }
  if (buffers->workspace.memory == NULL) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "workspace: no buffer, but the layer was made with user_workspace");
  }
  size_t offset = buffers->workspace.offset;
  for (int i = 0; i < SEGMENT_COUNT; i++) {
    call->segment[i] = (clattn_buffer){layer->segment[i] > 0 ? buffers->workspace.memory : NULL, offset};
    offset += layer->segment[i];
  }
  return ctn_check_buffer(layer->context->runtime, &buffers->workspace, "workspace", layer->workspace_size, WORKSPACE_ALIGNMENT,
                          error);
}

clattn_status clattn_layer_enqueue(clattn_layer *layer, cl_command_queue queue, const clattn_layer_buffers *in,
                                   cl_uint wait_count, const cl_event *wait_list, cl_event *event, clattn_error *error) {
  clattn_layer_buffers buffers;
  struct layer_call call;
  ctn_clear(error);
  if (event != NULL) *event = NULL;
  if (layer == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "layer: NULL");
  if (layer->on_host) {
    return ctn_fail(error, CLATTN_UNSUPPORTED,
                    "the layer runs on the host (%s): use clattn_layer_execute, or plan with no_host",
                    clattn_layer_family(layer));
  }
  memset(&buffers, 0, sizeof buffers);
  memset(&call, 0, sizeof call);
  clattn_status status = ctn_descriptor_read(&buffers, sizeof buffers, in, "layer buffers", error);
  if (status == CLATTN_OK) status = ctn_check_queue(layer->context->runtime, queue, error);
  if (status == CLATTN_OK) status = read_tensors(layer, &buffers, &call, error);
  if (status == CLATTN_OK) status = choose_segments(layer, &buffers, &call, error);
  if (status != CLATTN_OK) return status;
  call.dropout_seed = buffers.dropout_seed;
  call.dropout_offset = buffers.dropout_offset;
  return ctn_layer_enqueue_steps(layer, queue, &call, wait_count, wait_list, event, error);
}
