/*
 * After CLBlast's PV: the float32 products of a chunk go to their place and type in out. Where some v is not finite, the products were made
 * with 0 in its stead (widen.cl), and the contributions weight * v of attended keys are added here; excluded keys have weight -0.0.
 *
 * One work-item an element: global (head_dim_v, rows of the chunk, heads of the chunk).
 */
#include "common/types.clh"
#include "common/attention.clh"

#define EXCLUDED_WEIGHT 0x80000000u /* the bits of -0.0f */

__kernel void finish(const attention p, const __global storage *v, const long v_offset, const __global float *weights,
                     const panel weights_panel, const __global float *products, const long products_offset,
                     const __global int *flags, const long flags_offset, const long kv_heads, const panel chunk,
                     __global storage *out, const long out_offset) {
  const long e = (long)get_global_id(0), row = (long)get_global_id(1), head = (long)get_global_id(2);
  const long bh = chunk.head + head, i = chunk.row + row;
  const long b = bh / p.q_heads, h = bh - b * p.q_heads, kv_head = h / p.group;
  float sum = products[products_offset + (head * chunk.rows + row) * p.head_dim_v + e];
  if (flags[flags_offset]) {
    const __global int *flagged = flags + flags_offset + 1 + (b * kv_heads + kv_head) * p.kv_len;
    const __global float *weight = weights + panel_index(weights_panel, p, bh, i);
    for (long j = 0; j < p.kv_len; j++) {
      if (flagged[j] && as_uint(weight[j]) != EXCLUDED_WEIGHT) {
        const float value = load(v, v_offset + b * p.v.batch + kv_head * p.v.head + j * p.v.row + e);
        if (!isfinite(value)) sum = fma(weight[j], value, sum);
      }
    }
  }
  store(out, out_offset + b * p.out.batch + h * p.out.head + i * p.out.row + e, sum);
}
