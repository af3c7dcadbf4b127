/* Measuring: the rows of a group take turns, with peak bursts between, so that what slows the machine for a while slows all
 * alike. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { MOST_INNER = 50 };
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

static bool add_sample(struct bench_row *row, double seconds) {
  if (row->count == row->room) {
    const int room = row->room ? 2 * row->room : 16;
    double *samples = realloc(row->samples, (size_t)room * sizeof *samples);
    if (!samples) return false;
    row->samples = samples;
    row->room = room;
  }
  row->samples[row->count++] = seconds;
  return true;
}

/* The bursts of a run, as rows that are not printed unless asked for. */
struct meters {
  struct bench_row native, device, read;
};

/* amount / seconds of bursts is kept as the time that 1e9 of them take: then a meter is a row like any other. */
static void add_burst(struct bench_row *row, struct burst burst) {
  row->flop = 1e9;
  if (burst.seconds > 0 && add_sample(row, burst.seconds / burst.amount * row->flop)) row->state = BENCH_READY;
}

static void burst(struct bench *bench, struct meters *meters) {
  add_burst(&meters->native, ctn_peak_native(bench->peak));
  add_burst(&meters->device, ctn_peak_device(bench->peak));
}

/* The median rate of bursts from number `first` on; 0 where there are none. */
static double rate_since(const struct bench_row *row, int first) {
  struct bench_row part = {.samples = row->samples + first, .count = row->count - first};
  return part.count > 0 ? row->flop / ctn_bench_median(&part) : 0;
}

static void fail(struct bench_row *row, enum bench_state state, const char *text) {
  row->state = state;
  snprintf(row->reason, sizeof row->reason, "%.*s", (int)sizeof row->reason - 1, text);
}

/* Plan and data, one run that is checked. Seconds of a second run, or 0 where the row is out. */
static double ready(struct bench *bench, struct bench_row *row, struct bench_job *job) {
  clattn_error error = CLATTN_ERROR_INIT;
  double seconds = 0;
  clattn_status status = ctn_bench_prepare(job, bench, row, &error);
  if (status != CLATTN_OK) {
    bool refused = status == CLATTN_UNSUPPORTED || status == CLATTN_TOO_LARGE || status == CLATTN_OUT_OF_MEMORY;
    /* Out of service for a wrong result is no matter of sizes. */
    if (strstr(error.text, "failed its self-test")) refused = false;
    fail(row, refused ? BENCH_REFUSED : BENCH_FAILED, error.text);
    return 0;
  }
  status = ctn_bench_run(job, &seconds, &error);
  if (status == CLATTN_OK) status = ctn_bench_check(bench, row, job, &error);
  if (status == CLATTN_OK) status = ctn_bench_run(job, &seconds, &error);
  if (status != CLATTN_OK) {
    fail(row, BENCH_FAILED, error.text);
    return 0;
  }
  row->state = BENCH_READY;
  return seconds;
}

static void turn(struct bench *bench, struct meters *meters, struct bench_row *rows, struct bench_job *jobs, int count,
                 int inner) {
  clattn_error error = CLATTN_ERROR_INIT;
  for (int n = 0; n < inner && !stop; n++) {
    burst(bench, meters);
    for (int i = 0; i < count && !stop; i++) {
      double seconds = 0;
      if (rows[i].state != BENCH_READY || rows[i].kind == BENCH_METER) continue;
      if (ctn_bench_run(&jobs[i], &seconds, &error))
        fail(&rows[i], BENCH_FAILED, error.text);
      else if (!add_sample(&rows[i], seconds))
        fail(&rows[i], BENCH_FAILED, "out of memory");
    }
  }
}

static bool same_host(const struct bench *bench) {
  const clattn_device_info *info = clattn_context_device(bench->device);
  return info && info->type == CLATTN_DEVICE_CPU;
}

