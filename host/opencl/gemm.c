/* CLBlast's strided-batched product. */
#include "gemm.h"

#include "checked.h"

#ifdef CLATTN_WITH_CLBLAST
#include <limits.h>

#include <clblast_c.h>

/* CLBlast pads operands to multiples of its tiles in temporary buffers; no tile of its tuning tables, or of ours, is larger. */
#define TILE 128
/* Terms that are summed in one call. */
#define PIECE 512

/* Whether the elements of an operand, from the start of its buffer to its last row's end, can be counted in an int: CLBlast's
 * kernels compute offset + stride * batch + row in one. */
static bool extent_fits(struct slice slice, int64_t rows, int64_t row, int64_t columns, int64_t stride, int64_t batch) {
  int64_t extent = 0, part = 0;
  if (slice.offset / sizeof(float) > INT_MAX || row > INT_MAX || stride > INT_MAX) return false;
  if (!ctn_mul(rows - 1, row, &part) || !ctn_add(part, columns, &extent)) return false;
  if (!ctn_mul(batch - 1, stride, &part) || !ctn_add(extent, part, &extent)) return false;
  return ctn_add(extent, (int64_t)(slice.offset / sizeof(float)), &extent) && extent <= INT_MAX;
}

/* The same for the padded copy. */
static bool padded_fits(int64_t rows, int64_t columns, int64_t batch) {
  const int64_t factors[3] = {ctn_ceil_div(rows, TILE) * TILE, ctn_ceil_div(columns, TILE) * TILE, batch};
  int64_t elements = 0;
  return ctn_product(factors, 3, &elements) && elements <= INT_MAX;
}

const char *ctn_gemm_refusal(const struct gemm *gemm) {
  const int64_t b_rows = gemm->transpose_b ? gemm->n : gemm->k, b_columns = gemm->transpose_b ? gemm->k : gemm->n;
  if (gemm->m < 1 || gemm->n < 1 || gemm->k < 1 || gemm->batch < 1) return "CLBlast takes no empty matrices";
  if (gemm->m > INT_MAX || gemm->n > INT_MAX || gemm->k > INT_MAX || gemm->batch > INT_MAX) {
    return "a matrix has more rows, columns or batches than CLBlast's int counts";
  }
  if (gemm->a_row < gemm->k || gemm->b_row < b_columns || gemm->c_row < gemm->n) {
    return "CLBlast takes no rows that overlap or repeat";
  }
  if (gemm->a_batch < 0 || gemm->b_batch < 0 || gemm->c_batch < 0) return "CLBlast takes no negative strides";
  if (gemm->batch > 1 && gemm->c_batch == 0) return "CLBlast takes no batch stride of 0 for the result";
  if (gemm->a.offset % sizeof(float) != 0 || gemm->b.offset % sizeof(float) != 0 || gemm->c.offset % sizeof(float) != 0) {
    return "CLBlast takes no offset inside an element";
  }
  if (!extent_fits(gemm->a, gemm->m, gemm->a_row, gemm->k, gemm->a_batch, gemm->batch) ||
      !extent_fits(gemm->b, b_rows, gemm->b_row, b_columns, gemm->b_batch, gemm->batch) ||
      !extent_fits(gemm->c, gemm->m, gemm->c_row, gemm->n, gemm->c_batch, gemm->batch)) {
    return "an offset, stride or extent passes the int of CLBlast's kernels";
  }
  if (!padded_fits(gemm->m, gemm->k, gemm->batch) || !padded_fits(gemm->k, gemm->n, gemm->batch) ||
      !padded_fits(gemm->m, gemm->n, gemm->batch)) {
    return "a padded copy of a matrix passes the int of CLBlast's kernels";
  }
  return NULL;
}

/* CLBlast takes no wait list: what it enqueues is held back by a barrier. In order, only the caller's events need one. */
static cl_int wait_first(struct chain *chain) {
  bool chained = !chain->in_order && chain->last != NULL;
  cl_uint count = chained ? 1 : chain->wait_count;
  if (count == 0) return CL_SUCCESS;
  return clEnqueueBarrierWithWaitList(chain->queue, count, chained ? &chain->last : chain->wait_list, NULL);
}

