/*
 * Devices that end a work-item's loops early, as llvmpipe does after 65,535 turns: what is too long for one launch is right all
 * the same, or refused with both numbers. The options go through launches of few keys, because the limit is made small for
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "context.h"
#include "loops.h"
#include "on_device.h"

enum { ENOUGH_FOR_A_BLOCK = 1500, CHUNK = 32 };

/* The device's own limit, or a smaller one. */
static int64_t limit_loops(int64_t limit) {
  struct runtime *runtime = support_device()->runtime;
  if (limit != 0) atomic_store(&runtime->loop_limit, limit);
  return ctn_loop_limit(runtime, INT64_MAX);
}

/* To be measured again. */
static int forget_limit(void **state) {
  (void)state;
  atomic_store(&support_device()->runtime->loop_limit, 0);
  return 0;
}

static void check(const struct attention_case *c, clattn_path path, uint32_t outputs, const char *family, const char *saying) {
  struct setup want, got;
  char full[1200];
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, outputs);
  /* Its stages tell how large the scores are; long problems have usual ones. */
  const uint32_t all = c->kv_len < 1000 ? ALL_OUTPUTS : outputs;
  const clattn_problem whole = support_case_problem(c, all);
  support_case_text(c, full, sizeof full);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *reference = support_attention_plan(support_device(), &whole, &options);
  support_case(&want, c, all);
  support_execute(reference, &want, "reference");
  options.path = path;
  options.user_workspace = c->seed % 2;
  options.product = CLATTN_PRODUCT_OWN;
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  if (family != NULL) assert_string_equal(clattn_plan_family(plan), family);
  if (saying != NULL && strstr(clattn_plan_describe(plan), saying) == NULL) {
    fail_msg("\"%s\" is not in:\n%s", saying, clattn_plan_describe(plan));
  }
  support_case(&got, c, outputs);
  if (options.user_workspace) {
    support_enqueue(support_device(), plan, &got, full);
  } else {
    support_execute(plan, &got, full);
  }
  support_compare(&got, &want, all == ALL_OUTPUTS ? support_largest_score(&want) : 8, full);
  support_free(&got);
  support_free(&want);
  clattn_plan_destroy(plan);
  clattn_plan_destroy(reference);
}

/* An option through launches of one block of keys each. */
static void check_launches(size_t n) {
  const struct attention_case shape = {.dtype = n % 3 == 2 ? CLATTN_F16 : CLATTN_F32,
                                       .batch = 2,
                                       .q_heads = 4,
                                       .kv_heads = 2,
                                       .q_len = 21,
                                       .kv_len = 3 * 32 + 7,
                                       .head_dim = 19,
                                       .head_dim_v = CHUNK - 1,
                                       .seed = n + 1};
  const struct attention_case c = support_combine(&shape, &support_options[n]);
  check(&c, CLATTN_PATH_FUSED, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, "fused_tile",
        c.kv_len > 32 ? "launches: 32 keys each" : NULL);
}

/* The first is plain. */
static void test_launches(void **state) {
  (void)state;
  limit_loops(ENOUGH_FOR_A_BLOCK);
  check_launches(0);
}

static void test_options(void **state) {
  (void)state;
  limit_loops(ENOUGH_FOR_A_BLOCK);
  /* On a device with wide vectors, which takes tiles long to compile, everything at once; Oclgrind has cases of its own. */
  const bool few = support_on_oclgrind() || clattn_context_device(support_device())->native_float_width >= 8;
  for (size_t n = few ? support_option_count - 2 : 1; n < support_option_count; n++) {
    check_launches(n);
  }
}

/* Fails where a plan of that path is made, or the error does not say it. */
static void expect_refusal(const struct attention_case *c, clattn_plan_options options, const char *saying) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan *plan = NULL;
  const clattn_problem problem = support_case_problem(c, CLATTN_OUTPUT_OUT);
  assert_int_equal(clattn_plan_create(&plan, support_device(), &problem, &options, &error), CLATTN_UNSUPPORTED);
  assert_null(plan);
  if (strstr(error.text, saying) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, saying);
}

