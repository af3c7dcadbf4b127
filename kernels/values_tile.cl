/*
 * Tiled PV for GPUs: out[b, h, i, :] = sum_j weight_ij * v_j. See common/product_tile.clh for the tiling.
 *
 * The softmax left the weights of a chunk of rows in a panel, after dropout, with -0.0 where a key is excluded: a weight that
 * merely underflowed is +0.0. That sign matters only where v holds NaN or infinity: 0 * NaN would leak an excluded key into the result,
 * and skipping every zero would hide an attended one. So each tile of v is looked at while it is loaded, and only a tile with a value
 * that is not finite takes the slow loop, which skips -0.0.
 *
 * Local (SIDE, SIDE, 1); global (head_dim_v, rows of the chunk, heads of the chunk), the first two in tiles.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/product_tile.clh"

#define EXCLUDED_WEIGHT 0x80000000u /* the bits of -0.0f */

inline float4 fma_attended(float weight, float4 value, float4 sum) {
  return as_uint(weight) != EXCLUDED_WEIGHT ? fma((float4)(weight), value, sum) : sum;
}

/* As patch_multiply, leaving out excluded weights. */
inline void patch_multiply_attended(float4 part[PATCH], const __local float *a, const __local float *b, int row, int column) {
  for (int t = 0; t < DEPTH; t++) {
    const float4 x = patch_line(a + t * TILE_PITCH + row), y = patch_line(b + t * TILE_PITCH + column);
    part[0] = fma_attended(x.x, y, part[0]);
    part[1] = fma_attended(x.y, y, part[1]);
    part[2] = fma_attended(x.z, y, part[2]);
    part[3] = fma_attended(x.w, y, part[3]);
  }
}

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void values(
    const attention p, const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global float *weights, const panel weights_panel,
    const panel chunk, __global storage *out, const long out_offset) {
  __local float tile_p[DEPTH * TILE_PITCH];
  __local float tile_v[DEPTH * TILE_PITCH];
  __local int not_finite;
  const int column = (int)get_local_id(0), row = (int)get_local_id(1), item = row * SIDE + column;
  const long bh = chunk.head + (long)get_group_id(2);
  const long b = bh / p.q_heads, h = bh - b * p.q_heads;
  const long i0 = chunk.row + (long)get_group_id(1) * TILE, e0 = (long)get_group_id(0) * TILE;
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long rows = min(s.q_rows, chunk.row + chunk.rows) - i0; /* of this tile */
  const long v_start = v_offset + b * p.v.batch + h / p.group * p.v.head + s.kv_first * p.v.row;
  const long p_start = panel_index(weights_panel, p, bh, i0);
  long low, high;
  key_range(p, s, i0, i0 + min(rows, (long)TILE) - 1, &low, &high);

  float4 total[PATCH], part[PATCH];
  patch_clear(total);
  patch_clear(part);
  for (long j0 = low / DEPTH * DEPTH; j0 < high; j0 += DEPTH) {
    if (item == 0) not_finite = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
      const int line = n / DEPTH, t = n - line * DEPTH;
      float weight = as_float(EXCLUDED_WEIGHT);
      if (line < rows && j0 + t < high) weight = weights[p_start + line * p.kv_len + j0 + t];
      tile_p[t * TILE_PITCH + line] = weight;
    }
    for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
      const int t = n / TILE, e = n - t * TILE;
      float value = 0.0f;
      if (j0 + t < high && e0 + e < p.head_dim_v) value = load(v, v_start + (j0 + t) * p.v.row + e0 + e);
      if (!isfinite(value)) atomic_or(&not_finite, 1);
      tile_v[t * TILE_PITCH + e] = value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (not_finite) {
      patch_multiply_attended(part, tile_p, tile_v, row, column);
    } else {
      patch_multiply(part, tile_p, tile_v, row, column);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if ((j0 + DEPTH) % FLUSH == 0) patch_flush(total, part);
  }
  patch_flush(total, part);

  float results[PATCH * PATCH];
  patch_spread(results, total);
  for (int r = 0; r < PATCH; r++) {
    const long i = i0 + r * SIDE + row;
    for (int c = 0; c < PATCH; c++) {
      const long e = e0 + c * SIDE + column;
      if (i - i0 < rows && e < p.head_dim_v) {
        const long place = b * p.out.batch + h * p.out.head + (s.q_first + i) * p.out.row + e;
        store(out, out_offset + place, results[r * PATCH + c]);
      }
    }
  }
}
