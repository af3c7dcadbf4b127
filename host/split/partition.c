/* clattn_context_partition: contexts on equal parts of one device. */
#include <stdlib.h>

#include <clattn/clattn_opencl.h>
#include <clattn/clattn_split.h>

#include "runtime.h"
#include "status.h"

/* Asked first, because a driver without sub-devices may lack the very function: Rusticl's entry for it is NULL, and the loader
 * calls that. */
static bool can_divide_equally(cl_device_id device) {
  cl_device_partition_property ways[16] = {0};
  size_t bytes = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, &bytes) != CL_SUCCESS) return false;
  for (size_t i = 0; i < bytes / sizeof *ways; i++) {
    if (ways[i] == CL_DEVICE_PARTITION_EQUALLY) return true;
  }
  return false;
}

static clattn_status divide(cl_device_id *parts, cl_device_id device, size_t count, cl_uint units, clattn_error *error) {
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)(units / count), 0};
  cl_uint made = 0;
  if (!can_divide_equally(device)) {
    return ctn_fail(error, CLATTN_UNSUPPORTED,
                    "the device cannot be divided into %zu parts: its driver has no equal sub-devices", count);
  }
  /* Units that do not divide evenly make more parts: only the first count are asked for. */
  cl_int code = clCreateSubDevices(device, how, 0, NULL, &made);
  cl_device_id *all = code == CL_SUCCESS && made >= count ? calloc(made, sizeof *all) : NULL;
  if (code == CL_SUCCESS && made >= count && all == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory");
  if (all != NULL) code = clCreateSubDevices(device, how, made, all, NULL);
  if (code != CL_SUCCESS || all == NULL) {
    free(all);
    return ctn_fail(error, CLATTN_UNSUPPORTED, "the device cannot be divided into %zu parts (clCreateSubDevices: %s)", count,
                    ctn_cl_name(code));
  }
  for (cl_uint i = 0; i < made; i++) {
    if (i < count) {
      parts[i] = all[i];
    } else {
      clReleaseDevice(all[i]);
    }
  }
  free(all);
  return CLATTN_OK;
}

clattn_status clattn_context_partition(clattn_context **contexts, size_t count, const clattn_context *whole,
                                       const clattn_context_options *options, clattn_error *error) {
  ctn_clear(error);
  if (contexts == NULL || whole == NULL || count == 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "contexts or the whole context is NULL, or their number is 0");
  }
  for (size_t i = 0; i < count; i++)
    contexts[i] = NULL;
  const clattn_device_info *info = clattn_context_device(whole);
  if (info == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "context: the host alone has no parts");
  if (info->compute_units < count) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s has %u compute units, fewer than %zu parts", info->name,
                    info->compute_units, count);
  }
  cl_device_id *parts = calloc(count, sizeof *parts);
  if (parts == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory");
  clattn_status status = divide(parts, clattn_context_cl_device(whole), count, info->compute_units, error);
  for (size_t i = 0; i < count && status == CLATTN_OK; i++) {
    cl_int code = CL_SUCCESS;
    cl_context context = clCreateContext(NULL, 1, &parts[i], NULL, NULL, &code);
    if (code != CL_SUCCESS) {
      status = ctn_fail(error, CLATTN_OPENCL_FAILED, "part %zu of %s: clCreateContext: %s", i, info->name, ctn_cl_name(code));
      break;
    }
    status = clattn_context_adopt(&contexts[i], context, parts[i], NULL, options, error);
    clReleaseContext(context);
  }
  for (size_t i = 0; i < count; i++) {
    if (parts[i] != NULL) clReleaseDevice(parts[i]);
    if (status != CLATTN_OK) {
      clattn_context_destroy(contexts[i]);
      contexts[i] = NULL;
    }
  }
  free(parts);
  return status;
}
