/* f16 and bf16: every value there and back, every rounding boundary, infinities, NaN. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "half.h"

struct format {
  int fraction, bias;
  float (*widen)(uint16_t);
  uint16_t (*from_f32)(float);
  uint16_t (*from_f64)(double);
};

static const struct format f16 = {10, 15, ctn_f16_to_f32, ctn_f32_to_f16, ctn_f64_to_f16};
static const struct format bf16 = {7, 127, ctn_bf16_to_f32, ctn_f32_to_bf16, ctn_f64_to_bf16};
static const struct format *const formats[] = {&f16, &bf16};

/* What the bits stand for, by the definition. */
static double value_of(const struct format *f, uint32_t bits) {
  const int exponent = (int)(bits >> f->fraction) & (2 * f->bias + 1);
  const double fraction = ldexp((double)(bits & ((1u << f->fraction) - 1)), -f->fraction);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * f->bias + 1) return fraction > 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? ldexp(fraction, 1 - f->bias) : ldexp(1 + fraction, exponent - f->bias));
}

static void test_every_value(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    const struct format *f = formats[n];
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
      const double want = value_of(f, bits);
      const float got = f->widen((uint16_t)bits);
      if (isnan(want)) {
        const uint32_t quiet = bits | 1u << (f->fraction - 1);
        assert_true(isnan(got));
        assert_int_equal(f->from_f32(got), quiet);
        assert_int_equal(f->from_f64((double)got), quiet);
      } else {
        assert_true((double)got == want && !signbit(got) == !signbit(want));
        assert_int_equal(f->from_f32(got), bits);
        assert_int_equal(f->from_f64(want), bits);
      }
    }
  }
}

/* Between neighbours: just below the middle goes down, just above goes up, the middle goes to the even one. The neighbour of
 * the largest finite value is what would follow it, which is stored as infinity. */
static void test_every_boundary(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    const struct format *f = formats[n];
    const uint32_t infinity = (2u * (uint32_t)f->bias + 1) << f->fraction;
    for (uint32_t low = 0; low < infinity; low++) {
      const double a = value_of(f, low);
      const double b = low + 1 == infinity ? ldexp(1, f->bias + 1) : value_of(f, low + 1);
      const double middle = (a + b) / 2;
      const uint32_t even = low & 1 ? low + 1 : low;
      assert_int_equal(f->from_f64(middle), even);
      assert_int_equal(f->from_f64(-middle), even | 0x8000);
      assert_int_equal(f->from_f64(nextafter(middle, 0)), low);
      assert_int_equal(f->from_f64(nextafter(middle, INFINITY)), low + 1);
      /* middle has one bit more than the format: a float, but for bf16's smallest, where 2^-134 is a subnormal float. */
      assert_int_equal(f->from_f32((float)middle), even);
      assert_int_equal(f->from_f32(nextafterf((float)middle, 0)), low);
      assert_int_equal(f->from_f32(nextafterf((float)middle, INFINITY)), low + 1);
    }
  }
}

/* 1 + 2^-11 + 2^-40: through float it would become the middle 1 + 2^-11 and then 1; in one step it is 1 + 2^-10. */
static void test_rounded_once(void **state) {
  (void)state;
  assert_int_equal(ctn_f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  assert_int_equal(ctn_f32_to_f16((float)(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
  assert_int_equal(ctn_f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

static void test_far_values(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    const struct format *f = formats[n];
    const uint32_t infinity = (2u * (uint32_t)f->bias + 1) << f->fraction;
    assert_int_equal(f->from_f64(1e300), infinity);
    assert_int_equal(f->from_f64(-1e300), infinity | 0x8000);
    assert_int_equal(f->from_f64(INFINITY), infinity);
    assert_int_equal(f->from_f64(-INFINITY), infinity | 0x8000);
    assert_int_equal(f->from_f64(1e-300), 0);
    assert_int_equal(f->from_f64(-1e-300), 0x8000);
    assert_int_equal(f->from_f64(0x1p-1074), 0);
    assert_int_equal(f->from_f64(-0.0), 0x8000);
  }
}

static void test_rows(void **state) {
  (void)state;
  const float values[5] = {1, -2.5f, 0, 65504, 0x1p-14f};
  const clattn_dtype types[3] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  for (int t = 0; t < 3; t++) {
    unsigned char data[64];
    float back[5];
    memset(data, 0x5a, sizeof data);
    ctn_store_row(types[t], data, 2, 5, values);
    ctn_load_row(types[t], data, 2, 5, back);
    for (int i = 0; i < 5; i++) {
      /* 65504 has 11 bits; bf16's nearest is 65536. */
      const float want = types[t] == CLATTN_BF16 && i == 3 ? 65536 : values[i];
      assert_true(back[i] == want);
      assert_true(ctn_load_f64(types[t], data, 2 + i) == (double)want);
    }
    ctn_store_f64(types[t], data, 3, 0.5);
    assert_true(ctn_load_f64(types[t], data, 3) == 0.5);
    for (size_t i = 0; i < 2 * ctn_dtype_size(types[t]); i++) {
      assert_int_equal(data[i], 0x5a);
    }
    assert_int_equal(data[7 * ctn_dtype_size(types[t])], 0x5a);
  }
}

static void test_dtypes(void **state) {
  (void)state;
  assert_int_equal(ctn_dtype_size(CLATTN_F32), 4);
  assert_int_equal(ctn_dtype_size(CLATTN_F16), 2);
  assert_int_equal(ctn_dtype_size(CLATTN_BF16), 2);
  assert_int_equal(ctn_dtype_size(CLATTN_BOOL), 1);
  assert_int_equal(ctn_dtype_size(CLATTN_I32), 4);
  assert_int_equal(ctn_dtype_size(CLATTN_I64), 8);
  assert_int_equal(ctn_dtype_size(CLATTN_NONE), 0);
  assert_int_equal(ctn_dtype_size((clattn_dtype)99), 0);
  assert_string_equal(ctn_dtype_name(CLATTN_BF16), "bf16");
  assert_string_equal(ctn_dtype_name(CLATTN_I64), "i64");
  assert_string_equal(ctn_dtype_name((clattn_dtype)99), "none");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_value), cmocka_unit_test(test_every_boundary), cmocka_unit_test(test_rounded_once),
      cmocka_unit_test(test_far_values),  cmocka_unit_test(test_rows),           cmocka_unit_test(test_dtypes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
