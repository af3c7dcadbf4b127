/* From an attention case to a problem with data. */
#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mask's sizes, from batch to key. */
static void mask_sizes(const struct attention_case *c, int64_t size[4]) {
  const int64_t full[4] = {c->batch, c->q_heads, c->q_len, c->kv_len};
  for (int d = 0; d < 4; d++) {
    size[d] = (c->mask_ones >> d & 1) ? 1 : full[d];
  }
  if (size[3] > c->mask_missing + 1) size[3] -= c->mask_missing;
}

static clattn_mask make_mask(const struct attention_case *c) {
  clattn_mask mask = {c->mask, c->mask_rank > 0 ? c->mask_rank : 4, {0}, {0}};
  int64_t size[4], stride = c->mask_strided ? 2 : 1;
  if (c->mask == CLATTN_NONE) mask.rank = 0;
  mask_sizes(c, size);
  for (int i = mask.rank - 1; i >= 0; i--) {
    mask.shape[i] = size[4 - mask.rank + i];
    if (!c->mask_strided) continue;
    mask.stride[i] = stride;
    stride = stride * mask.shape[i] + 3;
  }
  return mask;
}

/* Rows of packed sequence b: all, half, none, most of them in turns; for keys none comes before half. */
static int64_t packed_rows(int64_t longest, int64_t b, bool keys) {
  const int64_t rows[4] = {longest, keys ? 0 : longest / 2, keys ? longest / 2 : 0, longest - longest / 3};
  return rows[b % 4];
}

static int64_t packed_total(int64_t longest, int64_t batch, bool keys) {
  int64_t total = 0;
  for (int64_t b = 0; b < batch; b++) {
    total += packed_rows(longest, b, keys);
  }
  return total;
}

static clattn_layout rows_apart(int64_t heads, int64_t rows, int64_t columns) {
  const int64_t head = columns + 3, row = heads * head + 5;
  return (clattn_layout){rows * row + 1, head, row};
}

static void place(clattn_problem *p, enum placement placement) {
  const int64_t q_rows = p->packed ? p->total_q : p->q_len, kv_rows = p->packed ? p->total_kv : p->kv_len;
  const int64_t row = p->q_heads * p->head_dim + p->kv_heads * (p->head_dim + p->head_dim_v);
  switch (placement) {
    case ROWS_APART:
      p->q = rows_apart(p->q_heads, q_rows, p->head_dim);
      p->k = rows_apart(p->kv_heads, kv_rows, p->head_dim);
      p->v = rows_apart(p->kv_heads, kv_rows, p->head_dim_v);
      p->out = rows_apart(p->q_heads, q_rows, p->head_dim_v);
      break;
    case ONE_BUFFER:
      p->q = (clattn_layout){q_rows * row, p->head_dim, row};
      p->k = (clattn_layout){q_rows * row, p->head_dim, row};
      p->v = (clattn_layout){q_rows * row, p->head_dim_v, row};
      p->out = (clattn_layout){q_rows * p->q_heads * p->head_dim_v, p->head_dim_v, p->q_heads * p->head_dim_v};
      break;
    case REPEATED:
      p->k = (clattn_layout){0, 0, p->head_dim + 1};
      p->v = (clattn_layout){kv_rows * p->head_dim_v, 0, p->head_dim_v};
      break;
    default:
      break;
  }
}

clattn_problem support_case_problem(const struct attention_case *c, uint32_t outputs) {
  clattn_problem p = CLATTN_PROBLEM_INIT;
  if (c->dtype != CLATTN_NONE) p.dtype = c->dtype;
  p.batch = c->batch;
  p.q_heads = c->q_heads;
  p.kv_heads = c->kv_heads;
  p.q_len = c->q_len;
  p.kv_len = c->kv_len;
  p.head_dim = c->head_dim;
  p.head_dim_v = c->head_dim_v;
  p.packed = c->packed;
  p.total_q = packed_total(c->q_len, c->batch, false);
  p.total_kv = packed_total(c->kv_len, c->batch, true);
  p.scale_given = c->scale != 0;
  p.scale = c->scale;
  p.softcap = c->softcap;
  p.mask = make_mask(c);
  p.causal = c->causal;
  p.window_left = c->window ? c->left : -1;
  p.window_right = c->window ? c->right : -1;
  p.has_kv_len = c->kv_lens;
  p.has_query_offset = c->offset != NO_OFFSET;
  p.has_sinks = c->sinks;
  p.has_alibi = c->alibi;
  p.dropout = c->dropout;
  p.outputs = outputs;
  place(&p, c->placement);
  return p;
}

