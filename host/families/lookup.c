/* The device families of embedding and position: one kernel each, one work-item an element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"

static const double TWO_PI = 6.283185307179586476925286766559;

struct lookup {
  const struct problem *problem;
  cl_kernel kernel;
  cl_mem frequency; /* position: turns per step of each pair, 64-bit fixed point */
};

static bool refuse(const struct request *request, struct text *reason) {
  return ctn_refuse_without_device(request, reason) || ctn_refuse_sizes(request, reason);
}

static double cost(const struct request *request) {
  return (double)request->problem->tensor[T_OUT].extent;
}

static void release(void *state) {
  struct lookup *s = state;
  if (s == NULL) return;
  if (s->kernel != NULL) clReleaseKernel(s->kernel);
  if (s->frequency != NULL) clReleaseMemObject(s->frequency);
  free(s);
}

static size_t workspace(const void *state) {
  (void)state;
  return 0;
}

static void describe(const void *state, struct text *text) {
  (void)state;
  ctn_text_printf(text, "one work-item an element\n");
}

static clattn_status make(struct lookup **state, const struct request *request, const char *file, const char *name,
                          const struct specialisation *spec, clattn_error *error) {
  struct lookup *s = calloc(1, sizeof *s);
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for a plan", name);
  s->problem = request->problem;
  const clattn_status status = ctn_kernel_create(&s->kernel, request->runtime, file, name, spec, error);
  if (status == CLATTN_OK) {
    *state = s;
  } else {
    release(s);
  }
  return status;
}

static clattn_status prepare_embedding(void **state, const struct request *request, clattn_error *error) {
  const struct embedding *e = &request->problem->as.embedding;
  struct specialisation spec = {0};
  struct lookup *s = NULL;
  ctn_define(&spec, "DTYPE", ctn_dtype_macro(e->dtype));
  ctn_define(&spec, "TOKEN64", e->token_dtype == CLATTN_I64);
  const clattn_status status = make(&s, request, "embedding.cl", "embedding", &spec, error);
  ctn_specialisation_free(&spec);
  *state = s;
  return status;
}

static clattn_status enqueue_embedding(void *state, const struct call *call, clattn_error *error) {
  const struct lookup *s = state;
  const struct embedding *e = &s->problem->as.embedding;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->kernel, "embedding");
  ctn_argument_tensor(&arguments, call, s->problem, T_TOKENS, T_OUT);
  ctn_argument_tensor(&arguments, call, s->problem, T_TABLE, T_OUT);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_OUT);
  ctn_argument_long(&arguments, e->dim);
  ctn_argument_long(&arguments, e->vocabulary);
  ctn_argument_long(&arguments, e->padding_id);
  ctn_argument_float(&arguments, e->scale);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[2] = {(size_t)e->dim, (size_t)e->count};
  return ctn_chain_kernel(call->chain, s->kernel, "embedding", 2, global, NULL, true, error);
}

/* base^(-2i/dim) / 2 pi turns a step, as a fraction of 2^64. */
static clattn_status make_frequencies(struct lookup *s, struct runtime *runtime, clattn_error *error) {
  const struct position *p = &s->problem->as.position;
  const size_t pairs = (size_t)(p->dim + 1) / 2;
  uint64_t *turns = malloc(pairs * sizeof *turns);
  if (turns == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "position: no memory for %zu frequencies", pairs);
  for (size_t i = 0; i < pairs; i++) {
    const double frequency = pow(p->base, -2.0 * (double)i / (double)p->dim) / TWO_PI; /* below 1/6 */
    turns[i] = (uint64_t)ldexp(frequency, 64);
  }
  cl_int code = CL_SUCCESS;
  s->frequency = clCreateBuffer(runtime->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, pairs * sizeof *turns, turns, &code);
  free(turns);
  if (code == CL_SUCCESS) return CLATTN_OK;
  return ctn_fail_cl(error, code, "clCreateBuffer", "position's frequencies, %zu bytes", pairs * sizeof *turns);
}

static clattn_status prepare_position(void **state, const struct request *request, clattn_error *error) {
  struct specialisation spec = {0};
  struct lookup *s = NULL;
  ctn_define(&spec, "DTYPE", ctn_dtype_macro(request->problem->as.position.dtype));
  clattn_status status = make(&s, request, "position.cl", "position", &spec, error);
  ctn_specialisation_free(&spec);
  if (status == CLATTN_OK) status = make_frequencies(s, request->runtime, error);
  if (status != CLATTN_OK) {
    release(s);
    s = NULL;
  }
  *state = s;
  return status;
}

static clattn_status enqueue_position(void *state, const struct call *call, clattn_error *error) {
  const struct lookup *s = state;
  const struct position *p = &s->problem->as.position;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->kernel, "position");
  ctn_argument_tensor(&arguments, call, s->problem, T_X, T_OUT);
  ctn_argument(&arguments, &s->frequency, sizeof s->frequency);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_OUT);
  ctn_argument_long(&arguments, p->dim);
  ctn_argument_long(&arguments, p->length);
  ctn_argument_long(&arguments, p->start);
  ctn_argument_int(&arguments, p->has_x);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)p->dim, (size_t)p->length, (size_t)p->batch};
  return ctn_chain_kernel(call->chain, s->kernel, "position", 3, global, NULL, true, error);
}

const struct family ctn_family_embedding = {
    .name = "embedding",
    .summary = "rows of a table, one kernel",
    .operation = OP_EMBEDDING,
    .path = CLATTN_PATH_STAGED,
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare_embedding,
    .workspace = workspace,
    .describe = describe,
    .enqueue = enqueue_embedding,
    .release = release,
};

const struct family ctn_family_position = {
    .name = "position",
    .summary = "sinusoids by integer turns, one kernel",
    .operation = OP_POSITION,
    .path = CLATTN_PATH_STAGED,
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare_position,
    .workspace = workspace,
    .describe = describe,
    .enqueue = enqueue_position,
    .release = release,
};
