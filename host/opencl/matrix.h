/*
 * Matrix engines: instructions that multiply small f16 or bf16 matrices, which OpenCL knows nothing of. The kernels have them
 * for one engine (kernels/common/mma.clh); whether a device's is to be trusted with them is tried.
 */
#ifndef CTN_MATRIX_H
#define CTN_MATRIX_H

#include "runtime.h"
#include "text.h"

/*
 * Whether the kernels' matrix instructions are not to be used on this device, with the reason; dtype is F16 or BF16. Devices
 * that do not speak the kernels' language are told by their capabilities. On others a small kernel (matrix_probe.cl) is
 * compiled, run and compared when first asked; the verdict is kept, and on disk where it is good. Thread safe.
 */
bool ctn_matrix_refused(struct runtime *runtime, clattn_dtype dtype, struct text *reason);

/* The verdicts in a runtime; ctn_matrix_verdicts_destroy accepts NULL. */
clattn_status ctn_matrix_verdicts_create(struct matrix_verdicts **verdicts, clattn_error *error);
void ctn_matrix_verdicts_destroy(struct matrix_verdicts *verdicts);

#endif
