/*
 * The fused family for matrix engines on an engine in plain OpenCL (tests/emulated), against the reference path: every option,
 * the borders of its tiles, and problems drawn at random. What the real instructions differ in is for the probe and the
 * self-test on a device that has them. CLATTN_TEST_CASE picks one of the small cases, for Oclgrind.
 *
 * Few programs, because each takes long to compile: tiles of 32 terms and 32 columns, three kinds of masks, and one wider
 * program.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "on_device.h"

enum { TEXT = 1200, NARROW = 32 };

static void check_in(const struct attention_case *c, bool on_buffers, uint32_t outputs) {
  struct setup got, want;
  char full[TEXT];
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem whole = support_case_problem(c, ALL_OUTPUTS), problem = support_case_problem(c, outputs);
  support_case_text(c, full, sizeof full);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *plan = support_attention_plan(support_device(), &whole, &options);
  support_case(&want, c, ALL_OUTPUTS);
  support_execute(plan, &want, full);
  clattn_plan_destroy(plan);

  options.path = CLATTN_PATH_FUSED;
  options.user_workspace = on_buffers;
  plan = support_attention_plan(support_device(), &problem, &options);
  assert_string_equal(clattn_plan_family(plan), "fused_matrix");
  support_case(&got, c, outputs);
  if (on_buffers) {
    support_enqueue(support_device(), plan, &got, full);
  } else {
    support_execute(plan, &got, full);
  }
  /* Where nothing is poisoned first, gaps between rows hold anything. */
  if (!on_buffers || !support_on_oclgrind()) support_compare(&got, &want, support_largest_score(&want), full);
  clattn_plan_destroy(plan);
  support_free(&got);
  support_free(&want);
}

static void check(const struct attention_case *c) {
  check_in(c, c->seed % 2 == 0, c->seed % 8 == 7 ? CLATTN_OUTPUT_LSE : CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
}

/* Each program compiles for a minute on PoCL. With $CLATTN_TEST_QUICK there are the three that have the most in them: f16 with
 * and without a mask, and bf16 without. */
static bool quick;

/* Masks of bytes or floats, in f16 storage the latter. */
static void narrow(struct attention_case *c) {
  if (quick && c->dtype == CLATTN_BF16) c->mask = CLATTN_NONE;
  if (c->mask != CLATTN_NONE) c->mask = c->dtype == CLATTN_F16 ? CLATTN_F32 : CLATTN_BOOL;
  if (c->trouble == NAN_IN_MASK && c->mask != CLATTN_F32) c->trouble = NO_TROUBLE;
  if (c->placement == ONE_BUFFER && (c->packed || c->q_len != c->kv_len)) c->placement = ROWS_APART;
}

static clattn_dtype storage(uint64_t n) {
  return n % 2 == 0 ? CLATTN_F16 : CLATTN_BF16;
}

/* Partial tiles of rows, two blocks of keys of which the second is partial. */
static const struct attention_case middle = {
    .batch = 2, .q_heads = 6, .kv_heads = 2, .q_len = 27, .kv_len = 83, .head_dim = 19, .head_dim_v = 21, .seed = 1};

static void test_options(void **state) {
  (void)state;
  for (size_t n = 0; n < support_option_count; n++) {
    struct attention_case shape = middle;
    shape.seed = n + 1;
    shape.dtype = quick ? CLATTN_F16 : storage(n / 2 + n);
    if (support_options[n].placement == ONE_BUFFER) shape.q_len = shape.kv_len;
    struct attention_case c = support_combine(&shape, &support_options[n]);
    narrow(&c);
    check(&c);
  }
}

static void test_borders(void **state) {
  static const int64_t q_lens[] = {1, 15, 16, 17, 21, 22, 63, 64, 65, 129},
                       kv_lens[] = {1, 8, 15, 16, 17, 63, 64, 65, 128, 129};
  static const int64_t dims[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32}, groups[] = {1, 2, 3, 5, 8};
  const size_t count = sizeof dims / sizeof dims[0];
  (void)state;
  for (size_t n = 0; n < count; n++) {
    struct attention_case c = middle;
    c.name = "borders";
    c.dtype = storage(n);
    c.seed = n;
    c.q_heads = c.kv_heads * groups[n % 5];
    c.q_len = q_lens[n];
    c.kv_len = kv_lens[(n * 3) % count];
    c.head_dim = dims[(n * 7) % count];
    c.head_dim_v = dims[(n * 3 + 1) % count];
    c.causal = n % 3 == 1;
    c.offset = n % 3 == 1 ? BOTTOM_RIGHT : NO_OFFSET;
    c.placement = n % 4 == 3 ? ROWS_APART : DENSE;
    check(&c);
  }
}

/* Terms and columns past the widths of other programs; columns in two chunks, the second partial; rows of whole 16 bytes. */
static void test_wide(void **state) {
  (void)state;
  if (quick) skip();
  for (int n = 0; n < 3; n++) {
    struct attention_case c = middle;
    c.name = "wide";
    c.dtype = CLATTN_BF16;
    c.q_len = 40;
    c.kv_len = 150;
    c.head_dim = n == 0 ? 256 : n == 1 ? 193 : 250;
    c.head_dim_v = n == 0 ? 128 : n == 1 ? 139 : 200;
    c.causal = n == 1;
    c.trouble = n == 2 ? NAN_IN_V : NO_TROUBLE;
    c.placement = n == 2 ? ROWS_APART : DENSE;
    c.seed = (uint64_t)n;
    check(&c);
  }
}

/* Alternating values that all but cancel: weights of 16 bits alone would miss the tolerance. */
static void test_cancelling(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 40; seed++) {
    const struct attention_case c = {.name = "few numbers",
                                     .dtype = storage(seed),
                                     .batch = 1,
                                     .q_heads = 1,
                                     .kv_heads = 1,
                                     .q_len = 1,
                                     .kv_len = 2 + (int64_t)(seed / 2),
                                     .head_dim = 8,
                                     .head_dim_v = 1,
                                     .seed = seed};
    check(&c);
  }
}

