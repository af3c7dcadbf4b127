/* One query, two keys: the mean of two values. Runs on the host, so that it needs no device. */
#include <math.h>
#include <stdio.h>

#include <clattn/clattn_opencl.h>

int main(void) {
  const float q = 0, k[2] = {1, 2}, v[2] = {10, 20};
  float out = 0;
  clattn_context *context = NULL;
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.kv_len = 2;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = &q, arrays.k = k, arrays.v = v, arrays.out = &out;
  if (clattn_context_create(&context, &options, &error) == CLATTN_OK &&
      clattn_plan_create(&plan, context, &problem, NULL, &error) == CLATTN_OK) {
    clattn_plan_execute(plan, &arrays, &error);
  }
  clattn_plan_destroy(plan);
  clattn_context_destroy(context);
  if (error.status != CLATTN_OK) fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  return fabs(out - 15.0) < 1e-5 ? 0 : 1;
}
