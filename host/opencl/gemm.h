/* CLBlast's strided-batched single-precision product: gemm.c and gemm_tune.c are the only files that know CLBlast. */
#ifndef CTN_GEMM_H
#define CTN_GEMM_H

#include "launch.h"
#include "text.h"

/* c[b] = alpha * a[b] * op(b[b]) for batch matrices, row-major, float32, strides and leading dimensions in elements:
 * a is m x k, op(b) k x n (b itself n x k where transpose_b), c m x n. */
struct gemm {
  bool transpose_b;
  int64_t m, n, k;
  float alpha;
  struct slice a, b, c; /* offsets in bytes, multiples of 4 */
  int64_t a_row, a_batch;
  int64_t b_row, b_batch;
  int64_t c_row, c_batch;
  int64_t batch;
};

/* NULL, or why CLBlast cannot take these sizes (its arguments pass through int in places; batch strides). */
const char *ctn_gemm_refusal(const struct gemm *gemm);
/* Waits for and replaces chain->last. */
clattn_status ctn_gemm_enqueue(struct runtime *runtime, struct chain *chain, const struct gemm *gemm, bool last,
                               clattn_error *error);

/*
 * Gives CLBlast the parameters that the tuning table has for the runtime's device: for the first product, and once. They are
 * the process's, keyed by the device: the first context's stay, and a context that has others is told in the log. Lines that
 * break CLBlast's rules or the device's limits are refused. Thread safe.
 */
void ctn_gemm_tune(struct runtime *runtime);
/* Appends a line for each of them that is in force: "tuned: clblast_xgemm ... (FILE:LINE)". */
void ctn_gemm_describe_tuning(const struct runtime *runtime, struct text *text);

/* Empties CLBlast's caches if this runtime used it. They are the process's, keyed by the context's address: a later context at
 * the same address would get stale programs, and what is left at the process's exit may outlive the driver. */
void ctn_gemm_forget(struct runtime *runtime);

#endif