static int64_t draw(uint64_t *state, int64_t count) {
  const int64_t value = (int64_t)((support_random(state) + 1) / 2 * (double)count);
  return value < count ? value : count - 1;
}

static struct attention_case draw_case(uint64_t seed) {
  uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
  struct attention_case c = {.name = "drawn", .seed = seed, .dtype = storage(seed)};
  for (int i = 0; i < 4; i++)
    support_random(&state);
  c.batch = 1 + draw(&state, 3);
  c.kv_heads = 1 + draw(&state, 2);
  c.q_heads = c.kv_heads * (1 + draw(&state, 4));
  c.q_len = 1 + draw(&state, 90);
  c.kv_len = 1 + draw(&state, 200);
  c.head_dim = 1 + draw(&state, NARROW);
  c.head_dim_v = 1 + draw(&state, NARROW);
  c.causal = draw(&state, 3) == 0;
  c.window = draw(&state, 3) == 0;
  c.left = draw(&state, 60) - 1;
  c.right = draw(&state, 60) - 1;
  c.offset = draw(&state, 2) == 0 ? (enum offsets)draw(&state, OFFSETS_COUNT) : NO_OFFSET;
  c.kv_lens = draw(&state, 3) == 0;
  c.mask = draw(&state, 2) == 0 ? CLATTN_BOOL : CLATTN_NONE;
  c.mask_rank = 1 + (int)draw(&state, 4);
  c.mask_strided = draw(&state, 2) == 0;
  c.softcap = draw(&state, 3) == 0 ? 2 : 0;
  c.alibi = draw(&state, 3) == 0;
  c.sinks = draw(&state, 3) == 0;
  c.dropout = draw(&state, 4) == 0 ? 0.1f * (float)draw(&state, 10) : 0;
  c.packed = draw(&state, 4) == 0;
  c.placement = draw(&state, 2) == 0 ? ROWS_APART : DENSE;
  c.spread = draw(&state, 6) == 0 ? 30 : 1;
  c.trouble = draw(&state, 4) == 0 ? (enum trouble)draw(&state, NAN_IN_MASK) : NO_TROUBLE;
  narrow(&c);
  return c;
}

