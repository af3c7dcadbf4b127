/*
 * The CPU path against the oracle: awkward shapes around its blocks (64 query rows, 128 keys) by options by storage types.
 */
#include <math.h>
#include <stdio.h>

#include "attention.h"
#include "reference_support.h"

#define SHAPE(b, hq, hkv, sq, skv, d, dv) \
  { .batch = b, .q_heads = hq, .kv_heads = hkv, .q_len = sq, .kv_len = skv, .head_dim = d, .head_dim_v = dv }
static const struct attention_case shapes[] = {
    SHAPE(1, 1, 1, 1, 1, 1, 1),      SHAPE(2, 2, 1, 3, 7, 5, 3),      SHAPE(1, 3, 3, 63, 127, 8, 9),
    SHAPE(2, 4, 2, 64, 128, 16, 16), SHAPE(1, 2, 1, 65, 129, 17, 1),  SHAPE(1, 1, 1, 1, 257, 64, 64),
    SHAPE(3, 2, 2, 67, 2, 1, 130),   SHAPE(1, 2, 2, 31, 131, 7, 129),
};

static void check(const struct attention_case *shape, const struct attention_case *option, clattn_dtype dtype,
                  struct pool *pool) {
  struct attention_case c = support_combine(shape, option);
  char text[1024];
  struct setup want, got;
  c.dtype = dtype;
  support_case_text(&c, text, sizeof text);
  support_case(&want, &c, ALL_OUTPUTS);
  support_run(&want, NULL);
  const double largest = support_largest_score(&want);
  const uint32_t outputs[] = {ALL_OUTPUTS, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, CLATTN_OUTPUT_LSE, CLATTN_OUTPUT_WEIGHTS};
  for (size_t n = 0; n < sizeof outputs / sizeof outputs[0]; n++) {
    support_case(&got, &c, outputs[n]);
    support_run(&got, pool);
    support_compare(&got, &want, largest, text);
    support_free(&got);
  }
  support_free(&want);
}

static void check_all(clattn_dtype dtype) {
  struct pool *pool = NULL;
  assert_int_equal(ctn_pool_create(&pool, 2, NULL), CLATTN_OK);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    for (size_t o = 0; o < support_option_count; o++) {
      check(&shapes[s], &support_options[o], dtype, pool);
    }
  }
  ctn_pool_destroy(pool);
}

/* Averages over so many keys are small against their terms: sums need to be made in parts. */
static void test_long_rows(void **state) {
  (void)state;
  const struct attention_case shape = SHAPE(1, 1, 1, 2, 65536, 64, 64);
  struct pool *pool = NULL;
  assert_int_equal(ctn_pool_create(&pool, 2, NULL), CLATTN_OK);
  check(&shape, &support_options[0], CLATTN_F32, pool);
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
