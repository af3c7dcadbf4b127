/* Asking OpenCL which devices there are and what each can do. */
#include "devices.h"

#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* Given by the loader where no driver is installed; its header is not always there. */
#define NO_PLATFORM (-1001)

/* A string of the device or platform with the padding that some drivers put around it removed. Malloced. */
static clattn_status query_string(cl_platform_id platform, cl_device_id id, cl_uint what, const char **out,
                                  clattn_error *error) {
  size_t size = 0;
  const char *call = id != NULL ? "clGetDeviceInfo" : "clGetPlatformInfo";
  cl_int code = id != NULL ? clGetDeviceInfo(id, what, 0, NULL, &size) : clGetPlatformInfo(platform, what, 0, NULL, &size);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, call, "size of text 0x%x", (unsigned)what);
  char *text = calloc(size + 1, 1);
  if (text == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "devices: %zu bytes for a device's text", size + 1);
  code = id != NULL ? clGetDeviceInfo(id, what, size, text, NULL) : clGetPlatformInfo(platform, what, size, text, NULL);
  if (code != CL_SUCCESS) {
    free(text);
    return ctn_fail_cl(error, code, call, "text 0x%x", (unsigned)what);
  }
  size_t first = strspn(text, " \t");
  size_t length = strlen(text) - first;
  memmove(text, text + first, length + 1);
  while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL)
    text[--length] = 0;
  *out = text;
  return CLATTN_OK;
}

static bool has_extension(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
  }
  return false;
}

static clattn_device_type device_type(cl_device_type types) {
  /* A simulator that claims every type runs on a CPU. */
  if (types & CL_DEVICE_TYPE_CPU) return CLATTN_DEVICE_CPU;
  if (types & CL_DEVICE_TYPE_GPU) return CLATTN_DEVICE_GPU;
  return CLATTN_DEVICE_ACCELERATOR;
}

/* 80 for 8.0; 0 where the device does not say. The extension's header is not always there. */
static uint32_t compute_capability(cl_device_id id) {
  enum { CAPABILITY_MAJOR = 0x4000, CAPABILITY_MINOR = 0x4001 };
  cl_uint major = 0, minor = 0;
  if (clGetDeviceInfo(id, CAPABILITY_MAJOR, sizeof major, &major, NULL) != CL_SUCCESS) return 0;
  if (clGetDeviceInfo(id, CAPABILITY_MINOR, sizeof minor, &minor, NULL) != CL_SUCCESS) return 0;
  return major < 100 && minor < 10 ? major * 10 + minor : 0;
}

static clattn_status query_strings(struct device *device, clattn_error *error) {
  clattn_device_info *info = &device->info;
  const struct {
    cl_device_id id;
    cl_uint what;
    const char **out;
  } strings[] = {
      {NULL, CL_PLATFORM_NAME, &info->platform_name},
      {NULL, CL_PLATFORM_VERSION, &info->platform_version},
      {device->id, CL_DEVICE_NAME, &info->name},
      {device->id, CL_DEVICE_VENDOR, &info->vendor},
      {device->id, CL_DEVICE_VERSION, &info->device_version},
      {device->id, CL_DRIVER_VERSION, &info->driver_version},
  };
  clattn_status status = CLATTN_OK;
  for (size_t i = 0; i < sizeof strings / sizeof strings[0] && status == CLATTN_OK; i++) {
    status = query_string(device->platform, strings[i].id, strings[i].what, strings[i].out, error);
  }
  if (status != CLATTN_OK) return status;
  const char *extensions = NULL;
  status = query_string(device->platform, device->id, CL_DEVICE_EXTENSIONS, &extensions, error);
  if (status != CLATTN_OK) return status;
  info->has_fp16 = has_extension(extensions, "cl_khr_fp16");
  info->has_fp64 = has_extension(extensions, "cl_khr_fp64");
  info->has_sub_groups = has_extension(extensions, "cl_khr_subgroups") || has_extension(extensions, "cl_intel_subgroups");
  if (has_extension(extensions, "cl_nv_device_attribute_query")) device->ptx = compute_capability(device->id);
  free((char *)extensions);
  return CLATTN_OK;
}

