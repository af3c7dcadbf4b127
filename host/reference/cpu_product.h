/* The matrix product inside the CPU path: attention's scores and values, and the projection. */
#ifndef CTN_CPU_PRODUCT_H
#define CTN_CPU_PRODUCT_H

#include <stdint.h>

/* c[r][n] += sum_t a[r][t] * b[t][n] on float32 arrays; the pitches are those of rows, in elements. c overlaps neither operand.
 */
void ctn_cpu_multiply(float *c, int64_t c_pitch, const float *a, int64_t a_pitch, const float *b, int64_t b_pitch, int64_t rows,
                      int64_t columns, int64_t terms);

/* to[t][n] = from[n][t] for count rows and terms columns of from. */
void ctn_cpu_transpose(float *to, int64_t pitch, const float *from, int64_t from_pitch, int64_t count, int64_t terms);

#endif
