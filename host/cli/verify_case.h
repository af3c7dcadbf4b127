/* One case of clattn verify: computed, compared, judged. */
#ifndef CTN_VERIFY_CASE_H
#define CTN_VERIFY_CASE_H

#include <clattn/clattn.h>

#include "case.h"
#include "compare.h"

enum verdict { VERDICT_OK, VERDICT_FAIL, VERDICT_SKIP };

struct judgement {
  enum verdict verdict;
  char reason[1600];            /* of a failure or skip; one line */
  unsigned without;             /* expected results that were left out (RESULT_BIT) */
  unsigned compared;            /* expected results that were compared */
  double largest[RESULT_COUNT]; /* the largest difference of each that was compared */
  clattn_status status;         /* UNSUPPORTED where the path took no part of the case */
};

void ctn_verify_case(struct judgement *judgement, const char *path, clattn_context *context,
                     const clattn_plan_options *options);

/* "dq, dk, dv"; text takes 200 bytes. Returns text. */
const char *ctn_result_list(unsigned results, char *text);

#endif
