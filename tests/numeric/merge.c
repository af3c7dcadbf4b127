/* Merging partial results: attention over parts of the keys, merged, is attention over all; dead parts, NaN and infinities. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "on_device.h"

static const clattn_dtype storage[3] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16};
static const clattn_path paths[3] = {CLATTN_PATH_REFERENCE, CLATTN_PATH_CPU, CLATTN_PATH_FUSED};
enum { MOST_PARTS = 5 };

static clattn_plan *merge_plan(const clattn_merge *problem, clattn_path path) {
  clattn_plan *plan = NULL;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  options.path = path;
  options.user_workspace = 1;
  if (clattn_merge_plan_create(&plan, support_device(), problem, &options, &error) != CLATTN_OK) {
    fail_msg("no plan: %s", error.text);
  }
  return plan;
}

/* On the device by way of buffers, with margins that must not change. */
static void run(struct setup *s, const clattn_merge *problem, clattn_path path, const char *what) {
  clattn_plan *plan = merge_plan(problem, path);
  if (path == CLATTN_PATH_FUSED) {
    support_enqueue(support_device(), plan, s, what);
  } else {
    support_execute(plan, s, what);
  }
  clattn_plan_destroy(plan);
}

static void attend(struct setup *s, const clattn_problem *problem, clattn_path path) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = path;
  clattn_plan *plan = support_attention_plan(support_device(), problem, &options);
  support_execute(plan, s, "attention");
  clattn_plan_destroy(plan);
}

/* Keys first to first + count of the whole: k and v are views, positions move along. */
static void attend_part(const struct setup *whole, const clattn_problem *problem, int64_t first, int64_t count,
                        clattn_path path, void *out, float *lse) {
  const struct attention *a = &whole->problem.as.attention;
  const size_t element = ctn_dtype_size(a->dtype);
  clattn_problem part = *problem;
  struct setup s = *whole;
  int64_t offsets[8];
  assert_true(a->batch <= 8 && a->has_query_offset);
  part.kv_len = count;
  part.k = (clattn_layout){a->k.batch, a->k.head, a->k.row};
  part.v = (clattn_layout){a->v.batch, a->v.head, a->v.row};
  for (int64_t b = 0; b < a->batch; b++) {
    offsets[b] = whole->arrays.query_offset[b] - first;
  }
  s.arrays.k = (const char *)whole->arrays.k + (size_t)(first * a->k.row) * element;
  s.arrays.v = (const char *)whole->arrays.v + (size_t)(first * a->v.row) * element;
  s.arrays.query_offset = offsets;
  s.arrays.out = out;
  s.arrays.lse = lse;
  if (first > 0) {
    part.has_sinks = 0; /* counted once */
    s.arrays.sinks = NULL;
  }
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(ctn_problem_attention(&s.problem, &part, &error), CLATTN_OK);
  attend(&s, &part, path);
}

