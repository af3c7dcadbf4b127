/* The tensors of a case file: their types and shapes against each other, and what has to be converted or joined. */
#include <inttypes.h>
#include <string.h>

#include "case.h"
#include "checked.h"
#include "compare.h"
#include "half.h"
#include "status.h"

#define FAIL(...) ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: " __VA_ARGS__)

static clattn_status expect_shape(const struct case_file *c, const struct st_tensor *tensor, int rank, const int64_t *shape,
                                  clattn_error *error) {
  if (tensor->rank == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0) return CLATTN_OK;
  struct st_tensor wanted = {.rank = rank};
  memcpy(wanted.shape, shape, (size_t)rank * sizeof *shape);
  char has[200], wants[200];
  return FAIL("tensor '%s': shape %s, but the other tensors want %s", c->path, tensor->name, ctn_shape_text(tensor, has),
              ctn_shape_text(&wanted, wants));
}

static clattn_dtype storage_type(enum st_dtype dtype) {
  return dtype == ST_F32 ? CLATTN_F32 : dtype == ST_F16 ? CLATTN_F16 : dtype == ST_BF16 ? CLATTN_BF16 : CLATTN_NONE;
}

static clattn_status check_types(struct case_file *c, const struct st_tensor *const *tensors, int count, clattn_error *error) {
  clattn_dtype dtype = storage_type(tensors[0]->dtype);
  const char *said = ctn_st_metadata(&c->file, "dtype");
  if (dtype == CLATTN_NONE) {
    return FAIL("tensor 'q': dtype %s; use F32, F16 or BF16", c->path, ctn_st_name(tensors[0]->dtype));
  }
  for (int i = 1; i < count; i++) {
    if (tensors[i] && tensors[i]->dtype != tensors[0]->dtype) {
      return FAIL("tensor '%s': dtype %s, but q's is %s", c->path, tensors[i]->name, ctn_st_name(tensors[i]->dtype),
                  ctn_st_name(tensors[0]->dtype));
    }
  }
  if (said && strcmp(said, ctn_dtype_name(dtype)) != 0) {
    return FAIL("metadata dtype: '%s', but q is %s", c->path, said, ctn_st_name(tensors[0]->dtype));
  }
  c->problem.dtype = dtype;
  if (c->rtol < 0) c->rtol = dtype == CLATTN_F32 ? 1e-5 : dtype == CLATTN_F16 ? 2e-3 : 1.6e-2;
  if (c->atol < 0) c->atol = dtype == CLATTN_F32 ? 2e-6 : dtype == CLATTN_F16 ? 1e-3 : 8e-3;
  return CLATTN_OK;
}

/* Head counts are stated for [batch, rows, heads * dim] (heads is -1 there), and may be stated, rightly, for the other shapes.
 */
static clattn_status check_heads(struct case_file *c, const char *key, int64_t heads, int64_t *result, clattn_error *error) {
  int64_t said = 0;
  clattn_status status = ctn_case_integer(c, key, 1, INT32_MAX, &said, error);
  if (status) return status;
  if (heads < 0 && said == 0) return FAIL("metadata %s: missing, and q of rank 3 needs it", c->path, key);
  if (heads >= 0 && said != 0 && heads != said) {
    return FAIL("metadata %s: %" PRId64 ", but the tensor has %" PRId64 " heads", c->path, key, said, heads);
  }
  *result = heads >= 0 ? heads : said;
  return CLATTN_OK;
}

/* [batch, rows, heads * dim] as strides; *dim from the last dimension. */
static clattn_status split_heads(const struct case_file *c, const struct st_tensor *tensor, int64_t heads, int64_t *dim,
                                 clattn_layout *layout, clattn_error *error) {
  int64_t columns = tensor->shape[2];
  if (columns % heads != 0) {
    return FAIL("tensor '%s': its last dimension %" PRId64 " is not a multiple of %" PRId64 " heads", c->path, tensor->name,
                columns, heads);
  }
  *dim = columns / heads;
  int64_t batch_stride;
  if (!ctn_mul(tensor->shape[1], columns, &batch_stride)) batch_stride = 0; /* an empty tensor: the sizes are refused anyway */
  *layout = (clattn_layout){batch_stride, *dim, columns};
  return CLATTN_OK;
}

