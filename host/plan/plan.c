/* clattn_plan: from a descriptor to a chosen, compiled and sized plan, and back. */
#include "plan.h"

#include <stdlib.h>

#include "descriptor.h"
#include "program.h"
#include "registry.h"
#include "selftest.h"
#include "tuned_sizes.h"

enum { HOST_ALIGNMENT = 64 };

static clattn_status read_options(clattn_plan_options *options, const clattn_plan_options *in, clattn_error *error) {
  *options = (clattn_plan_options)CLATTN_PLAN_OPTIONS_INIT;
  if (in == NULL) return CLATTN_OK;
  const clattn_status status = ctn_descriptor_read(options, sizeof *options, in, "plan options", error);
  if (status != CLATTN_OK) return status;
  if (options->path > CLATTN_PATH_REFERENCE) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "path: %d is no clattn_path", (int)options->path);
  }
  if (options->product > CLATTN_PRODUCT_CLBLAST) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "product: %d is no clattn_product", (int)options->product);
  }
  if (options->vector_width != 0 && options->vector_width != 8 && options->vector_width != 16) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "vector_width: %d is not 0, 8 or 16", options->vector_width);
  }
  return CLATTN_OK;
}

clattn_status ctn_plan_allocate_workspace(clattn_plan *plan, clattn_error *error) {
  if (plan->workspace != NULL || plan->workspace_size == 0) return CLATTN_OK;
  cl_int code = CL_SUCCESS;
  plan->workspace = clCreateBuffer(plan->context->runtime->context, CL_MEM_READ_WRITE, plan->workspace_size, NULL, &code);
  if (code == CL_SUCCESS) return CLATTN_OK;
  plan->workspace = NULL;
  return ctn_fail_cl(error, code, "clCreateBuffer", "workspace, %zu bytes", plan->workspace_size);
}

clattn_status ctn_plan_allocate(clattn_plan *plan, clattn_error *error) {
  plan->workspace_size = plan->family->workspace(plan->state);
  if (!plan->family->on_host) {
    return plan->options.user_workspace ? CLATTN_OK : ctn_plan_allocate_workspace(plan, error);
  }
  if (plan->workspace_size == 0) return CLATTN_OK;
  const size_t rounded = (plan->workspace_size + HOST_ALIGNMENT - 1) / HOST_ALIGNMENT * HOST_ALIGNMENT;
  plan->host_workspace = aligned_alloc(HOST_ALIGNMENT, rounded);
  if (plan->host_workspace != NULL) return CLATTN_OK;
  return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "workspace: no memory for %zu bytes", rounded);
}

static clattn_status write_description(clattn_plan *plan, const struct text *reasons, clattn_error *error) {
  struct text *text = &plan->description;
  const clattn_device_info *device = clattn_context_device(plan->context);
  ctn_text_printf(text, "family: %s (%s)\n", plan->family->name, plan->family->summary);
  ctn_text_printf(text, "runs on: %s\n", plan->family->on_host || device == NULL ? "the host" : device->name);
  plan->family->describe(plan->state, text);
  if (!plan->family->on_host) {
    ctn_text_printf(text, "self-test: %s\n", plan->context->no_selftest ? "not run" : "passed on this device");
  }
  ctn_text_printf(text, "workspace: %zu bytes\n", plan->workspace_size);
  if (reasons->length > 0) ctn_text_printf(text, "not chosen:\n%s\n", reasons->data);
  return text->failed ? ctn_fail(error, CLATTN_OUT_OF_MEMORY, "plan: no memory for its description") : CLATTN_OK;
}

/* One family, prepared and tested: *sound, or what it is to be replaced with is to be asked for again. */
static clattn_status try_family(clattn_plan *plan, const struct request *request, bool *sound, clattn_error *error) {
  const struct family *family = plan->family;
  struct sha256 programs;
  struct text before = {0}, after = {0};
  *sound = false;
  ctn_tuned_list(family, request, &before);
  ctn_sha256_start(&programs);
  ctn_program_trace(&programs);
  clattn_status status = family->prepare(&plan->state, request, error);
  ctn_program_trace(NULL);
  if (status == CLATTN_OK) {
    *sound = family->on_host || plan->context->no_selftest || ctn_selftest_passes(plan->context, request, family, &programs);
    /* Another thread may have taken lines of the tuning table out of service meanwhile: then this state has their sizes. */
    ctn_tuned_list(family, request, &after);
    *sound = *sound && before.length == after.length;
  } else if (status == CLATTN_BUILD_FAILED && ctn_tuned_drop(family, request, "its kernel does not compile")) {
    status = CLATTN_OK;
  }
  if (!*sound && plan->state != NULL) {
    family->release(plan->state);
    plan->state = NULL;
  }
  ctn_text_free(&before);
  ctn_text_free(&after);
  return status;
}

