/*
 * Projection y = x W^T + bias for GPUs, heads split by the result's layout. See common/product_tile.clh for the tiling.
 *
 * Local (SIDE, SIDE, 1); global (features, length, batch), the first two in tiles.
 */
#include "common/types.clh"
#include "common/product_tile.clh"

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void projection(
    const __global storage *x, const long x_offset, const layout x_layout, const __global storage *weight, const long weight_offset,
    const __global storage *bias, const long bias_offset, const int has_bias, __global storage *out, const long out_offset,
    const layout out_layout, const long length, const long in_features, const long heads, const long head_dim) {
  __local float tile_x[DEPTH * TILE_PITCH];
  __local float tile_w[DEPTH * TILE_PITCH];
  const int column = (int)get_local_id(0), row = (int)get_local_id(1);
  const long features = heads * head_dim;
  const long b = (long)get_group_id(2);
  const long s0 = (long)get_group_id(1) * TILE, f0 = (long)get_group_id(0) * TILE;

  float4 total[PATCH];
  tile_product_nt(total, tile_x, tile_w, x, x_offset + b * x_layout.batch + s0 * x_layout.row, x_layout.row, length - s0, weight,
                  weight_offset + f0 * in_features, in_features, features - f0, in_features, row, column);
  float values[PATCH * PATCH];
  patch_spread(values, total);
  for (int r = 0; r < PATCH; r++) {
    const long s = s0 + r * SIDE + row;
    for (int c = 0; c < PATCH; c++) {
      const long f = f0 + c * SIDE + column;
      if (s < length && f < features) {
        float value = values[r * PATCH + c];
        if (has_bias) value += load(bias, bias_offset + f);
        const long h = f / head_dim, d = f - h * head_dim;
        const long place = b * out_layout.batch + h * out_layout.head + s * out_layout.row + d;
        store(out, out_offset + place, value);
      }
    }
  }
}
