/* The rules at the edges, for the oracle and the CPU path alike: dead rows, NaN, infinities, scores past exp's range. */
#include <math.h>
#include <string.h>

#include "reference_support.h"

enum { KEYS = 300, WIDTH = 3 }; /* three of the CPU path's key blocks */

static struct pool *pools[2]; /* the oracle's NULL, and a pool */

/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares path */
#define EACH_PATH(path) for (int path = 0; path < 2; path++)

/* q_len rows over KEYS keys, head_dim 2, head_dim_v WIDTH; q = (1, 0), k_j = (small, 0), v_j = (1, 1, 1). */
static clattn_problem make(int64_t q_len) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.q_len = q_len;
  problem.kv_len = KEYS;
  problem.head_dim = 2;
  problem.head_dim_v = WIDTH;
  problem.scale_given = 1;
  problem.scale = 1;
  problem.outputs = ALL_OUTPUTS;
  return problem;
}

static float *floats(const void *data) {
  return (float *)(uintptr_t)data;
}

static void prepare(struct setup *s, const clattn_problem *problem) {
  support_attention(s, problem);
  for (int64_t i = 0; i < problem->q_len; i++) {
    support_fill(CLATTN_F32, floats(s->arrays.q) + 2 * i, 2, (double[]){1, 0});
  }
  for (int64_t j = 0; j < KEYS; j++) {
    support_fill(CLATTN_F32, floats(s->arrays.k) + 2 * j, 2, (double[]){0.01 * (double)(j % 10), 0});
    support_fill(CLATTN_F32, floats(s->arrays.v) + WIDTH * j, WIDTH, (double[]){1, 1, 1});
  }
}

static void run(struct setup *s, int path) {
  support_poison(s);
  support_run(s, pools[path]);
}

static void expect_close(float got, double want) {
  if (!(fabs((double)got - want) <= 1e-5 * fmax(1, fabs(want)))) fail_msg("%g is not %g", (double)got, want);
}

/* Row i of out is all one value; NaN means all NaN. */
static void expect_out(const struct setup *s, int64_t i, double want) {
  for (int d = 0; d < WIDTH; d++) {
    const float got = floats(s->arrays.out)[i * WIDTH + d];
    if (isnan(want)) {
      assert_true(isnan(got));
    } else {
      expect_close(got, want);
    }
  }
}

static void test_dead_rows(void **state) {
  (void)state;
  for (int sinks = 0; sinks < 2; sinks++) {
    struct setup s;
    clattn_problem problem = make(2);
    problem.mask = (clattn_mask){CLATTN_BOOL, 2, {2, KEYS}, {0}};
    problem.has_sinks = sinks;
    prepare(&s, &problem);
    memset((void *)(uintptr_t)s.arrays.mask, 0, KEYS);
    memset((uint8_t *)(uintptr_t)s.arrays.mask + KEYS, 1, KEYS);
    if (sinks) floats(s.arrays.sinks)[0] = 0.5f;
    EACH_PATH(path) {
      run(&s, path);
      for (int d = 0; d < WIDTH; d++) {
        assert_true(floats(s.arrays.out)[d] == 0);
      }
      assert_true(s.arrays.lse[0] == (sinks ? 0.5f : -INFINITY));
      for (int j = 0; j < KEYS; j++) {
        assert_true(s.arrays.weights[j] == 0 && s.arrays.scores_masked[j] == -INFINITY);
        assert_true(isfinite(s.arrays.scores_raw[j]) && s.arrays.weights[KEYS + j] > 0);
      }
      if (!sinks) expect_out(&s, 1, 1);
    }
    support_free(&s);
  }
}

static void test_no_keys(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(3);
  problem.has_kv_len = 1;
  prepare(&s, &problem);
  *(int64_t *)(uintptr_t)s.arrays.kv_len = 0;
  EACH_PATH(path) {
    run(&s, path);
    for (int i = 0; i < 3; i++) {
      expect_out(&s, i, 0);
      assert_true(s.arrays.lse[i] == -INFINITY);
    }
  }
  support_free(&s);
}

