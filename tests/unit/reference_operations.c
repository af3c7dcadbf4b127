/* Embedding, position and projection: the oracle by hand, the CPU path against the oracle. */
#include <math.h>
#include <string.h>

#include "reference_support.h"

static struct pool *pool;
static const clattn_dtype storage[3] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};

static void fill_random(const struct setup *s, enum tensor tensor, clattn_dtype dtype, uint64_t seed) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(&s->arrays, table);
  for (int64_t n = 0; n < s->problem.tensor[tensor].extent; n++) {
    support_set(dtype, table[tensor], n, support_random(&seed));
  }
}

/* Oracle and CPU path on the same inputs; leaves the oracle's out. */
static void compare_paths(struct setup *s, const char *what) {
  const size_t bytes = (size_t)s->problem.tensor[T_OUT].extent * s->problem.tensor[T_OUT].element;
  struct setup got = *s;
  got.arrays.out = test_malloc(bytes);
  support_poison(&got);
  support_run(&got, pool);
  support_poison(s);
  support_run(s, NULL);
  support_compare(&got, s, 0, what);
  test_free(got.arrays.out);
}

/* A table of rows (1, 2), (3, 4), (5, 6) with scale 10; token 1 is padding. */
static void test_embedding_by_hand(void **state) {
  (void)state;
  clattn_embedding problem = CLATTN_EMBEDDING_INIT;
  problem.vocabulary = 3;
  problem.dim = 2;
  problem.count = 4;
  problem.padding_id = 1;
  problem.scale_given = 1;
  problem.scale = 10;
  struct setup s;
  support_embedding(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.table, 6, (double[]){1, 2, 3, 4, 5, 6});
  memcpy((void *)(uintptr_t)s.arrays.tokens, (int32_t[]){2, 1, 0, 2}, 16);
  compare_paths(&s, "embedding");
  assert_memory_equal(s.arrays.out, ((float[]){50, 60, 0, 0, 10, 20, 50, 60}), 32);
  support_free(&s);
}

/* The default scale of sqrt(dim), 64-bit tokens, a padding row of NaN, all types. */
static void test_embedding(void **state) {
  (void)state;
  for (int t = 0; t < 3; t++) {
    clattn_embedding problem = CLATTN_EMBEDDING_INIT;
    problem.dtype = storage[t];
    problem.token_dtype = CLATTN_I64;
    problem.vocabulary = 11;
    problem.dim = 515;
    problem.count = 37;
    problem.padding_id = 4;
    struct setup s;
    support_embedding(&s, &problem);
    fill_random(&s, T_TABLE, storage[t], 1);
    for (int n = 0; n < 37; n++) {
      ((int64_t *)(uintptr_t)s.arrays.tokens)[n] = n % 11;
    }
    support_set(storage[t], s.arrays.table, 4 * 515 + 3, NAN);
    compare_paths(&s, "embedding");
    assert_true(ctn_load_f64(storage[t], s.arrays.out, 4 * 515 + 3) == 0);
    const double want = ctn_load_f64(storage[t], s.arrays.table, 7) * sqrt(515);
    assert_true(fabs(ctn_load_f64(storage[t], s.arrays.out, 7) - want) <= 0.01 * fabs(want));
    support_free(&s);
  }
}

/* dim 3, base 10000: frequencies 1 and 10000^(-2/3) = 0.002154434690. Positions 0 and 1: sin, cos, sin; the last sine has no
 * cosine. */
static void test_position_by_hand(void **state) {
  (void)state;
  clattn_position problem = CLATTN_POSITION_INIT;
  problem.length = 2;
  problem.dim = 3;
  problem.has_x = 0;
  struct setup s;
  support_position(&s, &problem);
  compare_paths(&s, "position");
  const float want[6] = {0, 1, 0, 0.8414709848f, 0.5403023059f, 0.0021544330233f};
  assert_true(support_difference(CLATTN_F32, s.arrays.out, want, 6, "position by hand") <= 1e-7);
  support_free(&s);
}

/* Every element within 1e-6 at positions around 1,000,000. sin(10^6) = -0.349993502171292952, cos(10^6) = 0.936752127533148. */
static void test_position_far_away(void **state) {
  (void)state;
  clattn_position problem = CLATTN_POSITION_INIT;
  problem.length = 70;
  problem.dim = 301;
  problem.start = 999990;
  problem.has_x = 0;
  struct setup s;
  support_position(&s, &problem);
  float *out = s.arrays.out, cpu[70 * 301];
  support_run(&s, pool);
  memcpy(cpu, out, sizeof cpu);
  support_run(&s, NULL);
  assert_true(fabs((double)out[10 * 301] - -0.349993502171292952) <= 1e-7);
  assert_true(fabs((double)out[10 * 301 + 1] - 0.936752127533148) <= 1e-7);
  for (int n = 0; n < 70 * 301; n++) {
    assert_true(fabsf(out[n] - cpu[n]) <= 1e-6f);
  }
  support_free(&s);
}

