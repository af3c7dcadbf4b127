/* The plan behind clattn_plan: a problem, the family chosen for it, and the memory it runs in. */
#ifndef CTN_PLAN_H
#define CTN_PLAN_H

#include "context.h"
#include "family.h"

struct clattn_plan {
  clattn_context *context; /* retained */
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

/* Makes the plan's workspace on the device, if it needs one and has none. */
clattn_status ctn_plan_allocate_workspace(clattn_plan *plan, clattn_error *error);

#endif
