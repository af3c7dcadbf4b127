/* From a case to its results: plan, memory, execution. What run writes and verify compares. */
#ifndef CTN_RESULTS_H
#define CTN_RESULTS_H

#include "case.h"

struct results {
  struct st_file file; /* tensors named by ctn_result_name */
  clattn_plan *plan;   /* NULL where nothing had to be computed */
  void *memory[RESULT_COUNT];
};

/*
 * Computes the set wanted of results (RESULT_BIT, within RESULTS_KNOWN). out has q's type and layout, present_k and present_v
 * k's type, all others float32. Status and text are the library's: UNSUPPORTED where the path does not produce one of them.
 */
clattn_status ctn_results_compute(struct results *results, struct case_file *c, clattn_context *context,
                                  const clattn_plan_options *options, unsigned wanted, clattn_error *error);

/* Whether a plan exists for these results, computing nothing. */
clattn_status ctn_results_plan(clattn_plan **plan, const struct case_file *c, clattn_context *context,
                               const clattn_plan_options *options, unsigned wanted, clattn_error *error);
void ctn_results_clear(struct results *results);

#endif
