/* Kernel arguments that several families pass: the problem as kernels see it, panels, optional tensors. */
#ifndef CTN_PARAMETERS_H
#define CTN_PARAMETERS_H

#include "family.h"
#include "program.h"

/* kernels/common/attention.clh has the same struct. */
struct attention_parameters {
  struct layout q, k, v, out;
  int64_t mask_batch, mask_head, mask_row, mask_key;
  int64_t mask_kv_len;
  int64_t q_heads, group;
  int64_t q_len, kv_len;
  int64_t head_dim, head_dim_v;
  int64_t total_q, total_kv;
  int64_t window_left, window_right;
  float scale, softcap, dropout, keep_scale;
  int32_t packed, causal, has_kv_len, has_query_offset, has_sinks, has_alibi;
};

struct attention_parameters ctn_attention_parameters(const struct attention *a, struct layout out);

/* kernels/common/attention.clh: panel. */
struct panel {
  int64_t offset, head, row, rows;
};

/* A tensor and its offset in elements; a tensor that the problem lacks passes the buffer of `instead`, which the kernel then
 * does not touch: null pointers for buffers are not dependable on every driver. */
void ctn_argument_tensor(struct arguments *arguments, const struct call *call, const struct problem *problem,
                         enum tensor tensor, enum tensor instead);
/* The four arguments of find_sequence: kv_len, query_offset, cu_q, cu_kv. */
void ctn_argument_sequences(struct arguments *arguments, const struct call *call, const struct problem *problem,
                            enum tensor instead);

/* The DTYPE and MASK values of the kernels. */
long ctn_dtype_macro(clattn_dtype dtype);

/* Whether a tensor of the problem is larger than the device's largest buffer; then with the reason. */
bool ctn_refuse_sizes(const struct request *request, struct text *reason);
/* Whether the device would end the loops of a work-item that turn so often in all; then with the reason. */
bool ctn_refuse_loops(const struct request *request, int64_t turns, struct text *reason);
bool ctn_refuse_without_device(const struct request *request, struct text *reason);

#endif
