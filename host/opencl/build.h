/* Building a program: from source, or from a binary that an earlier build gave. */
#ifndef CTN_BUILD_H
#define CTN_BUILD_H

#include "runtime.h"

/* file is for messages. BUILD_FAILED carries the start of the compiler's log; all of it goes to the log callback. */
clattn_status ctn_build_source(cl_program *program, struct runtime *runtime, const char *file, const char *source,
                               size_t length, const char *options, clattn_error *error);

/* NULL where the driver refuses the binary; the code it gave is in *code. bytes must be what ctn_build_binary_of returned for
 * the same device, driver and options: drivers do not check them. */
cl_program ctn_build_binary(struct runtime *runtime, const unsigned char *bytes, size_t size, const char *options,
                            cl_int *code);

/* The binary of a built program for the runtime's device, malloced. Returns an OpenCL code. */
cl_int ctn_build_binary_of(cl_program program, cl_device_id device, unsigned char **bytes, size_t *size);

#endif
