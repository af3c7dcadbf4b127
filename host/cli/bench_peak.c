/* Bursts of peak work on the host's threads, and which kind of bursts a place has. */
#include "bench_peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pool.h"
#include "status.h"

enum { PIECES = 16, READ_FLOATS = 64 << 20 };

struct peak {
  struct peak_device *device; /* NULL: the host, by what follows */
  struct pool *pool;
  const struct peak_loops *loops;
  int64_t pieces; /* PIECES a thread */
  int64_t steps;  /* of one piece */
  float *sink;    /* one a thread: results that are used, so that the loops stay */
  float *data;    /* what is read; made when first asked for */
  double rate;    /* FLOP/s, about */
  char name[64];
};

double ctn_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void multiply_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  (void)piece;
  peak->sink[16 * (size_t)worker] += peak->loops->multiply_add(peak->steps, PEAK_FACTOR, PEAK_SUMMAND);
}

static int64_t piece_floats(const struct peak *peak) {
  return READ_FLOATS / peak->pieces / 256 * 256;
}

static void read_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  peak->sink[16 * (size_t)worker] += peak->loops->read(peak->data + piece * piece_floats(peak), piece_floats(peak));
}

static void fill_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  (void)worker;
  for (int64_t i = piece * piece_floats(peak); i < (piece + 1) * piece_floats(peak); i++)
    peak->data[i] = 0.5f + (float)(i % 1000) * 1e-3f;
}

struct burst ctn_peak_multiply(struct peak *peak) {
  if (peak->device) return ctn_peak_device_multiply(peak->device);
  if (!peak->pool) return (struct burst){0, 0};
  const double start = ctn_seconds();
  ctn_pool_run(peak->pool, peak->pieces, multiply_piece, peak);
  const double seconds = ctn_seconds() - start;
  return (struct burst){seconds, 2.0 * PEAK_SUMS * peak->loops->lanes * (double)peak->steps * (double)peak->pieces};
}

struct burst ctn_peak_read(struct peak *peak) {
  if (peak->device) return ctn_peak_device_read(peak->device);
  if (!peak->pool) return (struct burst){0, 0};
  if (!peak->data) {
    peak->data = malloc(sizeof *peak->data * READ_FLOATS);
    if (!peak->data) return (struct burst){0, 0};
    ctn_pool_run(peak->pool, peak->pieces, fill_piece, peak);
  }
  const double start = ctn_seconds();
  ctn_pool_run(peak->pool, peak->pieces, read_piece, peak);
  const double seconds = ctn_seconds() - start;
  return (struct burst){seconds, (double)(piece_floats(peak) * peak->pieces) * sizeof(float)};
}

void ctn_peak_length(struct peak *peak, double seconds) {
  if (peak->device) ctn_peak_device_length(peak->device, seconds);
  if (!peak->pool) return;
  const double steps = seconds * peak->rate / (2.0 * PEAK_SUMS * peak->loops->lanes * (double)peak->pieces);
  peak->steps = steps < 10 ? 10 : (int64_t)steps;
}

static clattn_status create_host(struct peak *peak, int threads, clattn_error *error) {
  const clattn_status status = ctn_pool_create(&peak->pool, threads, error);
  if (status != CLATTN_OK) return status;
  const int workers = ctn_pool_size(peak->pool);
  peak->sink = calloc((size_t)workers, 16 * sizeof *peak->sink);
  if (!peak->sink) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "peak: no memory");
  peak->loops = ctn_peak_loops_best();
  peak->pieces = (int64_t)PIECES * workers;
  peak->steps = 20000;
  snprintf(peak->name, sizeof peak->name, "%s, %d thread%s", peak->loops->name, workers, workers == 1 ? "" : "s");
  /* The better of two bursts, after one to wake up: what another program takes away is no peak. */
  for (int i = 0; i < 3; i++) {
    const struct burst one = ctn_peak_multiply(peak);
    if (i > 0 && one.amount / one.seconds > peak->rate) peak->rate = one.amount / one.seconds;
  }
  ctn_peak_length(peak, 0.025);
  return CLATTN_OK;
}

clattn_status ctn_peak_create(struct peak **out, clattn_context *device, int threads, clattn_error *error) {
  struct peak *peak = calloc(1, sizeof *peak);
  *out = peak;
  if (!peak) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "peak: no memory");
  if (!device) return create_host(peak, threads, error);
  peak->device = ctn_peak_device_create(device);
  return CLATTN_OK;
}

void ctn_peak_destroy(struct peak *peak) {
  if (!peak) return;
  ctn_peak_device_destroy(peak->device);
  ctn_pool_destroy(peak->pool);
  free(peak->sink);
  free(peak->data);
  free(peak);
}

const char *ctn_peak_name(const struct peak *peak) {
  return peak->device ? ctn_peak_device_name(peak->device) : peak->name;
}

cl_kernel ctn_peak_empty(const struct peak *peak) {
  return peak->device ? ctn_peak_device_empty(peak->device) : NULL;
}
