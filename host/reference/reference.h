/* The host's own ways to compute: the float64 oracle that every other path is held to, and the float32 CPU path. Both take the
 * normalised problem and checked host arrays and write every requested result. */
#ifndef CTN_REFERENCE_H
#define CTN_REFERENCE_H

#include <stddef.h>

#include "pool.h"
#include "problem.h"

/* Plain loops in float64, to be read against the formulas; sums in float64, one rounding on storing. */
void ctn_oracle_attention(const struct attention *a, const clattn_arrays *arrays);
void ctn_oracle_embedding(const struct embedding *e, const clattn_arrays *arrays);
void ctn_oracle_position(const struct position *p, const clattn_arrays *arrays);
void ctn_oracle_projection(const struct projection *p, const clattn_arrays *arrays);
void ctn_oracle_merge(const struct merge *m, const clattn_arrays *arrays);

struct cpu_kernels;

/* float32 on the pool's threads, with the processor's best kernels or with those given; attention blocked over keys with an
 * online softmax. scratch holds ctn_cpu_*_scratch bytes, aligned to 64. */
size_t ctn_cpu_attention_scratch(const struct attention *a, const struct pool *pool);
void ctn_cpu_attention(const struct attention *a, const clattn_arrays *arrays, struct pool *pool, void *scratch);
void ctn_cpu_attention_with(const struct cpu_kernels *kernels, const struct attention *a, const clattn_arrays *arrays,
                            struct pool *pool, void *scratch);
void ctn_cpu_embedding(const struct embedding *e, const clattn_arrays *arrays, struct pool *pool);
void ctn_cpu_position(const struct position *p, const clattn_arrays *arrays, struct pool *pool);
void ctn_cpu_merge(const struct merge *m, const clattn_arrays *arrays, struct pool *pool);
size_t ctn_cpu_projection_scratch(const struct projection *p, const struct pool *pool);
void ctn_cpu_projection(const struct projection *p, const clattn_arrays *arrays, struct pool *pool, void *scratch);
void ctn_cpu_projection_with(const struct cpu_kernels *kernels, const struct projection *p, const clattn_arrays *arrays,
                             struct pool *pool, void *scratch);

#endif
