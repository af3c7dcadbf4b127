/*
 * The fused path at the borders of its kernels' blocks: each size through the values round every border, the options on shapes
 * that have partial blocks everywhere.
 *
 * Borders: 96 keys a block, 4 to 8 keys or columns a step, 24 or 32 (row, head) pairs a work-group (fused_vector.cl); tiles of
 * 32 x 32, 16 terms, chunks of 32 to 128 value columns (fused_tile.cl).
 */
#include <stdlib.h>
#include <string.h>

#include "fused_check.h"
#include "fused_shrink.h"

static const int64_t q_lens[] = {1,  2,  3,  4,  5,  7,  8,  9,  11, 12, 13, 15, 16,
                                 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65};
static const int64_t kv_lens[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   31,  32,  33,  63,  64,
                                  65, 95, 96, 97, 98, 99, 100, 101, 103, 104, 105, 191, 192, 193};
static const int64_t head_dims[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 127, 128, 129, 257, 576};
static const int64_t value_dims[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   15,  16,  17,  31,  32,  33,
                                     63, 64, 65, 95, 96, 97, 98, 127, 128, 129, 160, 161, 256, 257, 512};
static const int64_t groups[] = {1, 2, 3, 5, 8};

/* What the sweeps vary from: partial blocks everywhere. */
static const struct attention_case middle = {
    .batch = 2, .q_heads = 2, .kv_heads = 2, .q_len = 13, .kv_len = 103, .head_dim = 19, .head_dim_v = 21, .seed = 1};

/* Few pairs, because each is a program; the random problems have all. */
static const clattn_dtype types[][2] = {{CLATTN_F32, CLATTN_NONE}, {CLATTN_F16, CLATTN_BOOL}, {CLATTN_BF16, CLATTN_F32}};
enum { PAIRS = 3 };

static struct attention_case with_types(struct attention_case c, size_t pair) {
  c.dtype = types[pair][0];
  c.mask = types[pair][1];
  c.mask_rank = 1 + (int)(c.seed % 4);
  fused_repair(&c);
  return c;
}

/* Nothing but the mask of the pair, or everything, or everything packed. */
static struct attention_case with_options(const struct attention_case *shape, size_t which) {
  static const struct attention_case plain = {.name = "plain"};
  const struct attention_case *everything = &support_options[support_option_count - 2];
  return support_combine(shape, which == 0 ? &plain : &everything[which - 1]);
}

static void sweep(size_t field, const int64_t *values, size_t count) {
  for (size_t n = 0; n < count; n++) {
    struct attention_case shape = middle;
    memcpy((char *)&shape + field, &values[n], sizeof values[n]);
    shape.q_heads = shape.kv_heads * groups[n % (sizeof groups / sizeof groups[0])];
    shape.seed = n + 1;
    for (size_t pair = 0; pair < PAIRS; pair++) {
      for (size_t which = 0; which < 3; which++) {
        /* A third of the combinations, which the values go through in turn; where work-items are slow, a ninth. */
        if ((n + which + pair) % 3 != 0 || (!fused_has_vectors() && n / 3 % 3 != which)) continue;
        const struct attention_case c = with_types(with_options(&shape, which), pair);
        fused_check(&c);
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

/* Windows and causal edges that fall on, before and after a block's border, and leave blocks empty. */
static void test_edges(void **state) {
  static const int64_t widths[] = {0, 1, 30, 31, 32, 33, 94, 95, 96, 97, 150};
  (void)state;
  for (size_t n = 0; n < sizeof widths / sizeof widths[0]; n++) {
    for (size_t turn = 0; turn < 4; turn++) {
      struct attention_case c = middle;
      c.name = "edges";
      c.seed = n + turn;
      c.q_len = 70;
      c.kv_len = 290;
      c.q_heads = 2 * groups[(n + turn) % 5];
      c.window = true;
      c.left = turn == 1 ? -1 : widths[n];
      c.right = turn == 2 ? -1 : widths[(n + 3) % (sizeof widths / sizeof widths[0])];
      c.causal = turn == 3;
      c.offset = turn % 2 ? BOTTOM_RIGHT : MIXED_OFFSETS;
      c = with_types(c, (n + turn) % PAIRS);
      fused_check(&c);
    }
  }
}

/* Every option of the table, with its own mask, in one width: programs for all masks would take long. */
static void test_options(void **state) {
  (void)state;
  for (size_t n = 0; n < support_option_count; n++) {
    struct attention_case shape = middle;
    shape.batch = 3;
    shape.q_heads = 6;
    shape.seed = n + 1;
    shape.dtype = CLATTN_F32;
    const struct attention_case c = support_combine(&shape, &support_options[n]);
    char text[CHECK_TEXT];
    if (!fused_agrees(&c, (const int[2]){16, 0}, text)) fail_msg("%s: %s", c.name, text);
  }
}

/* Scores of many terms keep float32's accuracy: found by the random problems. lse is the score itself here. */
static void test_long_products(void **state) {
  (void)state;
  for (int64_t head_dim = 258; head_dim <= 600; head_dim += 100) {
    const struct attention_case c = {.name = "long products",
                                     .dtype = CLATTN_F16,
                                     .batch = 1,
                                     .q_heads = 10,
                                     .kv_heads = 2,
                                     .q_len = 7,
                                     .kv_len = 1,
                                     .head_dim = head_dim,
                                     .head_dim_v = 1,
                                     .placement = REPEATED,
                                     .causal = true,
                                     .offset = BOTTOM_RIGHT,
                                     .seed = 3763};
    fused_check(&c);
  }
}

/* Scores that rise or fall from the first keys' just as far as weights may be relative to those, or farther. */
static void test_rising(void **state) {
  static const double rises[] = {1, 6, 8, 10, 12, 14, 17, 20, 30, 50, -2, -8, -14, -20, -30, -50};
  static const double falls[] = {-1, -1.8, -2, -2.1, -2.2, -2.4, -2.7, -3};
  static const double spreads[] = {4, 6, 9, 20}; /* of what falls */
  enum {
    RISES = sizeof rises / sizeof rises[0],
    FALLS = sizeof falls / sizeof falls[0],
    SPREADS = sizeof spreads / sizeof spreads[0]
  };
  (void)state;
  for (size_t n = 0; n < RISES + SPREADS * FALLS; n++) {
    struct attention_case c = middle;
    c.name = "rising";
    c.seed = n;
    c.kv_len = 290;
    c.head_dim = n % 2 ? 64 : 67;
    c.rise = n < RISES ? rises[n] : falls[(n - RISES) % FALLS];
    c.spread = n < RISES ? 1 : spreads[(n - RISES) / FALLS];
    c.causal = n % 4 == 3;
    c.offset = BOTTOM_RIGHT;
    c.mask = CLATTN_NONE;
    c.dtype = types[n % PAIRS][0];
    fused_repair(&c);
    fused_check(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_q_len),         cmocka_unit_test(test_kv_len), cmocka_unit_test(test_head_dim),
      cmocka_unit_test(test_value_dim),     cmocka_unit_test(test_edges),  cmocka_unit_test(test_options),
      cmocka_unit_test(test_long_products), cmocka_unit_test(test_rising),
  };
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
