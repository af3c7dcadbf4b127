/* Bursts of peak work: on the host's threads, and on the device. */
#include "bench_peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "embedded.h"
#include "pool.h"
#include "status.h"

/* bench_peak.cl, put inside the tool by the build. */
extern const struct embedded_file ctn_embedded_bench[];

enum { PIECES = 16, READ_FLOATS = 64 << 20 };
/* x becomes x * factor + summand: it stays near 1 for ever, neither growing nor fading. */
static const float factor = 0.999f, summand = 0.001f;

struct peak {
  struct pool *pool;
  const struct peak_loops *loops;
  int64_t native_steps; /* of one piece, PIECES of them a thread */
  float *sink;          /* one a thread: results that are used, so that the loops stay */
  float *data;          /* what is read; made when first asked for */
  int64_t native_pieces;
  char native_name[64], device_name[32];
  cl_context context; /* of the clattn_context; NULL: no device */
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernel;
  cl_mem out;
  size_t items, local;
  int vector;
  cl_int device_steps;
  double native_rate, device_rate; /* FLOP/s, about */
};

double ctn_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void native_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  (void)piece;
  peak->sink[16 * worker] += peak->loops->multiply_add(peak->native_steps, factor, summand);
}

static void read_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  const int64_t size = READ_FLOATS / peak->native_pieces / 256 * 256;
  peak->sink[16 * worker] += peak->loops->read(peak->data + piece * size, size);
}

struct burst ctn_peak_native(struct peak *peak) {
  const double start = ctn_seconds();
  ctn_pool_run(peak->pool, peak->native_pieces, native_piece, peak);
  const double seconds = ctn_seconds() - start;
  return (struct burst){seconds,
                        2.0 * PEAK_SUMS * peak->loops->lanes * (double)peak->native_steps * (double)peak->native_pieces};
}

static void fill_piece(void *job, int64_t piece, int worker) {
  struct peak *peak = job;
  (void)worker;
  const int64_t size = READ_FLOATS / peak->native_pieces;
  for (int64_t i = piece * size; i < (piece + 1) * size; i++)
    peak->data[i] = 0.5f + (float)(i % 1000) * 1e-3f;
}

struct burst ctn_peak_read(struct peak *peak) {
  if (!peak->data) {
    peak->data = malloc(sizeof *peak->data * READ_FLOATS);
    if (!peak->data) return (struct burst){0, 0};
    ctn_pool_run(peak->pool, peak->native_pieces, fill_piece, peak);
  }
  const double start = ctn_seconds();
  ctn_pool_run(peak->pool, peak->native_pieces, read_piece, peak);
  const double seconds = ctn_seconds() - start;
  return (struct burst){seconds, (double)(READ_FLOATS / peak->native_pieces / 256 * 256 * peak->native_pieces) * sizeof(float)};
}

struct burst ctn_peak_device(struct peak *peak) {
  const struct burst none = {0, 0};
  if (!peak->kernel) return none;
  const double start = ctn_seconds();
  cl_int code = clSetKernelArg(peak->kernel, 3, sizeof peak->device_steps, &peak->device_steps);
  if (code == CL_SUCCESS) {
    code = clEnqueueNDRangeKernel(peak->queue, peak->kernel, 1, NULL, &peak->items, &peak->local, 0, NULL, NULL);
  }
  if (code == CL_SUCCESS) code = clFinish(peak->queue);
  if (code != CL_SUCCESS) return none;
  const double seconds = ctn_seconds() - start;
  return (struct burst){seconds, 2.0 * PEAK_SUMS * peak->vector * (double)peak->device_steps * (double)peak->items};
}

/* The better of two bursts, after one to wake up: what another program takes away is no peak. */
static double rate_of(struct peak *peak, struct burst (*burst)(struct peak *)) {
  double best = 0;
  for (int i = 0; i < 3; i++) {
    const struct burst one = burst(peak);
    if (i > 0 && one.seconds > 0 && one.amount / one.seconds > best) best = one.amount / one.seconds;
  }
  return best;
}

static void drop_kernel(struct peak *peak) {
  if (peak->out) clReleaseMemObject(peak->out);
  if (peak->kernel) clReleaseKernel(peak->kernel);
  if (peak->program) clReleaseProgram(peak->program);
  peak->out = NULL;
  peak->kernel = NULL;
  peak->program = NULL;
}

