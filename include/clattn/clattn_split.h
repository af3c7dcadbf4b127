/*
 * One attention problem over several devices: its (batch, key/value head) pairs are shared out by how fast each device is.
 *
 *     clattn_context *contexts[2];  // of two devices, or of one device in two parts: clattn_context_partition
 *     clattn_split_create(&split, contexts, 2, &problem, NULL, &error);
 *     clattn_split_execute(split, &arrays, &error);
 *     clattn_split_destroy(split);
 *
 * Every pair is computed on one device, so nothing is merged, and the results are those of one device. The contexts may be of
 * different platforms, and one of them may be the host's (CLATTN_DEVICE_HOST). The rules of <clattn/clattn.h> hold here too; a
 * split belongs to one thread at a time and keeps its contexts alive.
 */
#ifndef CLATTN_CLATTN_SPLIT_H
#define CLATTN_CLATTN_SPLIT_H

#include <clattn/clattn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clattn_split clattn_split;

typedef struct clattn_split_options {
  size_t struct_size;
  const clattn_plan_options *plan; /* for the plans of every device; NULL: the defaults */
  const double *speeds;            /* one a context, in any one unit, each positive; NULL: they are measured */
} clattn_split_options;

#define CLATTN_SPLIT_OPTIONS_INIT \
  { sizeof(clattn_split_options), NULL, NULL }

/*
 * Shares the problem's pairs out and plans each device's part of it. options may be NULL. Without speeds given, all devices run
 * a part of the problem (of at most a few GFLOP) on random data at once, which takes some executions' time. A device may get
 * nothing where others are much faster or pairs are few. A problem with dropout goes to the fastest device whole, because its
 * random numbers are counted over all pairs; packed sequences are split by their heads alone. Errors: those of
 * clattn_plan_create, and INVALID_ARGUMENT for a NULL among the contexts, none of them, or a speed that is not positive.
 */
CLATTN_API clattn_status clattn_split_create(clattn_split **split, clattn_context *const *contexts, size_t count,
                                             const clattn_problem *problem, const clattn_split_options *options,
                                             clattn_error *error);

/* Runs every part at once, on host arrays, and waits for the results, as clattn_plan_execute does for one device. */
CLATTN_API clattn_status clattn_split_execute(clattn_split *split, const clattn_arrays *arrays, clattn_error *error);

/* The share of the pairs that context number `index` computes, 0 to 1; 0 where index is not below the count. */
CLATTN_API double clattn_split_share(const clattn_split *split, size_t index);

/* A line for each device: its pairs, measured speed and family. Owned by the split. */
CLATTN_API const char *clattn_split_describe(const clattn_split *split);

CLATTN_API void clattn_split_destroy(clattn_split *split);

/*
 * Opens count contexts on equal parts of one device's compute units (clCreateSubDevices): sockets of a CPU, or two jobs that
 * are not to disturb each other. options as for clattn_context_create, whose device fields are not used; may be NULL. contexts
 * has room for count; on error none is left open. Errors: those of clattn_context_create; INVALID_ARGUMENT where the context
 * runs on the host or the device has fewer units than count; UNSUPPORTED where it cannot be divided.
 */
CLATTN_API clattn_status clattn_context_partition(clattn_context **contexts, size_t count, const clattn_context *whole,
                                                  const clattn_context_options *options, clattn_error *error);

#ifdef __cplusplus
}
#endif

#endif
