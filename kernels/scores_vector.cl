/*
 * QK^T for CPU devices: raw[bh, i, j] = scale * dot(q_i, k_j) into a panel, lanes along the keys. See common/product_vector.clh.
 *
 * Local 1; global (kv_len in blocks of COLUMNS, rows of the chunk in blocks of ROWS, heads of the chunk). `chunk` says which rows and
 * heads this launch computes, `raw` where they go. complete 0: blocks that no row attends are left unwritten. In packed problems
 * entries outside a sequence become 0 where complete.
 */
#include "common/types.clh"
#include "common/attention.clh"
#if DTYPE == 1
#define LEFT_CONVERTED 0
#else
#define LEFT_CONVERTED 1
#endif
#include "common/product_vector.clh"
#include "common/product_vector_nt.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scores(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global long *kv_len, const long kv_len_offset, const __global long *query_offset, const long query_offset_offset,
    const __global long *cu_q, const long cu_q_offset, const __global long *cu_kv, const long cu_kv_offset, __global float *raw,
    const panel raw_panel, const panel chunk, const int complete) {
  __local vec packed[2 * DEPTH];
  __local vec sums[2 * ROWS];
  __local float converted[LEFT_CONVERTED ? ROW_BLOCK * DEPTH : 1];
  const __local float *lanes = (const __local float *)sums;
  const long bh = chunk.head + (long)get_group_id(2);
  const long b = bh / p.q_heads, h = bh - b * p.q_heads;
  const long i0 = chunk.row + (long)get_group_id(1) * ROWS, j0 = (long)get_group_id(0) * COLUMNS;
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const int rows = (int)min((long)ROWS, chunk.row + chunk.rows - i0);
  const int present = (int)clamp(s.q_rows - i0, 0L, (long)rows); /* the rest lies outside a packed sequence */
  const long columns = min((long)COLUMNS, p.kv_len - j0);
  const long keys = clamp(s.kv_rows - j0, 0L, columns);
  long low, high;
  key_range(p, s, i0, i0 + rows - 1, &low, &high);
  if (!complete && (j0 >= high || j0 + COLUMNS <= low)) return;

  vector_product_nt(sums, packed, converted, q, q_offset + b * p.q.batch + h * p.q.head + (s.q_first + i0) * p.q.row, p.q.row,
                    present, k, k_offset + b * p.k.batch + h / p.group * p.k.head + (s.kv_first + j0) * p.k.row, p.k.row, keys,
                    p.head_dim);
  for (int r = 0; r < rows; r++) {
    __global float *line = raw + panel_index(raw_panel, p, bh, i0 + r) + j0;
    if (keys == COLUMNS && r < present) {
      store_lanes(sums[2 * r] * p.scale, line);
      store_lanes(sums[2 * r + 1] * p.scale, line + VEC);
    } else {
      for (int c = 0; c < columns; c++) line[c] = r < present && c < keys ? p.scale * lanes[r * COLUMNS + c] : 0.0f;
    }
  }
}