/* A NaN in v of key 200 shows in the causal rows from 200 on and in no other; there only in its column. */
static void test_nan_in_v(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(KEYS);
  problem.causal = 1;
  prepare(&s, &problem);
  floats(s.arrays.v)[200 * WIDTH + 1] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    for (int i = 0; i < KEYS; i++) {
      const float *out = floats(s.arrays.out) + i * WIDTH;
      expect_close(out[0], 1);
      expect_close(out[2], 1);
      assert_int_equal(isnan(out[1]) != 0, i >= 200);
      assert_true(isfinite(s.arrays.lse[i]));
    }
  }
  support_free(&s);
}

static void test_nan_in_k(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(KEYS);
  problem.causal = 1;
  prepare(&s, &problem);
  floats(s.arrays.k)[130 * 2 + 1] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    for (int i = 0; i < KEYS; i++) {
      expect_out(&s, i, i >= 130 ? NAN : 1);
      assert_int_equal(isnan(s.arrays.lse[i]) != 0, i >= 130);
      assert_int_equal(isnan(s.arrays.weights[i * KEYS]) != 0, i >= 130);
      assert_true(isnan(s.arrays.scores_raw[i * KEYS + 130]));
      assert_true(i == KEYS - 1 || s.arrays.weights[i * KEYS + KEYS - 1] == 0);
    }
  }
  support_free(&s);
}

static void test_nan_in_q(void **state) {
  (void)state;
  struct setup s;
  const clattn_problem problem = make(3);
  prepare(&s, &problem);
  floats(s.arrays.q)[1 * 2] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    expect_out(&s, 0, 1);
    expect_out(&s, 1, NAN);
    expect_out(&s, 2, 1);
    assert_true(isnan(s.arrays.lse[1]) && isnan(s.arrays.weights[KEYS]));
  }
  support_free(&s);
}

/* A score of +inf: inf - inf is NaN in its row. */
static void test_infinite_score(void **state) {
  (void)state;
  struct setup s;
  const clattn_problem problem = make(2);
  prepare(&s, &problem);
  floats(s.arrays.k)[140 * 2] = INFINITY;
  floats(s.arrays.q)[2] = -1; /* -inf in row 1: weight 0 */
  EACH_PATH(path) {
    run(&s, path);
    expect_out(&s, 0, NAN);
    assert_true(isnan(s.arrays.lse[0]));
    expect_out(&s, 1, 1);
    assert_true(s.arrays.weights[KEYS + 140] == 0);
    assert_true(isfinite(s.arrays.lse[1]));
  }
  support_free(&s);
}

/* A weight that underflows to 0 still multiplies a NaN; an excluded key does not. In either order of blocks. */
static void test_underflow_times_nan(void **state) {
  (void)state;
  for (int where = 0; where < 2; where++) {
    struct setup s;
    clattn_problem problem = make(1);
    const int small = where ? 290 : 5, large = where ? 5 : 290;
    problem.mask = (clattn_mask){CLATTN_F32, 1, {KEYS}, {0}};
    prepare(&s, &problem);
    memset(floats(s.arrays.mask), 0, KEYS * sizeof(float));
    floats(s.arrays.mask)[7] = -INFINITY;
    floats(s.arrays.v)[7 * WIDTH] = NAN;
    floats(s.arrays.k)[small * 2] = -2000;
    floats(s.arrays.k)[large * 2] = 2000;
    floats(s.arrays.v)[small * WIDTH + 2] = NAN;
    EACH_PATH(path) {
      run(&s, path);
      expect_close(floats(s.arrays.out)[0], 1);
      assert_true(s.arrays.weights[small] == 0);
      assert_true(isnan(floats(s.arrays.out)[2]));
      expect_close(s.arrays.lse[0], 2000);
    }
    support_free(&s);
  }
}

