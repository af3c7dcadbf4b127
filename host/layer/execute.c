/* clattn_layer_execute: the layer on host arrays. On a device: inputs up once, all steps, results down once. */
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "layer.h"

/* What the attention's own check needs: stand-ins for the tensors between the steps. */
static clattn_arrays attention_arrays(const clattn_layer_arrays *in) {
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = arrays.k = arrays.v = in->query;
  arrays.mask = in->mask;
  arrays.kv_len = in->kv_len;
  arrays.query_offset = in->query_offset;
  arrays.sinks = in->sinks;
  arrays.alibi_slopes = in->alibi_slopes;
  arrays.out = in->out;
  arrays.lse = in->lse;
  arrays.scores_raw = in->scores_raw;
  arrays.scores_softcapped = in->scores_softcapped;
  arrays.scores_masked = in->scores_masked;
  arrays.weights = in->weights;
  arrays.dropout_seed = in->dropout_seed;
  arrays.dropout_offset = in->dropout_offset;
  return arrays;
}

static clattn_status check(const clattn_layer *layer, const clattn_layer_arrays *arrays, void *const table[LAYER_TENSOR_COUNT],
                           clattn_error *error) {
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++) {
    if (layer->tensor[i].used != (table[i] != NULL)) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      layer->tensor[i].used ? "%s: NULL, but the layer's problem names it"
                                            : "%s: given, but the layer's problem does not name it",
                      ctn_layer_tensor_name((enum layer_tensor)i));
    }
  }
  const clattn_arrays attention = attention_arrays(arrays);
  return ctn_arrays_check(&layer->attention->problem, &attention, error);
}

static clattn_status run_linear(const struct linear *linear, const void *x, void *out, clattn_error *error) {
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.x = x;
  arrays.weight = linear->weight.host;
  arrays.bias = linear->bias.host;
  arrays.out = out;
  return ctn_layer_in(linear->name, clattn_plan_execute(linear->plan, &arrays, error), error);
}

static const void *part_data(const clattn_layer *layer, enum part part) {
  const struct place *place = &layer->part[part];
  return (const char *)layer->host[place->linear] + (size_t)place->column * layer->element;
}

static clattn_status run_on_host(clattn_layer *layer, const clattn_layer_arrays *in, void *const table[LAYER_TENSOR_COUNT],
                                 clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < layer->inputs && status == CLATTN_OK; i++)
    status = run_linear(&layer->input[i], table[layer->input[i].input], layer->host[i], error);
  if (status != CLATTN_OK) return status;
  clattn_arrays arrays = attention_arrays(in);
  arrays.q = part_data(layer, PART_Q);
  arrays.k = part_data(layer, PART_K);
  arrays.v = part_data(layer, PART_V);
  arrays.out = layer->host[SEGMENT_HEADS];
  status = ctn_layer_in("attention", clattn_plan_execute(layer->attention, &arrays, error), error);
  return status == CLATTN_OK ? run_linear(&layer->output, layer->host[SEGMENT_HEADS], in->out, error) : status;
}

static clattn_status make_buffers(clattn_layer *layer, clattn_error *error) {
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++) {
    if (!layer->tensor[i].used || layer->buffers[i] != NULL) continue;
    cl_int code = CL_SUCCESS;
    layer->buffers[i] = clCreateBuffer(layer->context->runtime->context, i < L_OUT ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE,
                                       layer->tensor[i].bytes, NULL, &code);
    if (code != CL_SUCCESS) {
      layer->buffers[i] = NULL;
      return ctn_fail_cl(error, code, "clCreateBuffer", "%s, %zu bytes", ctn_layer_tensor_name((enum layer_tensor)i),
                         layer->tensor[i].bytes);
    }
  }
  return ctn_layer_allocate(layer, error);
}

static clattn_status write_inputs(clattn_layer *layer, void *const table[LAYER_TENSOR_COUNT], clattn_error *error) {
  for (int i = 0; i < L_OUT; i++) {
    if (!layer->tensor[i].used) continue;
    const cl_int code = clEnqueueWriteBuffer(layer->context->runtime->queue, layer->buffers[i], CL_FALSE, 0,
                                             layer->tensor[i].bytes, table[i], 0, NULL, NULL);
    if (code != CL_SUCCESS) {
      return ctn_fail_cl(error, code, "clEnqueueWriteBuffer", "%s, %zu bytes", ctn_layer_tensor_name((enum layer_tensor)i),
                         layer->tensor[i].bytes);
    }
  }
  return CLATTN_OK;
}

