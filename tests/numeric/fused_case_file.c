/* An attention case as a case file: its tensors made dense, the reference path's results as what is expected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused_check.h"
#include "safetensors.h"

enum { MOST_TENSORS = 16 };

/* A file in the making, with the memory behind its tensors. */
struct draft {
  struct st_file file;
  void *memory[MOST_TENSORS];
  int count;
};

static enum st_dtype st_dtype_of(clattn_dtype dtype) {
  switch (dtype) {
    case CLATTN_F16:
      return ST_F16;
    case CLATTN_BF16:
      return ST_BF16;
    case CLATTN_BOOL:
      return ST_BOOL;
    default:
      return ST_F32;
  }
}

/* Elements at stride[] of data, gathered in the shape's order. A boolean is written as 0 or 1. */
static void add(struct draft *draft, const char *name, clattn_dtype dtype, int rank, const int64_t *shape,
                const int64_t *stride, const void *data) {
  const size_t element = ctn_dtype_size(dtype);
  int64_t count = 1;
  for (int d = 0; d < rank; d++) {
    count *= shape[d];
  }
  unsigned char *dense = malloc((size_t)count * element + 1);
  assert_non_null(dense);
  for (int64_t n = 0; n < count; n++) {
    int64_t place = 0, rest = n;
    for (int d = rank - 1; d >= 0; d--) {
      place += rest % shape[d] * stride[d];
      rest /= shape[d];
    }
    memcpy(dense + (size_t)n * element, (const char *)data + (size_t)place * element, element);
    if (dtype == CLATTN_BOOL) dense[n] = dense[n] != 0;
  }
  clattn_error error = CLATTN_ERROR_INIT;
  assert_true(draft->count < MOST_TENSORS);
  draft->memory[draft->count++] = dense;
  const enum st_dtype type = dtype == CLATTN_I64 ? ST_I64 : st_dtype_of(dtype);
  if (ctn_st_add(&draft->file, name, type, rank, shape, dense, &error) != CLATTN_OK) fail_msg("%s", error.text);
}

/* q, k, v or out: [batch, heads, rows, columns], or [total, heads, columns]. */
static void add_rows(struct draft *draft, const char *name, const struct attention *a, struct layout layout, int64_t heads,
                     bool of_queries, int64_t columns, const void *data) {
  const int64_t total = of_queries ? a->total_q : a->total_kv, rows = of_queries ? a->q_len : a->kv_len;
  if (a->packed) {
    const int64_t shape[3] = {total, heads, columns}, stride[3] = {layout.row, layout.head, 1};
    add(draft, name, a->dtype, 3, shape, stride, data);
  } else {
    const int64_t shape[4] = {a->batch, heads, rows, columns}, stride[4] = {layout.batch, layout.head, layout.row, 1};
    add(draft, name, a->dtype, 4, shape, stride, data);
  }
}

static void add_list(struct draft *draft, const char *name, clattn_dtype dtype, int64_t count, const void *data) {
  const int64_t stride = 1;
  add(draft, name, dtype, 1, &count, &stride, data);
}

static void add_mask(struct draft *draft, const struct setup *s, const clattn_mask *mask) {
  const struct attention *a = &s->problem.as.attention;
  add(draft, "mask", mask->dtype, mask->rank, mask->shape, a->mask_stride + 4 - mask->rank, s->arrays.mask);
}

static void say(struct draft *draft, const char *key, const char *value) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_add_metadata(&draft->file, key, value, &error) != CLATTN_OK) fail_msg("%s", error.text);
}

static void say_number(struct draft *draft, const char *key, double value) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", value);
  say(draft, key, text);
}

static void say_integer(struct draft *draft, const char *key, unsigned long long value) {
  char text[40];
  snprintf(text, sizeof text, "%llu", value);
  say(draft, key, text);
}

static void add_metadata(struct draft *draft, const struct setup *s, const struct attention_case *c, double limit) {
  const struct attention *a = &s->problem.as.attention;
  char text[1200];
  support_case_text(c, text, sizeof text);
  say(draft, "op", "attention");
  say(draft, "origin", text);
  say(draft, "dtype", ctn_dtype_name(a->dtype));
  say(draft, "causal", a->causal ? "1" : "0");
  say_number(draft, "scale", (double)a->scale);
  say_number(draft, "softcap", (double)a->softcap);
  say_number(draft, "dropout", (double)a->dropout);
  if (a->window_left >= 0) say_integer(draft, "window_left", (unsigned long long)a->window_left);
  if (a->window_right >= 0) say_integer(draft, "window_right", (unsigned long long)a->window_right);
  say_integer(draft, "dropout_seed", s->arrays.dropout_seed);
  say_integer(draft, "dropout_offset", s->arrays.dropout_offset);
  /* The norms' bound, with room for single elements. */
  say_number(draft, "rtol", 4 * limit);
  say_number(draft, "atol", 4 * limit);
}

static void add_tensors(struct draft *draft, const struct setup *s, const clattn_mask *mask) {
  const struct attention *a = &s->problem.as.attention;
  add_rows(draft, "q", a, a->q, a->q_heads, true, a->head_dim, s->arrays.q);
  add_rows(draft, "k", a, a->k, a->kv_heads, false, a->head_dim, s->arrays.k);
  add_rows(draft, "v", a, a->v, a->kv_heads, false, a->head_dim_v, s->arrays.v);
  if (a->mask_dtype != CLATTN_NONE) add_mask(draft, s, mask);
  if (a->has_kv_len) add_list(draft, "kv_len", CLATTN_I64, a->batch, s->arrays.kv_len);
  if (a->has_query_offset) add_list(draft, "query_offset", CLATTN_I64, a->batch, s->arrays.query_offset);
  if (a->packed) add_list(draft, "cu_seqlens_q", CLATTN_I64, a->batch + 1, s->arrays.cu_seqlens_q);
  if (a->packed) add_list(draft, "cu_seqlens_kv", CLATTN_I64, a->batch + 1, s->arrays.cu_seqlens_kv);
  if (a->has_sinks) add_list(draft, "sinks", CLATTN_F32, a->q_heads, s->arrays.sinks);
  if (a->has_alibi) add_list(draft, "alibi_slopes", CLATTN_F32, a->q_heads, s->arrays.alibi_slopes);
  add_rows(draft, "expected.out", a, a->out, a->q_heads, true, a->head_dim_v, s->arrays.out);
  if (a->packed) {
    const int64_t shape[2] = {a->q_heads, a->total_q}, stride[2] = {a->total_q, 1};
    add(draft, "expected.lse", CLATTN_F32, 2, shape, stride, s->arrays.lse);
  } else {
    const int64_t shape[3] = {a->batch, a->q_heads, a->q_len}, stride[3] = {a->q_heads * a->q_len, a->q_len, 1};
    add(draft, "expected.lse", CLATTN_F32, 3, shape, stride, s->arrays.lse);
  }
}

void fused_write_case(const struct attention_case *c, const char *path) {
  struct setup s;
  struct draft draft = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  fused_reference(&s, c);
  const clattn_problem problem = support_case_problem(c, ALL_OUTPUTS);
  add_tensors(&draft, &s, &problem.mask);
  add_metadata(&draft, &s, c, support_limit(s.problem.as.attention.dtype, support_largest_score(&s)));
  if (ctn_st_write(&draft.file, path, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_st_clear(&draft.file);
  for (int i = 0; i < draft.count; i++) {
    free(draft.memory[i]);
  }
  support_free(&s);
}
