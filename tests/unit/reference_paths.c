/*
 * The CPU path against the oracle: awkward shapes around its blocks (64 query rows, 128 keys) by options by storage types.
 * Memory that must not matter (gaps between rows, keys past kv_len, columns that the mask excludes) holds NaN, results start as
 * NaN.
 */
#include <math.h>
#include <stdio.h>

#include "reference_support.h"

struct shape {
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, head_dim_v;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1},     {2, 2, 1, 3, 7, 5, 3},     {1, 3, 3, 63, 127, 8, 9}, {2, 4, 2, 64, 128, 16, 16},
    {1, 2, 1, 65, 129, 17, 1}, {1, 1, 1, 1, 257, 64, 64}, {3, 2, 2, 67, 2, 1, 130}, {1, 2, 2, 31, 131, 7, 129},
};

enum mask_kind { NO_MASK, BOOL_FULL, BOOL_COLUMNS, FLOAT_HEADS, FLOAT_SHORT, F16_ROWS, BF16_ONE_COLUMN };

struct option {
  const char *name;
  bool causal;
  bool offset; /* bottom-right, which is negative where there are more queries than keys */
  int64_t left, right;
  bool kv_len;
  enum mask_kind mask;
  float softcap;
  bool alibi, sinks;
  float dropout;
  bool strided; /* [batch, row, head, column] with gaps */
  bool packed;
  double spread; /* of q: 0 means 1 */
};

static const struct option options[] = {
    {.name = "plain", .left = -1, .right = -1},
    {.name = "causal", .causal = true, .left = -1, .right = -1},
    {.name = "causal, bottom-right", .causal = true, .offset = true, .left = -1, .right = -1},
    {.name = "window", .left = 5, .right = 2},
    {.name = "window that leaves blocks empty", .left = 0, .right = 0, .offset = true},
    {.name = "window left, causal", .causal = true, .left = 3, .right = -1},
    {.name = "kv_len", .kv_len = true, .left = -1, .right = -1},
    {.name = "bool mask", .mask = BOOL_FULL, .left = -1, .right = -1},
    {.name = "bool mask of columns", .mask = BOOL_COLUMNS, .left = -1, .right = -1, .sinks = true},
    {.name = "float mask by head", .mask = FLOAT_HEADS, .left = -1, .right = -1},
    {.name = "float mask, short", .mask = FLOAT_SHORT, .left = -1, .right = -1},
    {.name = "f16 mask by row, causal", .mask = F16_ROWS, .causal = true, .left = -1, .right = -1},
    {.name = "bf16 mask of one column", .mask = BF16_ONE_COLUMN, .left = -1, .right = -1},
    {.name = "softcap", .softcap = 1.5f, .left = -1, .right = -1},
    {.name = "alibi", .alibi = true, .offset = true, .left = -1, .right = -1},
    {.name = "sinks, causal", .sinks = true, .causal = true, .offset = true, .left = -1, .right = -1},
    {.name = "dropout", .dropout = 0.3f, .left = -1, .right = -1},
    {.name = "strided", .strided = true, .left = -1, .right = -1},
    {.name = "packed", .packed = true, .left = -1, .right = -1},
    {.name = "packed, strided, causal, kv_len",
     .packed = true,
     .strided = true,
     .causal = true,
     .kv_len = true,
     .left = -1,
     .right = -1},
    {.name = "large scores", .spread = 60, .left = -1, .right = -1},
    {.name = "everything",
     .causal = true,
     .offset = true,
     .left = 100,
     .right = 3,
     .kv_len = true,
     .mask = FLOAT_HEADS,
     .softcap = 4,
     .alibi = true,
     .sinks = true,
     .dropout = 0.2f,
     .strided = true},
    {.name = "everything, packed",
     .causal = true,
     .offset = true,
     .left = 100,
     .right = -1,
     .mask = BOOL_FULL,
     .kv_len = true,
     .softcap = 4,
     .alibi = true,
     .sinks = true,
     .dropout = 0.2f,
     .packed = true},
};

