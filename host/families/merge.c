/* The device family of merge: kernels/merge.cl, one work-item an element. */
#include <stdlib.h>

#include "parameters.h"

struct merging {
  const struct problem *problem;
  cl_kernel kernel;
};

static bool refuse(const struct request *request, struct text *reason) {
  const int64_t turns = 2 * (request->problem->as.merge.parts + 1);
  return ctn_refuse_without_device(request, reason) || ctn_refuse_sizes(request, reason) ||
         ctn_refuse_loops(request, turns, reason);
}

static double cost(const struct request *request) {
  const struct merge *m = &request->problem->as.merge;
  return (double)m->parts * (double)m->rows * (double)m->dim;
}

static void release(void *state) {
  struct merging *s = state;
  if (s == NULL) return;
  if (s->kernel != NULL) clReleaseKernel(s->kernel);
  free(s);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  const struct merge *m = &request->problem->as.merge;
  struct specialisation spec = {0};
  struct merging *s = calloc(1, sizeof *s);
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "merge: no memory for a plan");
  s->problem = request->problem;
  ctn_define(&spec, "DTYPE", ctn_dtype_macro(m->dtype));
  ctn_define(&spec, "PART_DTYPE", ctn_dtype_macro(m->part_dtype));
  const clattn_status status = ctn_kernel_create(&s->kernel, request->runtime, "merge.cl", "merge", &spec, error);
  ctn_specialisation_free(&spec);
  if (status != CLATTN_OK) {
    release(s);
    return status;
  }
  *state = s;
  return CLATTN_OK;
}

static size_t workspace(const void *state) {
  (void)state;
  return 0;
}

static void describe(const void *state, struct text *text) {
  const struct merging *s = state;
  ctn_text_printf(text, "%lld parts, one work-item an element\n", (long long)s->problem->as.merge.parts);
}

static clattn_status enqueue(void *state, const struct call *call, clattn_error *error) {
  const struct merging *s = state;
  const struct merge *m = &s->problem->as.merge;
  const bool write_out = s->problem->tensor[T_OUT].used;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->kernel, "merge");
  ctn_argument_tensor(&arguments, call, s->problem, T_PART_OUT, T_PART_LSE);
  ctn_argument_tensor(&arguments, call, s->problem, T_PART_LSE, T_PART_LSE);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_PART_LSE);
  ctn_argument_tensor(&arguments, call, s->problem, T_LSE, T_PART_LSE);
  ctn_argument_long(&arguments, m->parts);
  ctn_argument_long(&arguments, m->rows);
  ctn_argument_long(&arguments, m->dim);
  ctn_argument_int(&arguments, write_out);
  ctn_argument_int(&arguments, s->problem->tensor[T_LSE].used);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[2] = {write_out ? (size_t)m->dim : 1, (size_t)m->rows};
  return ctn_chain_kernel(call->chain, s->kernel, "merge", 2, global, NULL, true, error);
}

const struct family ctn_family_merge = {
    .name = "merge",
    .summary = "partial results weighted by their lse, one kernel",
    .operation = OP_MERGE,
    .path = CLATTN_PATH_STAGED,
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = workspace,
    .describe = describe,
    .enqueue = enqueue,
    .release = release,
};
