/* The fused path against the reference path. */
#include "fused_check.h"

#include <stdio.h>

/* Mostly both results; which of them are asked for is an argument of the kernels. */
static uint32_t outputs_of(const struct attention_case *c) {
  if (c->seed % 8 == 5) return CLATTN_OUTPUT_OUT;
  if (c->seed % 8 == 7) return CLATTN_OUTPUT_LSE;
  return CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
}

bool fused_has_vectors(void) {
  return clattn_context_device(support_device())->native_float_width >= 8;
}

static bool run(const struct attention_case *c, int vector_width, const struct setup *want, double largest,
                char text[CHECK_TEXT]) {
  struct setup got;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, outputs_of(c));
  const bool on_buffers = c->seed % 2 == 0;
  char full[1200];
  options.path = CLATTN_PATH_FUSED;
  options.vector_width = vector_width;
  options.user_workspace = on_buffers;
  support_case_text(c, full, sizeof full);
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  support_case(&got, c, outputs_of(c));
  if (on_buffers) {
    support_enqueue(support_device(), plan, &got, full);
  } else {
    support_execute(plan, &got, full);
  }
  const int length = snprintf(text, CHECK_TEXT, "%s, vector width %d, %s: ", clattn_plan_family(plan), vector_width,
                              on_buffers ? "enqueued" : "executed");
  const bool agrees = support_agrees(&got, want, largest, text + length, (size_t)(CHECK_TEXT - length));
  support_free(&got);
  clattn_plan_destroy(plan);
  return agrees;
}

void fused_reference(struct setup *want, const struct attention_case *c) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_problem problem = support_case_problem(c, ALL_OUTPUTS);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *plan = support_attention_plan(support_device(), &problem, &options);
  support_case(want, c, ALL_OUTPUTS);
  support_execute(plan, want, "reference");
  clattn_plan_destroy(plan);
}

bool fused_agrees(const struct attention_case *c, const int widths[2], char text[CHECK_TEXT]) {
  struct setup want;
  fused_reference(&want, c);
  const double largest = support_largest_score(&want);
  bool agrees = true;
  for (int i = 0; agrees && i < 2; i++) {
    if (widths[i] != 0) agrees = run(c, fused_has_vectors() ? widths[i] : 0, &want, largest, text);
    if (!fused_has_vectors()) break;
  }
  support_free(&want);
  return agrees;
}

void fused_check(const struct attention_case *c) {
  char text[CHECK_TEXT], full[1200];
  if (fused_agrees(c, (const int[2]){16, 8}, text)) return;
  support_case_text(c, full, sizeof full);
  fail_msg("%s: %s", full, text);
}
