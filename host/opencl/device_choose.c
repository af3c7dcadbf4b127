/* Picking one device from the list by index, name and type. */
#include <stdio.h>
#include <string.h>

#include "devices.h"

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether part occurs in text, letter case ignored. */
static bool contains(const char *text, const char *part) {
  for (; *text != 0; text++) {
    size_t i = 0;
    while (part[i] != 0 && lower(text[i]) == lower(part[i]))
      i++;
    if (part[i] == 0) return true;
  }
  return *part == 0;
}

static bool is_type(const struct device *device, clattn_device_type type) {
  if (type == CLATTN_DEVICE_GPU) return (device->types & CL_DEVICE_TYPE_GPU) != 0;
  if (type == CLATTN_DEVICE_CPU) return (device->types & CL_DEVICE_TYPE_CPU) != 0;
  return device->info.type == type || (device->types & CL_DEVICE_TYPE_ACCELERATOR) != 0;
}

/* NO_DEVICE: what was asked for, and the devices there are. */
static clattn_status fail_none(clattn_error *error, const struct device *devices, size_t count, const char *wanted) {
  char list[700];
  size_t used = 0;
  list[0] = 0;
  for (size_t i = 0; i < count && used < sizeof list; i++) {
    int length = snprintf(list + used, sizeof list - used, "%s%zu: %s (%s)", i == 0 ? "" : ", ", i, devices[i].info.name,
                          devices[i].info.platform_name);
    used += length > 0 ? (size_t)length : 0;
  }
  if (count == 0) return ctn_fail(error, CLATTN_NO_DEVICE, "device: %s: there are no OpenCL devices; install a driver", wanted);
  return ctn_fail(error, CLATTN_NO_DEVICE, "device: %s; there are %s", wanted, list);
}

clattn_status ctn_device_choose(const struct device *devices, size_t count, const clattn_context_options *options, int *chosen,
                                clattn_error *error) {
  static const char *const type_names[] = {"", "GPU ", "accelerator ", "CPU "};
  static const clattn_device_type order[] = {CLATTN_DEVICE_GPU, CLATTN_DEVICE_ACCELERATOR, CLATTN_DEVICE_CPU};
  char wanted[160];
  clattn_device_type type = options->device_type;
  const char *name = options->device_name != NULL && options->device_name[0] != 0 ? options->device_name : NULL;
  *chosen = -1;
  if (options->device_index < -1) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device_index: %d is neither an index nor -1", options->device_index);
  }
  if ((int)type < (int)CLATTN_DEVICE_ANY || (int)type > (int)CLATTN_DEVICE_HOST) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "device_type: %d is not a device type", (int)type);
  }
  if (options->device_index >= 0) {
    snprintf(wanted, sizeof wanted, "there is no device %d", options->device_index);
    if ((size_t)options->device_index >= count) return fail_none(error, devices, count, wanted);
    *chosen = options->device_index;
    return CLATTN_OK;
  }
  if (type == CLATTN_DEVICE_HOST) return CLATTN_OK;
  for (size_t step = 0; step < sizeof order / sizeof order[0]; step++) {
    if (type != CLATTN_DEVICE_ANY && type != order[step]) continue;
    for (size_t i = 0; i < count; i++) {
      bool named = name == NULL || contains(devices[i].info.name, name) || contains(devices[i].info.platform_name, name);
      if (!devices[i].usable || !is_type(&devices[i], order[step]) || !named) continue;
      *chosen = (int)i;
      return CLATTN_OK;
    }
  }
  if (type == CLATTN_DEVICE_ANY && name == NULL) return CLATTN_OK;
  if (name == NULL) {
    snprintf(wanted, sizeof wanted, "there is no %sdevice", type_names[type]);
  } else {
    snprintf(wanted, sizeof wanted, "no %sdevice has \"%.100s\" in its name", type_names[type], name);
  }
  return fail_none(error, devices, count, wanted);
}
