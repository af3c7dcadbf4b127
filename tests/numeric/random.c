/*
 * The staged path on problems drawn at random: shapes, options and data. CLATTN_TEST_SEED starts the draw elsewhere and
 * CLATTN_TEST_COUNT says how many; a failure prints its case, whose seed among the initialisers is that of its data.
 */
#include "staged_check.h"

enum { LARGEST_WORK = 500000 };

/* 0 to count - 1. */
static int64_t draw(uint64_t *state, int64_t count) {
  const double value = (support_random(state) + 1) / 2 * (double)count;
  return (int64_t)value < count ? (int64_t)value : count - 1;
}

static bool one_in(uint64_t *state, int64_t count) {
  return draw(state, count) == 0;
}

/* Mostly small, sometimes next to a multiple of a block. */
static int64_t draw_size(uint64_t *state, int64_t small, int64_t largest) {
  static const int64_t blocks[] = {8, 16, 32, 64, 96, 128, 256};
  if (!one_in(state, 3)) return 1 + draw(state, small);
  const int64_t size = blocks[draw(state, sizeof blocks / sizeof blocks[0])] - 1 + draw(state, 3);
  return size < largest ? size : largest;
}

static void draw_mask(struct attention_case *c, uint64_t *state) {
  static const clattn_dtype types[] = {CLATTN_BOOL, CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  c->mask = types[draw(state, 4)];
  c->mask_rank = 1 + (int)draw(state, 4);
  c->mask_ones = (unsigned)draw(state, 16);
  c->mask_missing = one_in(state, 3) ? draw(state, 5) : 0;
  c->mask_strided = one_in(state, 2);
}

static void draw_shape(struct attention_case *c, uint64_t *state) {
  static const clattn_dtype storage[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  c->dtype = storage[draw(state, 3)];
  c->batch = 1 + draw(state, 4);
  c->kv_heads = 1 + draw(state, 3);
  c->q_heads = c->kv_heads * (1 + draw(state, 3));
  c->q_len = draw_size(state, 24, 100);
  c->kv_len = draw_size(state, 48, 300);
  c->head_dim = draw_size(state, 24, 64);
  c->head_dim_v = draw_size(state, 24, 64);
}

/* Terms of the products: the reference takes some 10 ns each. */
static int64_t work(const struct attention_case *c) {
  return c->batch * c->q_heads * c->q_len * c->kv_len * (c->head_dim + c->head_dim_v);
}

static void draw_options(struct attention_case *c, uint64_t *state) {
  c->causal = one_in(state, 3);
  c->window = one_in(state, 4);
  if (c->window) c->left = draw(state, 40) - 1;
  if (c->window) c->right = draw(state, 40) - 1;
  c->offset = one_in(state, 2) ? (enum offsets)draw(state, OFFSETS_COUNT) : NO_OFFSET;
  c->kv_lens = one_in(state, 3);
  if (one_in(state, 2)) draw_mask(c, state);
  c->softcap = one_in(state, 4) ? 0.5f + (float)draw(state, 8) : 0;
  c->scale = one_in(state, 4) ? 0.125f * (float)(draw(state, 9) - 4) : 0;
  /* A bias of 2^61 leaves nothing of a float32 score. */
  c->alibi = one_in(state, 4) && c->offset != HUGE_OFFSETS;
  c->sinks = one_in(state, 4);
  c->dropout = one_in(state, 4) ? 0.1f * (float)draw(state, 10) : 0;
  c->packed = one_in(state, 4);
  c->placement = (enum placement)draw(state, PLACEMENT_COUNT);
  c->spread = one_in(state, 6) ? 30 : 1;
  if (one_in(state, 4)) c->trouble = (enum trouble)draw(state, TROUBLE_COUNT);
  /* Where a weight underflows in float32 and not in float64, infinity times it is NaN for one and infinity for the other. */
  if (c->trouble == INFINITE_V && (c->alibi || c->spread > 1)) c->trouble = NAN_IN_V;
}

static void test_random(void **state) {
  (void)state;
  uint64_t seed = support_environment("CLATTN_TEST_SEED", 1);
  const uint64_t count = support_environment("CLATTN_TEST_COUNT", staged_has_vectors() ? 120 : 30);
  print_message("CLATTN_TEST_SEED=%llu CLATTN_TEST_COUNT=%llu\n", (unsigned long long)seed, (unsigned long long)count);
  for (uint64_t n = 0; n < count; n++) {
    struct attention_case shape = {.seed = seed & UINT32_MAX}, option = {.name = "drawn"};
    do {
      draw_shape(&shape, &seed);
    } while (work(&shape) > LARGEST_WORK);
    draw_options(&option, &seed);
    const struct attention_case c = support_combine(&shape, &option);
    staged_check(&c, ALL_PRODUCTS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