/* One piece of the terms: c = alpha * a op(b) + beta * c. */
static clattn_status enqueue_piece(struct chain *chain, const struct gemm *gemm, float beta, bool last, clattn_error *error) {
  cl_event done = NULL;
  bool final = last && chain->final != NULL;
  cl_event *wanted = final ? chain->final : !chain->in_order && !last ? &done : NULL;
  cl_int code = wait_first(chain);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clEnqueueBarrierWithWaitList", "before a matrix product");
  CLBlastStatusCode product = CLBlastSgemmStridedBatched(
      CLBlastLayoutRowMajor, CLBlastTransposeNo, gemm->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo, (size_t)gemm->m,
      (size_t)gemm->n, (size_t)gemm->k, gemm->alpha, gemm->a.memory, gemm->a.offset / sizeof(float), (size_t)gemm->a_row,
      (size_t)gemm->a_batch, gemm->b.memory, gemm->b.offset / sizeof(float), (size_t)gemm->b_row, (size_t)gemm->b_batch, beta,
      gemm->c.memory, gemm->c.offset / sizeof(float), (size_t)gemm->c_row,
      /* one batch: any stride but 0 */ (size_t)(gemm->batch > 1 ? gemm->c_batch : gemm->n), (size_t)gemm->batch, &chain->queue,
      wanted);
  if (product != CLBlastSuccess) {
    return ctn_fail_cl(error, (cl_int)product, "CLBlastSgemmStridedBatched",
                       "%lld x %lld x %lld, %lld times (numbers below -1000 are CLBlast's own)", (long long)gemm->m,
                       (long long)gemm->n, (long long)gemm->k, (long long)gemm->batch);
  }
  if (chain->last != NULL) clReleaseEvent(chain->last);
  chain->last = done;
  chain->wait_count = 0;
  chain->wait_list = NULL;
  return CLATTN_OK;
}

/*
 * The columns of one call. Where b is not transposed, its rows touch and its sizes are multiples of its tiles, CLBlast 1.5.3
 * reads it in place from the start of the buffer, whatever its offset and stride. Rows longer than the columns asked for keep
 * it from that: the last column comes by itself.
 */
static int64_t columns_at_once(const struct gemm *gemm) {
  return !gemm->transpose_b && gemm->b_row == gemm->n && gemm->n > 1 ? gemm->n - 1 : gemm->n;
}

clattn_status ctn_gemm_enqueue(struct runtime *runtime, struct chain *chain, const struct gemm *gemm, bool last,
                               clattn_error *error) {
  const char *refusal = ctn_gemm_refusal(gemm);
  if (refusal != NULL) return ctn_fail(error, CLATTN_UNSUPPORTED, "matrix product: %s", refusal);
  ctn_gemm_tune(runtime);
  atomic_store(&runtime->used_clblast, true);
  clattn_status status = CLATTN_OK;
  const int64_t columns = columns_at_once(gemm);
  for (int64_t column = 0; column < gemm->n && status == CLATTN_OK; column += columns) {
    /* CLBlast adds up all terms one after another in float32; pieces keep the error of long sums small. */
    for (int64_t first = 0; first < gemm->k && status == CLATTN_OK; first += PIECE) {
      struct gemm piece = *gemm;
      piece.k = ctn_min(PIECE, gemm->k - first);
      piece.n = ctn_min(columns, gemm->n - column);
      piece.a.offset += (size_t)first * sizeof(float);
      piece.b.offset +=
          (size_t)(gemm->transpose_b ? first + column * gemm->b_row : first * gemm->b_row + column) * sizeof(float);
      piece.c.offset += (size_t)column * sizeof(float);
      const bool final = last && first + PIECE >= gemm->k && column + columns >= gemm->n;
      status = enqueue_piece(chain, &piece, first > 0 ? 1.0f : 0.0f, final, error);
    }
  }
  return status;
}

void ctn_gemm_forget(struct runtime *runtime) {
  if (atomic_load(&runtime->used_clblast)) CLBlastClearCache();
}

#else

void ctn_gemm_forget(struct runtime *runtime) {
  (void)runtime;
}

const char *ctn_gemm_refusal(const struct gemm *gemm) {
  (void)gemm;
  return "this library was built without CLBlast (CLATTN_CLBLAST)";
}

clattn_status ctn_gemm_enqueue(struct runtime *runtime, struct chain *chain, const struct gemm *gemm, bool last,
                               clattn_error *error) {
  (void)runtime;
  (void)chain;
  (void)last;
  return ctn_fail(error, CLATTN_UNSUPPORTED, "matrix product: %s", ctn_gemm_refusal(gemm));
}

#endif
