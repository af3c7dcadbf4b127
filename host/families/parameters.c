/* Kernel arguments and refusals that several families share. */
#include "parameters.h"

#include "half.h"
#include "loops.h"

_Static_assert(sizeof(struct attention_parameters) == (4 * 3 + 15) * 8 + 10 * 4, "no padding: kernels see the same struct");

struct attention_parameters ctn_attention_parameters(const struct attention *a, struct layout out) {
  return (struct attention_parameters){
      .q = a->q,
      .k = a->k,
      .v = a->v,
      .out = out,
      .mask_batch = a->mask_stride[0],
      .mask_head = a->mask_stride[1],
      .mask_row = a->mask_stride[2],
      .mask_key = a->mask_stride[3],
      .mask_kv_len = a->mask_kv_len,
      .q_heads = a->q_heads,
      .group = a->group,
      .q_len = a->q_len,
      .kv_len = a->kv_len,
      .head_dim = a->head_dim,
      .head_dim_v = a->head_dim_v,
      .total_q = a->total_q,
      .total_kv = a->total_kv,
      .window_left = a->window_left,
      .window_right = a->window_right,
      .scale = a->scale,
      .softcap = a->softcap,
      .dropout = a->dropout,
      .keep_scale = 1.0f / (1.0f - a->dropout),
      .packed = a->packed,
      .causal = a->causal,
      .has_kv_len = a->has_kv_len,
      .has_query_offset = a->has_query_offset,
      .has_sinks = a->has_sinks,
      .has_alibi = a->has_alibi,
  };
}

void ctn_argument_tensor(struct arguments *arguments, const struct call *call, const struct problem *problem,
                         enum tensor tensor, enum tensor instead) {
  if (problem->tensor[tensor].used) {
    ctn_argument_slice(arguments, call->tensor[tensor], problem->tensor[tensor].element);
  } else {
    ctn_argument_slice(arguments, (struct slice){call->tensor[instead].memory, 0}, 1);
  }
}

void ctn_argument_sequences(struct arguments *arguments, const struct call *call, const struct problem *problem,
                            enum tensor instead) {
  ctn_argument_tensor(arguments, call, problem, T_KV_LEN, instead);
  ctn_argument_tensor(arguments, call, problem, T_QUERY_OFFSET, instead);
  ctn_argument_tensor(arguments, call, problem, T_CU_Q, instead);
  ctn_argument_tensor(arguments, call, problem, T_CU_KV, instead);
}

long ctn_dtype_macro(clattn_dtype dtype) {
  switch (dtype) {
    case CLATTN_F32:
      return 1;
    case CLATTN_F16:
      return 2;
    case CLATTN_BF16:
      return 3;
    case CLATTN_BOOL:
      return 4;
    default:
      return 0;
  }
}

bool ctn_refuse_without_device(const struct request *request, struct text *reason) {
  if (request->runtime != NULL) return false;
  ctn_text_printf(reason, "the context has no OpenCL device");
  return true;
}

bool ctn_refuse_sizes(const struct request *request, struct text *reason) {
  const uint64_t limit = request->runtime->device.info.max_allocation;
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &request->problem->tensor[i];
    const uint64_t bytes = info->used ? (uint64_t)info->extent * info->element : 0;
    if (bytes > limit) {
      ctn_text_printf(reason, "%s needs a buffer of %llu bytes, the device's largest is %llu", ctn_tensor_name((enum tensor)i),
                      (unsigned long long)bytes, (unsigned long long)limit);
      return true;
    }
  }
  return false;
}

bool ctn_refuse_loops(const struct request *request, int64_t turns, struct text *reason) {
  const int64_t limit = ctn_loop_limit(request->runtime, turns);
  if (turns <= limit) return false;
  ctn_text_printf(reason, "the loops of one work-item would turn %lld times, the device ends them after %lld", (long long)turns,
                  (long long)limit);
  return true;
}