/* q, k, v of rank 4, or of rank 3 with head counts: sizes and layouts of the problem. */
static clattn_status padded_shapes(struct case_file *c, const struct st_tensor *q, const struct st_tensor *k,
                                   const struct st_tensor *v, clattn_error *error) {
  clattn_problem *p = &c->problem;
  bool split = q->rank == 4;
  clattn_status status = check_heads(c, "q_heads", split ? q->shape[1] : -1, &p->q_heads, error);
  if (status == CLATTN_OK) status = check_heads(c, "kv_heads", split ? k->shape[1] : -1, &p->kv_heads, error);
  if (status) return status;
  p->batch = q->shape[0];
  p->q_len = q->shape[split ? 2 : 1];
  p->kv_len = k->shape[split ? 2 : 1];
  if (split) {
    p->head_dim = q->shape[3];
    p->head_dim_v = v->shape[3];
    const int64_t k_shape[4] = {p->batch, p->kv_heads, p->kv_len, p->head_dim};
    const int64_t v_shape[4] = {p->batch, p->kv_heads, p->kv_len, p->head_dim_v};
    status = expect_shape(c, k, 4, k_shape, error);
    return status ? status : expect_shape(c, v, 4, v_shape, error);
  }
  int64_t k_dim = 0;
  status = split_heads(c, q, p->q_heads, &p->head_dim, &p->q, error);
  if (status == CLATTN_OK) status = split_heads(c, k, p->kv_heads, &k_dim, &p->k, error);
  if (status == CLATTN_OK) status = split_heads(c, v, p->kv_heads, &p->head_dim_v, &p->v, error);
  if (status) return status;
  if (k_dim != p->head_dim) {
    return FAIL("tensor 'k': head dimension %" PRId64 " (of %" PRId64 " heads), but q's is %" PRId64, c->path, k_dim,
                p->kv_heads, p->head_dim);
  }
  const int64_t k_shape[3] = {p->batch, p->kv_len, k->shape[2]}, v_shape[3] = {p->batch, p->kv_len, v->shape[2]};
  status = expect_shape(c, k, 3, k_shape, error);
  if (status == CLATTN_OK) status = expect_shape(c, v, 3, v_shape, error);
  int64_t columns, image;
  if (!ctn_mul(p->q_heads, p->head_dim_v, &columns) || !ctn_mul(columns, p->q_len, &image)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: out: the product of its dimensions overflows", c->path);
  }
  p->out = (clattn_layout){image, p->head_dim_v, columns};
  return status;
}

/* An I64 or I32 tensor of rank 1 as int64. */
static clattn_status integers(struct case_file *c, const char *name, int64_t count, const int64_t **values,
                              clattn_error *error) {
  const struct st_tensor *tensor = ctn_st_find(&c->file, name);
  if (!tensor) return CLATTN_OK;
  if (tensor->dtype != ST_I64 && tensor->dtype != ST_I32) {
    return FAIL("tensor '%s': dtype %s; use I64 or I32", c->path, name, ctn_st_name(tensor->dtype));
  }
  clattn_status status = expect_shape(c, tensor, 1, &count, error);
  if (status) return status;
  *values = tensor->data;
  if (tensor->dtype == ST_I64) return CLATTN_OK;
  int64_t *wide = ctn_case_allocate(c, (size_t)count * sizeof *wide, error);
  if (!wide) return CLATTN_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; i++)
    wide[i] = ctn_st_i64(tensor, i);
  *values = wide;
  return CLATTN_OK;
}