/* An out with gaps is read whole beside the caller's, whose gaps stay as they are; NULL: it has none. */
static clattn_status gap_memory(clattn_layer *layer, clattn_error *error) {
  const struct projection *p = &layer->output.plan->problem.as.projection;
  const size_t dense = (size_t)(p->batch * p->length * p->head_dim) * layer->element;
  if (layer->tensor[L_OUT].bytes == dense || layer->gaps != NULL) return CLATTN_OK;
  layer->gaps = malloc(layer->tensor[L_OUT].bytes);
  return layer->gaps != NULL ? CLATTN_OK : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "out: no memory for a copy with its gaps");
}

static void copy_rows(const clattn_layer *layer, void *out) {
  const struct projection *p = &layer->output.plan->problem.as.projection;
  const size_t row = (size_t)p->head_dim * layer->element;
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t i = 0; i < p->length; i++) {
      const size_t place = (size_t)(b * p->out.batch + i * p->out.row) * layer->element;
      memcpy((char *)out + place, (const char *)layer->gaps + place, row);
    }
  }
}

static clattn_status read_results(clattn_layer *layer, void *const table[LAYER_TENSOR_COUNT], clattn_error *error) {
  for (int i = L_OUT; i < LAYER_TENSOR_COUNT; i++) {
    if (!layer->tensor[i].used) continue;
    const bool gaps = i == L_OUT && layer->gaps != NULL;
    const cl_int code = clEnqueueReadBuffer(layer->context->runtime->queue, layer->buffers[i], CL_TRUE, 0,
                                            layer->tensor[i].bytes, gaps ? layer->gaps : table[i], 0, NULL, NULL);
    if (code != CL_SUCCESS) {
      return ctn_fail_cl(error, code, "clEnqueueReadBuffer", "%s, %zu bytes", ctn_layer_tensor_name((enum layer_tensor)i),
                         layer->tensor[i].bytes);
    }
    if (gaps) copy_rows(layer, table[i]);
  }
  return CLATTN_OK;
}

/* An adopted queue may be out of order: what follows waits for all that came before. On one in order this costs nothing. */
static clattn_status order(cl_command_queue queue, clattn_error *error) {
  const cl_int code = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
  return code == CL_SUCCESS ? CLATTN_OK
                            : ctn_fail_cl(error, code, "clEnqueueBarrierWithWaitList", "between copies and kernels");
}

static clattn_status run_on_device(clattn_layer *layer, const clattn_layer_arrays *arrays,
                                   void *const table[LAYER_TENSOR_COUNT], clattn_error *error) {
  cl_command_queue queue = layer->context->runtime->queue;
  struct layer_call call;
  memset(&call, 0, sizeof call);
  clattn_status status = make_buffers(layer, error);
  if (status == CLATTN_OK) status = gap_memory(layer, error);
  if (status != CLATTN_OK) return status;
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++)
    call.tensor[i] = (clattn_buffer){layer->buffers[i], 0};
  ctn_layer_own_segments(layer, &call);
  call.dropout_seed = arrays->dropout_seed;
  call.dropout_offset = arrays->dropout_offset;
  status = write_inputs(layer, table, error);
  if (status == CLATTN_OK) status = order(queue, error);
  if (status == CLATTN_OK) status = ctn_layer_enqueue_steps(layer, queue, &call, 0, NULL, NULL, error);
  if (status == CLATTN_OK) status = order(queue, error);
  if (status == CLATTN_OK) status = read_results(layer, table, error);
  /* After a failure the device may still read the caller's arrays. */
  if (status != CLATTN_OK) clFinish(queue);
  return status;
}

clattn_status clattn_layer_execute(clattn_layer *layer, const clattn_layer_arrays *in, clattn_error *error) {
  clattn_layer_arrays arrays = CLATTN_LAYER_ARRAYS_INIT;
  void *table[LAYER_TENSOR_COUNT];
  ctn_clear(error);
  if (layer == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "layer: NULL");
  clattn_status status = ctn_descriptor_read(&arrays, sizeof arrays, in, "layer arrays", error);
  if (status != CLATTN_OK) return status;
  ctn_layer_arrays_table(&arrays, table);
  status = check(layer, &arrays, table, error);
  if (status != CLATTN_OK) return status;
  return layer->on_host ? run_on_host(layer, &arrays, table, error) : run_on_device(layer, &arrays, table, error);
}
