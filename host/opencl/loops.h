/*
 * Drivers that end a kernel's loops early, without an error: Mesa's llvmpipe after 65,535 turns of all loops of a work-item
 * together. Kernels with more turns would give wrong results there. So each family counts, and asks here.
 */
#ifndef CTN_LOOPS_H
#define CTN_LOOPS_H

#include "runtime.h"

/* So many turns every device makes: fewer need no question. */
enum { LOOPS_UNASKED = 32768 };

/*
 * How many turns of its loops a work-item may make on this device, over all loops together: INT64_MAX where none is ended
 * early. Measured with a small kernel when more than LOOPS_UNASKED turns are asked for first; until then that is the answer,
 * and for good where it cannot be measured. That a device has no limit is remembered on disk. Thread safe.
 */
int64_t ctn_loop_limit(struct runtime *runtime, int64_t turns);

#endif
