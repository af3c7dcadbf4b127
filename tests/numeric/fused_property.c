/*
 * The fused path on problems drawn at random: shapes, options and data, everything together. Case n has the seed
 * $CLATTN_TEST_SEED + n, for $CLATTN_TEST_COUNT cases. A failure is made small, written as a case file that `clattn verify`
 * runs, and printed with the seed that alone draws it again.
 *
 * Programs are compiled for each pair of storage type and mask type, and for GPUs for each width of a chunk of value columns,
 * so the seed goes through the pairs and keeps the width to one a pair for a while.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fused_check.h"
#include "fused_shrink.h"

enum { SHRINK_ATTEMPTS = 300, GROUPS = 15, CHUNK_COLUMNS = 32, CHUNK_WIDTHS = 4, SEEDS_A_WIDTH = 3000 };

/* 0 to count - 1. */
static int64_t draw(uint64_t *state, int64_t count) {
  const int64_t value = (int64_t)((support_random(state) + 1) / 2 * (double)count);
  return value < count ? value : count - 1;
}

static bool one_in(uint64_t *state, int64_t count) {
  return draw(state, count) == 0;
}

/* Mostly small, sometimes round the kernels' borders. */
static int64_t draw_size(uint64_t *state, int64_t small, int64_t largest) {
  static const int64_t borders[] = {6, 8, 16, 32, 64, 96, 128, 192};
  if (!one_in(state, 3)) return 1 + draw(state, small);
  const int64_t size = borders[draw(state, sizeof borders / sizeof borders[0])] - 1 + draw(state, 3);
  return size < largest ? size : largest;
}

static int64_t draw_dim(uint64_t *state) {
  if (one_in(state, 12)) return 1 + draw(state, 600);
  return draw_size(state, 40, 200);
}

/* As drawn, but in the same chunk width as all others of its group: the tile kernel rounds up to 32, to 128 at most. */
static int64_t in_width(int64_t dim, int64_t width) {
  if (width == CHUNK_WIDTHS - 1) return dim > (CHUNK_WIDTHS - 1) * CHUNK_COLUMNS ? dim : 97 + dim % 64;
  return width * CHUNK_COLUMNS + 1 + (dim - 1) % CHUNK_COLUMNS;
}

static void draw_mask(struct attention_case *c, uint64_t *state) {
  c->mask_rank = 1 + (int)draw(state, 4);
  c->mask_ones = one_in(state, 2) ? (unsigned)draw(state, 16) : 0;
  c->mask_missing = one_in(state, 3) ? draw(state, 5) : 0;
  c->mask_strided = one_in(state, 2);
}

static void draw_shape(struct attention_case *c, uint64_t *state) {
  static const int64_t groups[] = {1, 1, 2, 3, 5, 8};
  c->batch = 1 + draw(state, 4);
  c->kv_heads = 1 + draw(state, 3);
  c->q_heads = c->kv_heads * groups[draw(state, 6)];
  c->q_len = draw_size(state, 20, 100);
  c->kv_len = draw_size(state, 60, 300);
  c->head_dim = draw_dim(state);
  c->head_dim_v = draw_dim(state);
}

static void draw_options(struct attention_case *c, uint64_t *state) {
  c->causal = one_in(state, 3);
  c->window = one_in(state, 3);
  c->left = draw(state, 60) - 1;
  c->right = draw(state, 60) - 1;
  c->offset = one_in(state, 2) ? (enum offsets)draw(state, OFFSETS_COUNT) : NO_OFFSET;
  c->kv_lens = one_in(state, 3);
  c->softcap = one_in(state, 3) ? 0.5f + (float)draw(state, 8) : 0;
  c->scale = one_in(state, 4) ? 0.125f * (float)(draw(state, 9) - 4) : 0;
  c->alibi = one_in(state, 3);
  c->sinks = one_in(state, 3);
  c->dropout = one_in(state, 4) ? 0.1f * (float)draw(state, 10) : 0;
  c->packed = one_in(state, 4);
  c->placement = (enum placement)draw(state, PLACEMENT_COUNT);
  c->spread = one_in(state, 6) ? 30 : 1;
  c->rise = one_in(state, 6) ? (double)(draw(state, 81) - 40) : 0;
  c->trouble = one_in(state, 4) ? (enum trouble)draw(state, TROUBLE_COUNT) : NO_TROUBLE;
}

