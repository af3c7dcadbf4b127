/* Status names, and the one place where a clattn_error is filled in. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
    [CLATTN_OK] = "ok",
    [CLATTN_INVALID_ARGUMENT] = "invalid argument",
    [CLATTN_UNSUPPORTED] = "unsupported",
    [CLATTN_OUT_OF_MEMORY] = "out of memory",
    [CLATTN_TOO_LARGE] = "too large",
    [CLATTN_NO_DEVICE] = "no device",
    [CLATTN_OPENCL_FAILED] = "opencl failed",
    [CLATTN_BUILD_FAILED] = "build failed",
    [CLATTN_IO_FAILED] = "io failed",
    [CLATTN_INTERNAL] = "internal",
};

const char *clattn_status_name(clattn_status status) {
  /* A negative value, of a caller's cast, becomes a large one. */
  const size_t index = (size_t)status;
  return index < sizeof names / sizeof names[0] ? names[index] : "unknown status";
}

clattn_status(ctn_fail)(clattn_error *error, clattn_status status, const char *format, ...) {
  if (error == NULL) return status;
  va_list arguments;
  error->status = status;
  error->cl_code = 0;
  va_start(arguments, format);
  if (vsnprintf(error->text, sizeof error->text, format, arguments) < 0) error->text[0] = '\0';
  va_end(arguments);
  return status;
}

void ctn_clear(clattn_error *error) {
  if (error == NULL) return;
  error->status = CLATTN_OK;
  error->cl_code = 0;
  error->text[0] = '\0';
}
