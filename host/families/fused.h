/* What the fused families share: refusals, the arguments of their common kernel signature, the state. */
#ifndef CTN_FUSED_H
#define CTN_FUSED_H

#include "parameters.h"

struct fused {
  const struct problem *problem;
  struct runtime *runtime;
  cl_kernel kernel;
  long vector;                      /* vector family: lanes of a vector */
  int64_t tile;                     /* (row, head) pairs that a work-group computes, or one of its lane groups */
  int64_t groups;                   /* vector family: lane groups of a work-group, at most; otherwise 0 */
  int64_t block;                    /* vector family: keys at a time */
  int64_t chunk;                    /* value columns that a work-group computes; 0: all */
  size_t work_items;                /* of a work-group */
  int64_t step;                     /* keys of a launch; 0: all in one, and the kernel has no arguments for a range */
  size_t carry;                     /* bytes of workspace in which launches hand on their state */
  const struct tuning_entry *tuned; /* where sizes come from; NULL: built in */
  size_t local[3]; /* dynamic local memory of the last three arguments, in bytes; 0: the kernel has no such argument */
};

/* No device, too large tensors, or results that a fused pass never has: the stage tensors, by name. */
bool ctn_fused_refuse(const struct request *request, struct text *reason);
/* Attended pairs at most, for cost(). */
double ctn_fused_work(const struct request *request);
clattn_status ctn_fused_enqueue(void *state, const struct call *call, clattn_error *error);
size_t ctn_fused_workspace(const void *state);
void ctn_fused_release(void *state);

/* The two ends of prepare(): a state for the request with the macros that all fused kernels have, or NULL; and the kernel
 * "fused" of the file, compiled with them and the family's own. The second frees spec, and the state where it fails. */
struct fused *ctn_fused_begin(const struct request *request, const char *family, struct specialisation *spec,
                              clattn_error *error);
clattn_status ctn_fused_finish(void **state, struct fused *s, const char *file, struct specialisation *spec,
                               clattn_error *error);

#endif
