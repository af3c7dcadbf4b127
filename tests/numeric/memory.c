/*
 * Small problems of every operation whose accesses matter more than their numbers: each kernel once, and lengths, offsets and
 * tokens that are garbage, which only device buffers can hold (host arrays are checked). CLATTN_TEST_CASE picks one: Oclgrind,
 * which sees every access, mistakes memory that is allocated again for uninitialised, so each case gets a process there.
 */
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "on_device.h"

static const struct attention_case everything = {.dtype = CLATTN_F32,
                                                 .batch = 2,
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
                                                 .mask = CLATTN_F32,
                                                 .mask_rank = 3,
                                                 .mask_strided = true,
                                                 .softcap = 4,
                                                 .alibi = true,
                                                 .sinks = true,
                                                 .dropout = 0.2f,
                                                 .placement = ROWS_APART,
                                                 .seed = 1};
static const struct attention_case packed = {.dtype = CLATTN_BF16,
                                             .batch = 4,
                                             .q_heads = 2,
                                             .kv_heads = 2,
                                             .q_len = 9,
                                             .kv_len = 33,
                                             .head_dim = 16,
                                             .head_dim_v = 33,
                                             .causal = true,
                                             .kv_lens = true,
                                             .offset = MIXED_OFFSETS,
                                             .mask = CLATTN_BOOL,
                                             .packed = true,
                                             .seed = 2};
static const struct attention_case troubled = {.dtype = CLATTN_F16,
                                               .batch = 1,
                                               .q_heads = 1,
                                               .kv_heads = 1,
                                               .q_len = 33,
                                               .kv_len = 18,
                                               .head_dim = 3,
                                               .head_dim_v = 2,
                                               .causal = true,
                                               .trouble = NAN_IN_V,
                                               .seed = 3};

static clattn_plan_options plan_options(clattn_path path) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = path;
  options.product = path == CLATTN_PATH_STAGED ? CLATTN_PRODUCT_OWN : CLATTN_PRODUCT_AUTO;
  options.user_workspace = path == CLATTN_PATH_STAGED;
  return options;
}

static void check_attention(const struct attention_case *c, uint32_t outputs) {
  struct setup got, want;
  char text[1200];
  clattn_problem problem = support_case_problem(c, ALL_OUTPUTS);
  clattn_plan_options options = plan_options(CLATTN_PATH_REFERENCE);
  support_case_text(c, text, sizeof text);
  support_case(&want, c, ALL_OUTPUTS);
  support_case(&got, c, outputs);
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  support_execute(plan, &want, text);
  clattn_plan_destroy(plan);
  problem.outputs = outputs;
  options = plan_options(CLATTN_PATH_STAGED);
  plan = support_attention_plan(support_device(), &problem, &options);
  support_enqueue(support_device(), plan, &got, text);
  if (!support_on_oclgrind()) support_compare(&got, &want, support_largest_score(&want), text);
  clattn_plan_destroy(plan);
  support_free(&got);
  support_free(&want);
}