/* A limit that not even one block of keys keeps to. */
static void test_refused(void **state) {
  (void)state;
  const struct attention_case c = {
      .batch = 1, .q_heads = 1, .kv_heads = 1, .q_len = 3, .kv_len = 40, .head_dim = 64, .head_dim_v = 64, .seed = 2};
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  limit_loops(150);
  options.path = CLATTN_PATH_FUSED;
  expect_refusal(&c, options, "times, the device ends them after 150");
  options.path = CLATTN_PATH_STAGED;
  expect_refusal(&c, options, "times, the device ends them after 150");
  options.vector_width = 8;
  expect_refusal(&c, options, "the device ends loops after 150 turns");
  check(&c, CLATTN_PATH_AUTO, CLATTN_OUTPUT_OUT, "cpu", "times, the device ends them after 150");
}

/* As long as they have to be for the device's own limit, which Oclgrind would take too long for. */
static void test_long(void **state) {
  (void)state;
  if (support_on_oclgrind()) skip();
  struct attention_case c = {
      .batch = 1, .q_heads = 2, .kv_heads = 1, .q_len = 3, .kv_len = 8192, .head_dim = 64, .head_dim_v = 64, .seed = 1};
  const bool limited = limit_loops(0) != INT64_MAX;
  check(&c, CLATTN_PATH_FUSED, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, NULL,
        limited ? "because the device ends loops early" : NULL);
  c.kv_len = 16384 + 3;
  c.causal = true;
  c.offset = BOTTOM_RIGHT;
  check(&c, CLATTN_PATH_FUSED, CLATTN_OUTPUT_OUT, NULL, NULL);
  check(&c, CLATTN_PATH_STAGED, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, "staged", NULL);
  c.kv_len = 40000;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = CLATTN_PATH_STAGED;
  if (limited) {
    expect_refusal(&c, options, "times, the device ends them after 65");
  } else {
    check(&c, CLATTN_PATH_STAGED, CLATTN_OUTPUT_OUT, "staged", NULL);
  }
  /* Without values to be summed, and with stages. */
  check(&c, CLATTN_PATH_STAGED, CLATTN_OUTPUT_LSE | CLATTN_OUTPUT_WEIGHTS, "staged", NULL);
}

static void test_long_projection(void **state) {
  (void)state;
  if (support_on_oclgrind()) skip();
  const bool limited = limit_loops(0) != INT64_MAX;
  for (int turn = 0; turn < 2; turn++) {
    struct setup want, got;
    clattn_error error = CLATTN_ERROR_INIT;
    clattn_plan *plans[2] = {NULL, NULL};
    clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
    clattn_projection p = CLATTN_PROJECTION_INIT;
    p.length = 2;
    p.in_features = turn == 0 ? 20001 : 40001;
    p.heads = 1;
    p.head_dim = 3;
    struct setup *const setups[2] = {&want, &got};
    for (int n = 0; n < 2; n++) {
      options.path = n == 0 ? CLATTN_PATH_REFERENCE : CLATTN_PATH_AUTO;
      if (clattn_projection_plan_create(&plans[n], support_device(), &p, &options, &error) != CLATTN_OK) {
        fail_msg("%s", error.text);
      }
      support_projection(setups[n], &p);
      uint64_t random = 3;
      for (int64_t i = 0; i < p.length * p.in_features; i++)
        support_set(CLATTN_F32, setups[n]->arrays.x, i, support_random(&random));
      for (int64_t i = 0; i < p.head_dim * p.in_features; i++)
        support_set(CLATTN_F32, setups[n]->arrays.weight, i, support_random(&random));
      support_execute(plans[n], setups[n], "long projection");
    }
    assert_string_equal(clattn_plan_family(plans[1]), limited && turn == 1 ? "cpu" : "projection");
    support_compare(&got, &want, 0, "long projection");
    for (int n = 0; n < 2; n++) {
      support_free(setups[n]);
      clattn_plan_destroy(plans[n]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_launches, forget_limit),
                                     cmocka_unit_test_teardown(test_options, forget_limit),
                                     cmocka_unit_test_teardown(test_refused, forget_limit), cmocka_unit_test(test_long),
                                     cmocka_unit_test(test_long_projection)};
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