static clattn_mask make_mask(enum mask_kind kind, const struct shape *s) {
  switch (kind) {
    case BOOL_FULL:
      return (clattn_mask){CLATTN_BOOL, 4, {s->batch, s->q_heads, s->q_len, s->kv_len}, {0}};
    case BOOL_COLUMNS:
      return (clattn_mask){CLATTN_BOOL, 4, {s->batch, 1, 1, s->kv_len}, {0}};
    case FLOAT_HEADS:
      return (clattn_mask){CLATTN_F32, 3, {s->q_heads, 1, s->kv_len}, {s->kv_len + 1, 0, 1}};
    case FLOAT_SHORT:
      return (clattn_mask){CLATTN_F32, 2, {s->q_len, s->kv_len > 2 ? s->kv_len - 2 : s->kv_len}, {0}};
    case F16_ROWS:
      return (clattn_mask){CLATTN_F16, 2, {s->q_len, s->kv_len}, {0}};
    case BF16_ONE_COLUMN:
      return (clattn_mask){CLATTN_BF16, 4, {1, s->q_heads, s->q_len, 1}, {0}};
    default:
      return (clattn_mask){CLATTN_NONE, 0, {0}, {0}};
  }
}

/* [batch, row, head, column] with 3 elements between heads and 5 between rows. */
static clattn_layout gaps(int64_t heads, int64_t rows, int64_t columns) {
  const int64_t head = columns + 3, row = heads * head + 5;
  return (clattn_layout){rows * row + 1, head, row};
}

/* Rows of packed sequence b, of `longest`: all, then fewer, then none or few. */
static int64_t packed_rows(int64_t longest, int64_t b) {
  return b == 0 ? longest : b == 1 ? longest / 2 : b == 2 ? 0 : longest - longest / 3;
}

static int64_t packed_total(int64_t longest, int64_t batch) {
  int64_t total = 0;
  for (int64_t b = 0; b < batch; b++) {
    total += packed_rows(longest, b);
  }
  return total;
}

static clattn_problem make_problem(const struct shape *s, const struct option *o, clattn_dtype dtype) {
  clattn_problem p = CLATTN_PROBLEM_INIT;
  p.dtype = dtype;
  p.batch = s->batch;
  p.q_heads = s->q_heads;
  p.kv_heads = s->kv_heads;
  p.q_len = s->q_len;
  p.kv_len = s->kv_len;
  p.head_dim = s->head_dim;
  p.head_dim_v = s->head_dim_v;
  p.packed = o->packed;
  p.total_q = packed_total(s->q_len, s->batch);
  p.total_kv = packed_total(s->kv_len, s->batch);
  p.softcap = o->softcap;
  p.mask = make_mask(o->mask, s);
  p.causal = o->causal;
  p.window_left = o->left;
  p.window_right = o->right;
  p.has_kv_len = o->kv_len;
  p.has_query_offset = o->offset;
  p.has_sinks = o->sinks;
  p.has_alibi = o->alibi;
  p.dropout = o->dropout;
  if (o->strided) {
    const int64_t q_rows = o->packed ? p.total_q : s->q_len, kv_rows = o->packed ? p.total_kv : s->kv_len;
    p.q = gaps(s->q_heads, q_rows, s->head_dim);
    p.k = gaps(s->kv_heads, kv_rows, s->head_dim);
    p.v = gaps(s->kv_heads, kv_rows, s->head_dim_v);
    p.out = gaps(s->q_heads, q_rows, s->head_dim_v);
  }
  return p;
}

static void fill_tensor(clattn_dtype dtype, const void *data, const struct layout *l, const int64_t sizes[4], double spread,
                        uint64_t *random) {
  for (int64_t b = 0; b < sizes[0]; b++) {
    for (int64_t h = 0; h < sizes[1]; h++) {
      for (int64_t i = 0; i < sizes[2]; i++) {
        for (int64_t d = 0; d < sizes[3]; d++) {
          const int64_t index = b * l->batch + h * l->head + i * l->row + d;
          support_set(dtype, data, index, 2 * spread * support_random(random));
        }
      }
    }
  }
}

