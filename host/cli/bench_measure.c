/* Measuring: the rows of a group take turns, with peak bursts between, so that what slows the machine for a while slows all
 * alike. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { MOST_INNER = 50, LEAST_ROUNDS = 5 };
static const double inner_seconds = 0.02; /* runs of a round are repeated until the slowest row took about that long */

static volatile sig_atomic_t stop;

/* The second interrupt ends the program. */
static void on_interrupt(int number) {
  stop = 1;
  signal(number, SIG_DFL);
}

void ctn_bench_catch_interrupt(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool ctn_bench_stopped(void) {
  return stop != 0;
}

/* The rows that are measured together. */
struct group {
  struct bench_row *rows;
  struct bench_job *jobs;
  double *spent; /* seconds of each row's runs */
  bool *enough;  /* the row has rounds enough */
  int count;
  int inner;
  bool at[BENCH_PLACES]; /* places that rows of the group are at */
  bool reads;            /* the rate of reading limits a row */
};

void ctn_bench_fail(struct bench_row *row, enum bench_state state, const char *text) {
  row->state = state;
  snprintf(row->reason, sizeof row->reason, "%.*s", (int)sizeof row->reason - 1, text);
}

static void add_burst(struct bench_series *series, struct burst burst) {
  if (burst.seconds > 0) ctn_series_add(series, burst.amount / burst.seconds);
}

static bool timed(const struct bench_row *row) {
  return row->kind != BENCH_METER && row->kind != BENCH_READER;
}

/* A sweep grows until a path takes too long. */
static bool too_long(const struct bench *bench, struct bench_row *row) {
  const double seconds = timed(row) ? ctn_bench_estimate(bench, row) : 0;
  if (bench->longest <= 0 || seconds <= bench->longest) return false;
  row->state = BENCH_REFUSED;
  snprintf(row->reason, sizeof row->reason, "one run would take about %.3g s; --budget allows %.3g s", seconds, bench->longest);
  return true;
}

/* A row that is there only to be held against one that is left out. */
static bool needless(const struct bench *bench, struct bench_row *row) {
  const struct bench_row *base = row->on != BENCH_BUFFERS && row->against >= 0 ? &bench->rows[row->against] : NULL;
  if (!base || base->state != BENCH_REFUSED) return false;
  row->state = BENCH_REFUSED;
  snprintf(row->reason, sizeof row->reason, "there is no %s to hold it against", base->work);
  return true;
}

/* Plan and data, one run that is checked. Seconds of a second run, or 0 where the row is out. */
static double ready(struct bench *bench, struct bench_row *row, struct bench_job *job) {
  clattn_error error = CLATTN_ERROR_INIT;
  double seconds = 0;
  if (needless(bench, row) || too_long(bench, row)) return 0;
  clattn_status status = ctn_bench_prepare(job, bench, row, &error);
  if (status != CLATTN_OK) {
    bool refused = status == CLATTN_UNSUPPORTED || status == CLATTN_TOO_LARGE || status == CLATTN_OUT_OF_MEMORY;
    /* Out of service for a wrong result is no matter of sizes. */
    if (strstr(error.text, "failed its self-test")) refused = false;
    ctn_bench_fail(row, refused ? BENCH_REFUSED : BENCH_FAILED, error.text);
    return 0;
  }
  snprintf(row->family, sizeof row->family, "%s", job->split ? "split" : job->plan ? clattn_plan_family(job->plan) : "");
  if (job->split) ctn_bench_note_shares(bench, row, job);
  status = ctn_bench_run(job, &seconds, &error);
  if (status == CLATTN_OK) status = ctn_bench_check(bench, row, job, &error);
  if (status == CLATTN_OK) status = ctn_bench_run(job, &seconds, &error);
  if (status != CLATTN_OK) {
    ctn_bench_fail(row, BENCH_FAILED, error.text);
    return 0;
  }
  const double speed = row->path_index >= 0 ? row->flop / seconds : 0;
  if (speed > 0 && speed > bench->paths[row->path_index].speed) bench->paths[row->path_index].speed = speed;
  if (bench->longest > 0 && seconds > 2 * bench->longest) {
    row->state = BENCH_REFUSED;
    snprintf(row->reason, sizeof row->reason, "right, but one run took %.3g s; --budget allows %.3g s", seconds,
             bench->longest);
    return 0;
  }
  row->state = BENCH_READY;
  return seconds;
}

/* Bursts at each place: of reading once a round, for they are long. */
static void burst(struct bench *bench, const struct group *group, bool read) {
  for (int place = 0; place < bench->place_count; place++) {
    if (!group->at[place]) continue;
    if (read) {
      add_burst(&bench->places[place].read, ctn_peak_read(bench->places[place].peak));
    } else {
      add_burst(&bench->places[place].flop, ctn_peak_multiply(bench->places[place].peak));
    }
  }
}

static void turn(struct bench *bench, struct group *group) {
  clattn_error error = CLATTN_ERROR_INIT;
  burst(bench, group, false);
  for (int i = 0; i < group->count && !stop; i++) {
    struct bench_row *row = &group->rows[i];
    double seconds = 0;
    if (row->state != BENCH_READY || group->enough[i] || !timed(row)) continue;
    if (ctn_bench_run(&group->jobs[i], &seconds, &error)) {
      ctn_bench_fail(row, BENCH_FAILED, error.text);
    } else if (!ctn_series_add(&row->samples, seconds)) {
      ctn_bench_fail(row, BENCH_FAILED, "out of memory");
    }
    group->spent[i] += seconds;
  }
}

/* The larger median of the bursts since the given numbers at the row's place and at the host, if that is the same processor. */
static double rate(const struct bench *bench, int place, const int *first, bool read) {
  double best = 0;
  for (int p = 0; p <= place; p += place ? place : 1) {
    if (p != place && !ctn_bench_shares_host(bench, place)) continue;
    const struct bench_series since = ctn_series_since(read ? &bench->places[p].read : &bench->places[p].flop, first[p]);
    const double median = since.count ? ctn_series_median(&since) : 0;
    if (median > best) best = median;
  }
  return best;
}

/* Of all places of a row together; those on the host's processor have one rate. */
static double row_rate(const struct bench *bench, const struct bench_row *row, const int *first, bool read) {
  double shared = 0, sum = 0;
  if (!row->members) return rate(bench, row->place, first, read);
  for (int place = 0; place < bench->place_count; place++) {
    if (!(row->members >> place & 1)) continue;
    const double here = rate(bench, place, first, read);
    if (place > 0 && !ctn_bench_shares_host(bench, place)) {
      sum += here;
    } else if (here > shared) {
      shared = here;
    }
  }
  return shared + sum;
}

static void one_round(struct bench *bench, struct group *group, int round) {
  int flops[BENCH_PLACES] = {0}, reads[BENCH_PLACES] = {0};
  for (int place = 0; place < bench->place_count; place++) {
    flops[place] = bench->places[place].flop.count;
    reads[place] = bench->places[place].read.count;
  }
  if (group->reads) burst(bench, group, true);
  for (int n = 0; n < group->inner && !stop; n++)
    turn(bench, group);
  burst(bench, group, false);
  for (int i = 0; i < group->count; i++) {
    struct bench_row *row = &group->rows[i];
    if (row->state != BENCH_READY || group->enough[i]) continue;
    const double flop = row_rate(bench, row, flops, false), read = row_rate(bench, row, reads, true);
    if (flop > 0) ctn_series_add(&row->peaks, flop);
    if (read > 0) ctn_series_add(&row->reads, read);
    group->enough[i] = !bench->all_rounds && round + 1 >= LEAST_ROUNDS && group->spent[i] > bench->patience;
  }
}

/* Fewer operations a byte than the place can do in the time that a byte takes. */
static bool read_bound(const struct bench *bench, const struct bench_row *row) {
  const double flop = ctn_series_median(&bench->places[row->place].flop),
               read = ctn_series_median(&bench->places[row->place].read);
  return row->kind == BENCH_READER || (row->bytes > 0 && row->flop > 0 && row->flop / flop < row->bytes / read);
}

/* A device that compiles for minutes leaves the rest of a work out. */
static bool place_is_late(const struct bench *bench, struct bench_row *row, const double *spent) {
  const double allowed = 10 * bench->longest;
  if (bench->longest <= 0 || row->place == 0 || spent[row->place] <= allowed) return false;
  row->state = BENCH_REFUSED;
  snprintf(row->reason, sizeof row->reason, "making this work ready took more than %.3g s on this device (10 times --budget)",
           allowed);
  return true;
}

static void prepare(struct bench *bench, struct group *group, struct bench_progress *progress) {
  double slowest = 0, spent[BENCH_PLACES] = {0};
  for (int i = 0; i < group->count && !stop; i++) {
    struct bench_row *row = &group->rows[i];
    ctn_progress_show(progress, row, 0.3 * i / group->count);
    if (row->state != BENCH_WAITING || place_is_late(bench, row, spent)) continue;
    const double start = ctn_seconds();
    const double seconds = timed(row) ? ready(bench, row, &group->jobs[i]) : 0;
    spent[row->place] += ctn_seconds() - start;
    if (!timed(row)) row->state = BENCH_READY;
    if (seconds > slowest) slowest = seconds;
    if (row->state != BENCH_READY) continue;
    for (int place = 0; place < bench->place_count; place++) {
      if (place != row->place && !(row->members >> place & 1)) continue;
      group->at[place] = true;
      if (ctn_bench_shares_host(bench, place)) group->at[0] = true;
    }
    group->reads = group->reads || read_bound(bench, row);
  }
  group->inner = slowest <= 0 || slowest > inner_seconds ? 1
                 : slowest * MOST_INNER < inner_seconds  ? MOST_INNER
                                                         : (int)(inner_seconds / slowest);
  for (int place = 0; place < bench->place_count; place++)
    ctn_peak_length(bench->places[place].peak, slowest <= 0      ? 0.025
                                               : slowest < 0.001 ? 0.001
                                               : slowest > 0.05  ? 0.05
                                                                 : slowest);
}

static bool all_enough(const struct group *group) {
  for (int i = 0; i < group->count; i++) {
    if (group->rows[i].state == BENCH_READY && !group->enough[i]) return false;
  }
  return true;
}

static void measure_group(struct bench *bench, struct group *group, struct bench_progress *progress) {
  const size_t count = (size_t)group->count;
  group->jobs = calloc(count, sizeof *group->jobs);
  group->spent = calloc(count, sizeof *group->spent);
  group->enough = calloc(count, sizeof *group->enough);
  const bool room = group->jobs && group->spent && group->enough;
  for (int i = 0; i < group->count && !room; i++)
    ctn_bench_fail(&group->rows[i], BENCH_FAILED, "out of memory");
  if (room) prepare(bench, group, progress);
  for (int i = 0; i < group->count; i++)
    group->rows[i].inner = group->inner;
  for (int round = 0; room && round < bench->repeats && !stop && !all_enough(group); round++) {
    ctn_progress_show(progress, group->rows, 0.3 + 0.7 * round / bench->repeats);
    one_round(bench, group, round);
  }
  for (int i = 0; i < group->count && group->jobs; i++)
    ctn_bench_release(&group->jobs[i]);
  free(group->jobs);
  free(group->spent);
  free(group->enough);
}

/* The rows of `peak` and `memory` are the bursts of the whole run: the time that 1e9 of them take. */
static void settle_meters(struct bench *bench) {
  for (int i = 0; i < bench->row_count; i++) {
    struct bench_row *row = &bench->rows[i];
    if (timed(row)) continue;
    const bool read = row->kind == BENCH_READER;
    const struct bench_series *rates = read ? &bench->places[row->place].read : &bench->places[row->place].flop;
    row->inner = 1;
    for (int n = 0; n < rates->count; n++)
      ctn_series_add(&row->samples, 1e9 / rates->values[n]);
    row->flop = read ? 0 : 1e9;
    row->bytes = read ? 1e9 : 0;
    if (!rates->count && row->state == BENCH_READY) ctn_bench_fail(row, BENCH_FAILED, "could not be measured");
  }
}

/* So that every place has its figures, whatever is measured and however soon it is interrupted. */
static void first_bursts(struct bench *bench) {
  for (int place = 0; place < bench->place_count; place++) {
    struct bench_place *at = &bench->places[place];
    ctn_peak_read(at->peak); /* the first makes the data */
    for (int i = 0; i < 3; i++) {
      add_burst(&at->flop, ctn_peak_multiply(at->peak));
      add_burst(&at->read, ctn_peak_read(at->peak));
    }
  }
}

void ctn_bench_measure(struct bench *bench, FILE *stream) {
  struct bench_progress progress;
  first_bursts(bench);
  ctn_progress_start(&progress, bench, stream);
  for (int first = 0; first < bench->row_count && !stop;) {
    int count = 1;
    while (first + count < bench->row_count && bench->rows[first + count].group == bench->rows[first].group)
      count++;
    struct group group = {.rows = &bench->rows[first], .count = count, .inner = 1};
    ctn_progress_group(&progress, bench, first, count);
    measure_group(bench, &group, &progress);
    first += count;
  }
  ctn_progress_end(&progress);
  bench->interrupted = stop != 0;
  settle_meters(bench);
}
