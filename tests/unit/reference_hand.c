/*
 * The oracle and the CPU path on problems small enough to solve by hand, one option of attention each.
 *
 * The plain problem: one query 1, keys 0 and ln 3, scale 1, values 4 and 8. Scores 0 and ln 3, denominator e^0 + e^(ln 3) = 1 +
 * 3 = 4, weights 1/4 and 3/4, out = 4/4 + 8 * 3/4 = 7, lse = ln 4.
 */
#include <math.h>
#include <string.h>

#include "reference_support.h"

#define LN2 0.69314718055994530942
#define LN3 1.09861228866810969140
#define LN4 (2 * LN2)

static struct pool *const oracle = NULL;
static struct pool *cpu;

static clattn_problem plain_problem(void) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.kv_len = 2;
  problem.scale_given = 1;
  problem.scale = 1;
  problem.outputs = ALL_OUTPUTS;
  return problem;
}

static void plain_values(struct setup *s) {
  support_fill(CLATTN_F32, s->arrays.q, 1, (double[]){1});
  support_fill(CLATTN_F32, s->arrays.k, 2, (double[]){0, LN3});
  support_fill(CLATTN_F32, s->arrays.v, 2, (double[]){4, 8});
}

static void expect(const void *got, int64_t count, const double *want, const char *what) {
  float values[32];
  for (int64_t i = 0; i < count; i++) {
    values[i] = (float)want[i];
  }
  const double difference = support_difference(CLATTN_F32, got, values, count, what);
  if (!(difference <= 3e-7)) fail_msg("%s: differs by %g; first element %g", what, difference, (double)*(const float *)got);
}

/* Runs both paths; want_* of NULL are not looked at. */
static void solve(struct setup *s, int64_t rows, const double *out, const double *lse, int64_t scores, const double *weights) {
  struct pool *const paths[2] = {oracle, cpu};
  for (int n = 0; n < 2; n++) {
    support_poison(s);
    support_run(s, paths[n]);
    expect(s->arrays.out, rows, out, n == 0 ? "oracle's out" : "cpu's out");
    expect(s->arrays.lse, rows, lse, n == 0 ? "oracle's lse" : "cpu's lse");
    expect(s->arrays.weights, scores, weights, n == 0 ? "oracle's weights" : "cpu's weights");
  }
}

static void test_plain(void **state) {
  (void)state;
  struct setup s;
  const clattn_problem problem = plain_problem();
  support_attention(&s, &problem);
  plain_values(&s);
  solve(&s, 1, (double[]){7}, (double[]){LN4}, 2, (double[]){0.25, 0.75});
  expect(s.arrays.scores_raw, 2, (double[]){0, LN3}, "scores_raw");
  expect(s.arrays.scores_softcapped, 2, (double[]){0, LN3}, "scores_softcapped");
  expect(s.arrays.scores_masked, 2, (double[]){0, LN3}, "scores_masked");
  support_free(&s);
}

/* Default scale with head_dim 4: 1/2. q = (1,1,1,1), k_1 = (ln 3, 0, 0, ln 3): dot 2 ln 3, score ln 3. */
static void test_default_scale(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.scale_given = 0;
  problem.head_dim = 4;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 4, (double[]){1, 1, 1, 1});
  support_fill(CLATTN_F32, s.arrays.k, 8, (double[]){0, 0, 0, 0, LN3, 0, 0, LN3});
  support_fill(CLATTN_F32, s.arrays.v, 2, (double[]){4, 8});
  solve(&s, 1, (double[]){7}, (double[]){LN4}, 2, (double[]){0.25, 0.75});
  support_free(&s);
}

/* c = 2 ln 3: tanh(x) = 1/2 at x = ln(3)/2. Raw score c * ln(3)/2 = ln(3)^2 gives c/2 = ln 3. */
static void test_softcap(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.softcap = (float)(2 * LN3);
  support_attention(&s, &problem);
  plain_values(&s);
  support_fill(CLATTN_F32, s.arrays.k, 2, (double[]){0, LN3 * LN3});
  solve(&s, 1, (double[]){7}, (double[]){LN4}, 2, (double[]){0.25, 0.75});
  expect(s.arrays.scores_raw, 2, (double[]){0, LN3 * LN3}, "scores_raw");
  expect(s.arrays.scores_softcapped, 2, (double[]){0, LN3}, "scores_softcapped");
  support_free(&s);
}

