/* Native loops at a processor's limit, one set for each instruction set, chosen at run time. Compiled with optimisation and
 * with contraction, whatever the build type. */
#include "bench_peak.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): attributes cannot stand in parentheses */
/* PEAK_SUMS sums that do not wait for each other; with factor and summand they fill 14 of 16 registers. */
#define LOOPS(name, width, attributes)                                                                          \
  typedef float vec_##name __attribute__((vector_size(4 * (width)), aligned(4), may_alias));                    \
  attributes static float multiply_add_##name(int64_t steps, float factor, float summand) {                     \
    typedef vec_##name vec;                                                                                     \
    const vec a = factor - (vec){0}, b = summand - (vec){0};                                                    \
    vec x0 = b, x1 = b + 1, x2 = b + 2, x3 = b + 3, x4 = b + 4, x5 = b + 5;                                     \
    vec x6 = b + 6, x7 = b + 7, x8 = b + 8, x9 = b + 9, x10 = b + 10, x11 = b + 11;                             \
    for (int64_t i = 0; i < steps; i++) {                                                                       \
      x0 = x0 * a + b, x1 = x1 * a + b, x2 = x2 * a + b, x3 = x3 * a + b, x4 = x4 * a + b, x5 = x5 * a + b;     \
      x6 = x6 * a + b, x7 = x7 * a + b, x8 = x8 * a + b, x9 = x9 * a + b, x10 = x10 * a + b, x11 = x11 * a + b; \
    }                                                                                                           \
    const vec sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11;                                \
    float total = 0;                                                                                            \
    for (int lane = 0; lane < (width); lane++)                                                                  \
      total += sum[lane];                                                                                       \
    return total;                                                                                               \
  }                                                                                                             \
  attributes static float read_##name(const float *data, int64_t count) {                                       \
    typedef vec_##name vec;                                                                                     \
    vec x0 = {0}, x1 = {0}, x2 = {0}, x3 = {0};                                                                 \
    for (int64_t i = 0; i < count; i += INT64_C(4) * (width)) {                                                 \
      const vec *at = (const vec *)(data + i);                                                                  \
      x0 += at[0], x1 += at[1], x2 += at[2], x3 += at[3];                                                       \
    }                                                                                                           \
    const vec sum = x0 + x1 + x2 + x3;                                                                          \
    float total = 0;                                                                                            \
    for (int lane = 0; lane < (width); lane++)                                                                  \
      total += sum[lane];                                                                                       \
    return total;                                                                                               \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

LOOPS(baseline, 4, )
static const struct peak_loops baseline = {"baseline", 4, multiply_add_baseline, read_baseline};

#if defined(__x86_64__) || defined(__i386__)
LOOPS(avx2, 8, __attribute__((target("avx2,fma"))))
LOOPS(avx512, 16, __attribute__((target("avx512f,fma"))))
static const struct peak_loops avx2 = {"AVX2", 8, multiply_add_avx2, read_avx2};
static const struct peak_loops avx512 = {"AVX-512", 16, multiply_add_avx512, read_avx512};
#endif

const struct peak_loops *ctn_peak_loops_best(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
#endif
  return &baseline;
}