/* Row `row` of k and v becomes NaN, for all heads. */
static void spoil_key(const struct setup *s, int64_t b, int64_t row) {
  const struct attention *a = &s->problem.as.attention;
  for (int64_t h = 0; h < a->kv_heads; h++) {
    for (int64_t d = 0; d < a->head_dim; d++) {
      support_set(a->dtype, s->arrays.k, b * a->k.batch + h * a->k.head + row * a->k.row + d, NAN);
    }
    for (int64_t d = 0; d < a->head_dim_v; d++) {
      support_set(a->dtype, s->arrays.v, b * a->v.batch + h * a->v.head + row * a->v.row + d, d % 2 ? NAN : INFINITY);
    }
  }
}

/* Lengths and offsets: full, empty, and something between, in turns. */
static void fill_lengths(const struct setup *s) {
  const struct attention *a = &s->problem.as.attention;
  int64_t *cu_q = (int64_t *)(uintptr_t)s->arrays.cu_seqlens_q, *cu_kv = (int64_t *)(uintptr_t)s->arrays.cu_seqlens_kv;
  int64_t *kv_len = (int64_t *)(uintptr_t)s->arrays.kv_len, *offset = (int64_t *)(uintptr_t)s->arrays.query_offset;
  if (a->packed) cu_q[0] = cu_kv[0] = 0;
  for (int64_t b = 0; b < a->batch; b++) {
    int64_t rows = a->kv_len;
    if (a->packed) {
      cu_q[b + 1] = cu_q[b] + packed_rows(a->q_len, b);
      cu_kv[b + 1] = cu_kv[b] + packed_rows(a->kv_len, b);
      rows = cu_kv[b + 1] - cu_kv[b];
    }
    if (a->has_kv_len) kv_len[b] = b % 3 == 0 ? rows - rows / 3 : b % 3 == 1 ? 0 : rows;
    if (a->has_query_offset) offset[b] = a->kv_len - a->q_len + b;
    for (int64_t j = a->has_kv_len ? kv_len[b] : rows; j < rows; j++) {
      spoil_key(s, a->packed ? 0 : b, (a->packed ? cu_kv[b] : 0) + j);
    }
  }
}

static void fill_mask(const struct setup *s, enum mask_kind kind, uint64_t *random) {
  const struct attention *a = &s->problem.as.attention;
  uint8_t *bytes = (uint8_t *)(uintptr_t)s->arrays.mask;
  const int64_t extent = s->problem.tensor[T_MASK].extent;
  for (int64_t n = 0; n < extent; n++) {
    const double value = support_random(random);
    if (a->mask_dtype == CLATTN_BOOL) {
      bytes[n] = (uint8_t)(value > 0 ? 1 + n % 255 : 0);
    } else {
      support_set(a->mask_dtype, s->arrays.mask, n, value < -0.5 ? -INFINITY : value);
    }
  }
  for (int64_t n = 0; kind == BOOL_COLUMNS && n < extent; n++) {
    if (bytes[n] == 0) spoil_key(s, n / a->kv_len, n % a->kv_len);
  }
}

static void fill(const struct setup *s, const struct option *o) {
  const struct attention *a = &s->problem.as.attention;
  uint64_t random = 42;
  const int64_t batch = a->packed ? 1 : a->batch;
  const int64_t q_rows = a->packed ? a->total_q : a->q_len, kv_rows = a->packed ? a->total_kv : a->kv_len;
  const double spread = o->spread > 0 ? o->spread : 1;
  fill_tensor(a->dtype, s->arrays.q, &a->q, (int64_t[]){batch, a->q_heads, q_rows, a->head_dim}, spread, &random);
  fill_tensor(a->dtype, s->arrays.k, &a->k, (int64_t[]){batch, a->kv_heads, kv_rows, a->head_dim}, 1, &random);
  fill_tensor(a->dtype, s->arrays.v, &a->v, (int64_t[]){batch, a->kv_heads, kv_rows, a->head_dim_v}, 1, &random);
  fill_lengths(s);
  if (a->mask_dtype != CLATTN_NONE) fill_mask(s, o->mask, &random);
  for (int64_t h = 0; h < a->q_heads; h++) {
    if (a->has_sinks) support_set(CLATTN_F32, s->arrays.sinks, h, 1.5 - (double)h);
    if (a->has_alibi) support_set(CLATTN_F32, s->arrays.alibi_slopes, h, 0.5 / (double)(h + 1));
  }
}

