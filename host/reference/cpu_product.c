/* A matrix product whose inner loop runs along rows of b and c, so that any compiler turns it into vector code. */
#include "cpu_product.h"

#include "checked.h"

enum { UNROLL = 8, COLUMNS = 128, TRANSPOSE = 8 };

/* Two rows of c at a time share the loads of b; eight terms at a time share the load and store of c. */
static void add_terms_to_pair(float *restrict c0, float *restrict c1, const float *a0, const float *a1, const float *restrict b,
                              int64_t pitch, int64_t columns) {
  const float *b0 = b, *b1 = b + pitch, *b2 = b + 2 * pitch, *b3 = b + 3 * pitch;
  const float *b4 = b + 4 * pitch, *b5 = b + 5 * pitch, *b6 = b + 6 * pitch, *b7 = b + 7 * pitch;
  for (int64_t n = 0; n < columns; n++) {
    c0[n] += ((a0[0] * b0[n] + a0[1] * b1[n]) + (a0[2] * b2[n] + a0[3] * b3[n])) +
             ((a0[4] * b4[n] + a0[5] * b5[n]) + (a0[6] * b6[n] + a0[7] * b7[n]));
    c1[n] += ((a1[0] * b0[n] + a1[1] * b1[n]) + (a1[2] * b2[n] + a1[3] * b3[n])) +
             ((a1[4] * b4[n] + a1[5] * b5[n]) + (a1[6] * b6[n] + a1[7] * b7[n]));
  }
}

static void add_terms(float *restrict c, const float *a, const float *restrict b, int64_t pitch, int64_t columns) {
  const float *b0 = b, *b1 = b + pitch, *b2 = b + 2 * pitch, *b3 = b + 3 * pitch;
  const float *b4 = b + 4 * pitch, *b5 = b + 5 * pitch, *b6 = b + 6 * pitch, *b7 = b + 7 * pitch;
  for (int64_t n = 0; n < columns; n++) {
    c[n] += ((a[0] * b0[n] + a[1] * b1[n]) + (a[2] * b2[n] + a[3] * b3[n])) +
            ((a[4] * b4[n] + a[5] * b5[n]) + (a[6] * b6[n] + a[7] * b7[n]));
  }
}

static void add_term(float *restrict c, float a, const float *restrict b, int64_t columns) {
  for (int64_t n = 0; n < columns; n++) {
    c[n] += a * b[n];
  }
}

void ctn_cpu_multiply(float *c, int64_t c_pitch, const float *a, int64_t a_pitch, const float *b, int64_t b_pitch, int64_t rows,
                      int64_t columns, int64_t terms) {
  for (int64_t n = 0; n < columns; n += COLUMNS) {
    const int64_t width = ctn_min(COLUMNS, columns - n);
    int64_t t = 0;
    for (; t + UNROLL <= terms; t += UNROLL) { /* eight short rows of b stay in the first cache for all rows */
      const float *part = b + t * b_pitch + n;
      int64_t r = 0;
      for (; r + 2 <= rows; r += 2) {
        float *line = c + r * c_pitch + n;
        const float *factors = a + r * a_pitch + t;
        add_terms_to_pair(line, line + c_pitch, factors, factors + a_pitch, part, b_pitch, width);
      }
      if (r < rows) add_terms(c + r * c_pitch + n, a + r * a_pitch + t, part, b_pitch, width);
    }
    for (; t < terms; t++) {
      for (int64_t r = 0; r < rows; r++)
        add_term(c + r * c_pitch + n, a[r * a_pitch + t], b + t * b_pitch + n, width);
    }
  }
}

void ctn_cpu_transpose(float *to, int64_t pitch, const float *from, int64_t from_pitch, int64_t count, int64_t terms) {
  for (int64_t first = 0; first < terms; first += TRANSPOSE) {
    const int64_t end = ctn_min(first + TRANSPOSE, terms);
    for (int64_t n = 0; n < count; n++) {
      for (int64_t t = first; t < end; t++)
        to[t * pitch + n] = from[n * from_pitch + t];
    }
  }
}
