/* One case of clattn verify: see verify_case.h. */
#include "verify_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "results.h"
#include "status.h"

const char *ctn_result_list(unsigned results, char *text) {
  size_t length = 0;
  text[0] = '\0';
  for (int i = 0; i < RESULT_COUNT; i++) {
    if (!(results & RESULT_BIT(i))) continue;
    length += (size_t)snprintf(text + length, 200 - length, "%s%s", length ? ", " : "", ctn_result_name((enum result)i));
  }
  return text;
}

static void judge(struct judgement *judgement, enum verdict verdict, const char *format, ...) CTN_PRINTF(3, 4);

static void judge(struct judgement *judgement, enum verdict verdict, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(judgement->reason, sizeof judgement->reason, format, arguments);
  va_end(arguments);
  ctn_one_line(judgement->reason);
  judgement->verdict = verdict;
}

static const struct st_tensor *expected(const struct case_file *c, enum result result) {
  char name[64];
  snprintf(name, sizeof name, "expected.%s", ctn_result_name(result));
  return ctn_st_find(&c->file, name);
}

/* The set of expected results; 0 with a failure where one of them says nothing. */
static unsigned expected_results(struct judgement *judgement, const struct case_file *c) {
  unsigned results = 0;
  for (int i = 0; i < RESULT_COUNT; i++) {
    const struct st_tensor *tensor = expected(c, (enum result)i);
    if (!tensor) continue;
    if (tensor->count == 0) {
      judge(judgement, VERDICT_FAIL, "%s: has no elements, so it would hold whatever is computed", tensor->name);
      return 0;
    }
    if (tensor->dtype != ST_F16 && tensor->dtype != ST_BF16 && tensor->dtype != ST_F32 && tensor->dtype != ST_F64) {
      judge(judgement, VERDICT_FAIL, "%s: dtype %s is not floating point", tensor->name, ctn_st_name(tensor->dtype));
      return 0;
    }
    results |= RESULT_BIT(i);
  }
  if (!results) judge(judgement, VERDICT_FAIL, "no expected.* tensor: there is nothing to compare");
  return results;
}

/* Of the results wanted, those that the path produces, each asked for alone. */
static unsigned producible(const struct case_file *c, clattn_context *context, const clattn_plan_options *options,
                           unsigned wanted) {
  unsigned results = wanted & ~RESULTS_COMPUTED;
  for (int i = 0; i < RESULT_COUNT; i++) {
    clattn_plan *plan = NULL;
    unsigned bit = RESULT_BIT(i) & wanted & RESULTS_COMPUTED;
    if (bit && ctn_results_plan(&plan, c, context, options, bit, NULL) == CLATTN_OK) results |= bit;
    clattn_plan_destroy(plan);
  }
  return results;
}

static const char *number_text(double value, char text[40]) {
  if (isnan(value)) return "nan"; /* printf may print a sign */
  snprintf(text, 40, "%.9g", value);
  return text;
}

/* Compares one result; the first that differs is told in full, later ones by name. */
static void compare(struct judgement *judgement, const struct case_file *c, const struct results *results, enum result result) {
  const struct st_tensor *want = expected(c, result);
  const struct st_tensor *got = ctn_st_find(&results->file, ctn_result_name(result));
  char place[200], other[200], got_text[40], want_text[40];
  const char *name = ctn_result_name(result);
  struct comparison found = {0};
  bool same_shape = got->rank == want->rank && memcmp(got->shape, want->shape, (size_t)got->rank * sizeof *got->shape) == 0;
  judgement->compared |= RESULT_BIT(result);
  if (same_shape) {
    found = ctn_compare(got, want, c->rtol, c->atol);
    judgement->largest[result] = found.largest;
    if (found.differing == 0) return;
  }
  if (judgement->verdict == VERDICT_FAIL) {
    size_t length = strlen(judgement->reason);
    snprintf(judgement->reason + length, sizeof judgement->reason - length, "; %s differs too", name);
  } else if (!same_shape) {
    judge(judgement, VERDICT_FAIL, "%s: computed with shape %s, expected.%s has %s", name, ctn_shape_text(got, place), name,
          ctn_shape_text(want, other));
  } else {
    judge(judgement, VERDICT_FAIL, "%s at %s: got %s, want %s (%" PRId64 " of %" PRId64 " differ)", name,
          ctn_index_text(want, found.first, place), found.unwritten ? "nothing written" : number_text(found.got, got_text),
          number_text(found.want, want_text), found.differing, found.count);
  }
}

static void compute_and_compare(struct judgement *judgement, struct case_file *c, clattn_context *context,
                                const clattn_plan_options *options, unsigned wanted) {
  struct results results = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_status status = ctn_results_compute(&results, c, context, options, wanted, &error);
  if (status == CLATTN_UNSUPPORTED) {
    unsigned rest = producible(c, context, options, wanted);
    judgement->without |= wanted & ~rest;
    wanted = rest;
    if (!wanted) {
      judge(judgement, VERDICT_SKIP, "%s", error.text);
      judgement->status = status;
      return;
    }
    status = ctn_results_compute(&results, c, context, options, wanted, &error);
  }
  if (status) {
    judge(judgement, VERDICT_FAIL, "%s", error.text);
    judgement->status = status;
    return;
  }
  for (int i = 0; i < RESULT_COUNT; i++) {
    if (wanted & RESULT_BIT(i)) compare(judgement, c, &results, (enum result)i);
  }
  ctn_results_clear(&results);
}

void ctn_verify_case(struct judgement *judgement, const char *path, clattn_context *context,
                     const clattn_plan_options *options) {
  memset(judgement, 0, sizeof *judgement);
  struct case_file c = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_case_read(&c, path, &error)) {
    judge(judgement, VERDICT_FAIL, "%s", error.text);
    judgement->status = error.status;
    return;
  }
  const unsigned presents = RESULT_BIT(RESULT_PRESENT_K) | RESULT_BIT(RESULT_PRESENT_V);
  char list[200];
  unsigned wanted = expected_results(judgement, &c);
  judgement->without = wanted & ~RESULTS_KNOWN;
  if (!wanted) {
    /* judged above */
  } else if (c.rotary) {
    judge(judgement, VERDICT_SKIP, "rotary_embedding is not in this version");
  } else if (c.problem.packed && (wanted & presents)) {
    judge(judgement, VERDICT_FAIL, "expected.present_*: not defined together with cu_seqlens_*");
  } else if (!(wanted & RESULTS_KNOWN)) {
    judge(judgement, VERDICT_SKIP, "%s: gradients are not in this version", ctn_result_list(wanted, list));
  } else {
    compute_and_compare(judgement, &c, context, options, wanted & RESULTS_KNOWN);
  }
  ctn_case_clear(&c);
}
