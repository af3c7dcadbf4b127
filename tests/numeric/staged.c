/*
 * The staged path over a table of awkward shapes: each dimension at every border of the kernels' blocks, the options on a few
 * shapes, and a problem that takes several chunks.
 *
 * Borders: tiles of 32 x 32 in steps of 16 terms, sums of 256 terms (product_tile.clh); blocks of 96 rows in steps of 8 or 6,
 * 32 or 16 columns, 256 terms (product_vector.clh); 64 work-items a row (softmax.cl).
 */
#include <string.h>

#include "staged_check.h"

static const int64_t q_lens[] = {1, 2, 5, 6, 7, 8, 9, 31, 32, 33, 63, 95, 96, 97, 193};
static const int64_t kv_lens[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 513};
static const int64_t head_dims[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 80, 255, 256, 257, 576};
static const int64_t value_dims[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 64, 65, 97, 512};

/* What the sweeps vary from: odd everywhere, so that the last block of each dimension is partial. */
static const struct attention_case middle = {
    .batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = 9, .kv_len = 35, .head_dim = 19, .head_dim_v = 21, .seed = 1};

static const struct attention_case shapes[] = {
    {.batch = 1, .q_heads = 1, .kv_heads = 1, .q_len = 1, .kv_len = 1, .head_dim = 1, .head_dim_v = 1, .seed = 2},
    {.batch = 3, .q_heads = 4, .kv_heads = 2, .q_len = 17, .kv_len = 41, .head_dim = 20, .head_dim_v = 12, .seed = 3},
    {.batch = 2, .q_heads = 3, .kv_heads = 3, .q_len = 37, .kv_len = 67, .head_dim = 33, .head_dim_v = 40, .seed = 4},
    {.batch = 4, .q_heads = 6, .kv_heads = 1, .q_len = 5, .kv_len = 13, .head_dim = 8, .head_dim_v = 64, .seed = 5},
    {.batch = 1, .q_heads = 2, .kv_heads = 1, .q_len = 101, .kv_len = 267, .head_dim = 24, .head_dim_v = 35, .seed = 6},
};

static const clattn_dtype storage[3] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
enum { PLAIN = 0 };

/* The options called "everything" and "everything, packed" close the table. */
static const struct attention_case *everything(bool packed) {
  return &support_options[support_option_count - (packed ? 1 : 2)];
}

/* One dimension, found by its offset in the case, through its values: plain, with everything, and packed, in turns of types. */
static void sweep(size_t field, const int64_t *values, size_t count) {
  for (size_t n = 0; n < count; n++) {
    struct attention_case shape = middle;
    memcpy((char *)&shape + field, &values[n], sizeof values[n]);
    shape.seed = n + 1;
    for (size_t t = 0; t < 3; t++) {
      const struct attention_case *options[3] = {&support_options[PLAIN], everything(false), everything(true)};
      for (size_t o = 0; o < 3; o++) {
        /* Every option with every type, except where a sweep of all is too slow. */
        if (!staged_has_vectors() && (n + o) % 3 != t) continue;
        shape.dtype = storage[t];
        const struct attention_case c = support_combine(&shape, options[o]);
        staged_check(&c, o == PLAIN || (n + t) % 3 == 0 ? ALL_PRODUCTS : OWN_PRODUCTS);
      }
    }
  }
}

#define SWEEP(dimension, values) sweep(offsetof(struct attention_case, dimension), values, sizeof(values) / sizeof(values)[0])

static void test_q_len(void **state) {
  (void)state;
  SWEEP(q_len, q_lens);
}
static void test_kv_len(void **state) {
  (void)state;
  SWEEP(kv_len, kv_lens);
}
static void test_head_dim(void **state) {
  (void)state;
  SWEEP(head_dim, head_dims);
}
static void test_value_dim(void **state) {
  (void)state;
  SWEEP(head_dim_v, value_dims);
}

/* Every option on every shape; types in turns, so that each option meets each type. */
static void test_options(void **state) {
  (void)state;
  const size_t count = sizeof shapes / sizeof shapes[0];
  for (size_t o = 0; o < support_option_count; o++) {
    for (size_t s = 0; s < count; s++) {
      for (size_t t = 0; t < 3; t++) {
        const bool largest = s == count - 1;
        if ((largest || !staged_has_vectors()) && (o + s) % 3 != t) continue;
        if (!staged_has_vectors() && s != 1 && s != 2) continue;
        struct attention_case shape = shapes[s];
        shape.dtype = storage[t];
        const struct attention_case c = support_combine(&shape, &support_options[o]);
        staged_check(&c, ALL_PRODUCTS);
      }
    }
  }
}

/* The sizes of DeepSeek's latent attention, and lengths that are prime. */
static void test_unequal_head_dims(void **state) {
  (void)state;
  struct attention_case shape = {
      .batch = 1, .q_heads = 3, .kv_heads = 1, .q_len = 11, .kv_len = 71, .head_dim = 576, .head_dim_v = 512, .seed = 7};
  for (size_t t = 0; t < 3; t++) {
    shape.dtype = storage[t];
    const struct attention_case c = support_combine(&shape, everything(false));
    staged_check(&c, ALL_PRODUCTS);
  }
}

/* More scores than the workspace holds at a time: by rows of a head, then by heads, whose groups the chunks cut. */
static void test_chunks(void **state) {
  (void)state;
  if (!staged_has_vectors()) skip();
  struct attention_case c = {.name = "chunks of rows",
                             .batch = 1,
                             .q_heads = 1,
                             .kv_heads = 1,
                             .q_len = 200,
                             .kv_len = 400000,
                             .head_dim = 2,
                             .head_dim_v = 3,
                             .window = true,
                             .left = 1000,
                             .right = 300,
                             .offset = BOTTOM_RIGHT,
                             .dropout = 0.1f,
                             .seed = 8};
  staged_check_large(&c, OWN_PRODUCTS, 8);
  c.name = "chunks of heads";
  c.q_len = 40;
  c.q_heads = 6;
  c.kv_heads = 2;
  c.dropout = 0;
  staged_check_large(&c, CLBLAST_PRODUCT, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_q_len),     cmocka_unit_test(test_kv_len),  cmocka_unit_test(test_head_dim),
      cmocka_unit_test(test_value_dim), cmocka_unit_test(test_options), cmocka_unit_test(test_unequal_head_dims),
      cmocka_unit_test(test_chunks),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
