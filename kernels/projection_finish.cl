/*
 * After CLBlast's x W^T: adds the bias and puts the float32 products, dense [batch, length, features], to their place and type in out.
 *
 * One work-item an element: global (features, length, batch).
 */
#include "common/types.clh"

__kernel void finish(const __global float *products, const long products_offset, const __global storage *bias,
                     const long bias_offset, const int has_bias, __global storage *out, const long out_offset,
                     const layout out_layout, const long head_dim) {
  const long f = (long)get_global_id(0), s = (long)get_global_id(1), b = (long)get_global_id(2);
  const long features = (long)get_global_size(0), length = (long)get_global_size(1);
  float value = products[products_offset + (b * length + s) * features + f];
  if (has_bias) value += load(bias, bias_offset + f);
  const long h = f / head_dim, d = f - h * head_dim;
  store(out, out_offset + b * out_layout.batch + h * out_layout.head + s * out_layout.row + d, value);
}
