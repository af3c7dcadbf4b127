/* A problem with its memory, and the one comparison of results: what the tests of all paths share. */
#ifndef CTN_SUPPORT_SETUP_H
#define CTN_SUPPORT_SETUP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "half.h"
#include "problem.h"

#define ALL_OUTPUTS                                                                                     \
  (CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE | CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED | \
   CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS)

/* What inputs and results consist of before they are filled. As an input it is NaN in every type. As a result it is a large
 * finite number in every type, so that an element left unwritten is neither right nor a NaN that another path has too. */
enum { INPUT_POISON = 0xff, RESULT_POISON = 0x7b };

/* A problem with memory for each of its tensors, poisoned to begin with. */
struct setup {
  struct problem problem;
  clattn_arrays arrays;
  void *memory[TENSOR_COUNT]; /* to be freed; NULL for a tensor inside another one's memory */
};

/* Fail the test where the descriptor is refused. */
void support_attention(struct setup *setup, const clattn_problem *problem);
void support_embedding(struct setup *setup, const clattn_embedding *problem);
void support_position(struct setup *setup, const clattn_position *problem);
void support_projection(struct setup *setup, const clattn_projection *problem);
void support_merge(struct setup *setup, const clattn_merge *problem);
void support_free(struct setup *setup);

/* All bytes of the results to the poison again. */
void support_poison(struct setup *setup);

/* From -1 to 1, the same for the same state. */
double support_random(uint64_t *state);
/* Sets element index of a tensor of the given type. */
void support_set(clattn_dtype dtype, const void *data, int64_t index, double value);
/* Sets the first count elements. */
void support_fill(clattn_dtype dtype, const void *data, int64_t count, const double *values);

/*
 * The tolerances of all numeric tests: the largest norm(got - want) / norm(want) for results of a storage type, where `largest`
 * is the largest attended score (0 for operations without scores). lse and the stage tensors are f32 whatever the storage type.
 */
double support_limit(clattn_dtype dtype, double largest);

/* norm(got - want) / norm(want) over count elements. Fails the test where one has NaN or an infinity and the other has not the
 * same. */
double support_difference(clattn_dtype dtype, const void *got, const void *want, int64_t count, const char *what);

/*
 * Every result of `got` against the same of `want`: within support_limit, NaN and infinities in the same places, the gaps of a
 * strided out still poison. want may have more results than got. The first tells what is wrong in text (200 bytes or more);
 * the second fails the test, with `what` in the message.
 */
bool support_agrees(const struct setup *got, const struct setup *want, double largest, char *text, size_t size);
void support_compare(const struct setup *got, const struct setup *want, double largest, const char *what);

#endif
