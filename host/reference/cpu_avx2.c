/* The CPU path's inner loops in AVX2, FMA and F16C. */
#define CPU_VARIANT ctn_cpu_avx2
#define CPU_VARIANT_NAME "avx2"
#include "cpu_variant.h"
