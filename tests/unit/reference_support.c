/* Running a problem through the oracle or the CPU path. */
#include "reference_support.h"

#include <stdlib.h>
#include <string.h>

static const struct cpu_kernels *chosen;

const struct cpu_kernels *support_kernels(void) {
  return chosen != NULL ? chosen : ctn_cpu_kernels_best();
}

bool support_use_kernels(int n) {
  int count;
  const struct cpu_kernels *const *all = ctn_cpu_kernels_all(&count);
  for (int i = 0; i < count; i++) {
    if (!ctn_cpu_kernels_run(all[i]) || n-- > 0) continue;
    chosen = all[i];
    return true;
  }
  return false;
}

static void run_oracle(const struct setup *setup) {
  const struct problem *p = &setup->problem;
  if (p->operation == OP_ATTENTION) ctn_oracle_attention(&p->as.attention, &setup->arrays);
  if (p->operation == OP_EMBEDDING) ctn_oracle_embedding(&p->as.embedding, &setup->arrays);
  if (p->operation == OP_POSITION) ctn_oracle_position(&p->as.position, &setup->arrays);
  if (p->operation == OP_PROJECTION) ctn_oracle_projection(&p->as.projection, &setup->arrays);
}

static void run_cpu(const struct setup *setup, struct pool *pool) {
  const struct problem *p = &setup->problem;
  size_t bytes = 0;
  if (p->operation == OP_ATTENTION) bytes = ctn_cpu_attention_scratch(&p->as.attention, pool);
  if (p->operation == OP_PROJECTION) bytes = ctn_cpu_projection_scratch(&p->as.projection, pool);
  void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes);
  if (p->operation == OP_ATTENTION) ctn_cpu_attention_with(support_kernels(), &p->as.attention, &setup->arrays, pool, scratch);
  if (p->operation == OP_EMBEDDING) ctn_cpu_embedding(&p->as.embedding, &setup->arrays, pool);
  if (p->operation == OP_POSITION) ctn_cpu_position(&p->as.position, &setup->arrays, pool);
  if (p->operation == OP_PROJECTION)
    ctn_cpu_projection_with(support_kernels(), &p->as.projection, &setup->arrays, pool, scratch);
  free(scratch);
}

void support_run(struct setup *setup, struct pool *pool) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_arrays_check(&setup->problem, &setup->arrays, &error) != CLATTN_OK) {
    fail_msg("the arrays are refused: %s", error.text);
  }
  if (pool == NULL) {
    run_oracle(setup);
  } else {
    run_cpu(setup, pool);
  }
}
