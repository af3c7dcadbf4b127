/* clattn_plan_enqueue: a plan on the caller's queue and buffers. */
#include <stddef.h>
#include <string.h>

#include "descriptor.h"
#include "plan.h"

static const size_t fields[TENSOR_COUNT] = {
    [T_Q] = offsetof(clattn_buffers, q),
    [T_K] = offsetof(clattn_buffers, k),
    [T_V] = offsetof(clattn_buffers, v),
    [T_MASK] = offsetof(clattn_buffers, mask),
    [T_KV_LEN] = offsetof(clattn_buffers, kv_len),
    [T_QUERY_OFFSET] = offsetof(clattn_buffers, query_offset),
    [T_CU_Q] = offsetof(clattn_buffers, cu_seqlens_q),
    [T_CU_KV] = offsetof(clattn_buffers, cu_seqlens_kv),
    [T_SINKS] = offsetof(clattn_buffers, sinks),
    [T_ALIBI] = offsetof(clattn_buffers, alibi_slopes),
    [T_TOKENS] = offsetof(clattn_buffers, tokens),
    [T_TABLE] = offsetof(clattn_buffers, table),
    [T_X] = offsetof(clattn_buffers, x),
    [T_WEIGHT] = offsetof(clattn_buffers, weight),
    [T_BIAS] = offsetof(clattn_buffers, bias),
    [T_PART_OUT] = offsetof(clattn_buffers, part_out),
    [T_PART_LSE] = offsetof(clattn_buffers, part_lse),
    [T_OUT] = offsetof(clattn_buffers, out),
    [T_LSE] = offsetof(clattn_buffers, lse),
    [T_SCORES_RAW] = offsetof(clattn_buffers, scores_raw),
    [T_SCORES_SOFTCAPPED] = offsetof(clattn_buffers, scores_softcapped),
    [T_SCORES_MASKED] = offsetof(clattn_buffers, scores_masked),
    [T_WEIGHTS] = offsetof(clattn_buffers, weights),
};

clattn_status ctn_check_buffer(const struct runtime *runtime, const clattn_buffer *buffer, const char *name, size_t bytes,
                               size_t alignment, clattn_error *error) {
  size_t size = 0;
  cl_context context = NULL;
  cl_int code = clGetMemObjectInfo(buffer->memory, CL_MEM_SIZE, sizeof size, &size, NULL);
  if (code == CL_SUCCESS) code = clGetMemObjectInfo(buffer->memory, CL_MEM_CONTEXT, sizeof context, &context, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetMemObjectInfo", "%s", name);
  if (context != runtime->context) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: its buffer belongs to another cl_context than the plan's", name);
  }
  if (buffer->offset % alignment != 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: offset %zu is not a multiple of %zu", name, buffer->offset, alignment);
  }
  if (buffer->offset > size || bytes > size - buffer->offset) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: needs %zu bytes from offset %zu on, its buffer has %zu", name, bytes,
                    buffer->offset, size);
  }
  return CLATTN_OK;
}

static clattn_status read_tensors(const clattn_plan *plan, const clattn_buffers *buffers, struct call *call,
                                  clattn_error *error) {
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &plan->problem.tensor[i];
    const char *name = ctn_tensor_name((enum tensor)i);
    clattn_buffer buffer;
    memcpy(&buffer, (const char *)buffers + fields[i], sizeof buffer);
    if (!info->used && buffer.memory != NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: given, but the plan's problem does not name it", name);
    }
    if (!info->used) continue;
    if (buffer.memory == NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: no buffer, but the plan's problem names it", name);
    }
    const clattn_status status =
        ctn_check_buffer(plan->context->runtime, &buffer, name, (size_t)info->extent * info->element, info->element, error);
    if (status != CLATTN_OK) return status;
    call->tensor[i] = (struct slice){buffer.memory, buffer.offset};
  }
  return CLATTN_OK;
}

static clattn_status choose_workspace(const clattn_plan *plan, const clattn_buffers *buffers, struct call *call,
                                      clattn_error *error) {
  if (!plan->options.user_workspace) {
    if (buffers->workspace.memory != NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "workspace: given, but the plan has its own (see user_workspace)");
    }
    call->workspace = (struct slice){plan->workspace, 0};
    return CLATTN_OK;
  }
  if (plan->workspace_size == 0) return CLATTN_OK;
  if (buffers->workspace.memory == NULL) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "workspace: no buffer, but the plan was made with user_workspace");
  }
  call->workspace = (struct slice){buffers->workspace.memory, buffers->workspace.offset};
  return ctn_check_buffer(plan->context->runtime, &buffers->workspace, "workspace", plan->workspace_size, WORKSPACE_ALIGNMENT,
                          error);
}

clattn_status ctn_check_queue(const struct runtime *runtime, cl_command_queue queue, clattn_error *error) {
  cl_context context = NULL;
  cl_device_id device = NULL;
  if (queue == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "queue: NULL");
  cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (code == CL_SUCCESS) code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetCommandQueueInfo", "the queue given");
  if (context != runtime->context || device != runtime->device.id) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "queue: belongs to another context or device than the plan");
  }
  return CLATTN_OK;
}

clattn_status clattn_plan_enqueue(clattn_plan *plan, cl_command_queue queue, const clattn_buffers *in, cl_uint wait_count,
                                  const cl_event *wait_list, cl_event *event, clattn_error *error) {
  clattn_buffers buffers;
  struct chain chain = {0};
  struct call call = {.chain = &chain};
  ctn_clear(error);
  if (event != NULL) *event = NULL;
  if (plan == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "plan: NULL");
  if (plan->family->on_host) {
    return ctn_fail(error, CLATTN_UNSUPPORTED, "the plan runs on the host (%s): use clattn_plan_execute, or plan with no_host",
                    plan->family->name);
  }
  memset(&buffers, 0, sizeof buffers);
  clattn_status status = ctn_descriptor_read(&buffers, sizeof buffers, in, "buffers", error);
  if (status == CLATTN_OK) status = ctn_check_queue(plan->context->runtime, queue, error);
  if (status == CLATTN_OK) status = read_tensors(plan, &buffers, &call, error);
  if (status == CLATTN_OK) status = choose_workspace(plan, &buffers, &call, error);
  if (status != CLATTN_OK) return status;
  if (plan->problem.operation == OP_ATTENTION) call.out = plan->problem.as.attention.out;
  if (plan->problem.operation == OP_PROJECTION) call.out = plan->problem.as.projection.out;
  call.dropout_seed = buffers.dropout_seed;
  call.dropout_offset = buffers.dropout_offset;
  status = ctn_chain_begin(&chain, queue, wait_count, wait_list, event, error);
  if (status != CLATTN_OK) return status;
  status = plan->family->enqueue(plan->state, &call, error);
  ctn_chain_end(&chain);
  return status;
}
