/*
 * The CPU path, with each set of kernels that this processor can run, against the oracle: awkward shapes around its blocks (32
 * queries, 96 keys, tiles of 4 to 8) by options by storage types.
 */
#include <math.h>
#include <stdio.h>

#include "attention.h"
#include "reference_support.h"

#define SHAPE(b, hq, hkv, sq, skv, d, dv) \
  { .batch = (b), .q_heads = (hq), .kv_heads = (hkv), .q_len = (sq), .kv_len = (skv), .head_dim = (d), .head_dim_v = (dv) }
static const struct attention_case shapes[] = {
    SHAPE(1, 1, 1, 1, 1, 1, 1),      SHAPE(2, 2, 1, 3, 7, 5, 3),      SHAPE(1, 3, 3, 63, 127, 8, 9),
    SHAPE(2, 4, 2, 64, 128, 16, 16), SHAPE(1, 2, 1, 65, 129, 17, 1),  SHAPE(1, 1, 1, 1, 257, 64, 64),
    SHAPE(3, 2, 2, 67, 2, 1, 130),   SHAPE(1, 2, 2, 31, 131, 7, 129), SHAPE(1, 8, 1, 5, 97, 259, 6),
    SHAPE(1, 4, 2, 270, 100, 9, 7), /* enough for two blocks of queries a piece with two threads, four with one */
};

static struct pool *pools[2]; /* of one thread and of two */

/* The results asked for, with each set of kernels. */
static void check_outputs(const struct attention_case *c, uint32_t outputs, struct pool *pool, const struct setup *want,
                          double largest) {
  char text[1024], name[1100];
  support_case_text(c, text, sizeof text);
  for (int n = 0; support_use_kernels(n); n++) {
    struct setup got;
    snprintf(name, sizeof name, "%s, %s", support_kernels()->name, text);
    support_case(&got, c, outputs);
    support_run(&got, pool);
    support_compare(&got, want, largest, name);
    support_free(&got);
  }
}

static void check(const struct attention_case *shape, const struct attention_case *option, clattn_dtype dtype) {
  struct attention_case c = support_combine(shape, option);
  struct setup want;
  c.dtype = dtype;
  support_case(&want, &c, ALL_OUTPUTS);
  support_run(&want, NULL);
  const double largest = support_largest_score(&want);
  check_outputs(&c, ALL_OUTPUTS, pools[1], &want, largest);
  check_outputs(&c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, pools[0], &want, largest);
  check_outputs(&c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, pools[1], &want, largest);
  check_outputs(&c, CLATTN_OUTPUT_LSE, pools[1], &want, largest);
  check_outputs(&c, CLATTN_OUTPUT_WEIGHTS, pools[1], &want, largest);
  support_free(&want);
}

static void check_all(clattn_dtype dtype) {
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    for (size_t o = 0; o < support_option_count; o++) {
      check(&shapes[s], &support_options[o], dtype);
    }
  }
}

/* Averages over so many keys are small against their terms: sums need to be made in parts. */
static void test_long_rows(void **state) {
  (void)state;
  const struct attention_case shape = SHAPE(1, 1, 1, 2, 65536, 64, 64);
  check(&shape, &support_options[0], CLATTN_F32);
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

static int start(void **state) {
  (void)state;
  return ctn_pool_create(&pools[0], 1, NULL) == CLATTN_OK && ctn_pool_create(&pools[1], 2, NULL) == CLATTN_OK ? 0 : -1;
}

static int stop(void **state) {
  (void)state;
  ctn_pool_destroy(pools[0]);
  ctn_pool_destroy(pools[1]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_f16), cmocka_unit_test(test_bf16),
                                     cmocka_unit_test(test_long_rows)};
  return cmocka_run_group_tests(tests, start, stop);
}
