/* One OpenCL device at work: context, queue, kernel sources, compiled programs in memory and on disk. */
#ifndef CTN_RUNTIME_H
#define CTN_RUNTIME_H

#include <stdatomic.h>

#include "devices.h"
#include "tuning.h"

struct matrix_verdicts;

struct runtime {
  struct device device;
  cl_context context;
  cl_command_queue queue; /* for clattn_plan_execute: the runtime's own is in order, an adopted one may not be */
  cl_device_id adopted;   /* the caller's device, retained; NULL where the runtime opened it */
  clattn_log_callback log;
  void *log_user;
  char *kernel_dir; /* NULL: embedded kernels */
  char *cache_dir;  /* NULL: no disk cache */
  struct program_store *programs;
  struct tuning tuning;           /* what the tables have for this device: see tuned.h */
  atomic_bool used_clblast;       /* its caches hold programs of this context */
  atomic_bool tuned_clblast;      /* ctn_gemm_tune was here */
  atomic_llong loop_limit;        /* see loops.h; 0: not measured yet */
  struct matrix_verdicts *matrix; /* see matrix.h */
};

/* Opens a device of ctn_devices_all: takes device over (and clears *device). Takes kernel_dir, cache_dir, no_cache,
 * tuning_file, no_tuning and log from options; a kernel_dir that is not a readable folder is IO_FAILED. */
clattn_status ctn_runtime_open(struct runtime **runtime, struct device *device, const clattn_context_options *options,
                               clattn_error *error);
/* The same on the caller's objects, which are retained; queue may be NULL. */
clattn_status ctn_runtime_adopt(struct runtime **runtime, cl_context context, cl_device_id device, cl_command_queue queue,
                                const clattn_context_options *options, clattn_error *error);
void ctn_runtime_close(struct runtime *runtime);

/* Formats a message for the log callback; nothing happens where there is none. */
void ctn_runtime_log(const struct runtime *runtime, clattn_log_level level, const char *format, ...) CTN_PRINTF(3, 4);

/* error <- OPENCL_FAILED with the call's name, the error's name and number ("clCreateBuffer: CL_OUT_OF_RESOURCES (-5): scores,
 * 1024 bytes"). Allocation failures become OUT_OF_MEMORY. */
clattn_status ctn_fail_cl(clattn_error *error, cl_int code, const char *call, const char *format, ...) CTN_PRINTF(4, 5);
/* "CL_INVALID_VALUE" for -30 and so on. */
const char *ctn_cl_name(cl_int code);

#endif
