/* One problem over several contexts: every option, pairs cut within and between batches, against the reference of the whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clattn/clattn_split.h>

#include "attention.h"
#include "on_device.h"

enum { MOST = 3 };

static clattn_context *parts[2], *host, *other; /* two halves of the device; no device; another platform's device or NULL */

static int begin(void **state) {
  (void)state;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  if (clattn_context_device(support_device())->compute_units >= 2) {
    if (clattn_context_partition(parts, 2, support_device(), NULL, &error) != CLATTN_OK) fail_msg("%s", error.text);
  } else {
    for (int i = 0; i < 2; i++)
      assert_int_equal(clattn_context_create(&parts[i], NULL, &error), CLATTN_OK);
  }
  options.device_type = CLATTN_DEVICE_HOST;
  assert_int_equal(clattn_context_create(&host, &options, &error), CLATTN_OK);
  options.device_type = CLATTN_DEVICE_ANY;
  options.device_name = "llvmpipe";
  if (getenv("CLATTN_TEST_SPLIT_OTHER") != NULL) {
    const clattn_status status = clattn_context_create(&other, &options, &error);
    if (status != CLATTN_OK && getenv("CLATTN_TEST_REQUIRE_DEVICES") != NULL) fail_msg("%s", error.text);
  }
  return 0;
}

static int end(void **state) {
  for (int i = 0; i < 2; i++)
    clattn_context_destroy(parts[i]);
  clattn_context_destroy(host);
  clattn_context_destroy(other);
  return support_close_device(state);
}

static clattn_split *make(clattn_context *const *contexts, size_t count, const clattn_problem *problem, const double *speeds) {
  clattn_split *split = NULL;
  clattn_split_options options = CLATTN_SPLIT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.speeds = speeds;
  if (clattn_split_create(&split, contexts, count, problem, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return split;
}

static void run(clattn_split *split, struct setup *setup) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_split_execute(split, &setup->arrays, &error) != CLATTN_OK) fail_msg("%s", error.text);
}

static void check(const struct attention_case *c, uint32_t outputs, clattn_context *const *contexts, size_t count,
                  const double *speeds) {
  struct setup got, want;
  char text[1400];
  clattn_plan_options reference = CLATTN_PLAN_OPTIONS_INIT;
  reference.path = CLATTN_PATH_REFERENCE;
  const clattn_problem problem = support_case_problem(c, outputs), all = support_case_problem(c, ALL_OUTPUTS);
  support_case(&want, c, ALL_OUTPUTS);
  support_case(&got, c, outputs);
  clattn_plan *plan = support_attention_plan(host, &all, &reference);
  support_execute(plan, &want, c->name);
  clattn_plan_destroy(plan);
  clattn_split *split = make(contexts, count, &problem, speeds);
  support_case_text(c, text, sizeof text);
  for (int turn = 0; turn < 2; turn++) {
    support_poison(&got);
    run(split, &got);
    support_compare(&got, &want, support_largest_score(&want), text);
  }
  clattn_split_destroy(split);
  support_free(&got);
  support_free(&want);
}

static const struct attention_case shapes[] = {
    {.batch = 3, .q_heads = 6, .kv_heads = 3, .q_len = 13, .kv_len = 21, .head_dim = 16, .head_dim_v = 12},
    {.batch = 1, .q_heads = 5, .kv_heads = 5, .q_len = 9, .kv_len = 9, .head_dim = 8, .head_dim_v = 8},
    {.batch = 5, .q_heads = 2, .kv_heads = 1, .q_len = 7, .kv_len = 11, .head_dim = 8, .head_dim_v = 8},
};

/* Unequal speeds, so that a part begins in the middle of a batch and ends in the middle of another. */
static const double unequal[MOST] = {1.0, 2.2, 0.7};

static void test_every_option(void **state) {
  (void)state;
  clattn_context *const contexts[MOST] = {parts[0], parts[1], host};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    for (size_t o = 0; o < support_option_count; o++) {
      const struct attention_case c = support_combine(&shapes[s], &support_options[o]);
      if (c.placement == ONE_BUFFER && c.q_len != c.kv_len) continue;
      check(&c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, contexts, MOST, unequal);
      check(&c, ALL_OUTPUTS, contexts, 2, unequal);
    }
  }
}

static void test_other_platform(void **state) {
  (void)state;
  if (other == NULL) skip();
  clattn_context *const contexts[2] = {parts[0], other};
  for (size_t o = 0; o < support_option_count; o += 3) {
    const struct attention_case c = support_combine(&shapes[0], &support_options[o]);
    check(&c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, contexts, 2, unequal);
  }
}

static void expect_shares(const clattn_problem *problem, const double *speeds, const double *shares) {
  clattn_context *const contexts[MOST] = {parts[0], parts[1], host};
  clattn_split *split = make(contexts, MOST, problem, speeds);
  for (size_t i = 0; i < MOST; i++) {
    if (clattn_split_share(split, i) != shares[i]) fail_msg("%s", clattn_split_describe(split));
  }
  assert_true(clattn_split_share(split, MOST) == 0.0);
  clattn_split_destroy(split);
}

