/* What a device can do at most: independent fused multiply-adds on vectors of VEC floats, and reads of them; and a kernel that
 * does nothing. */
#ifndef VEC
#define VEC 1 /* 1, 4, 8 or 16 */
#endif
#if VEC == 1
typedef float vec;
#elif VEC == 4
typedef float4 vec;
#elif VEC == 8
typedef float8 vec;
#else
typedef float16 vec;
#endif

/* A device that says its fma() is slow gets a product and a sum. */
#if VEC >= 8 || defined(FP_FAST_FMAF)
#define STEP(x) x = fma(x, a, b);
#else
#define STEP(x) x = x * a + b;
#endif

__kernel void multiply_add(__global float *out, const float factor, const float summand, const int steps) {
  const vec a = (vec)(factor), b = (vec)(summand);
  const vec first = (vec)((float)get_global_id(0));
  vec x0 = first, x1 = first + 1.0f, x2 = first + 2.0f, x3 = first + 3.0f, x4 = first + 4.0f, x5 = first + 5.0f;
  vec x6 = first + 6.0f, x7 = first + 7.0f, x8 = first + 8.0f, x9 = first + 9.0f, x10 = first + 10.0f, x11 = first + 11.0f;
  for (int i = 0; i < steps; i++) {
    STEP(x0) STEP(x1) STEP(x2) STEP(x3) STEP(x4) STEP(x5) STEP(x6) STEP(x7) STEP(x8) STEP(x9) STEP(x10) STEP(x11)
  }
  const vec sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11;
#if VEC == 1
  out[get_global_id(0)] = sum;
#else
  out[get_global_id(0)] = sum.s0 + sum.s1 + sum.s2 + sum.s3;
#endif
}

/* Each work-item reads 4 * turns vectors: those of a processor's one after the other, those of a GPU's beside its neighbours'. */
__kernel void read(__global float *out, __global const vec *data, const int turns) {
#if VEC >= 8
  const size_t step = 1;
  __global const vec *at = data + get_global_id(0) * (size_t)turns * 4;
#else
  const size_t step = get_global_size(0);
  __global const vec *at = data + get_global_id(0);
#endif
  vec x0 = (vec)(0.0f), x1 = x0, x2 = x0, x3 = x0;
  for (int i = 0; i < turns; i++) {
    x0 += at[0], x1 += at[step], x2 += at[2 * step], x3 += at[3 * step];
    at += 4 * step;
  }
  const vec sum = x0 + x1 + x2 + x3;
#if VEC == 1
  out[get_global_id(0)] = sum;
#elif VEC == 4
  out[get_global_id(0)] = sum.s0 + sum.s1 + sum.s2 + sum.s3;
#else
  const float8 half_sum =
#if VEC == 16
      sum.lo + sum.hi;
#else
      sum;
#endif
  const float4 quarter = half_sum.lo + half_sum.hi;
  out[get_global_id(0)] = quarter.s0 + quarter.s1 + quarter.s2 + quarter.s3;
#endif
}

__kernel void empty(__global float *out) {}
