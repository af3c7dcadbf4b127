/* Opening and closing one OpenCL device, or adopting the caller's objects on it. */
#include "runtime.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "matrix.h"
#include "program.h"
#include "tuned.h"

/* base + tail in memory of its own, or NULL. */
static char *join(const char *base, const char *tail) {
  size_t length = strlen(base), more = strlen(tail);
  char *path = malloc(length + more + 1);
  if (path == NULL) return NULL;
  memcpy(path, base, length);
  memcpy(path + length, tail, more + 1);
  return path;
}

/* The default cache folder, or NULL with *failed false where the environment names none. */
static char *default_cache(bool *failed) {
  const char *base = getenv("XDG_CACHE_HOME");
  const char *tail = "/clattn";
  if (base == NULL || base[0] != '/') { /* the XDG specification has relative paths ignored */
    base = getenv("HOME");
    tail = "/.cache/clattn";
  }
  *failed = false;
  if (base == NULL || base[0] != '/') return NULL;
  char *path = join(base, tail);
  *failed = path == NULL;
  return path;
}

static clattn_status take_options(struct runtime *runtime, const clattn_context_options *options, clattn_error *error) {
  static const clattn_context_options defaults = CLATTN_CONTEXT_OPTIONS_INIT;
  bool failed = false;
  if (options == NULL) options = &defaults;
  runtime->log = options->log;
  runtime->log_user = options->log_user;
  if (options->kernel_dir != NULL) {
    DIR *folder = opendir(options->kernel_dir);
    if (folder == NULL) {
      return ctn_fail(error, CLATTN_IO_FAILED, "kernel_dir: cannot open the folder %s: %s", options->kernel_dir,
                      strerror(errno));
    }
    closedir(folder);
    runtime->kernel_dir = join(options->kernel_dir, "");
    failed = runtime->kernel_dir == NULL;
  }
  if (!failed && !options->no_cache) {
    if (options->cache_dir != NULL && options->cache_dir[0] != 0) {
      runtime->cache_dir = join(options->cache_dir, "");
      failed = runtime->cache_dir == NULL;
    } else {
      runtime->cache_dir = default_cache(&failed);
    }
  }
  if (failed) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for the paths of kernels and cache");
  const clattn_status status = ctn_program_store_create(&runtime->programs, error);
  return status == CLATTN_OK ? ctn_matrix_verdicts_create(&runtime->matrix, error) : status;
}

clattn_status ctn_runtime_open(struct runtime **runtime, struct device *device, const clattn_context_options *options,
                               clattn_error *error) {
  cl_int code = CL_SUCCESS;
  struct runtime *made = NULL;
  *runtime = NULL;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
  made = calloc(1, sizeof *made);
  if (made == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for the runtime");
  clattn_status status = take_options(made, options, error);
  if (status != CLATTN_OK) goto cleanup;
  made->context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
  if (code != CL_SUCCESS) {
    made->context = NULL;
    status = ctn_fail_cl(error, code, "clCreateContext", "on %s", device->info.name);
    goto cleanup;
  }
  made->queue = clCreateCommandQueue(made->context, device->id, 0, &code);
  if (code != CL_SUCCESS) {
    made->queue = NULL;
    status = ctn_fail_cl(error, code, "clCreateCommandQueue", "on %s", device->info.name);
    goto cleanup;
  }
  made->device = *device;
  memset(device, 0, sizeof *device);
  status = ctn_tuned_load(made, options, error);
  if (status != CLATTN_OK) goto cleanup;
  *runtime = made;
  made = NULL;
cleanup:
  ctn_runtime_close(made);
  return status;
}

/* Whether device is among devices, or a part of one of them: PoCL names the whole where a context was made for a part. */
static bool is_among(const cl_device_id *devices, size_t count, cl_device_id device) {
  while (device != NULL) {
    for (size_t i = 0; i < count; i++) {
      if (devices[i] == device) return true;
    }
    cl_device_id parent = NULL;
    if (clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) != CL_SUCCESS) return false;
    device = parent;
  }
  return false;
}

