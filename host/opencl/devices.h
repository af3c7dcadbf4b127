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
  cl_device_type types; /* every bit: a device may call itself several types, of which info.type is one */
  uint32_t ptx;         /* NVIDIA's compute capability, 80 for 8.0, where the device takes inline PTX; otherwise 0 */
  bool usable;          /* available, and with a compiler: others are listed but never chosen unless named by their index */
  clattn_device_info info;
};

clattn_status ctn_device_query(struct device *device, cl_platform_id platform, cl_device_id id, clattn_error *error);
void ctn_device_clear(struct device *device);

/* All devices of all platforms; a machine without OpenCL gives count 0, and a platform or device that does not answer is left
 * out. Free each with ctn_device_clear, then the array (ctn_devices_free does both). */
clattn_status ctn_devices_all(struct device **devices, size_t *count, clattn_error *error);
void ctn_devices_free(struct device *devices, size_t count);

/* Picks by the device fields of options: *chosen is an index into devices, or -1 for the host alone. NO_DEVICE lists what there
 * is. CLATTN_DEVICE_ANY prefers GPU, accelerator, CPU device, then the host; with a name it never falls back to the host. */
clattn_status ctn_device_choose(const struct device *devices, size_t count, const clattn_context_options *options, int *chosen,
                                clattn_error *error);

#endif