/* The largest finite score. */
static double largest_score(const struct setup *s) {
  const int64_t count = s->problem.tensor[T_SCORES_MASKED].extent;
  double largest = 0;
  for (int64_t n = 0; n < count; n++) {
    const double score = fabs((double)s->arrays.scores_masked[n]);
    if (isfinite(score)) largest = fmax(largest, score);
  }
  return largest;
}

/* Each result of `got` that was asked for against `want`, gaps (NaN in both) included. */
static void compare(const struct setup *got, const struct setup *want, double float_limit, const char *name) {
  void *a[TENSOR_COUNT], *b[TENSOR_COUNT];
  ctn_arrays_table(&got->arrays, a);
  ctn_arrays_table(&want->arrays, b);
  const clattn_dtype dtype = got->problem.as.attention.dtype;
  for (int t = T_OUT; t < TENSOR_COUNT; t++) {
    if (!got->problem.tensor[t].used) continue;
    char what[160];
    snprintf(what, sizeof what, "%s: %s of type %s", name, ctn_tensor_name((enum tensor)t), ctn_dtype_name(dtype));
    const clattn_dtype type = t == T_OUT ? dtype : CLATTN_F32;
    const double limit = type == CLATTN_F16 ? 1e-3 : type == CLATTN_BF16 ? 8e-3 : float_limit;
    const double difference = support_difference(type, a[t], b[t], got->problem.tensor[t].extent, what);
    if (!(difference <= limit)) fail_msg("%s differs by %g, more than %g", what, difference, limit);
  }
}

static void check(const struct shape *shape, const struct option *o, clattn_dtype dtype, struct pool *pool) {
  char name[128];
  struct setup want, got;
  clattn_problem problem = make_problem(shape, o, dtype);
  snprintf(name, sizeof name, "%s, %lld x %lld x %lld", o->name, (long long)shape->q_len, (long long)shape->kv_len,
           (long long)shape->head_dim);
  problem.outputs = ALL_OUTPUTS;
  support_attention(&want, &problem);
  fill(&want, o);
  support_run(&want, NULL);
  const double limit = 1e-6 * fmax(1, largest_score(&want) / 8);
  const uint32_t outputs[] = {ALL_OUTPUTS, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, CLATTN_OUTPUT_LSE, CLATTN_OUTPUT_WEIGHTS};
  for (size_t n = 0; n < sizeof outputs / sizeof outputs[0]; n++) {
    problem.outputs = outputs[n];
    support_attention(&got, &problem);
    fill(&got, o);
    support_run(&got, pool);
    compare(&got, &want, limit, name);
    support_free(&got);
  }
  support_free(&want);
}

static void check_all(clattn_dtype dtype) {
  struct pool *pool = NULL;
  assert_int_equal(ctn_pool_create(&pool, 2, NULL), CLATTN_OK);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
      check(&shapes[s], &options[o], dtype, pool);
    }
  }
  ctn_pool_destroy(pool);
}

/* Averages over so many keys are small against their terms: sums need to be made in parts. */
static void test_long_rows(void **state) {
  (void)state;
  const struct shape shape = {1, 1, 1, 2, 65536, 64, 64};
  struct pool *pool = NULL;
  assert_int_equal(ctn_pool_create(&pool, 2, NULL), CLATTN_OK);
  check(&shape, &options[0], CLATTN_F32, pool);
  ctn_pool_destroy(pool);
}

static void test_f32(void **state) {
  (void)state;
  check_all(CLATTN_F32);
}
static void test_f16(void **state) {
  (void)state;
  check_all(CLATTN_F16);
}
static void test_bf16(void **state) {
  (void)state;
  check_all(CLATTN_BF16);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_f16), cmocka_unit_test(test_bf16),
                                     cmocka_unit_test(test_long_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
