/* How fast each path is, about: a small problem is timed before the rows are made, and every row that was measured tells more.
 */
#include <math.h>

#include "bench.h"

enum { MOST_RUNS = 8 };
static const double enough = 0.5; /* seconds of runs */

static void probe(struct bench *bench, int path) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct bench_job job;
  struct bench_row row = {.kind = BENCH_ATTENTION,
                          .path_index = path,
                          .place = bench->paths[path].place,
                          .product = bench->plan.product,
                          .shape = {CLATTN_F32, 1, 8, 8, 256, 256, 64, 64, false, 0}};
  double seconds = 0, best = 0, spent = 0;
  ctn_bench_count(&row);
  clattn_status status = ctn_bench_prepare(&job, bench, &row, &error);
  /* The first run is not like the others, and any may be interrupted. */
  for (int i = 0; i < MOST_RUNS && status == CLATTN_OK && (i < 2 || spent < enough) && !ctn_bench_stopped(); i++) {
    status = ctn_bench_run(&job, &seconds, &error);
    spent += seconds;
    if (i > 0 && (best <= 0 || seconds < best)) best = seconds;
  }
  if (status == CLATTN_OK && best > 0) bench->paths[path].speed = row.flop / best;
  ctn_bench_release(&job);
}

void ctn_bench_probe(struct bench *bench) {
  for (int p = 0; p < bench->path_count && !ctn_bench_stopped(); p++)
    probe(bench, p);
}

double ctn_bench_estimate(const struct bench *bench, const struct bench_row *row) {
  const double speed = row->path_index < 0 ? 0 : bench->paths[row->path_index].speed;
  return speed > 0 ? row->flop / speed : 0;
}
