/* What a plan says of itself: the path that runs, its memory, why not another; and what a refusal says. Nothing is computed. */
#include <stdio.h>

#include <clattn/clattn.h>

int main(void) {
  clattn_context *context = NULL;
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.q_heads = problem.kv_heads = 4;
  problem.q_len = problem.kv_len = 256;
  problem.head_dim = problem.head_dim_v = 64;
  problem.outputs |= CLATTN_OUTPUT_WEIGHTS; /* a stage's tensor, which the fused path does not have */
  int failed = 1;

  if (clattn_context_create(&context, NULL, &error) == CLATTN_OK &&
      clattn_plan_create(&plan, context, &problem, NULL, &error) == CLATTN_OK) {
    printf("%s, %zu bytes of workspace\n%s\n", clattn_plan_family(plan), clattn_plan_workspace_size(plan),
           clattn_plan_describe(plan));
    clattn_plan_destroy(plan);
    clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
    options.path = CLATTN_PATH_FUSED;
    failed = clattn_plan_create(&plan, context, &problem, &options, &error) != CLATTN_UNSUPPORTED;
    printf("%s: %s\n", clattn_status_name(error.status), error.text);
    clattn_plan_destroy(plan);
  } else {
    fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  }
  clattn_context_destroy(context);
  return failed;
}
