/* Setting kernel arguments and enqueueing kernels, every cl_int checked and named. */
#ifndef CTN_LAUNCH_H
#define CTN_LAUNCH_H

#include "runtime.h"

/* A buffer and the byte offset in it. */
struct slice {
  cl_mem memory;
  size_t offset;
};

/* Arguments of one kernel, set in order. After a failure the rest is skipped and ctn_arguments_end says which one it was. */
struct arguments {
  cl_kernel kernel;
  const char *name; /* of the kernel, for messages */
  cl_uint index;
  cl_int code;
  cl_uint failed;
};

void ctn_arguments_begin(struct arguments *arguments, cl_kernel kernel, const char *name);
void ctn_argument(struct arguments *arguments, const void *value, size_t size);
/* A buffer argument followed by its offset in elements (a 64-bit integer argument): cl_mem objects cannot point inside. A slice
 * without memory passes a null pointer and 0. */
void ctn_argument_slice(struct arguments *arguments, struct slice slice, size_t element);
void ctn_argument_long(struct arguments *arguments, int64_t value);
void ctn_argument_int(struct arguments *arguments, int32_t value);
void ctn_argument_float(struct arguments *arguments, float value);
clattn_status ctn_arguments_end(struct arguments *arguments, clattn_error *error);

/*
 * Kernels that run one after another on a queue that may be out of order: each waits for the one before, the first for the
 * caller's wait list. Start with ctn_chain_begin, finish with ctn_chain_end, also after an error.
 */
struct chain {
  cl_command_queue queue;
  bool in_order;
  cl_uint wait_count;
  const cl_event *wait_list;
  cl_event last;   /* of the latest kernel; NULL before the first and on queues in order while not needed */
  cl_event *final; /* where the caller wants its event, or NULL */
};

clattn_status ctn_chain_begin(struct chain *chain, cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
                              cl_event *event, clattn_error *error);
/* local NULL leaves the work-group size to the device. last_kernel: this one completes the caller's event. */
clattn_status ctn_chain_kernel(struct chain *chain, cl_kernel kernel, const char *name, cl_uint dimensions,
                               const size_t *global, const size_t *local, bool last_kernel, clattn_error *error);
void ctn_chain_end(struct chain *chain);

/* CL_KERNEL_WORK_GROUP_SIZE of a built kernel. */
clattn_status ctn_kernel_work_group(struct runtime *runtime, cl_kernel kernel, const char *name, size_t *size,
                                    clattn_error *error);

#endif
