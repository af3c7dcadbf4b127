/* Which variants of the CPU path's inner loops there are, and which of them this processor can run. */
#include "cpu_kernels.h"

#ifdef CLATTN_CPU_X86
#include <cpuid.h>

static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

static const struct cpu_kernels *const all[] = {
    &ctn_cpu_baseline,
#ifdef CLATTN_CPU_X86
    &ctn_cpu_avx2,
    &ctn_cpu_avx512,
#endif
};

enum { COUNT = sizeof all / sizeof all[0] };

const struct cpu_kernels *const *ctn_cpu_kernels_all(int *count) {
  *count = COUNT;
  return all;
}

bool ctn_cpu_kernels_run(const struct cpu_kernels *kernels) {
#ifdef CLATTN_CPU_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (kernels == &ctn_cpu_avx2) return avx2;
  if (kernels == &ctn_cpu_avx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  }
#endif
  return kernels == &ctn_cpu_baseline;
}

const struct cpu_kernels *ctn_cpu_kernels_best(void) {
  for (int n = COUNT - 1; n > 0; n--) {
    if (ctn_cpu_kernels_run(all[n])) return all[n];
  }
  return all[0];
}
