/* The public list of devices. */
#include <stdlib.h>

#include "devices.h"

struct clattn_device_list {
  struct device *devices;
  size_t count;
};

clattn_status clattn_device_list_create(clattn_device_list **list, clattn_error *error) {
  if (list == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "list: is NULL");
  *list = NULL;
  ctn_clear(error);
  clattn_device_list *made = calloc(1, sizeof *made);
  if (made == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "devices: no memory for the list");
  clattn_status status = ctn_devices_all(&made->devices, &made->count, error);
  if (status != CLATTN_OK) {
    free(made);
    return status;
  }
  *list = made;
  return CLATTN_OK;
}

size_t clattn_device_list_count(const clattn_device_list *list) {
  return list != NULL ? list->count : 0;
}

const clattn_device_info *clattn_device_list_get(const clattn_device_list *list, size_t index) {
  return list != NULL && index < list->count ? &list->devices[index].info : NULL;
}

void clattn_device_list_destroy(clattn_device_list *list) {
  if (list == NULL) return;
  ctn_devices_free(list->devices, list->count);
  free(list);
}
