/*
 * Tiled QK^T for GPUs: raw[bh, i, j] = scale * dot(q_i, k_j) into a panel. See common/product_tile.clh for the tiling.
 *
 * Local (SIDE, SIDE, 1); global (kv_len, rows of the chunk, heads of the chunk), each in tiles. `chunk` says which rows and heads this
 * launch computes, `raw` where they go. complete 0: tiles that no row attends (lengths, causality, windows) are left unwritten. In
 * packed problems entries outside a sequence become 0 where complete.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/product_tile.clh"

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void scores(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global long *kv_len, const long kv_len_offset, const __global long *query_offset, const long query_offset_offset,
    const __global long *cu_q, const long cu_q_offset, const __global long *cu_kv, const long cu_kv_offset, __global float *raw,
    const panel raw_panel, const panel chunk, const int complete) {
  __local float tile_q[DEPTH * TILE_PITCH];
  __local float tile_k[DEPTH * TILE_PITCH];
  const int column = (int)get_local_id(0), row = (int)get_local_id(1);
  const long bh = chunk.head + (long)get_group_id(2);
  const long b = bh / p.q_heads, h = bh - b * p.q_heads;
  const long i0 = chunk.row + (long)get_group_id(1) * TILE, j0 = (long)get_group_id(0) * TILE;
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  long low, high;
  key_range(p, s, i0, min(i0 + TILE, chunk.row + chunk.rows) - 1, &low, &high);
  if (!complete && (j0 >= high || j0 + TILE <= low)) return;

  float4 total[PATCH];
  tile_product_nt(total, tile_q, tile_k, q, q_offset + b * p.q.batch + h * p.q.head + (s.q_first + i0) * p.q.row, p.q.row,
                  s.q_rows - i0, k, k_offset + b * p.k.batch + h / p.group * p.k.head + (s.kv_first + j0) * p.k.row, p.k.row,
                  s.kv_rows - j0, p.head_dim, row, column);
  float values[PATCH * PATCH];
  patch_spread(values, total);
  for (int r = 0; r < PATCH; r++) {
    const long i = i0 + r * SIDE + row;
    for (int c = 0; c < PATCH; c++) {
      const long j = j0 + c * SIDE + column;
      if (i < chunk.row + chunk.rows && j < p.kv_len) {
        const bool outside = i >= s.q_rows || j >= s.kv_rows;
        raw[panel_index(raw_panel, p, bh, i) + j] = outside ? 0.0f : p.scale * values[r * PATCH + c];
      }
    }
  }
}