static void measure_group(struct bench *bench, struct bench_row *rows, int count, struct meters *meters) {
  struct bench_job *jobs = calloc((size_t)count, sizeof *jobs);
  const int native_first = meters->native.count, device_first = meters->device.count;
  const bool reads = strcmp(rows[0].work, "memory") == 0;
  double slowest = 0;
  if (reads) ctn_peak_read(bench->peak); /* makes the data */
  for (int i = 0; i < count && !stop; i++) {
    if (!jobs) {
      fail(&rows[i], BENCH_FAILED, "out of memory");
    } else if (rows[i].kind != BENCH_METER) {
      const double seconds = ready(bench, &rows[i], &jobs[i]);
      if (seconds > slowest) slowest = seconds;
    }
  }
  const int inner = slowest <= 0 || slowest > inner_seconds ? 1
                    : slowest * MOST_INNER < inner_seconds  ? MOST_INNER
                                                            : (int)(inner_seconds / slowest);
  ctn_peak_length(bench->peak, slowest <= 0 ? 0.025 : slowest < 0.001 ? 0.001 : slowest > 0.05 ? 0.05 : slowest);
  for (int round = 0; jobs && round < bench->repeats && !stop; round++) {
    if (reads) add_burst(&meters->read, ctn_peak_read(bench->peak));
    turn(bench, meters, rows, jobs, count, inner);
  }
  if (jobs) burst(bench, meters);
  const double native = rate_since(&meters->native, native_first), device = rate_since(&meters->device, device_first);
  for (int i = 0; i < count; i++) {
    /* A CPU device is the same processor: the larger of the two counts. */
    const double larger = device > native ? device : native;
    rows[i].peak = same_host(bench) ? larger : rows[i].on_host ? native : device;
    if (jobs) ctn_bench_release(&jobs[i]);
  }
  free(jobs);
}

/* The rows of `peak` and `memory` are the bursts of the whole run. */
static void settle_meters(struct bench *bench, struct meters *meters) {
  bench->peak_native = rate_since(&meters->native, 0);
  bench->peak_device = rate_since(&meters->device, 0);
  bench->read_native = rate_since(&meters->read, 0);
  bench->peak_low = meters->native.flop / ctn_bench_quantile(&meters->native, 0.75);
  bench->peak_high = meters->native.flop / ctn_bench_quantile(&meters->native, 0.25);
  for (int i = 0; i < bench->row_count; i++) {
    struct bench_row *row = &bench->rows[i];
    if (row->kind != BENCH_METER) continue;
    const bool read = strcmp(row->work, "memory") == 0;
    const struct bench_row *meter = read ? &meters->read : row->on_host ? &meters->native : &meters->device;
    for (int n = 0; n < meter->count; n++) {
      if (!add_sample(row, meter->samples[n])) return;
    }
    row->flop = read ? 0 : meter->flop;
    row->bytes = read ? meter->flop : 0;
    if (meter->count) {
      row->state = BENCH_READY;
    } else if (!bench->interrupted) {
      fail(row, BENCH_FAILED, "could not be measured");
    }
    row->peak = read               ? 0
                : same_host(bench) ? (bench->peak_native > bench->peak_device ? bench->peak_native : bench->peak_device)
                : row->on_host     ? bench->peak_native
                                   : bench->peak_device;
  }
}

void ctn_bench_measure(struct bench *bench, FILE *progress) {
  struct meters meters;
  memset(&meters, 0, sizeof meters);
  const double start = ctn_seconds();
  for (int first = 0; first < bench->row_count && !stop;) {
    int count = 1;
    while (first + count < bench->row_count && bench->rows[first + count].group == bench->rows[first].group)
      count++;
    if (progress) {
      fprintf(progress, "\r%3d of %d measured, %.0f s; now %s   ", first, bench->row_count, ctn_seconds() - start,
              bench->rows[first].work);
      fflush(progress);
    }
    measure_group(bench, &bench->rows[first], count, &meters);
    first += count;
  }
  if (progress) fprintf(progress, "\r%60s\r", "");
  bench->interrupted = stop != 0;
  settle_meters(bench, &meters);
  free(meters.native.samples);
  free(meters.device.samples);
  free(meters.read.samples);
}