/* A sink of ln 4 adds 4 to the denominator, which becomes 8: weights 1/8, 3/8, out 3.5, lse 3 ln 2. */
static void test_sink(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.has_sinks = 1;
  support_attention(&s, &problem);
  plain_values(&s);
  support_fill(CLATTN_F32, s.arrays.sinks, 1, (double[]){LN4});
  solve(&s, 1, (double[]){3.5}, (double[]){3 * LN2}, 2, (double[]){0.125, 0.375});
  support_free(&s);
}

/* Slope ln 3, p = 1: key 0 is 1 away and gets -ln 3, key 1 gets 0. With equal raw scores the weights are 1/4 and 3/4 again; the
 * denominator is 1/3 + 1. */
static void test_alibi(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.has_alibi = 1;
  problem.has_query_offset = 1;
  support_attention(&s, &problem);
  plain_values(&s);
  support_fill(CLATTN_F32, s.arrays.k, 2, (double[]){0, 0});
  support_fill(CLATTN_F32, s.arrays.alibi_slopes, 1, (double[]){LN3});
  *(int64_t *)(uintptr_t)s.arrays.query_offset = 1;
  solve(&s, 1, (double[]){7}, (double[]){LN4 - LN3}, 2, (double[]){0.25, 0.75});
  expect(s.arrays.scores_masked, 2, (double[]){-LN3, 0}, "scores_masked");
  support_free(&s);
}

/* A bias of ln 3 on key 0 makes both scores ln 3: weights 1/2, out 6, lse = ln 6. */
static void test_float_mask(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.mask = (clattn_mask){CLATTN_F32, 1, {2}, {0}};
  support_attention(&s, &problem);
  plain_values(&s);
  support_fill(CLATTN_F32, s.arrays.mask, 2, (double[]){LN3, 0});
  solve(&s, 1, (double[]){6}, (double[]){LN2 + LN3}, 2, (double[]){0.5, 0.5});
  expect(s.arrays.scores_raw, 2, (double[]){0, LN3}, "scores_raw");
  expect(s.arrays.scores_masked, 2, (double[]){LN3, LN3}, "scores_masked");
  support_free(&s);
}

/* A mask of one entry for two keys of three broadcasts only where its last dimension is 1; here it is 2 of 3: key 2 is
 * excluded. */
static void test_short_mask(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.kv_len = 3;
  problem.mask = (clattn_mask){CLATTN_F32, 1, {2}, {0}};
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 1, (double[]){1});
  support_fill(CLATTN_F32, s.arrays.k, 3, (double[]){0, LN3, 5});
  support_fill(CLATTN_F32, s.arrays.v, 3, (double[]){4, 8, 100});
  support_fill(CLATTN_F32, s.arrays.mask, 2, (double[]){0, 0});
  solve(&s, 1, (double[]){7}, (double[]){LN4}, 3, (double[]){0.25, 0.75, 0});
  expect(s.arrays.scores_raw, 3, (double[]){0, LN3, 5}, "scores_raw");
  expect(s.arrays.scores_masked, 3, (double[]){0, LN3, -INFINITY}, "scores_masked");
  support_free(&s);
}

/* Three rows, all scores 0, values 1, 2, 4: top-left causal averages 1; 1, 2; 1, 2, 4. */
static void test_causal(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.q_len = problem.kv_len = 3;
  problem.causal = 1;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 3, (double[]){0, 0, 0});
  support_fill(CLATTN_F32, s.arrays.k, 3, (double[]){1, 1, 1});
  support_fill(CLATTN_F32, s.arrays.v, 3, (double[]){1, 2, 4});
  solve(&s, 3, (double[]){1, 1.5, 7.0 / 3}, (double[]){0, LN2, LN3}, 9,
        (double[]){1, 0, 0, 0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  support_free(&s);
}

/* The same with an offset of -1: row 0 (p = -1) attends nothing, row 1 key 0, row 2 keys 0 and 1. */
static void test_causal_offset(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.q_len = problem.kv_len = 3;
  problem.causal = 1;
  problem.has_query_offset = 1;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 3, (double[]){0, 0, 0});
  support_fill(CLATTN_F32, s.arrays.k, 3, (double[]){1, 1, 1});
  support_fill(CLATTN_F32, s.arrays.v, 3, (double[]){1, 2, 4});
  *(int64_t *)(uintptr_t)s.arrays.query_offset = -1;
  solve(&s, 3, (double[]){0, 1, 1.5}, (double[]){-INFINITY, 0, LN2}, 9, (double[]){0, 0, 0, 1, 0, 0, 0.5, 0.5, 0});
  support_free(&s);
}

