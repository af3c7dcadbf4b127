// Both headers from C++11: a tiny attention on the host, held to its closed form.
#include <clattn/clattn_opencl.h>

#include <clattn/clattn.h>

#include <cmath>
#include <cstdio>

static bool near(double got, double want) {
  return std::fabs(got - want) <= 1e-6;
}

static int fail(const char *what, const clattn_error &error) {
  std::fprintf(stderr, "%s: %s: %s\n", what, clattn_status_name(error.status), error.text);
  return 1;
}

int main() {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.device_type = CLATTN_DEVICE_HOST;
  clattn_context *context = nullptr;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) return fail("context", error);
  if (clattn_context_device(context) || clattn_context_cl_context(context)) return fail("the host has a device", error);

  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.kv_len = 2;
  problem.outputs = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE;
  clattn_plan_options choice = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_path paths[] = {CLATTN_PATH_AUTO, CLATTN_PATH_CPU, CLATTN_PATH_REFERENCE};
  for (clattn_path path : paths) {
    choice.path = path;
    clattn_plan *plan = nullptr;
    if (clattn_plan_create(&plan, context, &problem, &choice, &error) != CLATTN_OK) return fail("plan", error);
    // One query, two keys, one number each: scores 1 and 2.
    const float q = 1.0f, k[2] = {1.0f, 2.0f}, v[2] = {10.0f, 20.0f};
    float out = 0.0f, lse = 0.0f;
    clattn_arrays arrays = CLATTN_ARRAYS_INIT;
    arrays.q = &q;
    arrays.k = k;
    arrays.v = v;
    arrays.out = &out;
    arrays.lse = &lse;
    if (clattn_plan_execute(plan, &arrays, &error) != CLATTN_OK) return fail("execute", error);
    const double sum = std::exp(1.0) + std::exp(2.0);
    if (!near(out / 10, (std::exp(1.0) + 2 * std::exp(2.0)) / sum) || !near(lse, std::log(sum))) {
      std::fprintf(stderr, "%s: out %.9g, lse %.9g\n", clattn_plan_family(plan), out, lse);
      return 1;
    }
    // A plan on the host takes no buffers, and says so.
    clattn_buffers buffers;
    CLATTN_BUFFERS_INIT(buffers);
    if (clattn_plan_enqueue(plan, nullptr, &buffers, 0, nullptr, nullptr, &error) == CLATTN_OK || !error.text[0]) {
      return fail("enqueue on the host", error);
    }
    clattn_plan_destroy(plan);
  }
  clattn_context_destroy(context);
  return 0;
}
