/* The rates nothing can pass: fused multiply-adds and memory reads, by native loops and by OpenCL kernels. */
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

struct peak;

/* device may be NULL or without OpenCL: then there is no kernel. Finds about how fast each is. */
clattn_status ctn_peak_create(struct peak **peak, clattn_context *device, int threads, clattn_error *error);
void ctn_peak_destroy(struct peak *peak);

/* How long bursts of multiply-adds are from now on: as long as what they are held against, so that whatever interrupts the one
 * interrupts the other as often. */
void ctn_peak_length(struct peak *peak, double seconds);

/* One burst: the time it took, and what it did. seconds is 0 where there is no such thing. */
struct burst {
  double seconds, amount; /* amount: FLOP, or bytes */
};
struct burst ctn_peak_native(struct peak *peak);
struct burst ctn_peak_device(struct peak *peak);
struct burst ctn_peak_read(struct peak *peak);

/* The name of what they run: "avx2, 2 threads", "float8". */
const char *ctn_peak_native_name(const struct peak *peak);
const char *ctn_peak_device_name(const struct peak *peak);

/* An empty kernel of one work-item. To be released by the caller; NULL where there is no device. */
cl_kernel ctn_peak_empty(const struct peak *peak);

/* Seconds on a clock that never goes back. */
double ctn_seconds(void);

#endif