static clattn_status query_numbers(struct device *device, clattn_error *error) {
  clattn_device_info *info = &device->info;
  cl_ulong local = 0;
  size_t group = 0;
  cl_device_local_mem_type local_type = CL_NONE;
  cl_bool unified = CL_FALSE, available = CL_FALSE, compiler = CL_FALSE;
  cl_uint units = 0, clock = 0, width = 0;
  cl_ulong global = 0, allocation = 0;
  const struct {
    cl_device_info what;
    size_t size;
    void *value;
    const char *name;
  } numbers[] = {
      {CL_DEVICE_TYPE, sizeof device->types, &device->types, "type"},
      {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, "compute units"},
      {CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock, "clock"},
      {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, "vector width"},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, "work-group size"},
      {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global, "global memory"},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof allocation, &allocation, "largest buffer"},
      {CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, "local memory"},
      {CL_DEVICE_LOCAL_MEM_TYPE, sizeof local_type, &local_type, "local memory type"},
      {CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, "unified memory"},
      {CL_DEVICE_AVAILABLE, sizeof available, &available, "available"},
      {CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, "compiler"},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    cl_int code = clGetDeviceInfo(device->id, numbers[i].what, numbers[i].size, numbers[i].value, NULL);
    if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetDeviceInfo", "%s of %s", numbers[i].name, info->name);
  }
  device->usable = available && compiler;
  info->type = device_type(device->types);
  info->compute_units = units;
  info->max_clock_mhz = clock;
  info->native_float_width = width;
  info->max_work_group = group > UINT32_MAX ? UINT32_MAX : (uint32_t)group;
  info->global_memory = global;
  info->max_allocation = allocation;
  info->local_memory = local_type == CL_NONE ? 0 : local;
  info->local_is_global = local_type == CL_GLOBAL;
  info->unified_memory = unified != CL_FALSE;
  return CLATTN_OK;
}

clattn_status ctn_device_query(struct device *device, cl_platform_id platform, cl_device_id id, clattn_error *error) {
  memset(device, 0, sizeof *device);
  device->platform = platform;
  device->id = id;
  device->info.struct_size = sizeof device->info;
  clattn_status status = query_strings(device, error);
  if (status == CLATTN_OK) status = query_numbers(device, error);
  if (status != CLATTN_OK) ctn_device_clear(device);
  return status;
}

void ctn_device_clear(struct device *device) {
  const char *strings[] = {device->info.platform_name, device->info.platform_version, device->info.name,
                           device->info.vendor,        device->info.device_version,   device->info.driver_version};
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
    free((char *)strings[i]);
  memset(device, 0, sizeof *device);
}

void ctn_devices_free(struct device *devices, size_t count) {
  for (size_t i = 0; i < count; i++)
    ctn_device_clear(&devices[i]);
  free(devices);
}

/* Adds the devices of one platform. A platform or device that fails is left out: it must not hide the others. */
static clattn_status add_platform(cl_platform_id platform, struct device **devices, size_t *count, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  struct device *grown = NULL;
  cl_device_id *ids = NULL;
  cl_uint found = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &found) != CL_SUCCESS || found == 0) return CLATTN_OK;
  ids = calloc(found, sizeof *ids);
  grown = realloc(*devices, (*count + found) * sizeof *grown);
  if (grown != NULL) *devices = grown;
  if (ids == NULL || grown == NULL) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "devices: no memory for a list of %zu", *count + found);
    goto cleanup;
  }
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, ids, NULL) != CL_SUCCESS) goto cleanup;
  for (cl_uint i = 0; i < found; i++) {
    clattn_status one = ctn_device_query(&(*devices)[*count], platform, ids[i], error);
    if (one == CLATTN_OK) *count += 1;
    if (one == CLATTN_OUT_OF_MEMORY) {
      status = one;
      goto cleanup;
    }
  }
cleanup:
  free(ids);
  return status;
}

clattn_status ctn_devices_all(struct device **devices, size_t *count, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  cl_platform_id *platforms = NULL;
  cl_uint found = 0;
  *devices = NULL;
  *count = 0;
  ctn_clear(error);
  cl_int code = clGetPlatformIDs(0, NULL, &found);
  if (code == NO_PLATFORM || (code == CL_SUCCESS && found == 0)) return CLATTN_OK;
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetPlatformIDs", "number of platforms");
  platforms = calloc(found, sizeof *platforms);
  if (platforms == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "devices: no memory for %u platforms", found);
  code = clGetPlatformIDs(found, platforms, NULL);
  if (code != CL_SUCCESS) {
    status = ctn_fail_cl(error, code, "clGetPlatformIDs", "%u platforms", found);
    goto cleanup;
  }
  for (cl_uint i = 0; i < found && status == CLATTN_OK; i++)
    status = add_platform(platforms[i], devices, count, error);
  if (status == CLATTN_OK) ctn_clear(error); /* what a left-out device said */
cleanup:
  if (status != CLATTN_OK) {
    ctn_devices_free(*devices, *count);
    *devices = NULL;
    *count = 0;
  }
  free(platforms);
  return status;
}