static struct attention_case draw_case(uint64_t seed) {
  static const clattn_dtype storage[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  static const clattn_dtype masks[] = {CLATTN_NONE, CLATTN_BOOL, CLATTN_F32, CLATTN_F16, CLATTN_BF16};
  struct attention_case c;
  uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
  memset(&c, 0, sizeof c); /* padding too: cases are compared */
  for (int i = 0; i < 4; i++) {
    support_random(&state);
  }
  c.name = "drawn";
  c.seed = seed;
  c.dtype = storage[seed % 3];
  c.mask = masks[seed % 5];
  draw_shape(&c, &state);
  draw_options(&c, &state);
  draw_mask(&c, &state);
  if (!fused_has_vectors())
    c.head_dim_v = in_width(c.head_dim_v, (int64_t)((seed + seed / SEEDS_A_WIDTH) % GROUPS % CHUNK_WIDTHS));
  fused_repair(&c);
  return c;
}

/* The one vector width of a case's group. */
static bool agrees_in_width(const struct attention_case *c, char text[CHECK_TEXT]) {
  const int widths[2] = {(c->seed % GROUPS + c->seed / SEEDS_A_WIDTH) % 2 == 0 ? 16 : 8, 0};
  return fused_agrees(c, widths, text);
}

static bool fails(const struct attention_case *c) {
  char text[CHECK_TEXT];
  return !agrees_in_width(c, text);
}

/* The smallest case that fails like c, in a file beside the program's own. */
static void report(const struct attention_case *c, uint64_t seed) {
  char text[CHECK_TEXT], full[1200], path[64];
  const struct attention_case small = fused_shrink(*c, fails, SHRINK_ATTEMPTS);
  snprintf(path, sizeof path, "fused_property_%llu.safetensors", (unsigned long long)seed);
  fused_write_case(&small, path);
  support_case_text(&small, full, sizeof full);
  const bool agrees = agrees_in_width(&small, text);
  char *folder = getcwd(NULL, 0);
  print_error(
      "CLATTN_TEST_SEED=%llu CLATTN_TEST_COUNT=1 fails; the smallest case like it:\n%s\n%s\nclattn verify --path fused "
      "%s/%s\n",
      (unsigned long long)seed, full, agrees ? "does not fail every time" : text, folder != NULL ? folder : ".", path);
  free(folder);
  fail_msg("seed %llu", (unsigned long long)seed);
}

static void test_random(void **state) {
  (void)state;
  const uint64_t otherwise = support_on_oclgrind() ? 3 : fused_has_vectors() ? 250 : 30;
  const uint64_t seed = support_environment("CLATTN_TEST_SEED", 1);
  const uint64_t count = support_environment("CLATTN_TEST_COUNT", otherwise);
  print_message("CLATTN_TEST_SEED=%llu CLATTN_TEST_COUNT=%llu\n", (unsigned long long)seed, (unsigned long long)count);
  for (uint64_t n = seed; n < seed + count; n++) {
    const struct attention_case c = draw_case(n);
    if (fails(&c)) report(&c, n);
  }
}

/* Stands for a kernel that forgets to mask the last keys of long rows. */
static bool fails_in_turn(const struct attention_case *c) {
  return c->causal && c->kv_len > 37 && c->q_heads > c->kv_heads && c->mask != CLATTN_NONE;
}

static int verify(const char *path, const char *way) {
  char command[1024];
  snprintf(command, sizeof command, "'%s' verify --path %s '%s' >/dev/null 2>&1", CLATTN_TOOL, way, path);
  const int code = system(command);
  return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

/* A failure shrinks to what it takes. */
static void test_shrinking(void **state) {
  (void)state;
  struct attention_case c;
  memset(&c, 0, sizeof c);
  for (uint64_t seed = 1; !fails_in_turn(&c); seed++) {
    c = draw_case(seed);
  }
  const struct attention_case small = fused_shrink(c, fails_in_turn, SHRINK_ATTEMPTS);
  assert_int_equal(small.kv_len, 38);
  assert_int_equal(small.q_heads, 2);
  assert_int_equal(small.kv_heads, 1);
  assert_int_equal(small.mask, CLATTN_BOOL);
  assert_true(small.causal);
  assert_int_equal(small.batch * small.q_len * small.head_dim * small.head_dim_v, 1);
  assert_false(small.window || small.kv_lens || small.alibi || small.sinks || small.packed);
  assert_int_equal(small.placement, DENSE);
}

/* Case files of drawn cases pass where they should, and fail with another's results. */
static void test_case_files(void **state) {
  static const char path[] = "fused_property_check.safetensors";
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct attention_case c = draw_case(seed);
    fused_write_case(&c, path);
    if (verify(path, "reference") != 0) fail_msg("seed %llu: its file does not verify", (unsigned long long)seed);
  }
  assert_int_equal(unlink(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_shrinking),
      cmocka_unit_test(test_case_files),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
