/* What the tests of the reference room share: running a problem through either of its paths. */
#ifndef CTN_REFERENCE_SUPPORT_H
#define CTN_REFERENCE_SUPPORT_H

#include "cpu_kernels.h"
#include "reference.h"
#include "setup.h"

/* Runs the problem, after ctn_arrays_check; pool NULL: the oracle, else the CPU path, on scratch full of NaN. */
void support_run(struct setup *setup, struct pool *pool);

/* Chooses the n-th of the CPU path's variants that this processor can run, for support_run; false where there is none. The best
 * is in use to begin with. */
bool support_use_kernels(int n);
/* Those in use. */
const struct cpu_kernels *support_kernels(void);

/* A group of cmocka's, once for each variant. */
#define SUPPORT_RUN_KERNELS(tests, start, stop)                                         \
  int failed = 0;                                                                       \
  for (int n = 0; support_use_kernels(n); n++) {                                        \
    failed += cmocka_run_group_tests_name(support_kernels()->name, tests, start, stop); \
  }                                                                                     \
  return failed

#endif