static void test_position(void **state) {
  (void)state;
  for (int t = 0; t < 3; t++) {
    clattn_position problem = CLATTN_POSITION_INIT;
    problem.dtype = storage[t];
    problem.batch = 3;
    problem.length = 65;
    problem.dim = 258;
    problem.start = 17;
    problem.base = 500;
    struct setup s;
    support_position(&s, &problem);
    fill_random(&s, T_X, storage[t], 2);
    compare_paths(&s, "position");
    /* x and out may be one array. */
    const size_t bytes = (size_t)s.problem.tensor[T_OUT].extent * s.problem.tensor[T_OUT].element;
    void *want = test_malloc(bytes);
    memcpy(want, s.arrays.out, bytes);
    memcpy(s.arrays.out, s.arrays.x, bytes);
    clattn_arrays in_place = s.arrays;
    in_place.x = in_place.out;
    ctn_cpu_position(&s.problem.as.position, &in_place, pool);
    const double difference = support_difference(storage[t], s.arrays.out, want, s.problem.tensor[T_OUT].extent, "in place");
    assert_true(difference <= support_limit(storage[t], 0));
    test_free(want);
    support_free(&s);
  }
}

/* x (1, 2), W rows (3, 4), (5, 6), bias (100, 200): y = 11 + 100, 17 + 200. */
static void test_projection_by_hand(void **state) {
  (void)state;
  clattn_projection problem = CLATTN_PROJECTION_INIT;
  problem.in_features = 2;
  problem.head_dim = 2;
  problem.has_bias = 1;
  struct setup s;
  support_projection(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.x, 2, (double[]){1, 2});
  support_fill(CLATTN_F32, s.arrays.weight, 4, (double[]){3, 4, 5, 6});
  support_fill(CLATTN_F32, s.arrays.bias, 2, (double[]){100, 200});
  compare_paths(&s, "projection");
  assert_memory_equal(s.arrays.out, ((float[]){111, 217}), 8);
  support_free(&s);
}

/* Sizes around the CPU path's blocks; heads split into [batch, heads, length, head_dim] with a gap; a padded x. */
static void test_projection(void **state) {
  (void)state;
  static const struct {
    int64_t batch, length, in, heads, head_dim;
  } shapes[] = {{1, 1, 1, 1, 1}, {2, 33, 255, 3, 21}, {1, 64, 256, 4, 16}, {3, 65, 257, 5, 13}, {2, 7, 4099, 1, 65}};
  for (size_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
    for (int variant = 0; variant < 6; variant++) {
      const clattn_dtype dtype = storage[variant % 3];
      clattn_projection problem = CLATTN_PROJECTION_INIT;
      problem.dtype = dtype;
      problem.batch = shapes[n].batch;
      problem.length = shapes[n].length;
      problem.in_features = shapes[n].in;
      problem.heads = shapes[n].heads;
      problem.head_dim = shapes[n].head_dim;
      problem.has_bias = variant < 3;
      if (variant >= 3) {
        const int64_t row = problem.head_dim + 1, head = problem.length * row;
        problem.out = (clattn_layout){problem.heads * head, head, row};
        problem.x = (clattn_layout){problem.length * (problem.in_features + 2), 0, problem.in_features + 2};
      }
      struct setup s;
      support_projection(&s, &problem);
      fill_random(&s, T_X, dtype, 3);
      fill_random(&s, T_WEIGHT, dtype, 4);
      if (problem.has_bias) fill_random(&s, T_BIAS, dtype, 5);
      compare_paths(&s, "projection");
      support_free(&s);
    }
  }
}

static int start(void **state) {
  (void)state;
  return ctn_pool_create(&pool, 2, NULL) == CLATTN_OK ? 0 : -1;
}

static int stop(void **state) {
  (void)state;
  ctn_pool_destroy(pool);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_embedding_by_hand), cmocka_unit_test(test_embedding), cmocka_unit_test(test_position_by_hand),
      cmocka_unit_test(test_position_far_away), cmocka_unit_test(test_position),  cmocka_unit_test(test_projection_by_hand),
      cmocka_unit_test(test_projection),
  };
  SUPPORT_RUN_KERNELS(tests, start, stop);
}
