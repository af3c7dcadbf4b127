/* The part of the online softmax that works on one row of one block of scores, in loops without branches. */
#ifndef CTN_CPU_SOFTMAX_H
#define CTN_CPU_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

/* Scores in a block's row; the loops always run over all of them. */
#define CPU_KEYS 128

/*
 * Between softmax and values an excluded key has weight -0.0, which no attended key has: one whose weight underflowed, or was
 * dropped, has +0.0. That tells them apart where v is not finite.
 */
#define CPU_EXCLUDED (-0.0f)

/* A row's softmax so far: over the keys seen, maximum and sum of exp(score - maximum). */
struct online {
  float maximum;
  float sum;
  bool attends; /* some key */
};

/* The most of CPU_KEYS values. A NaN among them is passed over: the sum shows it. */
float ctn_cpu_maximum(const float *values);

/* values[j] = exp(values[j] - shift) where attended[j], else CPU_EXCLUDED; gives the sum of the former. shift is not below any
 * value. */
float ctn_cpu_exponentials(float *values, const uint32_t *attended, float shift);

/* weights[j] = exp(weights[j] - maximum) / denominator for count keys where attended[j], else 0. */
void ctn_cpu_weights(float *weights, const uint32_t *attended, float maximum, float denominator, int64_t count);

/* Whether one of count values is NaN or infinite. */
bool ctn_cpu_not_finite(const float *values, int64_t count);

#endif