/* A floating-point tensor of rank 1 as float32. */
static clattn_status floats(struct case_file *c, const char *name, int64_t count, const float **values, int *given,
                            clattn_error *error) {
  const struct st_tensor *tensor = ctn_st_find(&c->file, name);
  if (!tensor) return CLATTN_OK;
  if (tensor->dtype != ST_F64 && storage_type(tensor->dtype) == CLATTN_NONE) {
    return FAIL("tensor '%s': dtype %s; use F32, F64, F16 or BF16", c->path, name, ctn_st_name(tensor->dtype));
  }
  clattn_status status = expect_shape(c, tensor, 1, &count, error);
  if (status) return status;
  *given = 1;
  *values = tensor->data;
  if (tensor->dtype == ST_F32) return CLATTN_OK;
  float *narrow = ctn_case_allocate(c, (size_t)count * sizeof *narrow, error);
  if (!narrow) return CLATTN_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; i++)
    narrow[i] = (float)ctn_st_f64(tensor, i);
  *values = narrow;
  return CLATTN_OK;
}

/* The longest sequence of cu[0..batch], which must ascend from 0 to total. */
static clattn_status longest(const struct case_file *c, const char *name, const int64_t *cu, int64_t total, int64_t *length,
                             clattn_error *error) {
  *length = 0;
  int64_t batch = c->problem.batch;
  for (int64_t b = 0; b < batch; b++) {
    if (cu[b] < 0 || cu[b + 1] < cu[b] || cu[b + 1] > total) {
      return FAIL("tensor '%s': element %" PRId64 " is %" PRId64 " after %" PRId64 "; they ascend from 0 to %" PRId64, c->path,
                  name, b + 1, cu[b + 1], cu[b], total);
    }
    *length = ctn_max(*length, cu[b + 1] - cu[b]);
  }
  if (cu[0] == 0 && cu[batch] == total) return CLATTN_OK;
  return FAIL("tensor '%s': runs from %" PRId64 " to %" PRId64 ", not from 0 to %" PRId64, c->path, name, cu[0], cu[batch],
              total);
}

/* Sequences end to end: q [total_q, heads, dim], k and v [total_kv, heads, dim]. */
static clattn_status packed_shapes(struct case_file *c, const struct st_tensor *q, const struct st_tensor *k,
                                   const struct st_tensor *v, clattn_error *error) {
  clattn_problem *p = &c->problem;
  const struct st_tensor *cu_q = ctn_st_find(&c->file, "cu_seqlens_q");
  if (!cu_q || !ctn_st_find(&c->file, "cu_seqlens_kv")) {
    return FAIL("tensor '%s': missing, it comes together with the other cu_seqlens_*", c->path,
                cu_q ? "cu_seqlens_kv" : "cu_seqlens_q");
  }
  if (q->rank != 3) return FAIL("tensor 'q': rank %d, but with cu_seqlens_* it is [total_q, heads, dim]", c->path, q->rank);
  if (cu_q->rank != 1 || cu_q->shape[0] < 2) {
    return FAIL("tensor 'cu_seqlens_q': it is a list of at least two numbers", c->path);
  }
  clattn_status status = check_heads(c, "q_heads", q->shape[1], &p->q_heads, error);
  if (status == CLATTN_OK) status = check_heads(c, "kv_heads", k->shape[1], &p->kv_heads, error);
  if (status) return status;
  p->packed = 1;
  p->batch = cu_q->shape[0] - 1;
  p->total_q = q->shape[0];
  p->total_kv = k->shape[0];
  p->head_dim = q->shape[2];
  p->head_dim_v = v->shape[2];
  const int64_t k_shape[3] = {p->total_kv, p->kv_heads, p->head_dim}, v_shape[3] = {p->total_kv, p->kv_heads, p->head_dim_v};
  status = expect_shape(c, k, 3, k_shape, error);
  if (status == CLATTN_OK) status = expect_shape(c, v, 3, v_shape, error);
  if (status == CLATTN_OK) status = integers(c, "cu_seqlens_q", p->batch + 1, &c->arrays.cu_seqlens_q, error);
  if (status == CLATTN_OK) status = integers(c, "cu_seqlens_kv", p->batch + 1, &c->arrays.cu_seqlens_kv, error);
  if (status == CLATTN_OK) status = longest(c, "cu_seqlens_q", c->arrays.cu_seqlens_q, p->total_q, &p->q_len, error);
  if (status == CLATTN_OK) status = longest(c, "cu_seqlens_kv", c->arrays.cu_seqlens_kv, p->total_kv, &p->kv_len, error);
  return status;
}

