/* Cutting a problem into boxes of pairs, and the tensors of each box. */
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "half.h"
#include "split.h"

/* The dense float results: [batches, q_heads, rest]. */
static const enum tensor dense_results[] = {T_LSE, T_SCORES_RAW, T_SCORES_SOFTCAPPED, T_SCORES_MASKED, T_WEIGHTS};
enum { DENSE_RESULTS = sizeof dense_results / sizeof dense_results[0] };

int64_t ctn_split_pairs(const struct attention *a) {
  return a->packed ? a->kv_heads : a->batch * a->kv_heads;
}

int ctn_split_boxes(const struct attention *a, int64_t first, int64_t pairs, struct box boxes[BOXES]) {
  int count = 0;
  if (a->packed) {
    boxes[count++] = (struct box){0, a->batch, first, pairs};
    return count;
  }
  while (pairs > 0) {
    const int64_t batch = first / a->kv_heads, head = first - batch * a->kv_heads;
    struct box box = {batch, 1, head, ctn_min(pairs, a->kv_heads - head)};
    if (head == 0 && pairs >= a->kv_heads) box.batches = pairs / a->kv_heads;
    boxes[count++] = box;
    first += box.batches * box.heads;
    pairs -= box.batches * box.heads;
  }
  return count;
}

static clattn_layout layout_of(struct layout layout) {
  return (clattn_layout){layout.batch, layout.head, layout.row};
}

/* Dimensions in which the mask broadcasts have size 1 and any stride but 0, since all strides 0 would mean dense. */
static clattn_mask mask_of(const struct attention *a, const struct box *box) {
  clattn_mask mask = {CLATTN_NONE, 0, {0, 0, 0, 0}, {0, 0, 0, 0}};
  if (a->mask_dtype == CLATTN_NONE) return mask;
  const int64_t full[4] = {box->batches, box->heads * a->group, a->q_len, a->mask_kv_len};
  mask.dtype = a->mask_dtype;
  mask.rank = 4;
  for (int i = 0; i < 4; i++) {
    const bool spread = a->mask_stride[i] == 0 && !(i == 3 && a->mask_kv_len < a->kv_len);
    mask.shape[i] = spread ? 1 : full[i];
    mask.stride[i] = spread ? 1 : a->mask_stride[i];
  }
  return mask;
}

clattn_problem ctn_split_problem(const struct problem *problem, const struct box *box) {
  const struct attention *a = &problem->as.attention;
  clattn_problem part = CLATTN_PROBLEM_INIT;
  part.dtype = a->dtype;
  part.batch = box->batches;
  part.q_heads = box->heads * a->group;
  part.kv_heads = box->heads;
  part.q_len = a->q_len;
  part.kv_len = a->kv_len;
  part.head_dim = a->head_dim;
  part.head_dim_v = a->head_dim_v;
  part.q = layout_of(a->q);
  part.k = layout_of(a->k);
  part.v = layout_of(a->v);
  part.out = layout_of(a->out);
  part.packed = a->packed;
  part.total_q = a->total_q;
  part.total_kv = a->total_kv;
  part.scale_given = 1;
  part.scale = a->scale;
  part.softcap = a->softcap;
  part.mask = mask_of(a, box);
  part.causal = a->causal;
  part.window_left = a->window_left;
  part.window_right = a->window_right;
  part.has_kv_len = a->has_kv_len;
  part.has_query_offset = a->has_query_offset;
  part.has_sinks = a->has_sinks;
  part.has_alibi = a->has_alibi;
  part.dropout = a->dropout;
  part.outputs = a->outputs;
  return part;
}

/* Elements of one head of a dense result, and how many batches it has: a packed lse is [q_heads, total_q]. */
static void dense_shape(const struct attention *a, enum tensor tensor, int64_t *batches, int64_t *rest) {
  const bool packed_lse = a->packed && tensor == T_LSE;
  *batches = packed_lse ? 1 : a->batch;
  *rest = packed_lse ? a->total_q : a->q_len * (tensor == T_LSE ? 1 : a->kv_len);
}

/* Whether the box's heads are one run of [batches, q_heads, rest]. */
static bool is_run(const struct attention *a, const struct box *box, int64_t batches) {
  return box->heads == a->kv_heads || batches == 1 || box->batches == 1;
}