static void test_shares(void **state) {
  (void)state;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.batch = 2;
  problem.q_heads = problem.kv_heads = 4;
  problem.q_len = problem.kv_len = problem.head_dim = problem.head_dim_v = 4;
  expect_shares(&problem, (const double[]){1, 3, 4}, (const double[]){1.0 / 8, 3.0 / 8, 4.0 / 8});
  expect_shares(&problem, (const double[]){1e-3, 1, 1}, (const double[]){0, 0.5, 0.5});
  expect_shares(&problem, (const double[]){1e9, 1, 1}, (const double[]){1, 0, 0});
  problem.dropout = 0.25f; /* its numbers are counted over all pairs */
  expect_shares(&problem, (const double[]){1, 3, 2}, (const double[]){0, 1, 0});
}

/* Two halves of one device are about equally fast, and nothing is lost. */
static void test_measured(void **state) {
  (void)state;
  const struct attention_case c = {.name = "measured",
                                   .batch = 2,
                                   .q_heads = 8,
                                   .kv_heads = 8,
                                   .q_len = 200,
                                   .kv_len = 200,
                                   .head_dim = 64,
                                   .head_dim_v = 64,
                                   .seed = 7};
  const clattn_problem problem = support_case_problem(&c, CLATTN_OUTPUT_OUT);
  clattn_split *split = make(parts, 2, &problem, NULL);
  const double first = clattn_split_share(split, 0), second = clattn_split_share(split, 1);
  assert_true(first + second == 1.0);
  assert_non_null(strstr(clattn_split_describe(split), "of 16 pairs"));
  clattn_split_destroy(split);
  check(&c, CLATTN_OUTPUT_OUT, parts, 2, NULL);
}

static void expect_refusal(clattn_context *const *contexts, size_t count, const clattn_problem *problem,
                           const clattn_split_options *options, const char *part) {
  clattn_split *split = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(clattn_split_create(&split, contexts, count, problem, options, &error), CLATTN_INVALID_ARGUMENT);
  assert_null(split);
  if (strstr(error.text, part) == NULL) fail_msg("%s", error.text);
}

static void test_errors(void **state) {
  (void)state;
  clattn_context *const good[2] = {host, host}, *const bad[2] = {host, NULL};
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  clattn_split_options options = CLATTN_SPLIT_OPTIONS_INIT;
  clattn_plan_options plan = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  expect_refusal(NULL, 1, &problem, NULL, "contexts: NULL");
  expect_refusal(good, 0, &problem, NULL, "contexts: NULL, or their number, 0");
  expect_refusal(bad, 2, &problem, NULL, "contexts: number 1 is NULL");
  options.speeds = (const double[]){1, 0};
  expect_refusal(good, 2, &problem, &options, "speeds: number 1 is 0");
  options.speeds = NULL;
  plan.user_workspace = 1;
  options.plan = &plan;
  expect_refusal(good, 2, &problem, &options, "user_workspace");
  problem.q_heads = 3;
  problem.kv_heads = 2;
  expect_refusal(good, 2, &problem, NULL, "heads");
  clattn_context *made[2] = {NULL, NULL};
  assert_int_equal(clattn_context_partition(made, 2, host, NULL, &error), CLATTN_INVALID_ARGUMENT);
  const size_t too_many = clattn_context_device(support_device())->compute_units + (size_t)1;
  clattn_context **many = calloc(too_many, sizeof *many);
  assert_non_null(many);
  assert_int_equal(clattn_context_partition(many, too_many, support_device(), NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "fewer than"));
  free(many);
  /* A driver without sub-devices may lack the function as well. */
  if (other != NULL && clattn_context_device(other)->compute_units >= 2) {
    assert_int_equal(clattn_context_partition(made, 2, other, NULL, &error), CLATTN_UNSUPPORTED);
  }
  assert_null(made[0]);
  assert_int_equal(clattn_split_execute(NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  clattn_split_destroy(NULL);
}

/* A part's error is told with its device; arrays are checked once, as those of the whole problem. */
static void test_arrays(void **state) {
  (void)state;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  const float q[1] = {1};
  float out[1];
  problem.has_kv_len = 1;
  clattn_split *split = make(parts, 2, &problem, (const double[]){1, 1});
  arrays.q = arrays.k = arrays.v = q;
  arrays.out = out;
  assert_int_equal(clattn_split_execute(split, &arrays, &error), CLATTN_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "kv_len"));
  arrays.kv_len = (const int64_t[]){2};
  assert_int_equal(clattn_split_execute(split, &arrays, &error), CLATTN_INVALID_ARGUMENT);
  arrays.kv_len = (const int64_t[]){1};
  assert_int_equal(clattn_split_execute(split, &arrays, &error), CLATTN_OK);
  assert_true(out[0] == 1);
  clattn_split_destroy(split);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_option), cmocka_unit_test(test_other_platform), cmocka_unit_test(test_shares),
      cmocka_unit_test(test_measured),     cmocka_unit_test(test_errors),         cmocka_unit_test(test_arrays),
  };
  return cmocka_run_group_tests_name("split", tests, begin, end);
}
