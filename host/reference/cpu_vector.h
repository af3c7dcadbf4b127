/* Vectors of the instruction set that this file is compiled for, in the compiler's own vector types. */
#ifndef CTN_CPU_VECTOR_H
#define CTN_CPU_VECTOR_H

#include <stdint.h>

#if defined(__AVX512F__)
#define VECTOR 16 /* lanes in a vector */
#define TILE 8    /* rows of a register tile, two vectors wide: of 32 registers, 16 sums, 2 operands, 1 factor */
#elif defined(__AVX__)
#define VECTOR 8
#define TILE 6 /* of 16 registers, 12 sums, 2 operands, 1 factor */
#elif defined(__aarch64__)
#define VECTOR 4
#define TILE 8
#else
#define VECTOR 4
#define TILE 6
#endif

typedef float vec __attribute__((vector_size(4 * VECTOR), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * VECTOR), may_alias));

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* a > b ? a : b, lane by lane: b where one of them is NaN. */
static inline vec vec_max(vec a, vec b) {
#if defined(__AVX512F__)
  return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
  return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (vec)_mm_max_ps((__m128)a, (__m128)b);
#else
  const ivec above = a > b;
  return (vec)((above & (ivec)a) | (~above & (ivec)b));
#endif
}

/* yes where mask is all ones, no where it is 0. */
static inline vec vec_pick(ivec mask, vec yes, vec no) {
  return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

static inline vec vec_all(float x) {
  return x - (vec){0};
}

/*
 * exp(x) for x <= 0 and NaN, to a relative 1e-7: x = n ln 2 + r, a polynomial of degree 6 for |r| <= ln 2 / 2 (its coefficients
 * interpolate (exp(r) - 1 - r) / r^2 at Chebyshev's nodes: 1e-8), n into the exponent. Below the normal range it is 0.
 */
static inline vec vec_exp(vec x) {
  const float magic = 0x1.8p23f + 127; /* adding it rounds to an integer, which then lies in the low bits, biased */
  const vec shifted = x * 1.44269504f + magic;
  const vec n = shifted - magic;
  const vec r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; /* ln 2 in two parts */
  vec p = 0x1.6d127ep-10f * r + 0x1.120ce4p-7f;
  p = p * r + 0x1.555518p-5f;
  p = p * r + 0x1.5554dcp-3f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const vec power = (vec)((ivec)shifted << 23);
  return (vec)(~(ivec)(x < -87.0f) & (ivec)(p * power));
}

/*
 * tanh(x) to a relative 3e-7: an odd polynomial up to 0.55 (interpolated like exp's: 5e-9), beyond it 1 - 2 e / (1 + e) with
 * e = exp(-2 |x|). NaN stays NaN.
 */
static inline vec vec_tanh(vec x) {
  const vec magnitude = (vec)((ivec)x & 0x7fffffff);
  const vec e = vec_exp(-2.0f * magnitude);
  const vec far = 1.0f - 2.0f * e / (1.0f + e);
  const vec signed_far = (vec)((ivec)far | ((ivec)x & ~0x7fffffff));
  const vec z = x * x;
  vec p = -0.00661022775f * z + 0.0213093888f;
  p = p * z - 0.0539094284f;
  p = p * z + 0.133331135f;
  p = p * z - 0.333333313f;
  return vec_pick(magnitude < 0.55f, x + x * z * p, signed_far);
}

#endif