static void test_random(void **state) {
  (void)state;
  const uint64_t seed = support_environment("CLATTN_TEST_SEED", 1), count = support_environment("CLATTN_TEST_COUNT", 60);
  for (uint64_t n = seed; n < seed + count; n++) {
    const struct attention_case c = draw_case(n);
    check(&c);
  }
}

/* Another family runs, and the plan says why. */
static void expect_refusal(clattn_context *context, const struct attention_case *c, int vector_width, const char *reason) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, CLATTN_OUTPUT_OUT);
  options.path = CLATTN_PATH_FUSED;
  options.vector_width = vector_width;
  clattn_plan *plan = support_attention_plan(context, &problem, &options);
  assert_string_not_equal(clattn_plan_family(plan), "fused_matrix");
  if (strstr(clattn_plan_describe(plan), reason) == NULL) fail_msg("not \"%s\": %s", reason, clattn_plan_describe(plan));
  clattn_plan_destroy(plan);
}

static void test_refusals(void **state) {
  (void)state;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_context *context = NULL;
  struct attention_case c = middle;
  c.dtype = CLATTN_F32;
  expect_refusal(support_device(), &c, 0, "fused_matrix: matrix engines multiply f16 and bf16, the tensors are stored as f32");
  c.dtype = CLATTN_F16;
  expect_refusal(support_device(), &c, 8, "fused_matrix: a vector width was asked for");
  c.head_dim = 257;
  expect_refusal(support_device(), &c, 0, "fused_matrix: head_dim is 257, and registers hold rows of up to 256");
  c.head_dim = 256;
  options.device_name = clattn_context_device(support_device())->platform_name;
  options.no_selftest = 1;
  assert_int_equal(clattn_context_create(&context, &options, NULL), CLATTN_OK);
  expect_refusal(context, &c, 0, "fused_matrix: the device has no matrix engine that the kernels know: they know NVIDIA's");
  clattn_context_destroy(context);
}

/* Small ones, for a simulator that sees every access: everything at once; several blocks; the way that keeps NaN apart. */
static void test_accesses(void **state) {
  static const struct attention_case cases[] = {
      {.dtype = CLATTN_F16,
       .batch = 1,
       .q_heads = 2,
       .kv_heads = 1,
       .q_len = 5,
       .kv_len = 35,
       .head_dim = 17,
       .head_dim_v = 9,
       .causal = true,
       .offset = BOTTOM_RIGHT,
       .window = true,
       .left = 20,
       .right = -1,
       .kv_lens = true,
       .softcap = 4,
       .alibi = true,
       .sinks = true,
       .dropout = 0.2f,
       .placement = ROWS_APART,
       .seed = 2},
      {.dtype = CLATTN_BF16,
       .batch = 1,
       .q_heads = 1,
       .kv_heads = 1,
       .q_len = 3,
       .kv_len = 70,
       .head_dim = 32,
       .head_dim_v = 32,
       .seed = 2},
      {.dtype = CLATTN_F16,
       .batch = 1,
       .q_heads = 1,
       .kv_heads = 1,
       .q_len = 17,
       .kv_len = 18,
       .head_dim = 3,
       .head_dim_v = 2,
       .causal = true,
       .trouble = NAN_IN_V,
       .seed = 2},
  };
  const uint64_t all = sizeof cases / sizeof cases[0], only = support_environment("CLATTN_TEST_CASE", all);
  (void)state;
  for (uint64_t n = 0; n < all; n++) {
    if (only == all || only == n) check(&cases[n]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_options), cmocka_unit_test(test_borders),
                                     cmocka_unit_test(test_wide),    cmocka_unit_test(test_cancelling),
                                     cmocka_unit_test(test_random),  cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_accesses)};
  quick = getenv("CLATTN_TEST_QUICK") != NULL;
  const struct CMUnitTest accesses[] = {cmocka_unit_test(test_accesses)};
  if (getenv("CLATTN_TEST_CASE") != NULL) return cmocka_run_group_tests(accesses, NULL, support_close_device);
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
