/* What became faster or slower between two runs, beyond the machine's speed, noise and a threshold. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_run.h"

enum verdict { SAME, FASTER, SLOWER, UNSURE, BROKEN, MENDED, VERDICTS };
static const char *const verdicts[VERDICTS] = {[SAME] = "same",     [FASTER] = "faster",    [SLOWER] = "SLOWER",
                                               [UNSURE] = "unsure", [BROKEN] = "FAILS NOW", [MENDED] = "works now"};

/* Both are the same measurement. Bursts are none. */
static bool matches(const struct record *a, const struct record *b) {
  return a->q_len > 0 && strcmp(a->work, b->work) == 0 && strcmp(a->path, b->path) == 0 && strcmp(a->device, b->device) == 0 &&
         strcmp(a->dtype, b->dtype) == 0 && a->batch == b->batch && a->q_heads == b->q_heads && a->kv_heads == b->kv_heads &&
         a->q_len == b->q_len && a->kv_len == b->kv_len && a->head_dim == b->head_dim && a->head_dim_v == b->head_dim_v &&
         a->causal == b->causal && a->window == b->window && strcmp(a->product, b->product) == 0;
}

static const struct record *find(const struct run *run, const struct record *row) {
  for (int i = 0; i < run->left_out; i++) {
    if (matches(row, &run->rows[i])) return &run->rows[i];
  }
  return NULL;
}

/* Sure where 99 of 100 comparisons of the same speeds would not come out so. A change that is sure but small does not count,
 * nor does a large one that may be chance. */
static enum verdict judge(const struct ratio *ratio, double threshold) {
  const bool slow = ratio->estimate > 1 + threshold, fast = ratio->estimate < 1 / (1 + threshold);
  if (!slow && !fast) return SAME;
  if (slow && ratio->low > 1) return SLOWER;
  if (fast && ratio->high < 1) return FASTER;
  return UNSURE;
}

static void print_row(const struct record *before, const struct record *after, const struct ratio *ratio,
                      enum verdict verdict) {
  char place[CELL], heads[CELL], sizes[CELL], dim[CELL], old[CELL], new[CELL], interval[CELL] = "", estimate[CELL] = "";
  if (isfinite(ratio->estimate)) snprintf(estimate, sizeof estimate, "%.3f", ratio->estimate);
  if (isfinite(ratio->high)) snprintf(interval, sizeof interval, "%.3f to %.3f", ratio->low, ratio->high);
  printf("%-15s %-4s %-6s %-4s %7s %11s %4s  %8s  %8s  %6s  %-15s  %s\n", after->work, ctn_cell_place(after, place),
         after->path, after->dtype, ctn_cell_heads(after, heads), ctn_cell_sizes(after, sizes), ctn_cell_dim(after, dim),
         ctn_cell_time(before->median_s, old), ctn_cell_time(after->median_s, new), estimate,
         *interval || !*estimate ? interval : "too few runs", verdicts[verdict]);
}

struct sums {
  int of[VERDICTS], compared;
  double logs; /* of the ratios */
};

static clattn_status compare_row(const struct record *before, const struct record *after, double threshold, struct sums *sums,
                                 clattn_error *error) {
  const bool worked = ctn_record_finished(before), works = ctn_record_finished(after);
  struct ratio ratio = {NAN, 0, INFINITY};
  enum verdict verdict = worked ? BROKEN : works ? MENDED : SAME;
  if (worked && works) {
    const clattn_status status = ctn_ratio_rows(&ratio, before, after, error);
    if (status != CLATTN_OK) return status;
    verdict = judge(&ratio, threshold);
    sums->compared++;
    sums->logs += log(ratio.estimate);
  }
  sums->of[verdict]++;
  print_row(before, after, &ratio, verdict);
  return CLATTN_OK;
}

static void print_missing(const struct run *of, const struct run *in, const char *text) {
  int missing = 0;
  for (int i = 0; i < of->left_out; i++)
    missing += of->rows[i].q_len > 0 && !find(in, &of->rows[i]);
  if (missing) printf("%d row%s %s\n", missing, missing == 1 ? " is" : "s are", text);
}

clattn_status ctn_run_compare(const struct run *before, const struct run *after, double threshold, int *slower,
                              clattn_error *error) {
  struct sums sums = {{0}, 0, 0};
  printf("\ncompared with the run of %s (clattn %s); a ratio above 1 is slower\n",
         *before->started ? before->started : "unknown time", *before->version ? before->version : "?");
  printf("%-15s %-4s %-6s %-4s %7s %11s %4s  %8s  %8s  %6s  %-15s\n", "work", "on", "path", "type", "heads", "sizes", "D",
         "before", "now", "ratio", "99 % sure");
  for (int i = 0; i < after->left_out; i++) {
    const struct record *old = after->rows[i].q_len > 0 ? find(before, &after->rows[i]) : NULL;
    const clattn_status status = old ? compare_row(old, &after->rows[i], threshold, &sums, error) : CLATTN_OK;
    if (status != CLATTN_OK) return status;
  }
  *slower = sums.of[SLOWER] + sums.of[BROKEN];
  if (sums.compared + sums.of[BROKEN] + sums.of[MENDED] + sums.of[SAME] == 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "no row is in both runs, so there is nothing to compare");
  }
  printf("\n%d slower, %d faster, %d the same, %d unsure (more --repeats tell)", sums.of[SLOWER], sums.of[FASTER],
         sums.of[SAME], sums.of[UNSURE]);
  if (sums.of[BROKEN] + sums.of[MENDED]) printf(", %d fail now, %d work now", sums.of[BROKEN], sums.of[MENDED]);
  if (sums.compared) printf("; %.3f times as long in all (geometric mean)", exp(sums.logs / sums.compared));
  printf("\n");
  print_missing(before, after, "of the earlier run not in this one");
  print_missing(after, before, "of this run not in the earlier one");
  printf(
      "ratio: the time now over the time before, both by the time that bursts of multiply-adds (of reading, where that\n"
      "is the limit) took beside them, so that a slower machine is no slower program. SLOWER, faster: by more than %.3g %%,\n"
      "and what 99 of 100 such comparisons would give lies all on one side of 1.\n",
      100 * threshold);
  return CLATTN_OK;
}
