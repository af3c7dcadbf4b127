/* Building a program from source or from a binary, and reading the compiler's log. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

/* The build log, malloced and terminated; NULL where there is none or it is blank. */
static char *build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size == 0) return NULL;
  char *log = calloc(size + 1, 1);
  if (log == NULL) return NULL;
  bool failed = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS;
  if (failed || log[strspn(log, " \t\r\n")] == 0) {
    free(log);
    return NULL;
  }
  return log;
}

/* Makes one line of text: an error's text has no line breaks. */
static void flatten(char *text) {
  char *to = text;
  for (const char *from = text; *from != 0; from++) {
    bool blank = (unsigned char)*from <= ' ';
    if (blank && (to == text || to[-1] == ' ')) continue;
    *to++ = blank ? ' ' : *from;
  }
  *to = 0;
}

/* BUILD_FAILED with the start of the log, which is given to the callback in full first. */
static clattn_status fail_build(struct runtime *runtime, const char *file, const char *options, char *log, cl_int code,
                                clattn_error *error) {
  ctn_runtime_log(runtime, CLATTN_LOG_ERROR, "kernels/%s does not compile with %s on %s:\n%s", file, options,
                  runtime->device.info.name, log != NULL ? log : "(the compiler left no log)");
  if (log != NULL) flatten(log);
  ctn_fail(error, CLATTN_BUILD_FAILED, "kernels/%s: does not compile on %s (%s, %d): %s", file, runtime->device.info.name,
           ctn_cl_name(code), (int)code, log != NULL ? log : "the compiler left no log");
  if (error != NULL) error->cl_code = code;
  return CLATTN_BUILD_FAILED;
}

clattn_status ctn_build_source(cl_program *program, struct runtime *runtime, const char *file, const char *source,
                               size_t length, const char *options, clattn_error *error) {
  cl_int code = CL_SUCCESS;
  clattn_status status = CLATTN_OK;
  char *log = NULL;
  *program = NULL;
  cl_program made = clCreateProgramWithSource(runtime->context, 1, &source, &length, &code);
  if (code != CL_SUCCESS) {
    return ctn_fail_cl(error, code, "clCreateProgramWithSource", "kernels/%s, %zu bytes", file, length);
  }
  code = clBuildProgram(made, 1, &runtime->device.id, options, NULL, NULL);
  log = build_log(made, runtime->device.id);
  if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES || code == CL_COMPILER_NOT_AVAILABLE) {
    status = ctn_fail_cl(error, code, "clBuildProgram", "kernels/%s on %s", file, runtime->device.info.name);
    goto cleanup;
  }
  if (code != CL_SUCCESS) {
    status = fail_build(runtime, file, options, log, code, error);
    goto cleanup;
  }
  if (log != NULL) ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "kernels/%s: the compiler says:\n%s", file, log);
  *program = made;
  made = NULL;
cleanup:
  free(log);
  if (made != NULL) clReleaseProgram(made);
  return status;
}

cl_program ctn_build_binary(struct runtime *runtime, const unsigned char *bytes, size_t size, const char *options,
                            cl_int *code) {
  cl_int accepted = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(runtime->context, 1, &runtime->device.id, &size, &bytes, &accepted, code);
  if (*code == CL_SUCCESS) *code = accepted;
  if (*code == CL_SUCCESS) *code = clBuildProgram(program, 1, &runtime->device.id, options, NULL, NULL);
  if (*code == CL_SUCCESS) return program;
  if (program != NULL) clReleaseProgram(program);
  return NULL;
}

/* A list that clGetProgramInfo gives, malloced; *code tells of failure. */
static void *program_list(cl_program program, cl_program_info what, size_t *size, cl_int *code) {
  *code = clGetProgramInfo(program, what, 0, NULL, size);
  if (*code != CL_SUCCESS) return NULL;
  void *list = calloc(*size + 1, 1);
  if (list == NULL) {
    *code = CL_OUT_OF_HOST_MEMORY;
    return NULL;
  }
  *code = clGetProgramInfo(program, what, *size, list, NULL);
  return list;
}

cl_int ctn_build_binary_of(cl_program program, cl_device_id device, unsigned char **bytes, size_t *size) {
  cl_int code = CL_SUCCESS;
  size_t list_size = 0, ignored = 0, count = 0, mine = 0;
  size_t *sizes = NULL;
  unsigned char **pointers = NULL;
  *bytes = NULL;
  *size = 0;
  /* An adopted context may hold more devices: the lists have a place for each, and a NULL pointer asks for nothing. */
  cl_device_id *devices = program_list(program, CL_PROGRAM_DEVICES, &list_size, &code);
  if (code == CL_SUCCESS) sizes = program_list(program, CL_PROGRAM_BINARY_SIZES, &ignored, &code);
  if (code != CL_SUCCESS) goto cleanup;
  count = list_size / sizeof *devices;
  while (mine < count && devices[mine] != device)
    mine++;
  if (mine == count || mine >= ignored / sizeof *sizes || sizes[mine] == 0) {
    code = CL_INVALID_BINARY;
    goto cleanup;
  }
  pointers = calloc(count, sizeof *pointers);
  if (pointers != NULL) pointers[mine] = malloc(sizes[mine]);
  if (pointers == NULL || pointers[mine] == NULL) {
    code = CL_OUT_OF_HOST_MEMORY;
    goto cleanup;
  }
  code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *pointers, pointers, NULL);
  if (code != CL_SUCCESS) goto cleanup;
  *bytes = pointers[mine];
  *size = sizes[mine];
  pointers[mine] = NULL;
cleanup:
  if (pointers != NULL) free(pointers[mine]);
  free(pointers);
  free(sizes);
  free(devices);
  return code;
}
