/*
 * The inner loops of cpu_kernels.h in vectors of the instruction set at hand. Included by one file a variant, which names it:
 * CPU_VARIANT is the table's name, CPU_VARIANT_NAME what to call it.
 */
#include <stddef.h>
#include <string.h>

#include "cpu_kernels.h"
#include "cpu_vector.h"
#include "half.h"

#define VECTORS (CPU_LANES / VECTOR)
#define PART 48 /* terms of a sum that runs in one register */
#define INLINE static inline __attribute__((always_inline))

/* ---------------------------------------------------------------------------------------------------------------- products */

enum after { SET, ADD, SCALE };

/* DO(n) for n = 0 to count - 1, unrolled by hand: only then do all compilers keep an array in registers. */
#define EACH(count, DO) \
  DO(0)                 \
  if ((count) > 1) {    \
    DO(1)               \
  }                     \
  if ((count) > 2) {    \
    DO(2)               \
  }                     \
  if ((count) > 3) {    \
    DO(3)               \
  }                     \
  if ((count) > 4) {    \
    DO(4)               \
  }                     \
  if ((count) > 5) {    \
    DO(5)               \
  }                     \
  EACH_PAST_6(count, DO)
#if TILE > 6
#define EACH_PAST_6(count, DO) \
  if ((count) > 6) {           \
    DO(6)                      \
  }                            \
  if ((count) > 7) {           \
    DO(7)                      \
  }
#else
#define EACH_PAST_6(count, DO)
#endif

#define CLEAR(n)        \
  sum[n][0] = (vec){0}; \
  sum[n][1] = (vec){0};
#define MULTIPLY(n)                     \
  {                                     \
    const float x = a[row * (n)];       \
    sum[n][0] += x * b0;                \
    if (wide == 2) sum[n][1] += x * b1; \
  }
#define STORE(n)                                                     \
  {                                                                  \
    vec *to = (vec *)(c + CPU_LANES * (int64_t)(n));                 \
    store(after, to, factor, sum[n][0]);                             \
    if (wide == 2) store(after, to + 1, factor + VECTOR, sum[n][1]); \
  }

INLINE void store(enum after after, vec *to, const float *factor, vec sum) {
  if (after == SET) *to = sum;
  if (after == ADD) *to += sum;
  if (after == SCALE) *to = *to * *(const vec *)factor + sum;
}

/*
 * A register tile: count rows of c, `wide` vectors of lanes. a[n * row + t * term] are broadcast, b's and c's rows are
 * CPU_LANES apart. count and wide are known when this is compiled in.
 */
INLINE void tile(int count, int wide, enum after after, float *c, const float *factor, const float *a, int64_t row,
                 int64_t term, const float *b, int64_t terms) {
  vec sum[TILE][2];
  EACH(count, CLEAR)
  for (int64_t t = 0; t < terms; t++) {
    const vec b0 = ((const vec *)b)[0], b1 = wide == 2 ? ((const vec *)b)[1] : b0;
    EACH(count, MULTIPLY)
    a += term;
    b += CPU_LANES;
  }
  EACH(count, STORE)
}

/* A tile whose sums are made in parts of PART terms, so that the rounding of long ones stays small. */
INLINE void tile_in_parts(int count, int wide, enum after after, float *c, const float *factor, const float *a, int64_t row,
                          int64_t term, const float *b, int64_t terms) {
  tile(count, wide, after, c, factor, a, row, term, b, terms < PART ? terms : PART);
  for (int64_t t = PART; t < terms; t += PART) {
    tile(count, wide, ADD, c, factor, a + t * term, row, term, b + t * CPU_LANES, terms - t < PART ? terms - t : PART);
  }
}

/* Tiles side by side over the lanes. */
INLINE void tiles(int count, enum after after, float *c, const float *factor, const float *a, int64_t row, int64_t term,
                  const float *b, int64_t terms, int lanes) {
  int l = 0;
  for (; l + VECTOR < lanes; l += 2 * VECTOR) {
    tile_in_parts(count, 2, after, c + l, factor + l, a, row, term, b + l, terms);
  }
  if (l < lanes) tile_in_parts(count, 1, after, c + l, factor + l, a, row, term, b + l, terms);
}