struct attention_case support_combine(const struct attention_case *shape, const struct attention_case *option) {
  struct attention_case c = *option;
  c.dtype = shape->dtype;
  c.batch = shape->batch;
  c.q_heads = shape->q_heads;
  c.kv_heads = shape->kv_heads;
  c.q_len = shape->q_len;
  c.kv_len = c.placement == ONE_BUFFER ? shape->q_len : shape->kv_len;
  c.head_dim = shape->head_dim;
  c.head_dim_v = shape->head_dim_v;
  c.seed = shape->seed;
  if (c.packed && c.placement == ONE_BUFFER) c.batch = 1; /* sequences of keys and queries differ in length */
  return c;
}

/* A number that depends on its arguments alone, so that tensors that share memory agree. */
static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + a * UINT64_C(0xbf58476d1ce4e5b9) + b + 1;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* From -1 to 1. */
static double unit(uint64_t seed, uint64_t a, uint64_t b) {
  return (double)(mix(seed, a, b) >> 11) * 0x1p-52 - 1;
}

static int64_t *integers(const int64_t *data) {
  return (int64_t *)(uintptr_t)data;
}

static void fill_lengths(const struct setup *s, const struct attention_case *c) {
  const struct attention *a = &s->problem.as.attention;
  int64_t *cu_q = integers(s->arrays.cu_seqlens_q), *cu_kv = integers(s->arrays.cu_seqlens_kv);
  int64_t *kv_len = integers(s->arrays.kv_len), *offset = integers(s->arrays.query_offset);
  const int64_t huge = INT64_C(1) << 62;
  if (a->packed) cu_q[0] = cu_kv[0] = 0;
  for (int64_t b = 0; b < a->batch; b++) {
    int64_t queries = a->q_len, keys = a->kv_len;
    if (a->packed) {
      queries = packed_rows(a->q_len, b, false);
      keys = packed_rows(a->kv_len, b, true);
      cu_q[b + 1] = cu_q[b] + queries;
      cu_kv[b + 1] = cu_kv[b] + keys;
    }
    const int64_t lengths[4] = {keys - keys / 3, 0, keys > 1 ? 1 : keys, keys};
    if (a->has_kv_len) kv_len[b] = keys = lengths[(b + (int64_t)(c->seed % 4)) % 4];
    if (!a->has_query_offset) continue;
    const int64_t offsets[OFFSETS_COUNT] = {0, keys - queries, -(queries / 2) - b, b % 2 ? -3 : keys - queries,
                                            b % 2 ? -huge : huge};
    offset[b] = offsets[c->offset];
  }
}

/* attention.md's list of what excludes key j from row i of head h, written a second time: the oracle has the first. */
static bool attends(const struct setup *s, const struct sequence *seq, int64_t b, int64_t h, int64_t i, int64_t j) {
  const struct attention *a = &s->problem.as.attention;
  const int64_t p = i + seq->query_offset;
  bool yes = i < seq->q_rows && j < seq->kv_len;
  yes = yes && (!a->causal || j <= p);
  yes = yes && (a->window_left < 0 || j >= p - a->window_left);
  yes = yes && (a->window_right < 0 || j <= p + a->window_right);
  if (!yes || a->mask_dtype == CLATTN_NONE) return yes;
  if (j >= a->mask_kv_len) return false;
  const int64_t m = b * a->mask_stride[0] + h * a->mask_stride[1] + i * a->mask_stride[2] + j * a->mask_stride[3];
  if (a->mask_dtype == CLATTN_BOOL) return ((const uint8_t *)s->arrays.mask)[m] != 0;
  return ctn_load_f64(a->mask_dtype, s->arrays.mask, m) != -INFINITY;
}

static void fill_mask(const struct setup *s, const struct attention_case *c) {
  const struct attention *a = &s->problem.as.attention;
  int64_t size[4];
  mask_sizes(c, size);
  for (int d = 0; d < 4 - (c->mask_rank > 0 ? c->mask_rank : 4); d++) {
    size[d] = 1;
  }
  for (int64_t n = 0; n < size[0] * size[1] * size[2] * size[3]; n++) {
    const int64_t j = n % size[3], i = n / size[3] % size[2], h = n / size[3] / size[2] % size[1];
    const int64_t b = n / size[3] / size[2] / size[1];
    const int64_t m = b * a->mask_stride[0] + h * a->mask_stride[1] + i * a->mask_stride[2] + j * a->mask_stride[3];
    const double value = unit(c->seed, T_MASK, (uint64_t)n);
    if (a->mask_dtype == CLATTN_BOOL) {
      ((uint8_t *)(uintptr_t)s->arrays.mask)[m] = (uint8_t)(value > 0 ? 1 + n % 255 : 0);
    } else {
      support_set(a->mask_dtype, s->arrays.mask, m, value < -0.6 ? -INFINITY : value);
    }
  }
}

