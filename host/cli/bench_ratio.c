/* How many times as long a row takes as it took: every run of the one against every run of the other. The median of those
 * ratios is the estimate (Hodges and Lehmann's), and the ranks that Mann and Whitney's test does not reject at 1 % are its
 * confidence interval; both ask nothing of how the times are distributed, and few runs give a wide interval, not a bold one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_run.h"

enum { MOST_VALUES = 100 };
static const double error_rate = 0.01;

/* How many of the sorted ratios from either end the interval leaves out: the largest k with P(U < k) <= error_rate / 2 where
 * both come from one distribution. ways[u] counts the orders of m + n values in which U is u: the coefficients of the Gaussian
 * binomial, product over i of (1 - x^(n + i)) / (1 - x^i). */
static int left_out(int m, int n) {
  const int size = m * n + 1;
  double *ways = calloc((size_t)size, sizeof *ways), all = 0, below = 0;
  int k = 0;
  if (!ways) return 0;
  ways[0] = 1;
  for (int i = 1; i <= m; i++) {
    for (int u = size - 1; u >= n + i; u--)
      ways[u] -= ways[u - n - i];
    for (int u = i; u < size; u++)
      ways[u] += ways[u - i];
  }
  for (int u = 0; u < size; u++)
    all += ways[u];
  while (k < size && below + ways[k] <= error_rate / 2 * all)
    below += ways[k++];
  free(ways);
  return k;
}

/* At most MOST_VALUES of them, evenly. */
static int thin(double *values, int count) {
  if (count <= MOST_VALUES) return count;
  for (int i = 0; i < MOST_VALUES; i++)
    values[i] = values[(int64_t)i * count / MOST_VALUES];
  return MOST_VALUES;
}

struct ratio ctn_ratio_of(const double *before, int before_count, const double *after, int after_count) {
  struct ratio ratio = {NAN, 0, INFINITY};
  const size_t count = (size_t)before_count * (size_t)after_count;
  double *ratios = count > 0 ? malloc(count * sizeof *ratios) : NULL;
  if (!ratios) return ratio;
  for (int i = 0; i < after_count; i++) {
    for (int j = 0; j < before_count; j++)
      ratios[i * before_count + j] = after[i] / before[j];
  }
  ctn_series_sort(ratios, count);
  ratio.estimate = (ratios[(count - 1) / 2] + ratios[count / 2]) / 2;
  const int k = left_out(before_count, after_count);
  if (k > 0) {
    ratio.low = ratios[k - 1];
    ratio.high = ratios[count - (size_t)k];
  }
  free(ratios);
  return ratio;
}

/* What a row's times are multiplied with: what the machine could do at that time, in reading or in multiply-adds, of each round
 * or of all. Both rows must have it. */
enum speed { READ_ROUNDS, PEAK_ROUNDS, PEAK, NONE };

static enum speed speed_of(const struct record *before, const struct record *after) {
  const bool rounds = json_array_size(before->samples) && json_array_size(after->samples);
  if (rounds && strcmp(before->bound, "memory") == 0 && json_array_size(before->reads) && json_array_size(after->reads)) {
    return READ_ROUNDS;
  }
  if (rounds && json_array_size(before->peaks) && json_array_size(after->peaks)) return PEAK_ROUNDS;
  return before->peak_gflops > 0 && after->peak_gflops > 0 ? PEAK : NONE;
}

static double rate_in(const struct record *row, enum speed speed, size_t round) {
  const json_t *rates = speed == READ_ROUNDS ? row->reads : row->peaks;
  if (speed == PEAK) return row->peak_gflops;
  return speed == NONE ? 1 : json_number_value(json_array_get(rates, round));
}

/* The median time of each round, times what the machine could do in that round: the work, in operations that it could have done
 * instead (or bytes that it could have read), which does not change with the machine's speed. Files without single runs have
 * one value. */
static bool normalised(const struct record *row, enum speed speed, struct bench_series *out) {
  const size_t inner = row->runs_per_round > 0 ? (size_t)row->runs_per_round : 1, count = json_array_size(row->samples);
  if (!count) return ctn_series_add(out, row->median_s * rate_in(row, speed, 0));
  for (size_t round = 0; round * inner < count; round++) {
    struct bench_series runs = {0};
    bool done = true;
    for (size_t i = round * inner; i < (round + 1) * inner && i < count && done; i++)
      done = ctn_series_add(&runs, json_number_value(json_array_get(row->samples, i)));
    const double value = ctn_series_median(&runs) * rate_in(row, speed, round);
    if (done && value > 0) done = ctn_series_add(out, value);
    ctn_series_free(&runs);
    if (!done) return false;
  }
  return true;
}

clattn_status ctn_ratio_rows(struct ratio *ratio, const struct record *before, const struct record *after,
                             clattn_error *error) {
  struct bench_series old = {0}, new = {0};
  const enum speed speed = speed_of(before, after);
  const bool done = normalised(before, speed, &old) && normalised(after, speed, &new);
  if (done) *ratio = ctn_ratio_of(old.values, thin(old.values, old.count), new.values, thin(new.values, new.count));
  ctn_series_free(&old);
  ctn_series_free(&new);
  return done ? CLATTN_OK : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory to compare runs");
}