static bool build(struct peak *peak, clattn_context *device, int vector) {
  const clattn_device_info *info = clattn_context_device(device);
  const cl_device_id id = clattn_context_cl_device(device);
  const char *source = (const char *)ctn_embedded_bench[0].bytes;
  char options[32];
  cl_int code = CL_SUCCESS;
  peak->vector = vector;
  peak->local = vector >= 8 ? 1 : info->max_work_group < 128 ? info->max_work_group : 128;
  peak->items = (size_t)info->compute_units * (vector >= 8 ? PIECES : 16 * peak->local);
  peak->device_steps = 20000;
  snprintf(options, sizeof options, "-DVEC=%d", vector);
  peak->program = clCreateProgramWithSource(peak->context, 1, &source, NULL, &code);
  if (code == CL_SUCCESS) code = clBuildProgram(peak->program, 1, &id, options, NULL, NULL);
  if (code == CL_SUCCESS) peak->kernel = clCreateKernel(peak->program, "multiply_add", &code);
  if (code == CL_SUCCESS) peak->out = clCreateBuffer(peak->context, CL_MEM_WRITE_ONLY, 4 * peak->items, NULL, &code);
  if (code == CL_SUCCESS) code = clSetKernelArg(peak->kernel, 0, sizeof peak->out, &peak->out);
  if (code == CL_SUCCESS) code = clSetKernelArg(peak->kernel, 1, sizeof factor, &factor);
  if (code == CL_SUCCESS) code = clSetKernelArg(peak->kernel, 2, sizeof summand, &summand);
  if (code != CL_SUCCESS) drop_kernel(peak);
  return code == CL_SUCCESS;
}

/* The widest vectors are not the fastest everywhere: the processor's registers may be half as wide as the device says. */
static void choose_kernel(struct peak *peak, clattn_context *device) {
  const bool wide = clattn_context_device(device)->native_float_width >= 8;
  const int vectors[2] = {wide ? 8 : 1, wide ? 16 : 4};
  double rates[2] = {0, 0};
  peak->context = clattn_context_cl_context(device);
  peak->queue = clattn_context_cl_queue(device);
  for (int i = 0; i < 2; i++) {
    if (build(peak, device, vectors[i])) rates[i] = rate_of(peak, ctn_peak_device);
    drop_kernel(peak);
  }
  const int best = rates[1] > rates[0];
  if (!build(peak, device, vectors[best])) return;
  peak->device_rate = rates[best];
  snprintf(peak->device_name, sizeof peak->device_name, "float%d", peak->vector);
}

clattn_status ctn_peak_create(struct peak **out, clattn_context *device, int threads, clattn_error *error) {
  struct peak *peak = calloc(1, sizeof *peak);
  *out = peak;
  if (!peak) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "peak: no memory");
  const clattn_status status = ctn_pool_create(&peak->pool, threads, error);
  if (status != CLATTN_OK) return status;
  const int workers = ctn_pool_size(peak->pool);
  peak->sink = calloc((size_t)workers, 16 * sizeof *peak->sink);
  if (!peak->sink) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "peak: no memory");
  peak->loops = ctn_peak_loops_best();
  peak->native_pieces = (int64_t)PIECES * workers;
  peak->native_steps = 20000;
  peak->native_rate = rate_of(peak, ctn_peak_native);
  snprintf(peak->native_name, sizeof peak->native_name, "%s, %d thread%s", peak->loops->name, workers, workers == 1 ? "" : "s");
  if (device && clattn_context_device(device)) choose_kernel(peak, device);
  ctn_peak_length(peak, 0.025);
  return CLATTN_OK;
}

void ctn_peak_length(struct peak *peak, double seconds) {
  const double native = seconds * peak->native_rate / (2.0 * PEAK_SUMS * peak->loops->lanes * (double)peak->native_pieces);
  const double device = seconds * peak->device_rate / (2.0 * PEAK_SUMS * peak->vector * (double)peak->items);
  peak->native_steps = native < 10 ? 10 : (int64_t)native;
  peak->device_steps = !(device > 10) ? 10 : device > 1e8 ? 100000000 : (cl_int)device;
}

void ctn_peak_destroy(struct peak *peak) {
  if (!peak) return;
  drop_kernel(peak);
  ctn_pool_destroy(peak->pool);
  free(peak->sink);
  free(peak->data);
  free(peak);
}

const char *ctn_peak_native_name(const struct peak *peak) {
  return peak->native_name;
}

const char *ctn_peak_device_name(const struct peak *peak) {
  return peak->device_name;
}

cl_kernel ctn_peak_empty(const struct peak *peak) {
  if (!peak->program) return NULL;
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(peak->program, "empty", &code);
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 0, sizeof peak->out, &peak->out);
  if (code == CL_SUCCESS) return kernel;
  if (kernel) clReleaseKernel(kernel);
  return NULL;
}
