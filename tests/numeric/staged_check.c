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
    {"own product of width 16", OWN_PRODUCTS, 16, true},
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

/* The reference's results. */
static void run_reference(struct setup *want, const struct attention_case *c, uint32_t outputs) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, outputs);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  support_case(want, c, outputs);
  support_execute(plan, want, "reference");
  clattn_plan_destroy(plan);
}

static bool applies(const struct attention_case *c, size_t way, enum products products) {
  if (!(ways[way].product & products)) return false;
  return ways[way].product == CLBLAST_PRODUCT ? !c->packed : !ways[way].vectors || staged_has_vectors();
}

void staged_check_large(const struct attention_case *c, enum products products, double largest) {
  enum { OUTPUTS = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE };
  struct setup want;
  run_reference(&want, c, OUTPUTS);
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    const bool again = ways[way].vectors; /* another width takes the same chunks */
    if (!again && applies(c, way, products)) run(c, OUTPUTS, way, true, &want, largest);
  }
  support_free(&want);
}

void staged_check(const struct attention_case *c, enum products products) {
  static size_t turn;
  struct setup want;
  run_reference(&want, c, ALL_OUTPUTS);
  const double largest = support_largest_score(&want);
  /* Tiles run on a device that is slow to launch: there, fewer combinations. */
  const bool thorough = staged_has_vectors();
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    if (!applies(c, way, products) || (!thorough && ways[way].product == CLBLAST_PRODUCT && turn % 4 != 0)) continue;
    run(c, ALL_OUTPUTS, way, true, &want, largest);
    if (thorough || turn % 2 == 0) run(c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, way, turn % 4 != 0, &want, largest);
    run(c, few_outputs[turn++ % (sizeof few_outputs / sizeof few_outputs[0])], way, true, &want, largest);
  }
  support_free(&want);
}