/* The past rows of each head, then the new ones: dense [batch, kv_heads, past + new, dim]. past may be NULL. */
static clattn_status join(struct case_file *c, const struct st_tensor *past, const struct st_tensor *fresh, int64_t fresh_rows,
                          int64_t dim, clattn_layout layout, struct st_tensor *joined, clattn_error *error) {
  const clattn_problem *p = &c->problem;
  int64_t old_rows = past ? past->shape[2] : 0;
  size_t element = ctn_st_size(fresh->dtype);
  *joined = (struct st_tensor){
      .name = fresh->name, .dtype = fresh->dtype, .rank = 4, .count = past ? past->count + fresh->count : fresh->count};
  const int64_t shape[4] = {p->batch, p->kv_heads, old_rows + fresh_rows, dim};
  memcpy(joined->shape, shape, sizeof shape);
  joined->data = fresh->data;
  if (!past && fresh->rank == 4) return CLATTN_OK;
  if (fresh->rank == 4) layout = (clattn_layout){p->kv_heads * fresh_rows * dim, fresh_rows * dim, dim};

  unsigned char *to = ctn_case_allocate(c, (size_t)joined->count * element, error);
  if (!to) return CLATTN_OUT_OF_MEMORY;
  joined->data = to;
  if (joined->count == 0) return CLATTN_OK;
  const unsigned char *old = past ? past->data : NULL, *new = fresh->data;
  size_t row = (size_t)dim * element, old_bytes = (size_t)old_rows * row;
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t h = 0; h < p->kv_heads; h++) {
      if (old_bytes) memcpy(to, old + (size_t)(b * p->kv_heads + h) * old_bytes, old_bytes);
      to += old_bytes;
      for (int64_t s = 0; s < fresh_rows; s++, to += row) {
        memcpy(to, new + (size_t)(b * layout.batch_stride + h * layout.head_stride + s * layout.row_stride) * element, row);
      }
    }
  }
  return CLATTN_OK;
}

/* past_k and past_v before k and v; what comes out is present_k and present_v, and what attention then reads. */
static clattn_status join_past(struct case_file *c, const struct st_tensor *k, const struct st_tensor *v, clattn_error *error) {
  clattn_problem *p = &c->problem;
  const struct st_tensor *past_k = ctn_st_find(&c->file, "past_k"), *past_v = ctn_st_find(&c->file, "past_v");
  if (!past_k != !past_v) {
    return FAIL("tensor '%s': missing, it comes together with %s", c->path, past_k ? "past_v" : "past_k",
                past_k ? "past_k" : "past_v");
  }
  clattn_status status = CLATTN_OK;
  if (past_k) {
    if (past_k->rank != 4) return FAIL("tensor 'past_k': rank %d, not 4", c->path, past_k->rank);
    const int64_t k_shape[4] = {p->batch, p->kv_heads, past_k->shape[2], p->head_dim};
    const int64_t v_shape[4] = {p->batch, p->kv_heads, past_k->shape[2], p->head_dim_v};
    status = expect_shape(c, past_k, 4, k_shape, error);
    if (status == CLATTN_OK) status = expect_shape(c, past_v, 4, v_shape, error);
    /* Only empty tensors have such sizes. */
    if (status == CLATTN_OK && (past_k->shape[2] > INT32_MAX || p->kv_len > INT32_MAX)) {
      status = ctn_fail(error, CLATTN_TOO_LARGE, "%s: past_k and k: more than 2^31 rows", c->path);
    }
  }
  if (status || !past_k) return status;
  const int64_t fresh_rows = p->kv_len;
  status = join(c, past_k, k, fresh_rows, p->head_dim, p->k, &c->present_k, error);
  if (status == CLATTN_OK) status = join(c, past_v, v, fresh_rows, p->head_dim_v, p->v, &c->present_v, error);
  if (status) return status;
  p->kv_len = c->present_k.shape[2];
  p->k = p->v = (clattn_layout){0, 0, 0};
  c->arrays.k = c->present_k.data;
  c->arrays.v = c->present_v.data;
  return CLATTN_OK;
}

