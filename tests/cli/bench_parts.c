/* The parts of clattn bench that are sums: swept values, quantiles, and how sure a ratio is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench.h"
#include "bench_run.h"

static void test_sweep(void **state) {
  (void)state;
  static const struct {
    const char *spec;
    const char *axis; /* NULL: refused */
    int count;
    long first, last;
  } cases[] = {{"seq=128:16384", "seq", 8, 128, 16384},
               {"seq=100:1000", "seq", 4, 100, 800},
               {"batch=1:7:3", "batch", 3, 1, 7},
               {"head-dim=64,80,128", "head-dim", 3, 64, 128},
               {"heads=8", "heads", 1, 8, 8},
               {"kv-heads=1:8", "kv-heads", 4, 1, 8},
               {"window=16,32", "window", 2, 16, 32},
               {"seq", NULL, 0, 0, 0},
               {"seq=", NULL, 0, 0, 0},
               {"=4", NULL, 0, 0, 0},
               {"sequence=4", NULL, 0, 0, 0},
               {"seq=0:4", NULL, 0, 0, 0},
               {"seq=-4", NULL, 0, 0, 0},
               {"seq=8:4", NULL, 0, 0, 0},
               {"seq=4,", NULL, 0, 0, 0},
               {"seq=4,4", NULL, 0, 0, 0},
               {"seq=1:2:3:4", NULL, 0, 0, 0},
               {"seq=1:4:0", NULL, 0, 0, 0},
               {"seq=1:1000:1", NULL, 0, 0, 0},
               {"seq=99999999999999999999", NULL, 0, 0, 0},
               {"seq=4:x", NULL, 0, 0, 0},
               {"seq=4 ", NULL, 0, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bench_sweep sweep;
    char text[256] = "";
    const bool read = ctn_bench_sweep_parse(&sweep, cases[i].spec, text, sizeof text);
    if (read != (cases[i].axis != NULL)) fail_msg("%s: %s", cases[i].spec, text);
    if (!read) {
      assert_true(*text != '\0');
      continue;
    }
    assert_string_equal(sweep.axis, cases[i].axis);
    assert_int_equal(sweep.count, cases[i].count);
    assert_int_equal(sweep.values[0], cases[i].first);
    assert_int_equal(sweep.values[sweep.count - 1], cases[i].last);
  }
}

static void test_swept_size(void **state) {
  (void)state;
  struct bench_sweep sweep;
  char text[256];
  struct bench_sizes sizes = {.seq = 5, .heads = 6};
  assert_true(ctn_bench_sweep_parse(&sweep, "head-dim=7,9", text, sizeof text));
  sizes = ctn_bench_sweep_sizes(&sweep, sizes, 1);
  assert_int_equal(sizes.seq, 5);
  assert_int_equal(sizes.heads, 6);
  assert_int_equal(sizes.head_dim, 9);
}

static void test_quantiles(void **state) {
  (void)state;
  struct bench_series series = {0};
  assert_true(isnan(ctn_series_median(&series)));
  static const double values[] = {4, 1, 3, 2, 5};
  for (size_t i = 0; i < 5; i++)
    assert_true(ctn_series_add(&series, values[i]));
  assert_true(ctn_series_median(&series) == 3);
  assert_true(ctn_series_quantile(&series, 0) == 1 && ctn_series_quantile(&series, 1) == 5);
  assert_true(fabs(ctn_series_spread(&series) - 1.0 / 3) < 1e-12);
  const struct bench_series since = ctn_series_since(&series, 3);
  assert_int_equal(since.count, 2);
  assert_true(ctn_series_median(&since) == 3.5);
  ctn_series_free(&series);
}

/* Times as machines give them: mostly a little above the least, now and then far above. */
static uint64_t generator;

static double uniform(void) {
  generator = generator * 6364136223846793005u + 1442695040888963407u;
  return (double)(generator >> 11) * 0x1p-53;
}

static void draw(double *times, int count, double noise) {
  for (int i = 0; i < count; i++)
    times[i] = 1 + noise * uniform() + (uniform() < 0.05 ? 0.5 * uniform() : 0);
}

/* What is called slower by more than 5 %, of many comparisons. */
static int alarms(int runs, double noise, double slowdown) {
  enum { COMPARISONS = 1000, MOST = 64 };
  double before[MOST], after[MOST];
  int count = 0;
  generator = 20;
  for (int n = 0; n < COMPARISONS; n++) {
    draw(before, runs, noise);
    draw(after, runs, noise);
    for (int i = 0; i < runs; i++)
      after[i] *= slowdown;
    const struct ratio ratio = ctn_ratio_of(before, runs, after, runs);
    count += ratio.estimate > 1.05 && ratio.low > 1;
  }
  return count;
}

static void test_noise_is_no_change(void **state) {
  (void)state;
  static const int runs[] = {5, 7, 15, 40};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    assert_true(alarms(runs[i], 0.02, 1) <= 5);
    assert_true(alarms(runs[i], 0.15, 1) <= 10);
  }
}

static void test_ten_per_cent_are_seen(void **state) {
  (void)state;
  assert_true(alarms(7, 0.02, 1.1) > 650); /* one of seven runs may be far off */
  assert_true(alarms(15, 0.03, 1.1) > 950);
  assert_true(alarms(40, 0.1, 1.1) > 950);
}

/* By hand: no interval from so few runs that any order of them is likely; of 5 and 5, apart in 1 of 252 orders, all of it. */
static void test_few_runs(void **state) {
  (void)state;
  static const double before[] = {1.00, 1.01, 1.02, 1.03, 1.04}, after[] = {1.20, 1.21, 1.22, 1.23, 1.24};
  const struct ratio four = ctn_ratio_of(before, 4, after, 4), five = ctn_ratio_of(before, 5, after, 5);
  assert_true(four.low == 0 && isinf(four.high));
  assert_true(fabs(five.low - 1.20 / 1.04) < 1e-12 && fabs(five.high - 1.24 / 1.00) < 1e-12);
  assert_true(fabs(five.estimate - 1.22 / 1.02) < 1e-3);
  const struct ratio none = ctn_ratio_of(before, 0, after, 5);
  assert_true(isnan(none.estimate));
}

/* Of 7 and 7 runs, Mann and Whitney's table at 1 % rejects a U of 4 and less: the interval goes from the fifth of the 49 ratios
 * to the fifth from the end. */
static void test_table_of_ranks(void **state) {
  (void)state;
  static const double before[7] = {1, 1, 1, 1, 1, 1, 7}, after[7] = {1, 2, 3, 4, 5, 6, 7};
  /* In order: 1/7, 2/7, 3/7, 4/7, 5/7, 6/7, then 1 seven times; at the end 7 six times. */
  const struct ratio ratio = ctn_ratio_of(before, 7, after, 7);
  assert_true(fabs(ratio.low - 5.0 / 7) < 1e-12);
  assert_true(ratio.high == 7);
  /* 7 and 10 runs: 9 and less, so the tenth ratio. */
  static const double ten[10] = {100, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const double more[7] = {11, 12, 13, 14, 15, 16, 17};
  assert_true(ctn_ratio_of(ten, 10, more, 7).low == 11); /* the seven by 100 first, then 11 nine times */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweep),
                                     cmocka_unit_test(test_swept_size),
                                     cmocka_unit_test(test_quantiles),
                                     cmocka_unit_test(test_noise_is_no_change),
                                     cmocka_unit_test(test_ten_per_cent_are_seen),
                                     cmocka_unit_test(test_few_runs),
                                     cmocka_unit_test(test_table_of_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
