/* Validates a clattn_problem and brings it into the normalised form. */
#include <math.h>

#include "checked.h"
#include "descriptor.h"
#include "half.h"

enum { ALL_OUTPUTS = 63, STAGE_COUNT = 4 };

/* The stage tensors with their bits in clattn_problem.outputs. */
static const struct {
  uint32_t bit;
  enum tensor tensor;
} stages[STAGE_COUNT] = {
    {CLATTN_OUTPUT_SCORES_RAW, T_SCORES_RAW},
    {CLATTN_OUTPUT_SCORES_SOFTCAPPED, T_SCORES_SOFTCAPPED},
    {CLATTN_OUTPUT_SCORES_MASKED, T_SCORES_MASKED},
    {CLATTN_OUTPUT_WEIGHTS, T_WEIGHTS},
};

static clattn_status check_sizes(const clattn_problem *in, clattn_error *error) {
  const struct {
    int64_t value;
    const char *name;
  } sizes[] = {
      {in->batch, "batch"},   {in->q_heads, "q_heads"},   {in->kv_heads, "kv_heads"},     {in->q_len, "q_len"},
      {in->kv_len, "kv_len"}, {in->head_dim, "head_dim"}, {in->head_dim_v, "head_dim_v"},
  };
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const clattn_status status = ctn_check_size(sizes[i].value, sizes[i].name, error);
    if (status != CLATTN_OK) return status;
  }
  if (in->q_heads % in->kv_heads != 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "k: %lld heads do not divide q's %lld", (long long)in->kv_heads,
                    (long long)in->q_heads);
  }
  if (!in->packed) return CLATTN_OK;
  clattn_status status = ctn_check_size(in->total_q, "total_q", error);
  if (status == CLATTN_OK) status = ctn_check_size(in->total_kv, "total_kv", error);
  if (status != CLATTN_OK) return status;
  if (in->q_len > in->total_q || in->kv_len > in->total_kv) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "packed: the longest sequence (%lld queries, %lld keys) is longer than all together (%lld, %lld)",
                    (long long)in->q_len, (long long)in->kv_len, (long long)in->total_q, (long long)in->total_kv);
  }
  return CLATTN_OK;
}

static clattn_status check_numbers(const clattn_problem *in, clattn_error *error) {
  if (in->scale_given && !isfinite(in->scale)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "scale: %g is not finite", (double)in->scale);
  }
  if (!isfinite(in->softcap) || in->softcap < 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "softcap: %g is not a finite number of 0 (none) or more",
                    (double)in->softcap);
  }
  if (!(in->dropout >= 0 && in->dropout < 1)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "dropout: %g is not in [0, 1)", (double)in->dropout);
  }
  if (in->window_left < -1 || in->window_right < -1) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "window: %lld left, %lld right: use -1 for an open side, else 0 or more",
                    (long long)in->window_left, (long long)in->window_right);
  }
  if (in->outputs == 0 || (in->outputs & ~(uint32_t)ALL_OUTPUTS) != 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "outputs: 0x%x is no combination of CLATTN_OUTPUT_ values",
                    (unsigned)in->outputs);
  }
  return CLATTN_OK;
}

/* Mask strides aligned to [batch, head, row, key] from the right, 0 where the mask broadcasts. */
static clattn_status resolve_mask(struct problem *problem, const clattn_mask *mask, clattn_error *error) {
  struct attention *a = &problem->as.attention;
  const int64_t full[4] = {a->batch, a->q_heads, a->q_len, a->kv_len};
  a->mask_dtype = mask->dtype;
  a->mask_kv_len = a->kv_len;
  if (mask->dtype == CLATTN_NONE) return CLATTN_OK;
  if (mask->dtype != CLATTN_BOOL && ctn_check_storage(mask->dtype, NULL) != CLATTN_OK) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "mask: dtype %s (%d): use bool, f32, f16 or bf16",
                    ctn_dtype_name(mask->dtype), (int)mask->dtype);
  }
  if (mask->rank < 1 || mask->rank > 4) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "mask: rank %d is not 1 to 4", mask->rank);
  }
  const int rank = mask->rank;
  bool dense = true;
  for (int i = 0; i < rank; i++) {
    if (mask->stride[i] < 0) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "mask: stride %lld is negative", (long long)mask->stride[i]);
    }
    if (mask->stride[i] != 0) dense = false;
  }
  int64_t extent = 1, dense_stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    const int dimension = 4 - rank + i;
    const int64_t size = mask->shape[i];
    const bool fits = size == 1 || size == full[dimension] || (dimension == 3 && size > 0 && size < full[3]);
    if (!fits) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      "mask: dimension %d has size %lld, which does not broadcast to %lld (of batch %lld, q_heads %lld, q_len "
                      "%lld, kv_len %lld)",
                      i, (long long)size, (long long)full[dimension], (long long)full[0], (long long)full[1],
                      (long long)full[2], (long long)full[3]);
    }
    const int64_t stride = dense ? dense_stride : mask->stride[i];
    int64_t reach = 0;
    if (!ctn_mul(size - 1, stride, &reach) || !ctn_add(extent, reach, &extent) || !ctn_mul(dense_stride, size, &dense_stride)) {
      return ctn_fail(error, CLATTN_TOO_LARGE, "mask: its last element's offset overflows");
    }
    a->mask_stride[dimension] = size == 1 ? 0 : stride;
    if (dimension == 3 && size != 1) a->mask_kv_len = size;
  }
  return ctn_tensor_dense(problem, T_MASK, ctn_dtype_size(mask->dtype), &extent, 1, error);
}