/* All attended scores -inf: NaN, as -inf - -inf; excluded keys stay 0. A finite sink takes all the weight instead. */
static void test_minus_infinity_everywhere(void **state) {
  (void)state;
  for (int sinks = 0; sinks < 2; sinks++) {
    struct setup s;
    clattn_problem problem = make(1);
    problem.has_kv_len = 1;
    problem.has_sinks = sinks;
    prepare(&s, &problem);
    *(int64_t *)(uintptr_t)s.arrays.kv_len = 150;
    for (int j = 0; j < KEYS; j++) {
      floats(s.arrays.k)[2 * j] = -INFINITY;
    }
    if (sinks) floats(s.arrays.sinks)[0] = 3;
    EACH_PATH(path) {
      run(&s, path);
      expect_out(&s, 0, sinks ? 0 : NAN);
      assert_true(sinks ? s.arrays.lse[0] == 3.0f : isnan(s.arrays.lse[0]));
      assert_true(sinks ? s.arrays.weights[0] == 0 : isnan(s.arrays.weights[0]));
      assert_true(s.arrays.weights[150] == 0);
    }
    support_free(&s);
  }
}

/* A first block of nothing but -inf leaves no trace once later keys have scores. */
static void test_minus_infinity_first(void **state) {
  (void)state;
  struct setup s;
  const clattn_problem problem = make(1);
  prepare(&s, &problem);
  for (int j = 0; j < 140; j++) {
    floats(s.arrays.k)[2 * j] = -INFINITY;
  }
  EACH_PATH(path) {
    run(&s, path);
    expect_out(&s, 0, 1);
    assert_true(s.arrays.weights[0] == 0);
    assert_true(isfinite(s.arrays.lse[0]));
  }
  support_free(&s);
}

/* Scores of +-30000: exp overflows and underflows without a maximum taken off. A sink far above takes all the weight, one far
 * below none, +inf all, -inf none. */
static void test_large_scores_and_sinks(void **state) {
  (void)state;
  static const struct {
    float sink;
    double out, lse;
  } sinks[] = {{0, 1, 30000}, {40000, 0, 40000}, {-40000, 1, 30000}, {INFINITY, 0, INFINITY}, {-INFINITY, 1, 30000}};
  for (size_t n = 0; n < sizeof sinks / sizeof sinks[0]; n++) {
    struct setup s;
    clattn_problem problem = make(1);
    problem.has_sinks = 1;
    prepare(&s, &problem);
    for (int j = 0; j < KEYS; j++) {
      floats(s.arrays.k)[2 * j] = j == 177 ? 30000.0f : -30000.0f;
    }
    floats(s.arrays.sinks)[0] = sinks[n].sink;
    EACH_PATH(path) {
      run(&s, path);
      expect_out(&s, 0, sinks[n].out);
      if (isinf(sinks[n].lse)) {
        assert_true(s.arrays.lse[0] == INFINITY);
      } else {
        expect_close(s.arrays.lse[0], sinks[n].lse);
      }
    }
    support_free(&s);
  }
}

static void test_nan_sink(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(1);
  problem.has_sinks = 1;
  prepare(&s, &problem);
  floats(s.arrays.sinks)[0] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    expect_out(&s, 0, NAN);
    assert_true(isnan(s.arrays.lse[0]));
  }
  support_free(&s);
}

/* A floating-point mask excludes where it is -inf, and where it is NaN it is an attended NaN, but not past kv_len. */
static void test_nan_in_mask(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(2);
  problem.has_kv_len = 1;
  problem.mask = (clattn_mask){CLATTN_F32, 2, {2, KEYS}, {0}};
  prepare(&s, &problem);
  *(int64_t *)(uintptr_t)s.arrays.kv_len = 200;
  memset(floats(s.arrays.mask), 0, 2 * KEYS * sizeof(float));
  floats(s.arrays.mask)[250] = NAN;
  floats(s.arrays.mask)[KEYS + 150] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    expect_out(&s, 0, 1);
    expect_out(&s, 1, NAN);
  }
  support_free(&s);
}

