/* Scratch folders, device and log for the tests of the opencl room. */
/* For nftw. */
#define _XOPEN_SOURCE 700

#include "opencl_support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void support_make_folder(char path[PATH_SIZE]) {
  const char *base = getenv("TMPDIR");
  snprintf(path, PATH_SIZE, "%s/clattn-test-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
  assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info;
  (void)type;
  (void)where;
  return remove(path);
}

void support_remove_folder(const char *path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void support_path(char path[PATH_SIZE], const char *folder, const char *name) {
  int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
  assert_true(length > 0 && length < PATH_SIZE);
}

void support_write(const char *folder, const char *name, const char *text) {
  char path[PATH_SIZE];
  support_path(path, folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

void support_log(void *user, clattn_log_level level, const char *text) {
  struct support_log *log = user;
  log->count[level]++;
  snprintf(log->last, sizeof log->last, "%s", text);
}

struct runtime *support_open(const clattn_context_options *options) {
  struct device *devices = NULL;
  size_t count = 0;
  int chosen = -1;
  struct runtime *runtime = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options choice = CLATTN_CONTEXT_OPTIONS_INIT;
  const char *wanted = getenv("CLATTN_TEST_DEVICE");
  choice.device_name = wanted != NULL ? wanted : "Portable Computing Language";
  assert_int_equal(ctn_devices_all(&devices, &count, &error), CLATTN_OK);
  if (ctn_device_choose(devices, count, &choice, &chosen, &error) != CLATTN_OK) {
    ctn_devices_free(devices, count);
    if (getenv("CLATTN_TEST_REQUIRE_DEVICES") != NULL) fail_msg("%s", error.text);
    print_message("%s\n", error.text);
    skip();
  }
  if (ctn_runtime_open(&runtime, &devices[chosen], options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_devices_free(devices, count);
  return runtime;
}
