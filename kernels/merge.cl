/*
 * Partial results over disjoint keys merged into the whole: with m = max_n lse_n,
 *
 *   lse = m + log sum_n exp(lse_n - m),  out = sum_n exp(lse_n - m) * out_n / sum_n exp(lse_n - m)
 *
 * Parts with lse -inf attended nothing and are left out, whatever their out holds; where all are, out = 0 and lse = -inf. NaN and +inf spread
 * as in attention: inf - inf is NaN.
 *
 * One work-item an element: global (dim, rows), dim 1 where only lse is wanted. part_out [parts, rows, dim], part_lse [parts, rows].
 */
#include "common/types.clh"

#ifndef PART_DTYPE
#define PART_DTYPE DTYPE /* storage type of part_out: 1 f32, 2 f16, 3 bf16 */
#endif
#if PART_DTYPE == 1
typedef float part_storage;
#elif PART_DTYPE == 2
typedef half part_storage;
#elif PART_DTYPE == 3
typedef ushort part_storage;
#else
#error "PART_DTYPE is 1 (f32), 2 (f16) or 3 (bf16)"
#endif

inline float load_part(const __global part_storage *data, long index) {
#if PART_DTYPE == 1
  return data[index];
#elif PART_DTYPE == 2
  return vload_half(index, data);
#else
  return widen_bf16(data[index]);
#endif
}

__kernel void merge(const __global part_storage *part_out, const long part_out_offset, const __global float *part_lse,
                    const long part_lse_offset, __global storage *out, const long out_offset, __global float *lse,
                    const long lse_offset, const long parts, const long rows, const long dim, const int write_out,
                    const int write_lse) {
  const long d = (long)get_global_id(0), row = (long)get_global_id(1);
  float largest = -INFINITY;
  bool attends = false;
  for (long n = 0; n < parts; n++) {
    const float l = part_lse[part_lse_offset + n * rows + row];
    largest = l > largest ? l : largest; /* a NaN is passed over here and shows in the sum */
    if (l != -INFINITY) attends = true;
  }
  float sum = 0.0f, value = 0.0f;
  for (long n = 0; n < parts; n++) {
    const float l = part_lse[part_lse_offset + n * rows + row];
    if (l != -INFINITY) {
      const float weight = exp(l - largest);
      sum += weight;
      if (write_out) value = fma(weight, load_part(part_out, part_out_offset + (n * rows + row) * dim + d), value);
    }
  }
  if (write_lse && d == 0) lse[lse_offset + row] = attends ? largest + log(sum) : -INFINITY;
  if (write_out) store(out, out_offset + row * dim + d, attends ? value / sum : 0.0f);
}
