/* Vectorisable pieces of the online softmax. */
#include "cpu_softmax.h"

#include <math.h>
#include <string.h>

enum { LANES = 16 };

/*
 * exp(x) for x <= 0 and NaN: x = n ln 2 + r, a Taylor polynomial of degree 7 for |r| <= ln 2 / 2 (remainder 5e-9), n into the
 * exponent. Results below the normal range become 0.
 */
static inline float exp_not_positive(float x) {
  const float magic = 0x1.8p23f; /* adding it rounds to an integer, which then lies in the low bits */
  const float clamped = x < -87.0f ? -87.0f : x;
  const float shifted = clamped * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (clamped - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; /* ln 2 in two parts */
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (127u << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  const float result = p * power;
  return x < -87.0f ? 0.0f : result;
}

float ctn_cpu_maximum(const float *values) {
  float most[LANES];
  for (int n = 0; n < LANES; n++) {
    most[n] = -INFINITY;
  }
  for (int j = 0; j < CPU_KEYS; j += LANES) {
    for (int n = 0; n < LANES; n++)
      most[n] = values[j + n] > most[n] ? values[j + n] : most[n];
  }
  float result = most[0];
  for (int n = 1; n < LANES; n++) {
    result = most[n] > result ? most[n] : result;
  }
  return result;
}

float ctn_cpu_exponentials(float *values, const uint32_t *attended, float shift) {
  float sum[LANES] = {0};
  for (int j = 0; j < CPU_KEYS; j++) {
    const float e = exp_not_positive(values[j] - shift);
    values[j] = attended[j] ? e : CPU_EXCLUDED;
  }
  for (int j = 0; j < CPU_KEYS; j += LANES) {
    for (int n = 0; n < LANES; n++)
      sum[n] += values[j + n];
  }
  float result = 0;
  for (int n = 0; n < LANES; n++) {
    result += sum[n];
  }
  return result;
}

void ctn_cpu_weights(float *weights, const uint32_t *attended, float maximum, float denominator, int64_t count) {
  for (int64_t j = 0; j < count; j++) {
    const float weight = exp_not_positive(weights[j] - maximum) / denominator;
    weights[j] = attended[j] ? weight : 0.0f;
  }
}

bool ctn_cpu_not_finite(const float *values, int64_t count) {
  uint32_t found = 0;
  for (int64_t n = 0; n < count; n++) {
    uint32_t bits;
    memcpy(&bits, &values[n], sizeof bits);
    found |= (bits & 0x7f800000) == 0x7f800000;
  }
  return found != 0;
}
