/* The CPU path's inner loops in AVX-512 (F, VL, DQ, BW), FMA and F16C. */
#define CPU_VARIANT ctn_cpu_avx512
#define CPU_VARIANT_NAME "avx512"
#include "cpu_variant.h"
