/* What the tests of the reference room share: running a problem through either of its paths. */
#ifndef CTN_REFERENCE_SUPPORT_H
#define CTN_REFERENCE_SUPPORT_H

#include "reference.h"
#include "setup.h"

/* Runs the problem, after ctn_arrays_check; pool NULL: the oracle, else the CPU path, on scratch full of NaN. */
void support_run(struct setup *setup, struct pool *pool);

#endif
