/* The plan behind clattn_plan: a problem, the family chosen for it, and the memory it runs in. */
#ifndef CTN_PLAN_H
#define CTN_PLAN_H

#include <clattn/clattn_opencl.h>

#include "context.h"
#include "family.h"

/* Of workspaces that the caller brings, and of the segments in them; bytes. */
enum { WORKSPACE_ALIGNMENT = 128 };

struct clattn_plan {
  clattn_context *context; /* retained */
  cl_command_queue queue;  /* of clattn_plan_execute: the runtime's, or a self-test's own */
  struct problem problem;
  clattn_plan_options options;
  const struct family *family;
  void *state;
  struct text description;
  size_t workspace_size;
  cl_mem workspace;             /* device families: NULL with user_workspace until the first clattn_plan_execute */
  void *host_workspace;         /* host families */
  cl_mem buffers[TENSOR_COUNT]; /* device copies of the host arrays: made by the first clattn_plan_execute */
  void *dense_out;              /* where a strided out is read back to before its rows are put in place */
};

/* Sizes the workspace of a prepared plan and allocates it; and releases all that a plan holds but the context. */
clattn_status ctn_plan_allocate(clattn_plan *plan, clattn_error *error);
void ctn_plan_clear(clattn_plan *plan);

/* Makes the plan's workspace on the device, if it needs one and has none. */
clattn_status ctn_plan_allocate_workspace(clattn_plan *plan, clattn_error *error);

/* The caller's objects: buffer belongs to the runtime and has `bytes` from an aligned offset on; queue is one of its device. */
clattn_status ctn_check_buffer(const struct runtime *runtime, const clattn_buffer *buffer, const char *name, size_t bytes,
                               size_t alignment, clattn_error *error);
clattn_status ctn_check_queue(const struct runtime *runtime, cl_command_queue queue, clattn_error *error);

#endif