static clattn_status resolve_layouts(struct problem *problem, const clattn_problem *in, clattn_error *error) {
  struct attention *a = &problem->as.attention;
  const struct {
    struct layout *out;
    const clattn_layout *in;
    enum tensor tensor;
    int64_t heads, rows, columns;
  } tensors[] = {
      {&a->q, &in->q, T_Q, a->q_heads, a->packed ? a->total_q : a->q_len, a->head_dim},
      {&a->k, &in->k, T_K, a->kv_heads, a->packed ? a->total_kv : a->kv_len, a->head_dim},
      {&a->v, &in->v, T_V, a->kv_heads, a->packed ? a->total_kv : a->kv_len, a->head_dim_v},
      {&a->out, &in->out, T_OUT, a->q_heads, a->packed ? a->total_q : a->q_len, a->head_dim_v},
  };
  for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
    if (tensors[i].tensor == T_OUT && !(a->outputs & CLATTN_OUTPUT_OUT)) continue;
    const int64_t heads = tensors[i].heads, rows = tensors[i].rows, columns = tensors[i].columns;
    int64_t plane = 0, image = 0;
    if (!ctn_mul(rows, columns, &plane) || !ctn_mul(plane, heads, &image)) {
      return ctn_fail(error, CLATTN_TOO_LARGE, "%s: the product of its dimensions overflows",
                      ctn_tensor_name(tensors[i].tensor));
    }
    const struct layout dense =
        a->packed ? (struct layout){0, columns, heads * columns} : (struct layout){image, plane, columns};
    clattn_layout wanted = *tensors[i].in;
    if (a->packed) wanted.batch_stride = 0;
    const struct extent extent = {tensors[i].tensor, a->packed ? 1 : a->batch, heads, rows, columns};
    const clattn_status status = ctn_layout_resolve(problem, tensors[i].out, &wanted, dense, &extent, error);
    if (status != CLATTN_OK) return status;
  }
  return CLATTN_OK;
}

/* The dense float32 and int64 tensors. */
static clattn_status register_dense(struct problem *problem, clattn_error *error) {
  const struct attention *a = &problem->as.attention;
  const int64_t scores[4] = {a->batch, a->q_heads, a->q_len, a->kv_len};
  const int64_t lse_packed[2] = {a->q_heads, a->total_q};
  const int64_t sequences = a->batch + 1;
  clattn_status status = CLATTN_OK;
  if (a->has_kv_len) status = ctn_tensor_dense(problem, T_KV_LEN, 8, &a->batch, 1, error);
  if (status == CLATTN_OK && a->has_query_offset) {
    status = ctn_tensor_dense(problem, T_QUERY_OFFSET, 8, &a->batch, 1, error);
  }
  if (status == CLATTN_OK && a->packed) status = ctn_tensor_dense(problem, T_CU_Q, 8, &sequences, 1, error);
  if (status == CLATTN_OK && a->packed) status = ctn_tensor_dense(problem, T_CU_KV, 8, &sequences, 1, error);
  if (status == CLATTN_OK && a->has_sinks) status = ctn_tensor_dense(problem, T_SINKS, 4, &a->q_heads, 1, error);
  if (status == CLATTN_OK && a->has_alibi) status = ctn_tensor_dense(problem, T_ALIBI, 4, &a->q_heads, 1, error);
  if (status == CLATTN_OK && (a->outputs & CLATTN_OUTPUT_LSE)) {
    status = a->packed ? ctn_tensor_dense(problem, T_LSE, 4, lse_packed, 2, error)
                       : ctn_tensor_dense(problem, T_LSE, 4, scores, 3, error);
  }
  for (int i = 0; i < STAGE_COUNT && status == CLATTN_OK; i++) {
    if (a->outputs & stages[i].bit) status = ctn_tensor_dense(problem, stages[i].tensor, 4, scores, 4, error);
  }
  return status;
}

clattn_status ctn_problem_attention(struct problem *out, const clattn_problem *public_problem, clattn_error *error) {
  clattn_problem in = CLATTN_PROBLEM_INIT;
  clattn_status status = ctn_descriptor_read(&in, sizeof in, public_problem, "problem", error);
  if (status == CLATTN_OK) status = ctn_check_storage(in.dtype, error);
  if (status == CLATTN_OK) status = check_sizes(&in, error);
  if (status == CLATTN_OK) status = check_numbers(&in, error);
  if (status != CLATTN_OK) return status;

  *out = (struct problem){.operation = OP_ATTENTION};
  out->as.attention = (struct attention){
      .dtype = in.dtype,
      .batch = in.batch,
      .q_heads = in.q_heads,
      .kv_heads = in.kv_heads,
      .group = in.q_heads / in.kv_heads,
      .q_len = in.q_len,
      .kv_len = in.kv_len,
      .head_dim = in.head_dim,
      .head_dim_v = in.head_dim_v,
      .packed = in.packed != 0,
      .total_q = in.total_q,
      .total_kv = in.total_kv,
      .scale = in.scale_given ? in.scale : (float)(1.0 / sqrt((double)in.head_dim)),
      .softcap = in.softcap,
      .causal = in.causal != 0,
      .window_left = ctn_min(in.window_left, POSITION_LIMIT),
      .window_right = ctn_min(in.window_right, POSITION_LIMIT),
      .has_kv_len = in.has_kv_len != 0,
      .has_query_offset = in.has_query_offset != 0,
      .has_sinks = in.has_sinks != 0,
      .has_alibi = in.has_alibi != 0,
      .dropout = in.dropout,
      .outputs = in.outputs,
  };
  status = resolve_layouts(out, &in, error);
  if (status == CLATTN_OK) status = resolve_mask(out, &in.mask, error);
  if (status == CLATTN_OK) status = register_dense(out, error);
  return status;
}