/* Whether device is one of context's. */
static clattn_status check_device(cl_context context, cl_device_id device, clattn_error *error) {
  size_t size = 0;
  bool found = false;
  cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetContextInfo", "devices of the context given");
  cl_device_id *devices = malloc(size + 1);
  if (devices == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for its devices");
  code = clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL);
  if (code == CL_SUCCESS) found = is_among(devices, size / sizeof(cl_device_id), device);
  free(devices);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetContextInfo", "devices of the context given");
  if (!found) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device: is not one of the context's devices");
  return CLATTN_OK;
}

static clattn_status check_queue(cl_context context, cl_device_id device, cl_command_queue queue, clattn_error *error) {
  cl_context of_context = NULL;
  cl_device_id of_device = NULL;
  cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof of_context, &of_context, NULL);
  if (code == CL_SUCCESS) code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof of_device, &of_device, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetCommandQueueInfo", "of the queue given");
  if (of_context != context) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "queue: belongs to another context");
  if (of_device != device) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "queue: is on another device");
  return CLATTN_OK;
}

/* Retains the caller's context and queue, or makes a queue. */
static clattn_status retain(struct runtime *runtime, cl_context context, cl_command_queue queue, clattn_error *error) {
  cl_int code = clRetainContext(context);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clRetainContext", "the context given");
  runtime->context = context;
  if (queue == NULL) {
    queue = clCreateCommandQueue(context, runtime->device.id, 0, &code);
    if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clCreateCommandQueue", "on %s", runtime->device.info.name);
  } else {
    code = clRetainCommandQueue(queue);
    if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clRetainCommandQueue", "the queue given");
  }
  runtime->queue = queue;
  /* A context need not keep a part of a device alive. */
  code = clRetainDevice(runtime->device.id);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clRetainDevice", "%s", runtime->device.info.name);
  runtime->adopted = runtime->device.id;
  return CLATTN_OK;
}

clattn_status ctn_runtime_adopt(struct runtime **runtime, cl_context context, cl_device_id device, cl_command_queue queue,
                                const clattn_context_options *options, clattn_error *error) {
  cl_platform_id platform = NULL;
  struct runtime *made = NULL;
  *runtime = NULL;
  if (context == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "cl_ctx: is NULL");
  if (device == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device: is NULL");
  clattn_status status = check_device(context, device, error);
  if (status == CLATTN_OK && queue != NULL) status = check_queue(context, device, queue, error);
  if (status != CLATTN_OK) return status;
  cl_int code = clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetDeviceInfo", "platform of the device given");
  made = calloc(1, sizeof *made);
  if (made == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for the runtime");
  status = ctn_device_query(&made->device, platform, device, error);
  if (status == CLATTN_OK) status = take_options(made, options, error);
  if (status == CLATTN_OK) status = ctn_tuned_load(made, options, error);
  if (status == CLATTN_OK) status = retain(made, context, queue, error);
  if (status != CLATTN_OK) goto cleanup;
  *runtime = made;
  made = NULL;
cleanup:
  ctn_runtime_close(made);
  return status;
}

void ctn_runtime_close(struct runtime *runtime) {
  if (runtime == NULL) return;
  ctn_gemm_forget(runtime);
  ctn_program_store_destroy(runtime->programs);
  ctn_matrix_verdicts_destroy(runtime->matrix);
  if (runtime->queue != NULL) clReleaseCommandQueue(runtime->queue);
  if (runtime->context != NULL) clReleaseContext(runtime->context);
  if (runtime->adopted != NULL) clReleaseDevice(runtime->adopted);
  ctn_tuning_free(&runtime->tuning);
  ctn_device_clear(&runtime->device);
  free(runtime->kernel_dir);
  free(runtime->cache_dir);
  free(runtime);
}

void ctn_runtime_log(const struct runtime *runtime, clattn_log_level level, const char *format, ...) {
  char fixed[1024];
  va_list list;
  if (runtime->log == NULL) return;
  va_start(list, format);
  int length = vsnprintf(fixed, sizeof fixed, format, list);
  va_end(list);
  if (length < 0) return;
  char *grown = (size_t)length < sizeof fixed ? NULL : malloc((size_t)length + 1);
  if (grown != NULL) {
    va_start(list, format);
    vsnprintf(grown, (size_t)length + 1, format, list);
    va_end(list);
  }
  runtime->log(runtime->log_user, level, grown != NULL ? grown : fixed);
  free(grown);
}
