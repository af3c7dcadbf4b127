/*
 * Projection y = x W^T + bias for CPU devices, heads split by the result's layout, lanes along the features.
 *
 * A work-group computes `group_rows` rows of PANELS * COLUMNS features. For each DEPTH terms it packs the weights of those features, which then
 * stay in the first cache, and goes over its rows once: ROW_BLOCK of them are read (and converted) for all panels. Packing costs as much as
 * about ten rows, so that group_rows should be a few hundred where there are enough rows for every processor. The loops are those of
 * common/product_vector.clh.
 *
 * Local 1; global (features in blocks of PANELS * COLUMNS, length in blocks of group_rows, batch). ROW_BLOCK divides group_rows, which is at
 * most ROWS.
 */
#include "common/types.clh"
#if DTYPE == 1
#define LEFT_CONVERTED 0
#else
#define LEFT_CONVERTED 1
#endif
#ifndef DEPTH
#define DEPTH 256 /* terms packed at a time */
#endif
#ifndef ROWS
#define ROWS 384 /* rows of a work-group, at most */
#endif
#include "common/product_vector.clh"

#if VEC == 16
#define PANELS 1
#else
#define PANELS 2
#endif

/* Rows of one panel's features from `first` on: the sums, with the bias, to where the result's layout has them. */
inline void store_panel(const __local vec *sums, int rows, long first, long columns, long s0, const __global storage *bias, int has_bias,
                        __global storage *out, long start, const layout out_layout, long head_dim) {
  const __local float *lanes = (const __local float *)sums;
  for (int c = 0; c < columns; c += VEC) {
    const long f = first + c, h = f / head_dim, d = f - h * head_dim;
    if (c + VEC <= columns && d + VEC <= head_dim) {
      const vec addend = has_bias ? load_vector(bias, f) : (vec)(0.0f);
      const long place = start + h * out_layout.head + s0 * out_layout.row + d;
      for (int r = 0; r < rows; r++) store_vector(out, place + r * out_layout.row, sums[2 * r + c / VEC] + addend);
      continue;
    }
    for (int i = c; i < min((long)(c + VEC), columns); i++) {
      const long feature = first + i, head = feature / head_dim;
      const long place = start + head * out_layout.head + s0 * out_layout.row + (feature - head * head_dim);
      const float addend = has_bias ? load(bias, feature) : 0.0f;
      for (int r = 0; r < rows; r++) store(out, place + r * out_layout.row, lanes[r * COLUMNS + i] + addend);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void projection(
    const __global storage *x, const long x_offset, const layout x_layout, const __global storage *weight, const long weight_offset,
    const __global storage *bias, const long bias_offset, const int has_bias, __global storage *out, const long out_offset,
    const layout out_layout, const long length, const long in_features, const long heads, const long head_dim,
    const long group_rows) {
  __local vec packed[PANELS * 2 * DEPTH];
  __local vec sums[PANELS * 2 * ROWS];
  __local float converted[LEFT_CONVERTED ? ROW_BLOCK * DEPTH : 1];
  const long b = (long)get_group_id(2);
  const long s0 = (long)get_group_id(1) * group_rows, f0 = (long)get_group_id(0) * (PANELS * COLUMNS);
  const int rows = (int)min(group_rows, length - s0);
  const long features = min((long)(PANELS * COLUMNS), heads * head_dim - f0);

  for (int n = 0; n < PANELS; n++) clear_sums(sums + n * 2 * ROWS, (rows + ROW_BLOCK - 1) / ROW_BLOCK * ROW_BLOCK);
  for (long first = 0; first < in_features; first += DEPTH) {
    const int terms = (int)min((long)DEPTH, in_features - first);
    for (int n = 0; n * COLUMNS < features; n++) {
      pack_transposed(packed + n * 2 * DEPTH, weight, weight_offset + (f0 + n * COLUMNS) * in_features + first, in_features,
                      features - n * COLUMNS, terms);
    }
    for (int r = 0; r < rows; r += ROW_BLOCK) {
      const int block = min(ROW_BLOCK, rows - r);
      const long start = x_offset + b * x_layout.batch + (s0 + r) * x_layout.row + first;
#if LEFT_CONVERTED
      convert_left(converted, x, start, x_layout.row, block, terms);
#endif
      for (int n = 0; n * COLUMNS < features; n++) {
#if LEFT_CONVERTED
        multiply_rows(sums + 2 * (n * ROWS + r), packed + n * 2 * DEPTH, converted, DEPTH, block, terms);
#else
        multiply_rows(sums + 2 * (n * ROWS + r), packed + n * 2 * DEPTH, x + start, x_layout.row, block, terms);
#endif
      }
    }
  }
  for (int n = 0; n * COLUMNS < features; n++) {
    store_panel(sums + n * 2 * ROWS, rows, f0 + n * COLUMNS, min((long)COLUMNS, features - n * COLUMNS), s0, bias + bias_offset,
                has_bias, out, out_offset + b * out_layout.batch, out_layout, head_dim);
  }
}
