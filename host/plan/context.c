/* clattn_context: opening a device or adopting the caller's, and what it tells of itself. */
#include "context.h"

#include <stdlib.h>

#include "descriptor.h"
#include "program.h"
#include "selftest.h"

/* options, or the defaults, checked. */
static clattn_status read_options(clattn_context_options *options, const clattn_context_options *in, clattn_error *error) {
  *options = (clattn_context_options)CLATTN_CONTEXT_OPTIONS_INIT;
  ctn_clear(error);
  if (in == NULL) return CLATTN_OK;
  const clattn_status status = ctn_descriptor_read(options, sizeof *options, in, "context options", error);
  if (status != CLATTN_OK) return status;
  if (options->device_index < -1) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device_index: %d is neither an index nor -1", options->device_index);
  }
  if (options->device_type > CLATTN_DEVICE_HOST) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device_type: %d is no clattn_device_type", (int)options->device_type);
  }
  if (options->threads < 0 || options->threads > 4096) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "threads: %d is not 0 to 4096", options->threads);
  }
  return CLATTN_OK;
}

/* A context without a device yet. */
static clattn_status make_context(clattn_context **out, const clattn_context_options *options, clattn_error *error) {
  clattn_context *context = calloc(1, sizeof *context);
  if (context == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory");
  atomic_init(&context->references, 1);
  context->no_selftest = options->no_selftest != 0;
  clattn_status status = ctn_selftests_create(&context->selftests, error);
  if (status == CLATTN_OK) status = ctn_pool_create(&context->pool, options->threads, error);
  if (status != CLATTN_OK) {
    ctn_selftests_destroy(context->selftests);
    free(context);
    return status;
  }
  *out = context;
  return CLATTN_OK;
}

static clattn_status open_device(clattn_context *context, const clattn_context_options *options, clattn_error *error) {
  struct device *devices = NULL;
  size_t count = 0;
  int chosen = -1;
  clattn_status status = ctn_devices_all(&devices, &count, error);
  if (status == CLATTN_OK) status = ctn_device_choose(devices, count, options, &chosen, error);
  if (status == CLATTN_OK && chosen >= 0) status = ctn_runtime_open(&context->runtime, &devices[chosen], options, error);
  for (size_t i = 0; i < count; i++)
    ctn_device_clear(&devices[i]);
  free(devices);
  return status;
}

clattn_status clattn_context_create(clattn_context **out, const clattn_context_options *in, clattn_error *error) {
  clattn_context_options options;
  clattn_context *context = NULL;
  if (out == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: the place for the result is NULL");
  *out = NULL;
  clattn_status status = read_options(&options, in, error);
  if (status == CLATTN_OK) status = make_context(&context, &options, error);
  /* The host alone needs no OpenCL: its loader is not even asked. */
  if (status == CLATTN_OK && options.device_type != CLATTN_DEVICE_HOST) status = open_device(context, &options, error);
  if (status != CLATTN_OK) {
    ctn_context_release(context);
    return status;
  }
  *out = context;
  return CLATTN_OK;
}

clattn_status clattn_context_adopt(clattn_context **out, cl_context cl_ctx, cl_device_id device, cl_command_queue queue,
                                   const clattn_context_options *in, clattn_error *error) {
  clattn_context_options options;
  clattn_context *context = NULL;
  if (out == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: the place for the result is NULL");
  *out = NULL;
  clattn_status status = read_options(&options, in, error);
  if (status == CLATTN_OK && (cl_ctx == NULL || device == NULL)) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: cl_ctx or device is NULL");
  }
  if (status == CLATTN_OK) status = make_context(&context, &options, error);
  if (status == CLATTN_OK) status = ctn_runtime_adopt(&context->runtime, cl_ctx, device, queue, &options, error);
  if (status != CLATTN_OK) {
    ctn_context_release(context);
    return status;
  }
  *out = context;
  return CLATTN_OK;
}

const clattn_device_info *clattn_context_device(const clattn_context *context) {
  return context != NULL && context->runtime != NULL ? &context->runtime->device.info : NULL;
}

cl_context clattn_context_cl_context(const clattn_context *context) {
  return context != NULL && context->runtime != NULL ? context->runtime->context : NULL;
}

cl_device_id clattn_context_cl_device(const clattn_context *context) {
  return context != NULL && context->runtime != NULL ? context->runtime->device.id : NULL;
}

cl_command_queue clattn_context_cl_queue(const clattn_context *context) {
  return context != NULL && context->runtime != NULL ? context->runtime->queue : NULL;
}

void clattn_context_program_counts(clattn_context *context, uint64_t *compiled, uint64_t *loaded) {
  uint64_t counts[2] = {0, 0};
  if (context != NULL && context->runtime != NULL) ctn_program_counts(context->runtime, &counts[0], &counts[1]);
  if (compiled != NULL) *compiled = counts[0];
  if (loaded != NULL) *loaded = counts[1];
}

void ctn_context_retain(clattn_context *context) {
  atomic_fetch_add(&context->references, 1);
}

void ctn_context_release(clattn_context *context) {
  if (context == NULL || atomic_fetch_sub(&context->references, 1) != 1) return;
  ctn_runtime_close(context->runtime);
  ctn_pool_destroy(context->pool);
  ctn_selftests_destroy(context->selftests);
  free(context);
}

void clattn_context_destroy(clattn_context *context) {
  ctn_context_release(context);
}
