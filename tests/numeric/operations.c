/*
 * Embedding, position and projection on the device against the reference path, in every storage type. Each problem runs on
 * buffers and on host arrays.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "on_device.h"

static const clattn_dtype storage[3] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};

/* Whether the device gets the vector kernels, whose width can be chosen, or tiles. */
static bool has_vectors(void) {
  return clattn_context_device(support_device())->native_float_width >= 8;
}

/* A plan of any operation for the setup's problem. */
union descriptor {
  clattn_embedding embedding;
  clattn_position position;
  clattn_projection projection;
};

static clattn_plan *make_plan(enum operation operation, const union descriptor *d, const clattn_plan_options *options) {
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = support_device();
  clattn_status status = CLATTN_INTERNAL;
  if (operation == OP_EMBEDDING) status = clattn_embedding_plan_create(&plan, context, &d->embedding, options, &error);
  if (operation == OP_POSITION) status = clattn_position_plan_create(&plan, context, &d->position, options, &error);
  if (operation == OP_PROJECTION) status = clattn_projection_plan_create(&plan, context, &d->projection, options, &error);
  if (status != CLATTN_OK) fail_msg("no plan: %s", error.text);
  return plan;
}

/* want has the reference's results; got the same inputs. */
static void check_way(struct setup *got, const struct setup *want, const union descriptor *d, clattn_plan_options options,
                      double largest, const char *what) {
  for (int user = 0; user < 2; user++) {
    options.path = CLATTN_PATH_STAGED;
    options.user_workspace = user;
    clattn_plan *plan = make_plan(got->problem.operation, d, &options);
    support_poison(got);
    if (user) {
      support_enqueue(support_device(), plan, got, what);
    } else {
      support_execute(plan, got, what);
    }
    support_compare(got, want, largest, what);
    clattn_plan_destroy(plan);
  }
}

/* Runs the reference into want, whose inputs are filled, and compares the device's results: one way, or each of the products.
 * largest as support_limit takes it. */
static void check(struct setup *want, const union descriptor *d, bool products, double largest, const char *what) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  struct setup got = *want;
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *reference = make_plan(want->problem.operation, d, &options);
  support_execute(reference, want, what);
  clattn_plan_destroy(reference);
  got.arrays.out = test_malloc((size_t)want->problem.tensor[T_OUT].extent * want->problem.tensor[T_OUT].element);
  options.product = products ? CLATTN_PRODUCT_OWN : CLATTN_PRODUCT_AUTO;
  check_way(&got, want, d, options, largest, what);
  if (products && has_vectors()) {
    options.vector_width = 8;
    check_way(&got, want, d, options, largest, what);
  }
  if (products) {
    options.product = CLATTN_PRODUCT_CLBLAST;
    options.vector_width = 0;
    check_way(&got, want, d, options, largest, what);
  }
  test_free(got.arrays.out);
}

static void fill(const struct setup *s, clattn_dtype dtype, const void *data, enum tensor tensor, uint64_t seed) {
  for (int64_t n = 0; n < s->problem.tensor[tensor].extent; n++) {
    support_set(dtype, data, n, 2 * support_random(&seed));
  }
}

/* Tokens from both ends of the table, padding rows of NaN, a scale and none. */
static void test_embedding(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1}, {2, 3, 5}, {11, 65, 37}, {300, 512, 33}, {7, 1023, 64}};
  for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
    for (int variant = 0; variant < 12; variant++) {
      const clattn_dtype dtype = storage[variant % 3];
      union descriptor d = {.embedding = CLATTN_EMBEDDING_INIT};
      d.embedding.dtype = dtype;
      d.embedding.token_dtype = variant % 2 ? CLATTN_I64 : CLATTN_I32;
      d.embedding.vocabulary = sizes[n][0];
      d.embedding.dim = sizes[n][1];
      d.embedding.count = sizes[n][2];
      d.embedding.padding_id = variant < 6 ? -1 : sizes[n][0] / 2;
      d.embedding.scale_given = variant % 4 == 3;
      d.embedding.scale = -2.5f;
      struct setup s;
      char what[128];
      snprintf(what, sizeof what, "embedding %zu, variant %d", n, variant);
      support_embedding(&s, &d.embedding);
      fill(&s, dtype, s.arrays.table, T_TABLE, n);
      for (int64_t t = 0; t < d.embedding.count; t++) {
        const int64_t id = (t * 7 + d.embedding.vocabulary - 1) % d.embedding.vocabulary;
        if (variant % 2) memcpy((int64_t *)(uintptr_t)s.arrays.tokens + t, &id, sizeof id);
        if (variant % 2 == 0) memcpy((int32_t *)(uintptr_t)s.arrays.tokens + t, &(int32_t){(int32_t)id}, 4);
      }
      if (variant >= 6) support_set(dtype, s.arrays.table, d.embedding.padding_id * d.embedding.dim, NAN);
      check(&s, &d, false, 0, what);
      support_free(&s);
    }
  }
}

static clattn_position a_position(clattn_dtype dtype, int64_t length, int64_t dim, int64_t start, bool has_x) {
  clattn_position p = CLATTN_POSITION_INIT;
  p.dtype = dtype;
  p.length = length;
  p.dim = dim;
  p.start = start;
  p.has_x = has_x;
  return p;
}

/* Frequencies are float64 on either path: far out, the angle's own rounding passes float32's. As support_limit takes it: 8e6 *
 * this. */
