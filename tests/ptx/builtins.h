/* The OpenCL C functions that the matrix kernels call, for clang's NVPTX target, which has none: enough to assemble them. */
#include <opencl-c-base.h>

#define BUILTIN static inline __attribute__((overloadable, always_inline))

BUILTIN size_t get_local_id(uint n) { return __nvvm_read_ptx_sreg_tid_x(); }
BUILTIN size_t get_group_id(uint n) {
  return n == 0 ? __nvvm_read_ptx_sreg_ctaid_x() : n == 1 ? __nvvm_read_ptx_sreg_ctaid_y() : __nvvm_read_ptx_sreg_ctaid_z();
}
BUILTIN void barrier(uint flags) { __syncthreads(); }
BUILTIN int atomic_or(volatile __local int *at, int bits) {
  int before;
  __asm__ volatile("atom.shared.or.b32 %0, [%1], %2;" : "=r"(before) : "r"((uint)(size_t)at), "r"(bits) : "memory");
  return before;
}

BUILTIN int min(int a, int b) { return a < b ? a : b; }
BUILTIN long min(long a, long b) { return a < b ? a : b; }
BUILTIN int max(int a, int b) { return a > b ? a : b; }
BUILTIN long max(long a, long b) { return a > b ? a : b; }
BUILTIN long clamp(long x, long low, long high) { return min(max(x, low), high); }
BUILTIN ulong abs(long x) { return x < 0 ? -(ulong)x : (ulong)x; }
BUILTIN uint mul_hi(uint a, uint b) { return (uint)((ulong)a * b >> 32); }

BUILTIN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BUILTIN float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
BUILTIN int isnan(float x) { return __builtin_isnan(x); }
BUILTIN int isfinite(float x) { return __builtin_isfinite(x); }
BUILTIN float exp2(float x) {
  float y;
  __asm__("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BUILTIN float log2(float x) {
  float y;
  __asm__("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BUILTIN float tanh(float x) { /* as long as a driver's */
  const float e = exp2(2.885390082f * (x < 0 ? -x : x)), t = 1.0f - 2.0f / (e + 1.0f);
  return x < 0 ? -t : t;
}

BUILTIN float widen_bits(ushort bits) {
  float y;
  __asm__("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
  return y;
}
BUILTIN float vload_half(size_t n, const __global half *at) { return widen_bits(((const __global ushort *)at)[n]); }
BUILTIN float vload_half(size_t n, const __local half *at) { return widen_bits(((const __local ushort *)at)[n]); }
BUILTIN void vstore_half_rte(float x, size_t n, __global half *at) {
  ushort bits;
  __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  ((__global ushort *)at)[n] = bits;
}
