/*
 * Dense float32 copies of strided tensors, for matrix products by CLBlast: out[b, h, r, c] = data[b, h, r, c].
 *
 * checked 1 (for v): what is not finite becomes 0 and its row is flagged, because a general matrix product multiplies excluded keys by
 * 0 and would spread them; values_finish.cl puts back what attended keys contribute. flags[0] says whether any row is flagged; the
 * unchecked copy that runs before clears it.
 *
 * Rows of the copy are `pitch` elements apart; what lies between them is left as it is.
 *
 * One work-item a row: global (rows, batch * heads).
 */
#include "common/types.clh"

__kernel void widen(const __global storage *data, const long data_offset, const layout data_layout, const long heads,
                    const long rows, const long columns, const long pitch, __global float *out, const long out_offset, __global int *flags,
                    const long flags_offset, const int checked) {
  const long r = (long)get_global_id(0), bh = (long)get_global_id(1);
  const long b = bh / heads, h = bh - b * heads;
  const long from = data_offset + b * data_layout.batch + h * data_layout.head + r * data_layout.row;
  const long to = out_offset + (bh * rows + r) * pitch;
  int flag = 0;
  for (long c = 0; c < columns; c++) {
    const float value = load(data, from + c);
    const bool bad = checked && !isfinite(value);
    out[to + c] = bad ? 0.0f : value;
    if (bad) flag = 1;
  }
  if (checked) {
    flags[flags_offset + 1 + bh * rows + r] = flag;
    if (flag) atomic_or(flags + flags_offset, 1);
  } else if (r == 0 && bh == 0) {
    flags[flags_offset] = 0;
  }
}