clattn_status ctn_case_present(struct case_file *c, clattn_error *error) {
  const clattn_problem *p = &c->problem;
  if (p->packed) {
    return ctn_fail(error, CLATTN_UNSUPPORTED, "%s: present_k, present_v: not defined together with cu_seqlens_*", c->path);
  }
  if (c->present_k.rank) return CLATTN_OK;
  const struct st_tensor *k = ctn_st_find(&c->file, "k"), *v = ctn_st_find(&c->file, "v");
  clattn_status status = join(c, NULL, k, p->kv_len, p->head_dim, p->k, &c->present_k, error);
  return status ? status : join(c, NULL, v, p->kv_len, p->head_dim_v, p->v, &c->present_v, error);
}

static clattn_status mask(struct case_file *c, clattn_error *error) {
  const struct st_tensor *tensor = ctn_st_find(&c->file, "mask");
  if (!tensor) return CLATTN_OK;
  clattn_dtype dtype = tensor->dtype == ST_BOOL ? CLATTN_BOOL : storage_type(tensor->dtype);
  if (dtype == CLATTN_NONE) {
    return FAIL("tensor 'mask': dtype %s; use BOOL (true attends), F32, F16 or BF16", c->path, ctn_st_name(tensor->dtype));
  }
  if (tensor->rank < 1 || tensor->rank > 4) return FAIL("tensor 'mask': rank %d, not 1 to 4", c->path, tensor->rank);
  c->problem.mask.dtype = dtype;
  c->problem.mask.rank = tensor->rank;
  memcpy(c->problem.mask.shape, tensor->shape, (size_t)tensor->rank * sizeof *tensor->shape);
  c->arrays.mask = tensor->data;
  return CLATTN_OK;
}

static clattn_status per_batch_and_head(struct case_file *c, clattn_error *error) {
  clattn_problem *p = &c->problem;
  clattn_status status = integers(c, "kv_len", p->batch, &c->arrays.kv_len, error);
  if (status == CLATTN_OK) status = integers(c, "query_offset", p->batch, &c->arrays.query_offset, error);
  if (status == CLATTN_OK) status = floats(c, "sinks", p->q_heads, &c->arrays.sinks, &p->has_sinks, error);
  if (status == CLATTN_OK) status = floats(c, "alibi_slopes", p->q_heads, &c->arrays.alibi_slopes, &p->has_alibi, error);
  p->has_kv_len = c->arrays.kv_len != NULL;
  p->has_query_offset = c->arrays.query_offset != NULL;
  return status;
}

clattn_status ctn_case_tensors(struct case_file *c, clattn_error *error) {
  static const char *const names[] = {"q", "k", "v", "past_k", "past_v", "dout"};
  const struct st_tensor *tensors[6];
  for (int i = 0; i < 6; i++) {
    tensors[i] = ctn_st_find(&c->file, names[i]);
    if (i < 3 && !tensors[i]) return FAIL("tensor '%s': missing", c->path, names[i]);
  }
  const struct st_tensor *q = tensors[0], *k = tensors[1], *v = tensors[2];
  if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank) {
    return FAIL("tensors 'q', 'k', 'v': ranks %d, %d, %d; all three are of rank 4, or all of rank 3", c->path, q->rank, k->rank,
                v->rank);
  }
  c->q_rank = q->rank;
  c->arrays.q = q->data;
  c->arrays.k = k->data;
  c->arrays.v = v->data;
  clattn_status status = check_types(c, tensors, 6, error);
  if (status) return status;
  if (ctn_st_find(&c->file, "cu_seqlens_q") || ctn_st_find(&c->file, "cu_seqlens_kv")) {
    if (tensors[3] || tensors[4]) return FAIL("past_k, past_v: not possible together with cu_seqlens_*", c->path);
    status = packed_shapes(c, q, k, v, error);
  } else {
    status = padded_shapes(c, q, k, v, error);
    if (status == CLATTN_OK) status = join_past(c, k, v, error);
  }
  if (status == CLATTN_OK) status = mask(c, error);
  if (status == CLATTN_OK) status = per_batch_and_head(c, error);
  return status;
}
