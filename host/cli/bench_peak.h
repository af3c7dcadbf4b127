/* The rates nothing can pass: fused multiply-adds and memory reads, by native loops on the host and by OpenCL kernels on a
 * device. */
#ifndef CTN_BENCH_PEAK_H
#define CTN_BENCH_PEAK_H

#include <stdbool.h>

#include <clattn/clattn_opencl.h>

/* Native inner loops, for the instruction sets that this processor may have: see bench_peak_loops.c. */
struct peak_loops {
  const char *name;
  int lanes;                                                         /* floats in a vector */
  float (*multiply_add)(int64_t steps, float factor, float summand); /* steps * PEAK_SUMS * lanes fused multiply-adds */
  float (*read)(const float *data, int64_t count);                   /* the sum; count a multiple of 256 */
};
enum { PEAK_SUMS = 12 };
const struct peak_loops *ctn_peak_loops_best(void);

/* One burst: the time it took, and what it did. seconds is 0 where there is no such thing. */
struct burst {
  double seconds, amount; /* amount: FLOP, or bytes */
};

/* bench_peak.c: of one place, the host's threads or a device. */
struct peak;

/* Without device: of the host. Finds about how fast it multiplies. A device whose compiler does not take the kernels has no
 * bursts. */
clattn_status ctn_peak_create(struct peak **out, clattn_context *device, int threads, clattn_error *error);
void ctn_peak_destroy(struct peak *peak);
/* How long bursts of multiply-adds are from now on: as long as what they are held against, so that whatever interrupts the one
 * interrupts the other as often. */
void ctn_peak_length(struct peak *peak, double seconds);
struct burst ctn_peak_multiply(struct peak *peak);
struct burst ctn_peak_read(struct peak *peak);
/* The name of what multiplies: "AVX2, 2 threads", "float8". */
const char *ctn_peak_name(const struct peak *peak);
/* An empty kernel of one work-item. To be released by the caller; NULL where there is no device. */
cl_kernel ctn_peak_empty(const struct peak *peak);
/* Seconds on a clock that never goes back. */
double ctn_seconds(void);

/* bench_peak_device.c: the same through OpenCL. */
struct peak_device;
struct peak_device *ctn_peak_device_create(clattn_context *context);
void ctn_peak_device_destroy(struct peak_device *device);
void ctn_peak_device_length(struct peak_device *device, double seconds);
struct burst ctn_peak_device_multiply(struct peak_device *device);
struct burst ctn_peak_device_read(struct peak_device *device);
const char *ctn_peak_device_name(const struct peak_device *device);
cl_kernel ctn_peak_device_empty(const struct peak_device *device);

/* x becomes x * factor + summand: it stays near 1 for ever, neither growing nor fading. */
#define PEAK_FACTOR 0.999f
#define PEAK_SUMMAND 0.001f

#endif