clattn_status ctn_split_allocate(const struct problem *problem, struct piece *piece, clattn_error *error) {
  const struct attention *a = &problem->as.attention;
  for (int i = 0; i < DENSE_RESULTS; i++) {
    const enum tensor tensor = dense_results[i];
    int64_t batches, rest;
    dense_shape(a, tensor, &batches, &rest);
    if (!problem->tensor[tensor].used || is_run(a, &piece->box, batches)) continue;
    const size_t bytes = (size_t)(batches * piece->box.heads * a->group * rest) * sizeof(float);
    piece->dense[tensor] = malloc(bytes);
    if (piece->dense[tensor] == NULL) {
      return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes of a part", ctn_tensor_name(tensor), bytes);
    }
  }
  return CLATTN_OK;
}

void ctn_split_scatter(const struct problem *problem, const struct piece *piece, const clattn_arrays *whole) {
  const struct attention *a = &problem->as.attention;
  void *table[TENSOR_COUNT];
  ctn_arrays_table(whole, table);
  for (int i = 0; i < DENSE_RESULTS; i++) {
    const enum tensor tensor = dense_results[i];
    if (piece->dense[tensor] == NULL) continue;
    int64_t batches, rest;
    dense_shape(a, tensor, &batches, &rest);
    const size_t heads = (size_t)(piece->box.heads * a->group * rest), all = (size_t)(a->q_heads * rest);
    float *to = (float *)table[tensor] + (size_t)(piece->box.head * a->group * rest);
    for (int64_t b = 0; b < batches; b++)
      memcpy(to + (size_t)b * all, piece->dense[tensor] + (size_t)b * heads, heads * sizeof(float));
  }
}

/* The address of batch b, head h of a tensor, NULL where it is not given. */
static void *at(void *data, struct layout layout, int64_t b, int64_t h, clattn_dtype dtype) {
  return data == NULL ? NULL : (char *)data + (b * layout.batch + h * layout.head) * (int64_t)ctn_dtype_size(dtype);
}

clattn_arrays ctn_split_arrays(const struct problem *problem, const struct piece *piece, const clattn_arrays *whole) {
  const struct attention *a = &problem->as.attention;
  const struct box *box = &piece->box;
  const int64_t q_head = box->head * a->group;
  clattn_arrays arrays = *whole;
  void *table[TENSOR_COUNT];
  ctn_arrays_table(whole, table);
  const struct layout mask = {a->mask_stride[0], a->mask_stride[1], a->mask_stride[2]};
  arrays.q = at(table[T_Q], a->q, box->batch, q_head, a->dtype);
  arrays.k = at(table[T_K], a->k, box->batch, box->head, a->dtype);
  arrays.v = at(table[T_V], a->v, box->batch, box->head, a->dtype);
  arrays.out = at(table[T_OUT], a->out, box->batch, q_head, a->dtype);
  arrays.mask = at(table[T_MASK], mask, box->batch, q_head, a->mask_dtype);
  if (whole->kv_len != NULL) arrays.kv_len += box->batch;
  if (whole->query_offset != NULL) arrays.query_offset += box->batch;
  if (whole->sinks != NULL) arrays.sinks += q_head;
  if (whole->alibi_slopes != NULL) arrays.alibi_slopes += q_head;
  for (int i = 0; i < DENSE_RESULTS; i++) {
    const enum tensor tensor = dense_results[i];
    if (table[tensor] == NULL) continue;
    int64_t batches, rest;
    dense_shape(a, tensor, &batches, &rest);
    float *to = piece->dense[tensor];
    if (to == NULL) to = (float *)table[tensor] + ((batches == 1 ? 0 : box->batch) * a->q_heads + q_head) * rest;
    ctn_arrays_put(&arrays, tensor, to);
  }
  return arrays;
}

void ctn_split_share_out(const double *speeds, size_t count, int64_t pairs, int64_t *shares) {
  for (size_t i = 0; i < count; i++)
    shares[i] = 0;
  for (int64_t pair = 0; pair < pairs; pair++) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
      if ((double)(shares[i] + 1) / speeds[i] < (double)(shares[best] + 1) / speeds[best]) best = i;
    }
    shares[best]++;
  }
}