/* Window 1 to the left, 0 to the right: row 0 key 0, row 1 keys 0 and 1, row 2 keys 1 and 2. */
static void test_window(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.q_len = problem.kv_len = 3;
  problem.window_left = 1;
  problem.window_right = 0;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 3, (double[]){0, 0, 0});
  support_fill(CLATTN_F32, s.arrays.k, 3, (double[]){1, 1, 1});
  support_fill(CLATTN_F32, s.arrays.v, 3, (double[]){1, 2, 4});
  solve(&s, 3, (double[]){1, 1.5, 3}, (double[]){0, LN2, LN2}, 9, (double[]){1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5});
  support_free(&s);
}

/* Four query heads on two key/value heads: heads 0 and 1 read values (4, 8), heads 2 and 3 values (40, 80). */
static void test_grouped_heads(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.q_heads = 4;
  problem.kv_heads = 2;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 4, (double[]){1, 0, 1, 0});
  support_fill(CLATTN_F32, s.arrays.k, 4, (double[]){0, LN3, 0, LN3});
  support_fill(CLATTN_F32, s.arrays.v, 4, (double[]){4, 8, 40, 80});
  solve(&s, 4, (double[]){7, 6, 70, 60}, (double[]){LN4, LN2, LN4, LN2}, 8,
        (double[]){0.25, 0.75, 0.5, 0.5, 0.25, 0.75, 0.5, 0.5});
  support_free(&s);
}

/* p = 1/2: of the words for n = 0 and 1, 0.399 is dropped and 0.881 kept and doubled: out = 8 * 3/4 * 2. The weights are those
 * before. */
static void test_dropout(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.dropout = 0.5f;
  support_attention(&s, &problem);
  plain_values(&s);
  solve(&s, 1, (double[]){12}, (double[]){LN4}, 2, (double[]){0.25, 0.75});
  support_free(&s);
}

/* Sequences of 1, 0 and 1 queries over 2, 1 and 0 keys: the first is the plain problem, the last attends nothing. Stage tensors
 * are padded to [3, 1, 1, 2]. */
static void test_packed(void **state) {
  (void)state;
  struct setup s;
  clattn_problem problem = plain_problem();
  problem.packed = 1;
  problem.batch = 3;
  problem.total_q = 2;
  problem.total_kv = 3;
  support_attention(&s, &problem);
  support_fill(CLATTN_F32, s.arrays.q, 2, (double[]){1, 1});
  support_fill(CLATTN_F32, s.arrays.k, 3, (double[]){0, LN3, 1});
  support_fill(CLATTN_F32, s.arrays.v, 3, (double[]){4, 8, 1});
  memcpy((void *)(uintptr_t)s.arrays.cu_seqlens_q, (int64_t[]){0, 1, 1, 2}, 4 * sizeof(int64_t));
  memcpy((void *)(uintptr_t)s.arrays.cu_seqlens_kv, (int64_t[]){0, 2, 3, 3}, 4 * sizeof(int64_t));
  solve(&s, 2, (double[]){7, 0}, (double[]){LN4, -INFINITY}, 6, (double[]){0.25, 0.75, 0, 0, 0, 0});
  expect(s.arrays.scores_raw, 6, (double[]){0, LN3, 0, 0, 0, 0}, "scores_raw");
  expect(s.arrays.scores_masked, 6, (double[]){0, LN3, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, "scores_masked");
  support_free(&s);
}

static int start(void **state) {
  (void)state;
  return ctn_pool_create(&cpu, 2, NULL) == CLATTN_OK ? 0 : -1;
}

static int stop(void **state) {
  (void)state;
  ctn_pool_destroy(cpu);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain),      cmocka_unit_test(test_default_scale), cmocka_unit_test(test_softcap),
      cmocka_unit_test(test_sink),       cmocka_unit_test(test_alibi),         cmocka_unit_test(test_float_mask),
      cmocka_unit_test(test_short_mask), cmocka_unit_test(test_causal),        cmocka_unit_test(test_causal_offset),
      cmocka_unit_test(test_window),     cmocka_unit_test(test_grouped_heads), cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_packed),
  };
  SUPPORT_RUN_KERNELS(tests, start, stop);
}
