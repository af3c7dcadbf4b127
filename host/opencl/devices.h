/* Which OpenCL devices there are and what they say of themselves. */
#ifndef CTN_DEVICES_H
#define CTN_DEVICES_H

#include <stdbool.h>

#include <clattn/clattn_opencl.h>

#include "status.h"

/* A device with its capabilities, filled through ctn_device_query; info's strings are owned here. */
struct device {
  cl_platform_id platform;
  cl_device_id id;
  clattn_device_info info;
};

clattn_status ctn_device_query(struct device *device, cl_platform_id platform, cl_device_id id, clattn_error *error);
void ctn_device_clear(struct device *device);

/* All devices of all platforms; a machine without OpenCL gives count 0. Free each with ctn_device_clear, then the array. */
clattn_status ctn_devices_all(struct device **devices, size_t *count, clattn_error *error);

/* Picks by the device fields of options: *chosen is an index into devices, or -1 for the host alone. NO_DEVICE lists what there
 * is. CLATTN_DEVICE_ANY prefers GPU, accelerator, CPU device, then the host. */
clattn_status ctn_device_choose(const struct device *devices, size_t count, const clattn_context_options *options, int *chosen,
                                clattn_error *error);

#endif