static double angle_rounding(const clattn_position *p) {
  return (double)(p->start + p->length) * 0x1p-52;
}

static void test_position(void **state) {
  (void)state;
  static const int64_t starts[] = {0, 1, 17, 999990, (INT64_C(1) << 40) - 40};
  static const int64_t dims[] = {1, 2, 3, 64, 257};
  for (int variant = 0; variant < 6; variant++) {
    for (size_t n = 0; n < 25; n++) {
      const clattn_dtype dtype = storage[variant % 3];
      union descriptor d = {.position = a_position(dtype, 40, dims[n % 5], starts[n / 5], variant >= 3)};
      d.position.batch = 1 + (int64_t)n % 3;
      if (n % 2) d.position.base = 500;
      struct setup s;
      char what[128];
      snprintf(what, sizeof what, "position from %lld, dim %lld, variant %d", (long long)starts[n / 5], (long long)dims[n % 5],
               variant);
      support_position(&s, &d.position);
      if (d.position.has_x) fill(&s, dtype, s.arrays.x, T_X, n);
      check(&s, &d, false, 8e6 * angle_rounding(&d.position), what);
      support_free(&s);
    }
  }
}

/* Element by element within 1e-6 at position 1,000,000; x and out may be one array. */
static void test_position_far_and_in_place(void **state) {
  (void)state;
  union descriptor d = {.position = a_position(CLATTN_F32, 3, 301, 999999, true)};
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  struct setup s;
  support_position(&s, &d.position);
  for (int64_t n = 0; n < 3 * 301; n++) {
    s.arrays.out = (float *)(uintptr_t)s.arrays.x;
    support_set(CLATTN_F32, s.arrays.x, n, 0);
  }
  options.path = CLATTN_PATH_STAGED;
  clattn_plan *plan = make_plan(OP_POSITION, &d, &options);
  assert_int_equal(clattn_plan_execute(plan, &s.arrays, NULL), CLATTN_OK);
  for (int64_t n = 0; n < 3 * 301; n++) {
    const int64_t p = 999999 + n / 301, i = n % 301;
    const double angle = (double)p * pow(10000, -2.0 * (double)(i / 2) / 301);
    assert_true(fabs((double)((float *)s.arrays.out)[n] - (i % 2 ? cos(angle) : sin(angle))) <= 1e-6);
  }
  clattn_plan_destroy(plan);
  support_free(&s);
}

/* Sizes at the borders of tiles (32, 16 terms, sums of 256) and blocks (96 rows, 32 or 16 columns, 256 terms). Long sums on
 * few results, where rounding shows most: CLBlast gets them in pieces (host/opencl/gemm.c). */
static const struct {
  int64_t batch, length, in, heads, head_dim;
} projections[] = {
    {1, 1, 1, 1, 1},    {2, 7, 15, 1, 15},   {1, 8, 16, 2, 8},   {1, 9, 17, 1, 17},   {3, 31, 31, 1, 31}, {1, 32, 32, 4, 8},
    {2, 33, 33, 3, 11}, {1, 95, 63, 1, 65},  {1, 96, 64, 8, 8},  {1, 97, 255, 5, 13}, {1, 5, 256, 2, 16}, {2, 6, 257, 1, 47},
    {1, 3, 513, 7, 5},  {1, 193, 24, 2, 10}, {1, 2, 1024, 1, 3}, {1, 9, 1024, 3, 7},  {1, 2, 4096, 1, 3},
};

/* Variants: dense without and with bias; heads split into [batch, heads, length, head_dim] with gaps, x with gaps full of NaN.
 */
static void test_projection(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof projections / sizeof projections[0]; n++) {
    for (int variant = 0; variant < 9; variant++) {
      const clattn_dtype dtype = storage[variant % 3];
      union descriptor d = {.projection = CLATTN_PROJECTION_INIT};
      clattn_projection *p = &d.projection;
      p->dtype = dtype;
      p->batch = projections[n].batch;
      p->length = projections[n].length;
      p->in_features = projections[n].in;
      p->heads = projections[n].heads;
      p->head_dim = projections[n].head_dim;
      p->has_bias = variant >= 3;
      if (variant >= 6) {
        const int64_t row = p->head_dim + 1, head = p->length * row + 2;
        p->out = (clattn_layout){p->heads * head, head, row};
        p->x = (clattn_layout){p->length * (p->in_features + 2) + 1, 0, p->in_features + 2};
      }
      struct setup s;
      char what[128];
      snprintf(what, sizeof what, "projection %zu, variant %d", n, variant);
      support_projection(&s, p);
      const struct projection *full = &s.problem.as.projection;
      uint64_t seed = n;
      for (int64_t r = 0; r < p->batch * p->length; r++) {
        const int64_t row = r / p->length * full->x.batch + r % p->length * full->x.row;
        for (int64_t i = 0; i < p->in_features; i++) {
          support_set(dtype, s.arrays.x, row + i, support_random(&seed));
        }
      }
      fill(&s, dtype, s.arrays.weight, T_WEIGHT, n + 1);
      if (p->has_bias) fill(&s, dtype, s.arrays.bias, T_BIAS, n + 2);
      if (variant == 8) support_set(dtype, s.arrays.weight, p->in_features - 1, NAN);
      check(&s, &d, true, 0, what);
      support_free(&s);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_position),
      cmocka_unit_test(test_position_far_and_in_place),
      cmocka_unit_test(test_projection),
  };
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