#define TILES_CASE(n)                                          \
  case n:                                                      \
    tiles(n, after, c, factor, a, row, term, b, terms, lanes); \
    break;

INLINE void product(enum after after, float *c, const float *factor, const float *a, int64_t row, int64_t term, const float *b,
                    int64_t rows, int64_t terms, int lanes) {
  for (; rows >= TILE; rows -= TILE) {
    tiles(TILE, after, c, factor, a, row, term, b, terms, lanes);
    a += TILE * row;
    c += (int64_t)TILE * CPU_LANES;
  }
  switch (rows) {
    TILES_CASE(1)
    TILES_CASE(2)
    TILES_CASE(3)
    TILES_CASE(4)
    TILES_CASE(5)
#if TILE > 6
    TILES_CASE(6)
    TILES_CASE(7)
#endif
    default:
      break;
  }
}

static void multiply(float *c, const float *a, int64_t pitch, const float *b, int64_t rows, int64_t terms, int lanes,
                     bool add) {
  static const float none[CPU_LANES];
  if (add) {
    product(ADD, c, none, a, pitch, 1, b, rows, terms, lanes);
  } else {
    product(SET, c, none, a, pitch, 1, b, rows, terms, lanes);
  }
}

static void gather(float *c, const float *factor, const float *a, int64_t pitch, const float *b, int64_t columns, int64_t terms,
                   int lanes) {
  product(SCALE, c, factor, a, 1, pitch, b, columns, terms, lanes);
}

/* ----------------------------------------------------------------------------------------------------------------- softmax */

/* Lanes first to first + VECTOR of a block. With `some`, only those that attended tells. */
INLINE void softmax_vector(bool some, float *scores, const uint32_t *attended, int64_t keys, int first, float *maximum,
                           float *sum, float *factor) {
  ivec bit;
  for (int l = 0; l < VECTOR; l++) {
    bit[l] = (int32_t)(UINT32_C(1) << (first + l));
  }
  const vec lowest = vec_all(-__builtin_inff());
  const vec before = *(const vec *)maximum;
  vec most = before;
  for (int64_t j = 0; j < keys; j++) {
    vec x = *(const vec *)(scores + j * CPU_LANES);
    if (some) x = vec_pick((bit & (int32_t)attended[j]) != 0, x, lowest);
    most = vec_max(x, most); /* passes over NaN: the sum shows it */
  }
  /* While all attended scores are -inf their weights are 0: what a later score makes of them. */
  const vec shift = vec_pick(most == lowest, (vec){0}, most);
  vec total = {0};
  for (int64_t j = 0; j < keys; j++) {
    vec *x = (vec *)(scores + j * CPU_LANES);
    vec weight = vec_exp(*x - shift);
    if (some) weight = (vec)(((bit & (int32_t)attended[j]) != 0) & (ivec)weight);
    total += weight;
    *x = weight;
  }
  const vec correction = vec_pick(before == most, vec_all(1), vec_exp(before - shift));
  *(vec *)sum = *(const vec *)sum * correction + total;
  *(vec *)maximum = most;
  *(vec *)factor = correction;
}

static void softmax(float *scores, const uint32_t *attended, int64_t keys, int lanes, float *maximum, float *sum,
                    float *factor) {
  for (int l = 0; l < lanes; l += VECTOR) {
    if (attended != NULL) {
      softmax_vector(true, scores + l, attended, keys, l, maximum + l, sum + l, factor + l);
    } else {
      softmax_vector(false, scores + l, attended, keys, l, maximum + l, sum + l, factor + l);
    }
  }
}

static void normalise(float *scores, int64_t count, float maximum, float denominator) {
  for (int64_t n = 0; n < count; n += VECTOR) {
    const size_t bytes = sizeof(float) * (size_t)(count - n < VECTOR ? count - n : VECTOR);
    vec x = {0};
    memcpy(&x, scores + n, bytes);
    x = vec_exp(x - maximum) / denominator;
    memcpy(scores + n, &x, bytes);
  }
}

static void softcap(float *x, int64_t count, float c) {
  for (int64_t n = 0; n < count; n += VECTOR) {
    vec *v = (vec *)(x + n);
    *v = c * vec_tanh(*v / c);
  }
}

