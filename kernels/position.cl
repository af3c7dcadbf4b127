/*
 * Sinusoidal position: out[b, s, d] = x[b, s, d] + pe(start + s, d), pe(pos, 2i) = sin(pos * base^(-2i/dim)), pe(pos, 2i+1) = cos(same).
 *
 * The trap is the reduction of a large angle in float32. The host gives each pair's frequency in turns (angle / 2 pi) as a 64-bit
 * fixed-point fraction; pos * frequency modulo 2^64 is then the fraction of a turn, exact in integers on any device, and only that
 * fraction, between -1/2 and 1/2, becomes a float.
 *
 * One work-item an element: global (dim, length, batch). has_x 0: out = pe. out may be x.
 */
#include "common/types.clh"

__kernel void position(const __global storage *x, const long x_offset, const __global ulong *frequency, __global storage *out,
                       const long out_offset, const long dim, const long length, const long start, const int has_x) {
  const long d = (long)get_global_id(0);
  const long s = (long)get_global_id(1);
  const long b = (long)get_global_id(2);
  const long index = (b * length + s) * dim + d;
  const ulong turn = (ulong)(start + s) * frequency[d / 2];
  const float half_turns = (float)(long)turn * 0x1p-63f; /* in [-1, 1] */
  float value = (d & 1) ? cospi(half_turns) : sinpi(half_turns);
  if (has_x) value += load(x, x_offset + index);
  store(out, out_offset + index, value);
}
