/* The staged path against the reference path. */
#include "staged_check.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  enum products product;
  int vector_width;
  bool vectors; /* only where the device has the vector kernels */
} ways[] = {
    {"own product", OWN_PRODUCTS, 0, false},
    {"own product of width 8", OWN_PRODUCTS, 8, true},
    {"CLBlast", CLBLAST_PRODUCT, 0, false},
};

/* Each case runs with all results, with the usual ones, and with one of these in turns: which results are asked for decides
 * where the scores lie. */
static const uint32_t few_outputs[] = {
    CLATTN_OUTPUT_LSE,
    CLATTN_OUTPUT_WEIGHTS,
    CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_SCORES_SOFTCAPPED,
    CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS,
    CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_SCORES_RAW,
    CLATTN_OUTPUT_SCORES_RAW,
};

bool staged_has_vectors(void) {
  return clattn_context_device(support_device())->native_float_width >= 8;
}

static clattn_plan *staged_plan(const clattn_problem *problem, size_t way, bool user_workspace) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = CLATTN_PATH_STAGED;
  options.product = ways[way].product == OWN_PRODUCTS ? CLATTN_PRODUCT_OWN : CLATTN_PRODUCT_CLBLAST;
  options.vector_width = ways[way].vector_width;
  options.user_workspace = user_workspace;
  clattn_plan *plan = support_attention_plan(support_device(), problem, &options);
  assert_string_equal(clattn_plan_family(plan), "staged");
  return plan;
}

/* On buffers, or on host arrays. */
static void run(const struct attention_case *c, uint32_t outputs, size_t way, bool on_buffers, const struct setup *want,
                double largest) {
  struct setup got;
  char text[1400], full[1200];
  const clattn_problem problem = support_case_problem(c, outputs);
  support_case_text(c, full, sizeof full);
  snprintf(text, sizeof text, "%s, %s, outputs %u, %s", full, ways[way].name, (unsigned)outputs,
           on_buffers ? "enqueued" : "executed");
  clattn_plan *plan = staged_plan(&problem, way, on_buffers);
  support_case(&got, c, outputs);
  if (on_buffers) {
    support_enqueue(support_device(), plan, &got, text);
  } else {
    support_execute(plan, &got, text);
  }
  support_compare(&got, want, largest, text);
  support_free(&got);
  clattn_plan_destroy(plan);
}

void staged_check(const struct attention_case *c, enum products products) {
  static size_t turn;
  struct setup want;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, ALL_OUTPUTS);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *reference = support_attention_plan(support_device(), &problem, &options);
  support_case(&want, c, ALL_OUTPUTS);
  support_execute(reference, &want, "reference");
  clattn_plan_destroy(reference);
  const double largest = support_largest_score(&want);
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    if (!(ways[way].product & products) || (ways[way].vectors && !staged_has_vectors())) continue;
    if (ways[way].product == CLBLAST_PRODUCT && (c->packed || (!staged_has_vectors() && turn % 4 != 0))) continue;
    run(c, ALL_OUTPUTS, way, true, &want, largest);
    if (staged_has_vectors() || turn % 2 == 0)
      run(c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, way, turn % 2 == 0, &want, largest);
    run(c, few_outputs[turn++ % (sizeof few_outputs / sizeof few_outputs[0])], way, true, &want, largest);
  }
  support_free(&want);
}