/* A dropped weight multiplies as 0: an attended NaN in v shows whether its weight is dropped or not, an excluded one does not.
 */
static void test_dropped_nan(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(1);
  problem.dropout = 0.5f;
  problem.has_kv_len = 1;
  prepare(&s, &problem);
  *(int64_t *)(uintptr_t)s.arrays.kv_len = 299;
  floats(s.arrays.v)[0] = NAN; /* n = 0 is dropped */
  floats(s.arrays.v)[299 * WIDTH + 1] = NAN;
  EACH_PATH(path) {
    run(&s, path);
    assert_true(isnan(floats(s.arrays.out)[0]));
    assert_true(isfinite(floats(s.arrays.out)[1]));
  }
  support_free(&s);
}

/* Offsets at the ends of int64 neither overflow nor attend anything by accident. */
static void test_extreme_offsets(void **state) {
  (void)state;
  static const int64_t offsets[] = {INT64_MIN, INT64_MAX};
  for (int n = 0; n < 2; n++) {
    for (int window = 0; window < 2; window++) {
      struct setup s;
      clattn_problem problem = make(2);
      problem.causal = 1;
      problem.has_query_offset = 1;
      problem.window_left = window ? INT64_MAX : -1;
      problem.window_right = window ? INT64_MAX : -1;
      prepare(&s, &problem);
      *(int64_t *)(uintptr_t)s.arrays.query_offset = offsets[n];
      EACH_PATH(path) {
        run(&s, path);
        expect_out(&s, 1, n == 0 ? 0 : 1);
      }
      support_free(&s);
    }
  }
}

/* f16 storage whose products pass 65504: only the result has to fit. */
static void test_f16_products(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = make(1);
  problem.dtype = CLATTN_F16;
  problem.scale = 1e-6f;
  support_attention(&s, &problem);
  support_fill(CLATTN_F16, s.arrays.q, 2, (double[]){60000, 1});
  for (int j = 0; j < KEYS; j++) {
    support_set(CLATTN_F16, s.arrays.k, 2 * j, j == 3 ? 60000 : 0);
    support_set(CLATTN_F16, s.arrays.k, 2 * j + 1, 1);
    for (int d = 0; d < WIDTH; d++) {
      support_set(CLATTN_F16, s.arrays.v, WIDTH * j + d, 60000);
    }
  }
  EACH_PATH(path) {
    run(&s, path);
    expect_close(s.arrays.scores_raw[3], 1e-6 * 60000.0 * ctn_load_f64(CLATTN_F16, s.arrays.k, 6));
    assert_true(ctn_load_f64(CLATTN_F16, s.arrays.out, 0) == 60000);
  }
  support_free(&s);
}

static int start(void **state) {
  (void)state;
  return ctn_pool_create(&pools[1], 2, NULL) == CLATTN_OK ? 0 : -1;
}

static int stop(void **state) {
  (void)state;
  ctn_pool_destroy(pools[1]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dead_rows),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_nan_in_v),
      cmocka_unit_test(test_nan_in_k),
      cmocka_unit_test(test_nan_in_q),
      cmocka_unit_test(test_infinite_score),
      cmocka_unit_test(test_underflow_times_nan),
      cmocka_unit_test(test_minus_infinity_everywhere),
      cmocka_unit_test(test_minus_infinity_first),
      cmocka_unit_test(test_large_scores_and_sinks),
      cmocka_unit_test(test_nan_sink),
      cmocka_unit_test(test_nan_in_mask),
      cmocka_unit_test(test_dropped_nan),
      cmocka_unit_test(test_extreme_offsets),
      cmocka_unit_test(test_f16_products),
  };
  SUPPORT_RUN_KERNELS(tests, start, stop);
}
