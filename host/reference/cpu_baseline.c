/* The CPU path's inner loops in what every processor of the target has. */
#define CPU_VARIANT ctn_cpu_baseline
#define CPU_VARIANT_NAME "baseline"
#include "cpu_variant.h"
