/* A bar with the time left, on a terminal's standard error. */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "half.h"

enum { BAR = 24, LINE = 200 };
static const double between = 0.2; /* seconds between two pictures of the bar */

/* Seconds that a row takes in all: made ready, checked, run in every round. */
static double estimate(const struct bench *bench, const struct bench_row *row) {
  const double overhead = 0.15, once = ctn_bench_estimate(bench, row);
  double rounds = bench->repeats;
  if (!bench->all_rounds && once * rounds > bench->patience) rounds = fmax(bench->patience / once, 5);
  return overhead + once * (rounds + 2);
}

static double estimate_rows(const struct bench *bench, int first, int count) {
  double seconds = 0;
  for (int i = first; i < first + count; i++)
    seconds += estimate(bench, &bench->rows[i]);
  return seconds;
}

void ctn_progress_start(struct bench_progress *progress, const struct bench *bench, FILE *stream) {
  memset(progress, 0, sizeof *progress);
  progress->stream = stream;
  progress->start = ctn_seconds();
  progress->total = estimate_rows(bench, 0, bench->row_count);
}

void ctn_progress_group(struct bench_progress *progress, const struct bench *bench, int first, int count) {
  progress->done += progress->piece;
  progress->piece = estimate_rows(bench, first, count);
  progress->total = progress->done + estimate_rows(bench, first, bench->row_count - first);
}

/* "1:05", of so many seconds. */
static void write_time(char *text, size_t room, double seconds) {
  const long whole = (long)ceil(seconds);
  snprintf(text, room, "%ld:%02ld", whole / 60, whole % 60);
}

void ctn_progress_show(struct bench_progress *progress, const struct bench_row *row, double share) {
  const double now = ctn_seconds(), spent = now - progress->start;
  if (!progress->stream || now - progress->shown < between) return;
  progress->shown = now;
  const double done = progress->total > 0 ? fmin((progress->done + share * progress->piece) / progress->total, 1) : 0;
  const int filled = (int)(done * BAR);
  char bar[BAR + 1], left[24] = "", line[LINE];
  for (int i = 0; i < BAR; i++)
    bar[i] = i < filled ? '#' : '.';
  bar[BAR] = '\0';
  if (done > 0.02 && spent > 1) write_time(left, sizeof left, spent / done * (1 - done));
  int width = snprintf(line, sizeof line, "[%s] %3.0f %%  %s%s%s%s", bar, 100 * done, left, *left ? " left  " : "", row->work,
                       row->kind == BENCH_ATTENTION || row->kind == BENCH_PROJECTION ? " " : "");
  if (row->kind == BENCH_ATTENTION || row->kind == BENCH_PROJECTION) {
    width += snprintf(line + width, sizeof line - (size_t)width, "%s, %lld rows", ctn_dtype_name(row->shape.dtype),
                      (long long)(row->shape.q_len > 1 ? row->shape.q_len : row->shape.kv_len));
  }
  fprintf(progress->stream, "\r%-*s", progress->width, line);
  fflush(progress->stream);
  progress->width = width;
}

void ctn_progress_end(struct bench_progress *progress) {
  if (progress->stream && progress->width) fprintf(progress->stream, "\r%*s\r", progress->width, "");
}
