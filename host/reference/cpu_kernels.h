/*
 * The CPU path's inner loops, compiled once for each instruction set and chosen at run time.
 *
 * A lane is a row of the left operand: a query of attention, a row of a projection's x. What belongs to lanes lies transposed,
 * [index][CPU_LANES], so that a vector holds the same element of several rows and no sum runs across a vector. All lane arrays
 * are aligned to 64 bytes.
 */
#ifndef CTN_CPU_KERNELS_H
#define CTN_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <clattn/clattn.h>

enum {
  CPU_LANES = 32, /* as many as a word of attended bits has */
  CPU_KEYS = 96   /* keys of a block; a multiple of every variant's tile */
};

struct cpu_kernels {
  const char *name;

  /* c[n][l] = sum_t a[n * pitch + t] b[t][l] for rows n and lanes l; with add, += . Up to a vector's worth
   * of lanes past the last are computed too, here and below. */
  void (*multiply)(float *c, const float *a, int64_t pitch, const float *b, int64_t rows, int64_t terms, int lanes, bool add);

  /* c[n][l] = c[n][l] * factor[l] + sum_t a[t * pitch + n] b[t][l] for columns n of a. */
  void (*gather)(float *c, const float *factor, const float *a, int64_t pitch, const float *b, int64_t columns, int64_t terms,
                 int lanes);

  /*
   * One block of scores [keys][lane] into the lanes' online softmax: maximum and sum are brought up to date, scores become
   * exp(score - maximum), and factor what the block before has to be multiplied with. Bit l of attended[j] tells whether lane l
   * attends key j; one that does not gets 0. attended NULL: all do.
   */
  void (*softmax)(float *scores, const uint32_t *attended, int64_t keys, int lanes, float *maximum, float *sum, float *factor);

  /* scores[n] = exp(scores[n] - maximum) / denominator; no alignment needed. */
  void (*normalise)(float *scores, int64_t count, float maximum, float denominator);

  /* x = c * tanh(x / c), count a multiple of CPU_LANES. */
  void (*softcap)(float *x, int64_t count, float c);

  /* scores[j][l] -= slope[l] * |distance[l] - j| */
  void (*add_alibi)(float *scores, int64_t keys, const float *slope, const float *distance);

  /* to[t][l] = factor * rows[l][t] for count lanes, 0 for the others. */
  void (*transpose)(float *to, const float *const rows[CPU_LANES], int count, int64_t terms, float factor);

  /* ctn_load_row and ctn_store_row. */
  void (*load_row)(clattn_dtype dtype, const void *data, int64_t index, int64_t count, float *row);
  void (*store_row)(clattn_dtype dtype, void *data, int64_t index, int64_t count, const float *row);
};

/* One file each; all but the first on x86 alone. */
extern const struct cpu_kernels ctn_cpu_baseline, ctn_cpu_avx2, ctn_cpu_avx512;

/* Those compiled in, from the plainest to the best; `count` of them. */
const struct cpu_kernels *const *ctn_cpu_kernels_all(int *count);
/* Whether this processor can run them. */
bool ctn_cpu_kernels_run(const struct cpu_kernels *kernels);
/* The best that it can. */
const struct cpu_kernels *ctn_cpu_kernels_best(void);

#endif
