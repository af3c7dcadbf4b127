/*
 * The search for one problem: moves in a fixed order, each on top of the best so far, and kept where it is faster beyond noise.
 * The best's process and the candidate's take turns, so that what slows the machine for a while slows both.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_run.h"
#include "print.h"
#include "tune.h"

/* A winner takes at most that share of the time; a candidate that takes so much longer at first is not timed further. */
static const double winning = 0.97, hopeless = 1.2;

/* Which of the candidate's lines is the family's, made where there is none. NULL where it has too many. */
static struct tuning_entry *line_of(struct tune_candidate *candidate, const char *family) {
  for (int i = 0; i < candidate->count; i++) {
    if (strcmp(candidate->sets[i].family->name, family) == 0) return &candidate->sets[i];
  }
  if (candidate->count == TUNE_SETS) return NULL;
  struct tuning_entry *entry = &candidate->sets[candidate->count++];
  memset(entry, 0, sizeof *entry);
  entry->family = ctn_tuning_family(family);
  return entry;
}

/* Sets "NAME=value ..." in the line. False where all of it was so already. */
static bool assign(struct tuning_entry *entry, const char *values) {
  bool changed = false;
  while (*values) {
    const size_t length = strcspn(values, "=");
    char *end = NULL;
    const long value = strtol(values + length + 1, &end, 10);
    const char *const *name = entry->family->parameters;
    while (strlen(*name) != length || strncmp(*name, values, length) != 0)
      name++;
    int at = 0;
    while (at < entry->count && entry->values[at].name != *name)
      at++;
    if (at == entry->count) entry->count++;
    changed = changed || entry->values[at].name != *name || entry->values[at].value != value;
    entry->values[at] = (struct tuning_value){*name, value};
    values = end + strspn(end, " ");
  }
  return changed;
}

static bool wins(struct ratio ratio) {
  return ratio.estimate <= winning && ratio.high < 1;
}

/* Whether more rounds are worth their time: it may be a winner, and noise alone is in the way. */
static bool undecided(struct ratio ratio) {
  return !wins(ratio) && ratio.estimate <= winning && ratio.low < winning;
}

/* Runs the two in turns: the ratio of the second's time to the first's. False where one of them ended. */
static bool compare(const struct tune *tune, struct tune_process *best, struct tune_process *other, struct ratio *ratio,
                    double *best_seconds, double *other_seconds) {
  struct bench_series a = {0}, b = {0};
  bool done = true, more = true;
  for (int round = 1; more && done; round++) {
    const double x = ctn_tune_time(best, tune), y = ctn_tune_time(other, tune);
    done = x > 0 && y > 0 && ctn_series_add(&a, x) && ctn_series_add(&b, y);
    if (!done) break;
    const bool hopeless_now = round == 2 && b.values[0] > hopeless * a.values[0] && b.values[1] > hopeless * a.values[1];
    *ratio = ctn_ratio_of(a.values, a.count, b.values, b.count);
    more = !hopeless_now && (round < TUNE_ROUNDS || (round < TUNE_MOST_ROUNDS && undecided(*ratio)));
  }
  *best_seconds = ctn_series_median(&a);
  *other_seconds = ctn_series_median(&b);
  ctn_series_free(&a);
  ctn_series_free(&b);
  return done;
}

static bool concerns(const struct tune_process *process, const char *family) {
  for (int i = 0; i < 3; i++) {
    if (strcmp(process->families[i], family) == 0) return true;
  }
  return false;
}

static void show(FILE *progress, const struct tune *tune, const struct tune_problem *problem, const char *what,
                 const char *values) {
  if (!progress) return;
  const double left = tune->deadline - ctn_seconds();
  fprintf(progress, "%-28s %5.0f s left  %s %s\n", problem->title, left > 0 ? left : 0, what, values);
}

/* One move; true where it is better than the best, which is then result->best, and runs in *winner. */
static bool try_move(struct tune_result *result, struct tune *tune, const struct tune_move *move, struct tune_process *best,
                     struct tune_process *winner, FILE *progress) {
  struct tune_candidate candidate = result->best;
  struct ratio ratio = {NAN, 0, INFINITY};
  double before = 0, after = 0;
  bool late = false;
  for (int i = 0; i < 3 && *best->families[i]; i++) {
    if (!line_of(&candidate, best->families[i])) return false;
  }
  struct tuning_entry *entry = line_of(&candidate, move->family);
  if (!entry || !assign(entry, move->values)) return false;
  show(progress, tune, result->problem, "trying", move->values);
  if (!ctn_tune_start(winner, tune, result->problem, &candidate, &late)) {
    result->cut = result->cut || late;
    if (late) return false;
    result->tried++;
    result->wrong += strstr(winner->reason, "wrong") != NULL;
    show(progress, tune, result->problem, "  out:", winner->reason);
    return false;
  }
  const bool timed = compare(tune, best, winner, &ratio, &before, &after);
  if (timed) result->tried++;
  if (timed && wins(ratio)) {
    result->best = candidate;
    show(progress, tune, result->problem, "  better:", move->values);
    return true;
  }
  char text[64];
  snprintf(text, sizeof text, "%.2f times the time of the best so far", ratio.estimate);
  show(progress, tune, result->problem, "  no:", timed ? text : "not timed to the end");
  ctn_tune_stop(winner);
  return false;
}

/* The best against the sizes built in once more: its gain, or its end. */
static void confirm(struct tune_result *result, struct tune *tune, struct tune_process *standard, struct tune_process *best) {
  struct ratio ratio = {NAN, 0, INFINITY};
  if (!compare(tune, standard, best, &ratio, &result->before, &result->after)) {
    /* Cut: each step was measured when it was taken. */
    result->before = standard->seconds;
    result->after = best->seconds;
    return;
  }
  if (!wins(ratio)) result->best.count = 0;
}

void ctn_tune_search(struct tune_result *result, struct tune *tune, const struct tune_problem *problem, FILE *progress) {
  struct tune_process standard, best;
  const double deadline = tune->deadline;
  bool late = false;
  memset(result, 0, sizeof *result);
  result->problem = problem;
  show(progress, tune, problem, "the sizes built in", "");
  if (!ctn_tune_start(&standard, tune, problem, NULL, &late)) {
    snprintf(result->reason, sizeof result->reason, "%s", standard.reason);
    result->cut = late;
    return;
  }
  snprintf(tune->device, sizeof tune->device, "%s", standard.device);
  snprintf(tune->driver, sizeof tune->driver, "%s", standard.driver);
  result->flop = standard.flop;
  result->before = result->after = standard.seconds;
  /* Some of the time is for the last comparison. */
  const double reserve = 3 * TUNE_ROUNDS * (standard.seconds > 0.03 ? standard.seconds : 0.06);
  tune->deadline = deadline - (reserve < 0.2 * (deadline - ctn_seconds()) ? reserve : 0);
  best = standard;
  bool own = false; /* best is a process of its own */
  for (const struct tune_move *move = ctn_tune_moves; move->family && !result->cut; move++) {
    if (!concerns(&standard, move->family)) continue;
    if (ctn_seconds() >= tune->deadline || ctn_bench_stopped()) {
      result->cut = true;
      break;
    }
    struct tune_process winner;
    if (!try_move(result, tune, move, &best, &winner, progress)) continue;
    if (own) ctn_tune_stop(&best); /* the standard's process stays for the last comparison */
    best = winner;
    own = true;
  }
  tune->deadline = deadline;
  if (own) confirm(result, tune, &standard, &best);
  if (own) ctn_tune_stop(&best);
  ctn_tune_stop(&standard);
}