/* NaN is there already. */
static void add_infinities(const struct setup *s, enum tensor tensor, const void *data) {
  for (int64_t n = 1; n < s->problem.tensor[tensor].extent; n += 3) {
    support_set(s->problem.as.attention.dtype, data, n, n % 2 ? INFINITY : -INFINITY);
  }
}

static void fill_row(clattn_dtype dtype, const void *data, int64_t start, int64_t columns, double spread, uint64_t seed) {
  for (int64_t d = 0; d < columns; d++) {
    support_set(dtype, data, start + d, 2 * spread * unit(seed, 0, (uint64_t)(start + d)));
  }
}

static void scale_sizes(clattn_dtype dtype, const void *data, int64_t start, int64_t columns, double factor) {
  for (int64_t d = 0; d < columns; d++) {
    support_set(dtype, data, start + d, factor * fabs(ctn_load_f64(dtype, data, start + d)));
  }
}

/* Rows of q, k and v of batch b. Whether a row that nobody needs is filled all the same is its place's matter. */
static void fill_rows(const struct setup *s, const struct attention_case *c, int64_t b) {
  const struct attention *a = &s->problem.as.attention;
  const struct sequence seq = ctn_sequence(a, &s->arrays, b);
  bool *key_needed = calloc((size_t)(a->kv_heads * a->kv_len), sizeof *key_needed);
  assert_non_null(key_needed);
  for (int64_t h = 0; h < a->q_heads; h++) {
    for (int64_t i = 0; i < seq.q_rows; i++) {
      bool needed = false;
      for (int64_t j = 0; j < seq.kv_len; j++) {
        if (!attends(s, &seq, b, h, i, j)) continue;
        needed = key_needed[h / a->group * a->kv_len + j] = true;
      }
      const int64_t place = b * a->q.batch + h * a->q.head + (seq.q_first + i) * a->q.row;
      if (!needed && mix(c->seed, 1, (uint64_t)place) % 2) continue;
      fill_row(a->dtype, s->arrays.q, place, a->head_dim, c->spread > 0 ? c->spread : 1, c->seed);
      if (c->rise != 0) scale_sizes(a->dtype, s->arrays.q, place, a->head_dim, 1);
    }
  }
  for (int64_t n = 0; n < a->kv_heads * a->kv_len; n++) {
    const int64_t h = n / a->kv_len, j = n % a->kv_len;
    if (j >= seq.kv_rows || (!key_needed[n] && mix(c->seed, 2, (uint64_t)n) % 2)) continue;
    const int64_t key = b * a->k.batch + h * a->k.head + (seq.kv_first + j) * a->k.row;
    fill_row(a->dtype, s->arrays.k, key, a->head_dim, 1, c->seed + 1);
    if (c->rise != 0) {
      scale_sizes(a->dtype, s->arrays.k, key, a->head_dim, 1 + c->rise * (double)j / (double)a->kv_len);
    }
    fill_row(a->dtype, s->arrays.v, b * a->v.batch + h * a->v.head + (seq.kv_first + j) * a->v.row, a->head_dim_v, 1,
             c->seed + 2);
  }
  free(key_needed);
}

/* Into the last batch's last head, in the middle of its rows and columns. */
static void make_trouble(const struct setup *s, enum trouble trouble) {
  const struct attention *a = &s->problem.as.attention;
  const int64_t b = a->packed ? 0 : a->batch - 1, i = a->q_len / 2, j = a->kv_len / 2;
  const int64_t q = b * a->q.batch + (a->q_heads - 1) * a->q.head + i * a->q.row + a->head_dim / 2;
  const int64_t k = b * a->k.batch + (a->kv_heads - 1) * a->k.head + j * a->k.row + a->head_dim / 2;
  const int64_t v = b * a->v.batch + (a->kv_heads - 1) * a->v.head + j * a->v.row + a->head_dim_v / 2;
  if (trouble == NAN_IN_Q) support_set(a->dtype, s->arrays.q, q, NAN);
  if (trouble == NAN_IN_K) support_set(a->dtype, s->arrays.k, k, NAN);
  if (trouble == INFINITE_K) support_set(a->dtype, s->arrays.k, k, INFINITY);
  if (trouble == NAN_IN_V) support_set(a->dtype, s->arrays.v, v, NAN);
  if (trouble == INFINITE_V) support_set(a->dtype, s->arrays.v, v, -INFINITY);
  if (trouble == NAN_SINK && a->has_sinks) support_set(CLATTN_F32, s->arrays.sinks, a->q_heads - 1, NAN);
  if (trouble == NAN_IN_MASK && a->mask_dtype != CLATTN_NONE && a->mask_dtype != CLATTN_BOOL) {
    support_set(a->mask_dtype, s->arrays.mask, 0, NAN);
  }
}

