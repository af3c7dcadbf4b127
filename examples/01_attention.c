/* Causal attention of two heads over three rows, on the best device there is. */
#include <stdio.h>

#include <clattn/clattn.h>

int main(void) {
  static const float q[2 * 3 * 2] = {1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 2, 2}; /* [1 batch, 2 heads, 3 rows, 2 numbers] */
  static const float k[2 * 3 * 2] = {1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1};
  static const float v[2 * 3 * 2] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6};
  float out[2 * 3 * 2];

  clattn_context *context = NULL;
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.q_heads = problem.kv_heads = 2;
  problem.q_len = problem.kv_len = 3;
  problem.head_dim = problem.head_dim_v = 2;
  problem.causal = 1;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = q, arrays.k = k, arrays.v = v, arrays.out = out;

  if (clattn_context_create(&context, NULL, &error) == CLATTN_OK &&
      clattn_plan_create(&plan, context, &problem, NULL, &error) == CLATTN_OK &&
      clattn_plan_execute(plan, &arrays, &error) == CLATTN_OK) {
    const clattn_device_info *device = clattn_context_device(context);
    printf("path %s on %s\n", clattn_plan_family(plan), device ? device->name : "the host");
    for (int row = 0; row < 6; row++)
      printf("head %d row %d: %.4f %.4f\n", row / 3, row % 3, out[2 * row], out[2 * row + 1]);
  } else {
    fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  }
  clattn_plan_destroy(plan);
  clattn_context_destroy(context);
  return error.status == CLATTN_OK ? 0 : 1;
}
