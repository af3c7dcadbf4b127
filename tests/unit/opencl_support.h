/* What the tests of the opencl room share: a scratch folder, a device, a log that remembers. */
#ifndef CTN_OPENCL_SUPPORT_H
#define CTN_OPENCL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime.h"

#define PATH_SIZE 4096

/* A new folder in the system's temporary folder, and its removal with all in it. */
void support_make_folder(char path[PATH_SIZE]);
void support_remove_folder(const char *path);
/* path <- folder/name. */
void support_path(char path[PATH_SIZE], const char *folder, const char *name);
/* Writes folder/name, whose folders must exist. */
void support_write(const char *folder, const char *name, const char *text);

/* Messages that came to the callback; its user pointer is one of these. */
struct support_log {
  int count[3];    /* by level */
  char last[8192]; /* the latest, cut */
};
void support_log(void *user, clattn_log_level level, const char *text);

/*
 * Opens the first device whose name or platform contains $CLATTN_TEST_DEVICE (default: PoCL's platform). Without one the test
 * is skipped, or fails where $CLATTN_TEST_REQUIRE_DEVICES is set.
 */
struct runtime *support_open(const clattn_context_options *options);

#endif