/* Chooses and prepares families until one is sound: each that fails its self-test is out of service from then on, with sizes
 * from the tuning table first those. */
static clattn_status prepare_sound(clattn_plan *plan, struct text *reasons, clattn_error *error) {
  const struct request request = {&plan->problem, plan->options, plan->context->runtime, plan->context->pool, &plan->problem};
  bool sound = false;
  while (!sound) {
    ctn_text_free(reasons);
    clattn_status status = ctn_choose(&plan->family, &request, plan->context->selftests, reasons, error);
    if (status == CLATTN_OK) status = try_family(plan, &request, &sound, error);
    if (status != CLATTN_OK) return status;
  }
  ctn_clear(error);
  return CLATTN_OK;
}

/* What all creates share, after the problem was validated into plan->problem. */
static clattn_status finish_plan(clattn_plan *plan, const clattn_plan_options *options, clattn_error *error) {
  struct text reasons = {0};
  clattn_status status = read_options(&plan->options, options, error);
  if (status == CLATTN_OK) status = prepare_sound(plan, &reasons, error);
  if (status == CLATTN_OK) status = ctn_plan_allocate(plan, error);
  if (status == CLATTN_OK) status = write_description(plan, &reasons, error);
  ctn_text_free(&reasons);
  return status;
}

static clattn_status start_plan(clattn_plan **plan, clattn_plan **out, clattn_context *context, clattn_error *error) {
  ctn_clear(error);
  if (out == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "plan: the place for the result is NULL");
  *out = NULL;
  if (context == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: NULL");
  *plan = calloc(1, sizeof **plan);
  if (*plan == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "plan: no memory");
  ctn_context_retain(context);
  (*plan)->context = context;
  (*plan)->queue = context->runtime != NULL ? context->runtime->queue : NULL;
  return CLATTN_OK;
}

/* The operations differ in their descriptor alone. */
#define DEFINE_CREATE(name, descriptor, validate)                                           \
  clattn_status name(clattn_plan **out, clattn_context *context, const descriptor *problem, \
                     const clattn_plan_options *options, clattn_error *error) {             \
    clattn_plan *plan = NULL;                                                               \
    clattn_status status = start_plan(&plan, out, context, error);                          \
    if (status == CLATTN_OK) status = validate(&plan->problem, problem, error);             \
    if (status == CLATTN_OK) status = finish_plan(plan, options, error);                    \
    if (status != CLATTN_OK) {                                                              \
      clattn_plan_destroy(plan);                                                            \
      return status;                                                                        \
    }                                                                                       \
    *out = plan;                                                                            \
    return CLATTN_OK;                                                                       \
  }

DEFINE_CREATE(clattn_plan_create, clattn_problem, ctn_problem_attention)
DEFINE_CREATE(clattn_embedding_plan_create, clattn_embedding, ctn_problem_embedding)
DEFINE_CREATE(clattn_position_plan_create, clattn_position, ctn_problem_position)
DEFINE_CREATE(clattn_projection_plan_create, clattn_projection, ctn_problem_projection)
DEFINE_CREATE(clattn_merge_plan_create, clattn_merge, ctn_problem_merge)

size_t clattn_plan_workspace_size(const clattn_plan *plan) {
  return plan != NULL ? plan->workspace_size : 0;
}

const char *clattn_plan_describe(const clattn_plan *plan) {
  return plan != NULL ? plan->description.data : "";
}

const char *clattn_plan_family(const clattn_plan *plan) {
  return plan != NULL ? plan->family->name : "";
}

void ctn_plan_clear(clattn_plan *plan) {
  if (plan->state != NULL) plan->family->release(plan->state);
  if (plan->workspace != NULL) clReleaseMemObject(plan->workspace);
  for (int i = 0; i < TENSOR_COUNT; i++) {
    if (plan->buffers[i] != NULL) clReleaseMemObject(plan->buffers[i]);
  }
  free(plan->dense_out);
  free(plan->host_workspace);
  ctn_text_free(&plan->description);
}

void clattn_plan_destroy(clattn_plan *plan) {
  if (plan == NULL) return;
  ctn_plan_clear(plan);
  ctn_context_release(plan->context);
  free(plan);
}