static void check_everything(void) {
  check_attention(&everything, ALL_OUTPUTS);
}
static void check_packed(void) {
  check_attention(&packed, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
}
static void check_troubled(void) {
  check_attention(&troubled, CLATTN_OUTPUT_OUT);
}

static void enqueue_and_free(clattn_plan *plan, struct setup *s, const char *what) {
  support_enqueue(support_device(), plan, s, what);
  clattn_plan_destroy(plan);
}

/* Tokens in and outside the table; a row outside is NaN. */
static void check_embedding(void) {
  static const int64_t tokens[] = {0, -1, 6, 7, INT64_MAX, INT64_MIN, 3};
  clattn_embedding e = CLATTN_EMBEDDING_INIT;
  const clattn_plan_options options = plan_options(CLATTN_PATH_STAGED);
  clattn_plan *plan = NULL;
  struct setup s;
  e.token_dtype = CLATTN_I64;
  e.vocabulary = 7;
  e.dim = 5;
  e.count = 7;
  support_embedding(&s, &e);
  memcpy((int64_t *)(uintptr_t)s.arrays.tokens, tokens, sizeof tokens);
  for (int64_t n = 0; n < 35; n++) {
    support_set(CLATTN_F32, s.arrays.table, n, (double)n);
  }
  assert_int_equal(clattn_embedding_plan_create(&plan, support_device(), &e, &options, NULL), CLATTN_OK);
  enqueue_and_free(plan, &s, "embedding");
  support_free(&s);
}

static void check_position(void) {
  clattn_position p = CLATTN_POSITION_INIT;
  const clattn_plan_options options = plan_options(CLATTN_PATH_STAGED);
  clattn_plan *plan = NULL;
  struct setup s;
  p.batch = 2;
  p.length = 3;
  p.dim = 5;
  support_position(&s, &p);
  assert_int_equal(clattn_position_plan_create(&plan, support_device(), &p, &options, NULL), CLATTN_OK);
  enqueue_and_free(plan, &s, "position");
  support_free(&s);
}

static void check_projection(void) {
  clattn_projection p = CLATTN_PROJECTION_INIT;
  const clattn_plan_options options = plan_options(CLATTN_PATH_STAGED);
  clattn_plan *plan = NULL;
  struct setup s;
  p.dtype = CLATTN_F16;
  p.batch = 2;
  p.length = 5;
  p.in_features = 17;
  p.heads = 3;
  p.head_dim = 11;
  p.has_bias = 1;
  p.out = (clattn_layout){3 * 61, 61, 12};
  support_projection(&s, &p);
  assert_int_equal(clattn_projection_plan_create(&plan, support_device(), &p, &options, NULL), CLATTN_OK);
  enqueue_and_free(plan, &s, "projection");
  support_free(&s);
}

/* Every length, offset and beginning of a sequence is one of these, another one each time. Numbers do not matter, margins do.
 */
static void check_garbage_of(const struct attention_case *c, uint64_t first) {
  static const int64_t garbage[] = {INT64_MAX, -1, INT64_MIN, 3, INT64_C(1) << 40, 0, 1000, -(INT64_C(1) << 62), 17};
  const size_t count = sizeof garbage / sizeof garbage[0];
  const clattn_problem problem = support_case_problem(c, ALL_OUTPUTS);
  const clattn_plan_options options = plan_options(CLATTN_PATH_STAGED);
  struct setup s;
  void *table[TENSOR_COUNT];
  support_case(&s, c, ALL_OUTPUTS);
  ctn_arrays_table(&s.arrays, table);
  for (int t = T_KV_LEN; t <= T_CU_KV; t++) {
    int64_t *values = table[t];
    for (int64_t n = 0; values != NULL && n < s.problem.tensor[t].extent; n++) {
      values[n] = garbage[(first++ * 5) % count];
    }
  }
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  support_enqueue(support_device(), plan, &s, "garbage");
  clattn_plan_destroy(plan);
  support_free(&s);
}

static void check_garbage(void) {
  for (uint64_t first = 0; first < (support_on_oclgrind() ? 1 : 40); first++) {
    check_garbage_of(&everything, first);
  }
}
static void check_packed_garbage(void) {
  for (uint64_t first = 0; first < (support_on_oclgrind() ? 1 : 40); first++) {
    check_garbage_of(&packed, first);
  }
}

static void (*const cases[])(void) = {check_everything, check_packed,     check_troubled, check_embedding,
                                      check_position,   check_projection, check_garbage,  check_packed_garbage};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void test_cases(void **state) {
  (void)state;
  const uint64_t only = support_environment("CLATTN_TEST_CASE", CASE_COUNT);
  support_device();
  for (uint64_t n = 0; n < CASE_COUNT; n++) {
    if (only == CASE_COUNT || only == n) cases[n]();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
