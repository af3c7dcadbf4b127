/* What the tests of the reference room share: a problem with its memory, the two paths, and the comparison of their results. */
#ifndef CTN_REFERENCE_SUPPORT_H
#define CTN_REFERENCE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "half.h"
#include "reference.h"

#define ALL_OUTPUTS                                                                                     \
  (CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE | CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED | \
   CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS)

/* A problem with memory for each of its tensors, all bytes 0xff to begin with: NaN in every type, results and gaps included. */
struct setup {
  struct problem problem;
  clattn_arrays arrays;
};

/* Fail the test where the descriptor is refused. */
void support_attention(struct setup *setup, const clattn_problem *problem);
void support_embedding(struct setup *setup, const clattn_embedding *problem);
void support_position(struct setup *setup, const clattn_position *problem);
void support_projection(struct setup *setup, const clattn_projection *problem);
void support_free(struct setup *setup);

/* All bytes of the results to 0xff again. */
void support_poison(struct setup *setup);

/* Runs the problem, after ctn_arrays_check; pool NULL: the oracle, else the CPU path, on scratch full of NaN. */
void support_run(struct setup *setup, struct pool *pool);

/* From -1 to 1, the same for the same state. */
double support_random(uint64_t *state);
/* Sets element index of a tensor of the given type. */
void support_set(clattn_dtype dtype, const void *data, int64_t index, double value);
/* Sets the first count elements. */
void support_fill(clattn_dtype dtype, const void *data, int64_t count, const double *values);

/* norm(got - want) / norm(want) over count elements. Fails the test where one has NaN or an infinity and the other has not the
 * same. */
double support_difference(clattn_dtype dtype, const void *got, const void *want, int64_t count, const char *what);

#endif