/* The case's keys cut into parts, each attended by itself and merged, against all at once. */
static void check_split(const struct attention_case *c, int64_t parts, clattn_path path) {
  struct setup whole, merged;
  char text[1400];
  const clattn_problem problem = support_case_problem(c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
  clattn_merge merge = CLATTN_MERGE_INIT;
  merge.dtype = problem.dtype;
  merge.parts = parts;
  merge.batch = problem.batch;
  merge.heads = problem.q_heads;
  merge.rows = problem.q_len;
  merge.head_dim_v = problem.head_dim_v;
  merge.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
  support_case(&whole, c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
  support_merge(&merged, &merge);
  for (int64_t n = 0; n < parts; n++) {
    const int64_t first = n * c->kv_len / parts, end = (n + 1) * c->kv_len / parts;
    const size_t bytes = (size_t)(merged.problem.tensor[T_OUT].extent) * ctn_dtype_size(problem.dtype);
    attend_part(&whole, &problem, first, end - first, path, (char *)merged.memory[T_PART_OUT] + (size_t)n * bytes,
                (float *)merged.memory[T_PART_LSE] + n * merged.problem.tensor[T_LSE].extent);
  }
  attend(&whole, &problem, CLATTN_PATH_REFERENCE);
  support_case_text(c, text, sizeof text);
  run(&merged, &merge, path, text);
  /* The parts were rounded to the storage type before they were merged. */
  support_compare(&merged, &whole, c->dtype == CLATTN_F32 ? 16 : 0, text);
  support_free(&merged);
  support_free(&whole);
}

static void test_split_keys(void **state) {
  static const struct attention_case cases[] = {
      {.name = "plain", .offset = BOTTOM_RIGHT},
      {.name = "causal, so that late parts are dead for early rows", .causal = true, .offset = BOTTOM_RIGHT},
      {.name = "causal, negative offset: rows that attend nothing", .causal = true, .offset = NEGATIVE_OFFSET},
      {.name = "window", .window = true, .left = 4, .right = 1, .offset = BOTTOM_RIGHT, .softcap = 2},
      {.name = "alibi, sinks", .alibi = true, .sinks = true, .offset = BOTTOM_RIGHT},
      {.name = "NaN in k", .trouble = NAN_IN_K, .causal = true, .offset = BOTTOM_RIGHT},
      {.name = "NaN in v", .trouble = NAN_IN_V, .offset = BOTTOM_RIGHT},
      {.name = "infinite k", .trouble = INFINITE_K, .offset = BOTTOM_RIGHT},
  };
  (void)state;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    for (size_t t = 0; t < 3; t++) {
      struct attention_case c = cases[n];
      c.dtype = storage[t];
      c.batch = 2;
      c.q_heads = 4;
      c.kv_heads = 2;
      c.q_len = 9;
      c.kv_len = 53;
      c.head_dim = 17;
      c.head_dim_v = 21;
      c.seed = n + 1;
      for (size_t p = 0; p < 3; p++) {
        check_split(&c, 2 + (int64_t)((n + t) % (MOST_PARTS - 1)), paths[p]);
      }
    }
  }
}

/* Columns of lse, one a row, with what is special; and every type of parts with every type of result. */
static void test_special_values(void **state) {
  static const float lses[][3] = {
      {-INFINITY, 0.5f, 1},
      {-INFINITY, -INFINITY, -INFINITY},
      {NAN, 1, 2},
      {1, -INFINITY, NAN},
      {INFINITY, 1, 2},
      {INFINITY, -INFINITY, INFINITY},
      {NAN, NAN, NAN},
      {80, -80, 0},
      {-1e30f, 1e30f, 2},
      {-3e38f, -3e38f, -INFINITY},
      {1000, 1000, 999},
      {-1000, -1001, -1000},
      {0, 0, 0},
      {-INFINITY, 4, -INFINITY},
  };
  enum { ROWS = sizeof lses / sizeof lses[0], DIM = 5 };
  (void)state;
  for (size_t t = 0; t < 9; t++) {
    clattn_merge problem = CLATTN_MERGE_INIT;
    struct setup want, got;
    problem.dtype = storage[t % 3];
    problem.part_dtype = storage[t / 3];
    problem.parts = 3;
    problem.rows = ROWS;
    problem.head_dim_v = DIM;
    problem.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
    support_merge(&want, &problem);
    support_merge(&got, &problem);
    uint64_t random = t + 1;
    for (int64_t n = 0; n < 3 * ROWS; n++) {
      const float lse = lses[n % ROWS][n / ROWS];
      support_set(CLATTN_F32, want.arrays.part_lse, n, (double)lse);
      for (int64_t d = 0; d < DIM; d++) {
        const bool dead = lse == -INFINITY;
        double value = dead ? (d % 2 ? (double)NAN : (double)INFINITY) : support_random(&random);
        if (n == 12 && d == 1) value = INFINITY; /* a row of three equal parts */
        support_set(problem.part_dtype, want.arrays.part_out, n * DIM + d, value);
      }
    }
    memcpy(got.memory[T_PART_OUT], want.memory[T_PART_OUT], 3 * ROWS * DIM * ctn_dtype_size(problem.part_dtype));
    memcpy(got.memory[T_PART_LSE], want.memory[T_PART_LSE], 3 * ROWS * sizeof(float));
    run(&want, &problem, CLATTN_PATH_REFERENCE, "reference");
    const float *lse = want.arrays.lse;
    assert_true(lse[1] == -INFINITY && isnan(lse[2]) && isnan(lse[3]) && isnan(lse[4]) && isnan(lse[6]));
    assert_true(fabs((double)lse[0] - log(exp(0.5) + exp(1))) < 1e-6);
    assert_true(ctn_load_f64(problem.dtype, want.arrays.out, DIM) == 0);
    assert_true(isinf(ctn_load_f64(problem.dtype, want.arrays.out, 12 * DIM + 1)));
    for (size_t p = 1; p < 3; p++) {
      run(&got, &problem, paths[p], "special values");
      support_compare(&got, &want, 0, p == 1 ? "cpu" : "device");
    }
    support_free(&got);
    support_free(&want);
  }
}

/* One result alone. */
static void test_outputs(void **state) {
  (void)state;
  for (uint32_t outputs = 1; outputs <= 2; outputs++) {
    for (size_t p = 0; p < 3; p++) {
      clattn_merge problem = CLATTN_MERGE_INIT;
      struct setup s;
      problem.outputs = outputs;
      support_merge(&s, &problem);
      assert_int_equal(s.arrays.part_out != NULL, outputs == CLATTN_OUTPUT_OUT);
      const double lses[2] = {0, log(3)}, outs[2] = {2, 6};
      support_fill(CLATTN_F32, s.arrays.part_lse, 2, lses);
      if (outputs == CLATTN_OUTPUT_OUT) support_fill(CLATTN_F32, s.arrays.part_out, 2, outs);
      run(&s, &problem, paths[p], "one result");
      if (outputs == CLATTN_OUTPUT_OUT) {
        assert_true(fabsf(((float *)s.arrays.out)[0] - 5) < 1e-5f);
      } else {
        assert_true(fabsf(s.arrays.lse[0] - logf(4)) < 1e-6f);
      }
      support_free(&s);
    }
  }
}

static void refuse(const clattn_merge *problem, const char *fragment) {
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_not_equal(clattn_merge_plan_create(&plan, support_device(), problem, NULL, &error), CLATTN_OK);
  assert_null(plan);
  if (strstr(error.text, fragment) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, fragment);
}

static void test_refusals(void **state) {
  (void)state;
  clattn_merge problem = CLATTN_MERGE_INIT;
  problem.parts = 0;
  refuse(&problem, "parts: 0");
  problem.parts = 2;
  problem.outputs = CLATTN_OUTPUT_WEIGHTS;
  refuse(&problem, "outputs: 0x20");
  problem.outputs = CLATTN_OUTPUT_OUT;
  problem.part_dtype = CLATTN_I32;
  refuse(&problem, "dtype");
  problem.part_dtype = CLATTN_NONE;
  problem.rows = problem.heads = problem.batch = INT32_MAX;
  refuse(&problem, "overflow");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split_keys),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_refusals),
  };
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