static void add_alibi(float *scores, int64_t keys, const float *slope, const float *distance) {
  for (int64_t j = 0; j < keys; j++) {
    for (int v = 0; v < VECTORS; v++) {
      const vec away = ((const vec *)distance)[v] - (float)j;
      ((vec *)(scores + j * CPU_LANES))[v] -= ((const vec *)slope)[v] * (vec)((ivec)away & 0x7fffffff);
    }
  }
}

/* ------------------------------------------------------------------------------------------------------------------ moving */

/* Four lanes by four terms. */
INLINE void transpose_4x4(float *to, const float *const *rows, int64_t t, float factor) {
#if defined(__SSE2__)
  const __m128 scale = _mm_set1_ps(factor);
  __m128 r0 = _mm_loadu_ps(rows[0] + t), r1 = _mm_loadu_ps(rows[1] + t);
  __m128 r2 = _mm_loadu_ps(rows[2] + t), r3 = _mm_loadu_ps(rows[3] + t);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_store_ps(to, _mm_mul_ps(r0, scale));
  _mm_store_ps(to += CPU_LANES, _mm_mul_ps(r1, scale));
  _mm_store_ps(to += CPU_LANES, _mm_mul_ps(r2, scale));
  _mm_store_ps(to + CPU_LANES, _mm_mul_ps(r3, scale));
#else
  for (int n = 0; n < 4; n++) {
    for (int l = 0; l < 4; l++)
      to[n * CPU_LANES + l] = factor * rows[l][t + n];
  }
#endif
}

static void transpose(float *to, const float *const rows[CPU_LANES], int count, int64_t terms, float factor) {
  const int fours = count / 4 * 4;
  int64_t t = 0;
  for (; t + 4 <= terms; t += 4) {
    for (int l = 0; l < fours; l += 4)
      transpose_4x4(to + t * CPU_LANES + l, rows + l, t, factor);
    for (int l = fours; l < count; l++) {
      for (int n = 0; n < 4; n++)
        to[(t + n) * CPU_LANES + l] = factor * rows[l][t + n];
    }
  }
  for (; t < terms; t++) {
    for (int l = 0; l < count; l++)
      to[t * CPU_LANES + l] = factor * rows[l][t];
  }
  for (t = 0; t < terms && count < CPU_LANES; t++) {
    for (int l = count; l < CPU_LANES; l++)
      to[t * CPU_LANES + l] = 0;
  }
}

static void load_row(clattn_dtype dtype, const void *data, int64_t index, int64_t count, float *row) {
  const uint16_t *from = (const uint16_t *)data + index;
  int64_t n = 0;
#if defined(__F16C__)
  if (dtype == CLATTN_F16) {
    for (; n + 8 <= count; n += 8) {
      _mm256_storeu_ps(row + n, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + n))));
    }
  }
#endif
  if (dtype == CLATTN_BF16) {
    for (; n < count; n++) {
      const uint32_t bits = (uint32_t)from[n] << 16;
      memcpy(row + n, &bits, sizeof bits);
    }
  }
  if (n < count) ctn_load_row(dtype, data, index + n, count - n, row + n);
}

/* Rounds to nearest even; NaN stays NaN. */
INLINE uint16_t bf16_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

static void store_row(clattn_dtype dtype, void *data, int64_t index, int64_t count, const float *row) {
  uint16_t *to = (uint16_t *)data + index;
  int64_t n = 0;
#if defined(__F16C__)
  if (dtype == CLATTN_F16) {
    for (; n + 8 <= count; n += 8) {
      _mm_storeu_si128((__m128i *)(to + n), _mm256_cvtps_ph(_mm256_loadu_ps(row + n), _MM_FROUND_TO_NEAREST_INT));
    }
  }
#endif
  if (dtype == CLATTN_BF16) {
    for (; n < count; n++)
      to[n] = bf16_bits(row[n]);
  }
  if (n < count) ctn_store_row(dtype, data, index + n, count - n, row + n);
}

const struct cpu_kernels CPU_VARIANT = {
    CPU_VARIANT_NAME, multiply, gather, softmax, normalise, softcap, add_alibi, transpose, load_row, store_row,
};
