/*
 * PV for CPU devices: out[b, h, i, :] = sum_j weight_ij * v_j, lanes along the value columns. See common/product_vector.clh.
 *
 * Excluded keys have weight -0.0 and must not be multiplied where v is not finite: values_tile.cl says why. Each packed piece of v says
 * whether it holds such a value, and only those pieces take the loop that looks at every weight.
 *
 * Local 1; global (head_dim_v in blocks of COLUMNS, rows of the chunk in blocks of ROWS, heads of the chunk).
 */
#include "common/types.clh"
#include "common/attention.clh"
#define LEFT_CONVERTED 0 /* weights are float32 whatever the storage type */
#include "common/product_vector.clh"

#define EXCLUDED_WEIGHT 0x80000000u /* the bits of -0.0f */

/* As multiply_rows for one row, leaving out excluded weights. */
inline void multiply_attended(__local vec *sums, const __local vec *packed, const __global float *weights, int terms) {
  vec x = (vec)(0.0f), y = (vec)(0.0f);
  for (int t = 0; t < terms; t++) {
    if (as_uint(weights[t]) != EXCLUDED_WEIGHT) {
      x = fma((vec)(weights[t]), packed[2 * t], x);
      y = fma((vec)(weights[t]), packed[2 * t + 1], y);
    }
  }
  sums[0] += x;
  sums[1] += y;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void values(
    const attention p, const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global float *weights, const panel weights_panel,
    const panel chunk, __global storage *out, const long out_offset) {
  __local vec packed[2 * DEPTH];
  __local vec sums[2 * ROWS];
  const __local float *lanes = (const __local float *)sums;
  const long bh = chunk.head + (long)get_group_id(2);
  const long b = bh / p.q_heads, h = bh - b * p.q_heads;
  const long i0 = chunk.row + (long)get_group_id(1) * ROWS, e0 = (long)get_group_id(0) * COLUMNS;
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const int rows = (int)min((long)ROWS, min(s.q_rows, chunk.row + chunk.rows) - i0);
  if (rows <= 0) return; /* outside a packed sequence */
  const long columns = min((long)COLUMNS, p.head_dim_v - e0);
  const long v_start = v_offset + b * p.v.batch + h / p.group * p.v.head + s.kv_first * p.v.row + e0;
  const __global float *left = weights + panel_index(weights_panel, p, bh, i0);
  long low, high;
  key_range(p, s, i0, i0 + rows - 1, &low, &high);

  clear_sums(sums, ROWS);
  for (long j0 = low; j0 < high; j0 += DEPTH) {
    const int count = (int)min((long)DEPTH, high - j0);
    const bool not_finite = pack_rows(packed, v, v_start + j0 * p.v.row, p.v.row, columns, count);
    for (int r = 0; r < rows; r += ROW_BLOCK) {
      const int block = min(ROW_BLOCK, rows - r);
      if (not_finite) {
        for (int n = r; n < r + block; n++) multiply_attended(sums + 2 * n, packed, left + n * p.kv_len + j0, count);
      } else {
        multiply_rows(sums + 2 * r, packed, left + r * p.kv_len + j0, p.kv_len, block, count);
      }
    }
  }

  const long place = out_offset + b * p.out.batch + h * p.out.head + (s.q_first + i0) * p.out.row + e0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) store(out, place + r * p.out.row + c, lanes[r * COLUMNS + c]);
  }
}
