/* Merging partial results in float32 on the pool's threads. */
#include <math.h>

#include "checked.h"
#include "half.h"
#include "reference.h"

enum { CHUNK = 256 /* columns that pass through stack arrays */, ROWS = 32 /* of a piece */ };

struct merge_job {
  const struct merge *m;
  const clattn_arrays *arrays;
};

/* Columns first to first + count of a row: sum_n exp(lse_n - largest) * out_n, divided by sum. */
static void merge_columns(const struct merge_job *job, int64_t row, int64_t first, int64_t count, float largest, float sum) {
  const struct merge *m = job->m;
  float total[CHUNK] = {0}, part[CHUNK];
  for (int64_t n = 0; n < m->parts; n++) {
    const float lse = job->arrays->part_lse[n * m->rows + row];
    if (lse == -INFINITY) continue;
    const float weight = expf(lse - largest) / sum;
    ctn_load_row(m->part_dtype, job->arrays->part_out, (n * m->rows + row) * m->dim + first, count, part);
    for (int64_t d = 0; d < count; d++) {
      total[d] += weight * part[d];
    }
  }
  ctn_store_row(m->dtype, job->arrays->out, row * m->dim + first, count, total);
}

static void merge_row(const struct merge_job *job, int64_t row) {
  const struct merge *m = job->m;
  float largest = -INFINITY, sum = 0;
  bool attends = false;
  for (int64_t n = 0; n < m->parts; n++) {
    const float lse = job->arrays->part_lse[n * m->rows + row];
    if (lse > largest) largest = lse; /* a NaN is passed over here and shows in the sum */
    if (lse != -INFINITY) attends = true;
  }
  for (int64_t n = 0; n < m->parts; n++) {
    const float lse = job->arrays->part_lse[n * m->rows + row];
    if (lse != -INFINITY) sum += expf(lse - largest);
  }
  if (job->arrays->lse != NULL) job->arrays->lse[row] = attends ? largest + logf(sum) : -INFINITY;
  for (int64_t first = 0; first < m->dim && job->arrays->out != NULL; first += CHUNK) {
    merge_columns(job, row, first, ctn_min(CHUNK, m->dim - first), largest, sum);
  }
}

static void merge_piece(void *argument, int64_t piece, int worker) {
  const struct merge_job *job = argument;
  const int64_t end = ctn_min((piece + 1) * ROWS, job->m->rows);
  (void)worker;
  for (int64_t row = piece * ROWS; row < end; row++) {
    merge_row(job, row);
  }
}

void ctn_cpu_merge(const struct merge *m, const clattn_arrays *arrays, struct pool *pool) {
  struct merge_job job = {m, arrays};
  ctn_pool_run(pool, ctn_ceil_div(m->rows, ROWS), merge_piece, &job);
}
