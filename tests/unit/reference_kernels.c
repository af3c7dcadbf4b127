/* The CPU path's inner loops by themselves, each variant: products against float64, exp and tanh over their ranges, NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference_support.h"

enum { ROWS = 23, TERMS = 37, PITCH = 41 };

static float *aligned_floats(int64_t count) {
  void *memory = aligned_alloc(64, (size_t)((count + 15) / 16 * 64));
  assert_non_null(memory);
  return memory;
}

static void fill(float *to, int64_t count, uint64_t seed) {
  for (int64_t n = 0; n < count; n++) {
    to[n] = (float)support_random(&seed);
  }
}

static void expect_near(float got, double want, double limit) {
  if (!(fabs((double)got - want) <= limit)) fail_msg("%s: %.9g is not %.9g", support_kernels()->name, (double)got, want);
}

/* All counts of rows and lanes up to a little more than a tile's; what lies past the rows is not touched. */
static void test_products(void **state) {
  (void)state;
  float a[ROWS * PITCH + TERMS * PITCH];
  float *b = aligned_floats(TERMS * CPU_LANES), *c = aligned_floats((ROWS + 1) * CPU_LANES);
  _Alignas(64) float factor[CPU_LANES];
  fill(a, ROWS * PITCH + TERMS * PITCH, 1);
  fill(b, TERMS * CPU_LANES, 2);
  fill(factor, CPU_LANES, 3);
  for (int which = 0; which < 3; which++) {
    for (int rows = 1; rows <= ROWS; rows++) {
      for (int lanes = 1; lanes <= CPU_LANES; lanes++) {
        for (int n = 0; n < (ROWS + 1) * CPU_LANES; n++) {
          c[n] = 2;
        }
        if (which == 2) {
          support_kernels()->gather(c, factor, a, PITCH, b, rows, TERMS, lanes);
        } else {
          support_kernels()->multiply(c, a, PITCH, b, rows, TERMS, lanes, which == 1);
        }
        for (int n = 0; n < rows * lanes; n++) {
          const int r = n / lanes, l = n % lanes;
          double want = which == 0 ? 0 : which == 1 ? 2 : 2 * (double)factor[l];
          for (int t = 0; t < TERMS; t++)
            want += (double)a[which == 2 ? t * PITCH + r : r * PITCH + t] * (double)b[t * CPU_LANES + l];
          expect_near(c[r * CPU_LANES + l], want, 1e-5);
        }
        for (int l = 0; l < CPU_LANES; l++) {
          assert_true(c[rows * CPU_LANES + l] == 2);
        }
      }
    }
  }
  free(b);
  free(c);
}

/* exp within a relative 1e-7 down to -87, then 0; -inf gives 0, and NaN NaN whatever its bits. */
static void test_exp(void **state) {
  (void)state;
  enum { COUNT = 87 * 1000 };
  float *x = aligned_floats(COUNT);
  for (int n = 0; n < COUNT; n++) {
    x[n] = -(float)n * 0.001f;
  }
  support_kernels()->normalise(x, COUNT, 0, 1);
  for (int n = 0; n < COUNT; n++) {
    const double want = exp((double)(-(float)n * 0.001f));
    expect_near(x[n], want, 1e-7 * want);
  }
  const uint32_t special[] = {0xff800000, 0xc2aea000, 0xff7fffff, 0xc2b00000, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7fa00001};
  memcpy(x, special, sizeof special);
  support_kernels()->normalise(x, 8, 0, 1);
  for (int n = 0; n < 4; n++) {
    assert_true(x[n] == 0);
    assert_true(isnan(x[4 + n]));
  }
  free(x);
}

/* c tanh(x / c) within a relative 5e-7, from far below to far above c; infinities and NaN. */
static void test_softcap(void **state) {
  (void)state;
  enum { COUNT = 4096 * 8 };
  float *x = aligned_floats(COUNT);
  for (int n = 0; n < COUNT; n++) {
    x[n] = (float)(n - COUNT / 2) * 0.01f;
  }
  support_kernels()->softcap(x, COUNT, 7);
  for (int n = 0; n < COUNT; n++) {
    const double want = 7 * tanh((double)((float)(n - COUNT / 2) * 0.01f) / 7);
    expect_near(x[n], want, 5e-7 * fabs(want));
  }
  for (int n = 0; n < CPU_LANES; n++) {
    x[n] = n % 3 == 0 ? INFINITY : n % 3 == 1 ? -INFINITY : NAN;
  }
  support_kernels()->softcap(x, CPU_LANES, 7);
  assert_true(x[0] == 7 && x[1] == -7 && isnan(x[2]));
  free(x);
}

/* Two blocks of keys as one online softmax, with keys that are excluded and hold NaN. */
static void test_softmax(void **state) {
  (void)state;
  enum { KEYS = 19 };
  _Alignas(64) float maximum[CPU_LANES], sum[CPU_LANES], factor[CPU_LANES];
  float *scores = aligned_floats(KEYS * CPU_LANES);
  uint32_t attended[KEYS];
  double expected[CPU_LANES] = {0};
  uint64_t random = 5;
  for (int l = 0; l < CPU_LANES; l++) {
    maximum[l] = -INFINITY;
    sum[l] = 0;
  }
  for (int block = 0; block < 2; block++) {
    for (int j = 0; j < KEYS; j++) {
      attended[j] = block == 0 ? UINT32_MAX : (uint32_t)j * UINT32_C(2654435761);
      for (int l = 0; l < CPU_LANES; l++) {
        const bool attends = attended[j] >> l & 1;
        const float score = (float)(20 * support_random(&random));
        scores[j * CPU_LANES + l] = attends ? score : NAN;
        if (attends) expected[l] += exp((double)score);
      }
    }
    support_kernels()->softmax(scores, block == 0 ? NULL : attended, KEYS, CPU_LANES, maximum, sum, factor);
    for (int n = 0; n < KEYS * CPU_LANES; n++) {
      const bool attends = attended[n / CPU_LANES] >> (n % CPU_LANES) & 1;
      assert_true(attends ? scores[n] >= 0 && scores[n] <= 1 : scores[n] == 0);
    }
  }
  for (int l = 0; l < CPU_LANES; l++) {
    expect_near(logf(sum[l]) + maximum[l], log(expected[l]), 2e-6);
    assert_true(factor[l] > 0 && factor[l] <= 1);
  }
  free(scores);
}

