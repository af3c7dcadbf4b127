/*
 * Projection y = x W^T + bias for CPU devices, heads split by the result's layout, lanes along the features. See
 * common/product_vector.clh.
 *
 * Local 1; global (features in blocks of COLUMNS, length in blocks of ROWS, batch).
 */
#include "common/types.clh"
#if DTYPE == 1
#define LEFT_CONVERTED 0
#else
#define LEFT_CONVERTED 1
#endif
#include "common/product_vector.clh"
#include "common/product_vector_nt.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void projection(
    const __global storage *x, const long x_offset, const layout x_layout, const __global storage *weight, const long weight_offset,
    const __global storage *bias, const long bias_offset, const int has_bias, __global storage *out, const long out_offset,
    const layout out_layout, const long length, const long in_features, const long heads, const long head_dim) {
  __local vec packed[2 * DEPTH];
  __local vec sums[2 * ROWS];
  __local float converted[LEFT_CONVERTED ? ROW_BLOCK * DEPTH : 1];
  const __local float *lanes = (const __local float *)sums;
  const long b = (long)get_group_id(2);
  const long s0 = (long)get_group_id(1) * ROWS, f0 = (long)get_group_id(0) * COLUMNS;
  const int rows = (int)min((long)ROWS, length - s0);
  const long columns = min((long)COLUMNS, heads * head_dim - f0);

  vector_product_nt(sums, packed, converted, x, x_offset + b * x_layout.batch + s0 * x_layout.row, x_layout.row, rows, weight,
                    weight_offset + f0 * in_features, in_features, columns, in_features);
  for (int c = 0; c < columns; c++) {
    const long f = f0 + c;
    const float addend = has_bias ? load(bias, bias_offset + f) : 0.0f;
    const long h = f / head_dim, d = f - h * head_dim;
    const long place = out_offset + b * out_layout.batch + h * out_layout.head + d;
    for (int r = 0; r < rows; r++) store(out, place + (s0 + r) * out_layout.row, lanes[r * COLUMNS + c] + addend);
  }
}
