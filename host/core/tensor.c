/* Names, sizes and layouts of tensors: the checks that all descriptors share. */
#include <string.h>

#include "checked.h"
#include "descriptor.h"
#include "half.h"

static const char *const names[TENSOR_COUNT] = {
    [T_Q] = "q",
    [T_K] = "k",
    [T_V] = "v",
    [T_MASK] = "mask",
    [T_KV_LEN] = "kv_len",
    [T_QUERY_OFFSET] = "query_offset",
    [T_CU_Q] = "cu_seqlens_q",
    [T_CU_KV] = "cu_seqlens_kv",
    [T_SINKS] = "sinks",
    [T_ALIBI] = "alibi_slopes",
    [T_TOKENS] = "tokens",
    [T_TABLE] = "table",
    [T_X] = "x",
    [T_WEIGHT] = "weight",
    [T_BIAS] = "bias",
    [T_PART_OUT] = "part_out",
    [T_PART_LSE] = "part_lse",
    [T_OUT] = "out",
    [T_LSE] = "lse",
    [T_SCORES_RAW] = "scores_raw",
    [T_SCORES_SOFTCAPPED] = "scores_softcapped",
    [T_SCORES_MASKED] = "scores_masked",
    [T_WEIGHTS] = "weights",
};

const char *ctn_tensor_name(enum tensor tensor) {
  return names[tensor];
}

clattn_status ctn_descriptor_read(void *full, size_t full_size, const void *in, const char *name, clattn_error *error) {
  size_t size = 0;
  if (in == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: NULL", name);
  memcpy(&size, in, sizeof size);
  if (size < sizeof size || size > full_size) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "%s: struct_size %zu does not fit this version (%zu at most): start from the struct's _INIT macro", name,
                    size, full_size);
  }
  memcpy(full, in, size);
  memcpy(full, &full_size, sizeof full_size);
  return CLATTN_OK;
}

clattn_status ctn_check_size(int64_t value, const char *name, clattn_error *error) {
  if (value <= 0) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %lld is not positive", name, (long long)value);
  if (value > INT32_MAX) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: %lld is more than the largest size of one dimension, %d", name,
                    (long long)value, INT32_MAX);
  }
  return CLATTN_OK;
}

clattn_status ctn_check_storage(clattn_dtype dtype, clattn_error *error) {
  if (dtype == CLATTN_F32 || dtype == CLATTN_F16 || dtype == CLATTN_BF16) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "dtype: %s (%d) is no storage type: use f32, f16 or bf16",
                  ctn_dtype_name(dtype), (int)dtype);
}

static clattn_status register_tensor(struct problem *problem, enum tensor tensor, size_t element, int64_t extent,
                                     clattn_error *error) {
  int64_t bytes = 0;
  if (!ctn_mul(extent, (int64_t)element, &bytes) || (uint64_t)bytes > (uint64_t)PTRDIFF_MAX) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: %lld elements of %zu bytes overflow", names[tensor], (long long)extent,
                    element);
  }
  problem->tensor[tensor] = (struct tensor_info){.used = true, .result = tensor >= T_OUT, .element = element, .extent = extent};
  return CLATTN_OK;
}

clattn_status ctn_tensor_dense(struct problem *problem, enum tensor tensor, size_t element, const int64_t *shape, size_t rank,
                               clattn_error *error) {
  int64_t count = 0;
  if (!ctn_product(shape, rank, &count)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: the product of its dimensions overflows", names[tensor]);
  }
  return register_tensor(problem, tensor, element, count, error);
}

/* Elements from the first to the last, or false on overflow. */
static bool strided_extent(const struct layout *layout, const struct extent *extent, int64_t *elements) {
  int64_t sum = extent->columns;
  const int64_t sizes[3] = {extent->batch, extent->heads, extent->rows};
  const int64_t strides[3] = {layout->batch, layout->head, layout->row};
  for (int i = 0; i < 3; i++) {
    int64_t reach = 0;
    if (!ctn_mul(sizes[i] - 1, strides[i], &reach) || !ctn_add(sum, reach, &sum)) return false;
  }
  *elements = sum;
  return true;
}

/* Whether two index tuples of a result can meet: going up the strides, each has to step over all that lies below it. */
static bool overlaps_itself(const struct layout *layout, const struct extent *extent) {
  int64_t sizes[3] = {extent->batch, extent->heads, extent->rows};
  int64_t strides[3] = {layout->batch, layout->head, layout->row};
  int64_t below = extent->columns; /* elements that the dimensions so far span */
  bool done[3] = {false, false, false};
  for (int step = 0; step < 3; step++) {
    int smallest = -1;
    for (int i = 0; i < 3; i++) {
      if (!done[i] && (smallest < 0 || strides[i] < strides[smallest])) smallest = i;
    }
    done[smallest] = true;
    if (sizes[smallest] == 1) continue;
    if (strides[smallest] < below) return true;
    below += (sizes[smallest] - 1) * strides[smallest];
  }
  return false;
}

clattn_status ctn_layout_resolve(struct problem *problem, struct layout *out, const clattn_layout *in, struct layout dense,
                                 const struct extent *extent, clattn_error *error) {
  const char *name = names[extent->tensor];
  if (in->batch_stride < 0 || in->head_stride < 0 || in->row_stride < 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: strides %lld, %lld, %lld: a stride is negative", name,
                    (long long)in->batch_stride, (long long)in->head_stride, (long long)in->row_stride);
  }
  const bool use_dense = in->batch_stride == 0 && in->head_stride == 0 && in->row_stride == 0;
  *out = use_dense ? dense : (struct layout){in->batch_stride, in->head_stride, in->row_stride};
  int64_t elements = 0;
  if (!strided_extent(out, extent, &elements)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: its last element's offset overflows", name);
  }
  if (extent->tensor >= T_OUT && overlaps_itself(out, extent)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: strides %lld, %lld, %lld make results overlap", name,
                    (long long)out->batch, (long long)out->head, (long long)out->row);
  }
  const clattn_dtype dtype = problem->operation == OP_ATTENTION ? problem->as.attention.dtype : problem->as.projection.dtype;
  return register_tensor(problem, extent->tensor, ctn_dtype_size(dtype), elements, error);
}