static void test_transpose(void **state) {
  (void)state;
  float from[CPU_LANES * PITCH], *to = aligned_floats(PITCH * CPU_LANES);
  const float *rows[CPU_LANES];
  fill(from, CPU_LANES * PITCH, 7);
  for (int l = 0; l < CPU_LANES; l++) {
    rows[l] = from + l * PITCH;
  }
  for (int count = 1; count <= CPU_LANES; count++) {
    for (int terms = 1; terms <= 9; terms++) {
      memset(to, 0xff, PITCH * CPU_LANES * sizeof *to);
      support_kernels()->transpose(to, rows, count, terms, 0.5f);
      for (int n = 0; n < terms * CPU_LANES; n++) {
        const int t = n / CPU_LANES, l = n % CPU_LANES;
        assert_true(to[n] == (l < count ? 0.5f * from[l * PITCH + t] : 0.0f));
      }
      assert_true(isnan(to[terms * CPU_LANES]));
    }
  }
  free(to);
}

/* Every number of 16 bits, from places that are not aligned. */
static void test_load_row(void **state) {
  (void)state;
  enum { COUNT = 65536 };
  uint16_t *bits = test_malloc((COUNT + 1) * sizeof *bits);
  float *got = test_malloc((COUNT + 1) * sizeof *got), *want = test_malloc((COUNT + 1) * sizeof *want);
  for (int n = 0; n <= COUNT; n++) {
    bits[n] = (uint16_t)n;
  }
  for (int type = 0; type < 2; type++) {
    const clattn_dtype dtype = type == 0 ? CLATTN_F16 : CLATTN_BF16;
    support_kernels()->load_row(dtype, bits, 1, COUNT, got + 1);
    ctn_load_row(dtype, bits, 1, COUNT, want + 1);
    for (int n = 1; n <= COUNT; n++) {
      assert_true(isnan(want[n]) ? isnan(got[n]) : memcmp(&got[n], &want[n], sizeof *got) == 0);
    }
    support_kernels()->load_row(dtype, bits, 15000, 3, got);
    assert_memory_equal(got, want + 15000, 3 * sizeof *got);
  }
  support_kernels()->load_row(CLATTN_F32, want, 15000, 5, got);
  assert_memory_equal(got, want + 15000, 5 * sizeof *got);
  test_free(bits);
  test_free(got);
  test_free(want);
}

/* Numbers around every step of 16 bits, ties, infinities and NaN of all kinds, to places that are not aligned. */
static void test_store_row(void **state) {
  (void)state;
  enum { COUNT = 65536 * 4 };
  float *from = test_malloc(COUNT * sizeof *from);
  uint16_t *got = test_malloc((COUNT + 1) * sizeof *got), *want = test_malloc((COUNT + 1) * sizeof *want);
  for (int type = 0; type < 2; type++) {
    const clattn_dtype dtype = type == 0 ? CLATTN_F16 : CLATTN_BF16;
    const uint32_t tie = type == 0 ? 0x1000 : 0x8000; /* half a step of the numbers that are not subnormal */
    for (int n = 0; n < COUNT; n++) {
      const uint16_t bits = (uint16_t)(n / 4);
      float value;
      ctn_load_row(dtype, &bits, 0, 1, &value);
      uint32_t wide;
      memcpy(&wide, &value, sizeof wide);
      wide += (const uint32_t[]){0, tie - 1, tie, tie + 1}[n % 4];
      memcpy(&from[n], &wide, sizeof wide);
    }
    support_kernels()->store_row(dtype, got, 1, COUNT, from);
    ctn_store_row(dtype, want, 1, COUNT, from);
    assert_memory_equal(got + 1, want + 1, COUNT * sizeof *got);
    support_kernels()->store_row(dtype, got, 2, 3, from + 60003);
    ctn_store_row(dtype, want, 2, 3, from + 60003);
    assert_memory_equal(got + 1, want + 1, COUNT * sizeof *got);
  }
  float row[5];
  support_kernels()->store_row(CLATTN_F32, row, 0, 5, from);
  assert_memory_equal(row, from, sizeof row);
  test_free(from);
  test_free(got);
  test_free(want);
}

/* The last of the table that runs is the best; which ones were tested is told. */
static void test_choice(void **state) {
  (void)state;
  int count;
  const struct cpu_kernels *const *all = ctn_cpu_kernels_all(&count), *last = NULL;
  for (int n = 0; n < count; n++) {
    const bool runs = ctn_cpu_kernels_run(all[n]);
    if (runs) last = all[n];
    if (!runs) print_message("%s: not tested, this processor cannot run it\n", all[n]->name);
  }
  assert_ptr_equal(last, ctn_cpu_kernels_best());
  assert_true(ctn_cpu_kernels_run(all[0]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products), cmocka_unit_test(test_exp),       cmocka_unit_test(test_softcap),
      cmocka_unit_test(test_softmax),  cmocka_unit_test(test_transpose), cmocka_unit_test(test_load_row),
      cmocka_unit_test(test_choice),   cmocka_unit_test(test_store_row),
  };
  SUPPORT_RUN_KERNELS(tests, NULL, NULL);
}