/* k and v move into q's memory, which becomes long enough for all three. */
static void share_memory(struct setup *s) {
  const struct attention *a = &s->problem.as.attention;
  const size_t element = s->problem.tensor[T_Q].element;
  const int64_t k = a->q_heads * a->head_dim, v = k + a->kv_heads * a->head_dim;
  const size_t bytes = (size_t)(v + s->problem.tensor[T_V].extent) * element;
  char *memory = realloc(s->memory[T_Q], bytes);
  assert_non_null(memory);
  memset(memory, INPUT_POISON, bytes);
  free(s->memory[T_K]);
  free(s->memory[T_V]);
  s->memory[T_Q] = memory;
  s->memory[T_K] = s->memory[T_V] = NULL;
  s->arrays.q = memory;
  s->arrays.k = memory + (size_t)k * element;
  s->arrays.v = memory + (size_t)v * element;
}

void support_case(struct setup *s, const struct attention_case *c, uint32_t outputs) {
  const clattn_problem problem = support_case_problem(c, outputs);
  support_attention(s, &problem);
  const struct attention *a = &s->problem.as.attention;
  if (c->placement == ONE_BUFFER) share_memory(s);
  add_infinities(s, T_Q, s->arrays.q);
  add_infinities(s, T_K, s->arrays.k);
  add_infinities(s, T_V, s->arrays.v);
  fill_lengths(s, c);
  if (a->mask_dtype != CLATTN_NONE) fill_mask(s, c);
  for (int64_t b = 0; b < a->batch; b++) {
    fill_rows(s, c, b);
  }
  for (int64_t h = 0; h < a->q_heads; h++) {
    if (a->has_sinks) support_set(CLATTN_F32, s->arrays.sinks, h, h % 4 == 3 ? -INFINITY : 1.5 - (double)h);
    if (a->has_alibi) support_set(CLATTN_F32, s->arrays.alibi_slopes, h, 0.5 / (double)(h + 1));
  }
  s->arrays.dropout_seed = mix(c->seed, 3, 0);
  s->arrays.dropout_offset = mix(c->seed, 4, 0);
  make_trouble(s, c->trouble);
}

double support_largest_score(const struct setup *s) {
  double largest = 0;
  for (int64_t n = 0; n < s->problem.tensor[T_SCORES_MASKED].extent; n++) {
    const double masked = fabs((double)s->arrays.scores_masked[n]), raw = fabs((double)s->arrays.scores_raw[n]);
    if (isfinite(masked)) largest = fmax(largest, masked);
    if (isfinite(masked) && isfinite(raw)) largest = fmax(largest, raw);
  }
  return largest;
}

void support_case_text(const struct attention_case *c, char *text, size_t size) {
  snprintf(text, size,
           "{.name = \"%s\", .dtype = %d, .batch = %lld, .q_heads = %lld, .kv_heads = %lld, .q_len = %lld, .kv_len = %lld, "
           ".head_dim = %lld, .head_dim_v = %lld, .causal = %d, .window = %d, .left = %lld, .right = %lld, .offset = %d, "
           ".kv_lens = %d, .mask = %d, .mask_rank = %d, .mask_ones = %u, .mask_missing = %lld, .mask_strided = %d, "
           ".softcap = %g, .scale = %g, .alibi = %d, .sinks = %d, .dropout = %g, .packed = %d, .placement = %d, .spread = %g, "
           ".rise = %g, .trouble = %d, .seed = %llu}",
           c->name != NULL ? c->name : "", (int)c->dtype, (long long)c->batch, (long long)c->q_heads, (long long)c->kv_heads,
           (long long)c->q_len, (long long)c->kv_len, (long long)c->head_dim, (long long)c->head_dim_v, c->causal, c->window,
           (long long)c->left, (long long)c->right, (int)c->offset, c->kv_lens, (int)c->mask, c->mask_rank, c->mask_ones,
           (long long)c->mask_missing, c->mask_strided, (double)c->softcap, (double)c->scale, c->alibi, c->sinks,
           (double)c->dropout, c->packed, (int)c->placement, c->spread, c->rise, (int)c->trouble, (unsigned long long)c->seed);
}
