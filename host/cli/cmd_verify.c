/* clattn verify: computes case files and holds the results to the expected ones in them. */
#include <inttypes.h>
#include <string.h>

#include "args.h"
#include "find_cases.h"
#include "print.h"
#include "status.h"
#include "verify_case.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_verify = {
    .name = "verify",
    .run = run,
    .shared = ARGS_CONTEXT | ARGS_PLAN | ARGS_JSON,
    .synopsis = "verify PATH... [options]",
    .summary = "compute case files (or all below a folder) and compare with the expected results in them",
    .options = "  --strict              a case that is skipped counts as failed\n",
    .example =
        "  clattn verify tests/cases\n"
        "  clattn verify --path reference my_case.safetensors\n"
        "  A case file holds expected.out, expected.lse and so on beside q, k, v; rtol and atol are in its metadata.\n",
};

static const char *const words[] = {[VERDICT_OK] = "ok", [VERDICT_FAIL] = "FAIL", [VERDICT_SKIP] = "skip"};

static void print_line(const char *name, const struct judgement *judgement) {
  char list[200];
  printf("%s %s", words[judgement->verdict], name);
  if (judgement->verdict != VERDICT_OK)
    printf(": %s", judgement->reason);
  else if (judgement->without)
    printf(" (without %s)", ctn_result_list(judgement->without, list));
  printf("\n");
  fflush(stdout);
}

static json_t *to_json(const struct found_case *item, const struct judgement *judgement) {
  json_t *without = json_array(), *largest = json_object();
  for (int i = 0; i < RESULT_COUNT; i++) {
    const char *name = ctn_result_name((enum result)i);
    if (judgement->without & RESULT_BIT(i)) json_array_append_new(without, json_string(name));
    if (judgement->compared & RESULT_BIT(i)) json_object_set_new(largest, name, ctn_json_number(judgement->largest[i]));
  }
  static const char *const verdicts[] = {"ok", "fail", "skip"};
  json_t *value =
      json_pack("{s:s, s:o, s:o}", "verdict", verdicts[judgement->verdict], "without", without, "largest_difference", largest);
  /* A file's name or text may be no UTF-8: then it is left out. */
  json_object_set_new(value, "name", json_string(item->name));
  json_object_set_new(value, "file", json_string(item->path));
  if (judgement->verdict != VERDICT_OK) json_object_set_new(value, "reason", json_string(judgement->reason));
  return value;
}

/* A path that refuses the smallest problem there is refuses everything: that is an error, not a row of skips. */
static clattn_status probe_path(clattn_context *context, const clattn_plan_options *options, clattn_error *error) {
  const clattn_problem smallest = CLATTN_PROBLEM_INIT;
  clattn_plan *plan = NULL;
  clattn_status status = clattn_plan_create(&plan, context, &smallest, options, error);
  clattn_plan_destroy(plan);
  return status;
}

/* Judges every case; counts[] gets how many of each verdict. Fails where the path turns out to take nothing at all. */
static clattn_status verify_all(const struct args *args, clattn_context *context, const struct found_cases *found,
                                size_t counts[3], json_t *list, clattn_error *error) {
  for (size_t i = 0; i < found->count; i++) {
    struct found_case *item = &found->items[i];
    struct judgement judgement = {0};
    if (item->reason) {
      judgement.verdict = VERDICT_FAIL;
      snprintf(judgement.reason, sizeof judgement.reason, "%s", item->reason);
    } else {
      ctn_verify_case(&judgement, item->path, context, &args->common.plan);
    }
    if (judgement.status == CLATTN_UNSUPPORTED) {
      clattn_status status = probe_path(context, &args->common.plan, error);
      if (status) return status;
    }
    counts[judgement.verdict]++;
    ctn_one_line(item->name);
    if (list)
      json_array_append_new(list, to_json(item, &judgement));
    else
      print_line(item->name, &judgement);
  }
  return CLATTN_OK;
}

static int summary(const char *command, const struct args *args, clattn_context *context, const size_t counts[3], json_t *list,
                   bool strict) {
  uint64_t compiled = 0, loaded = 0;
  clattn_context_program_counts(context, &compiled, &loaded);
  size_t failed = counts[VERDICT_FAIL], skipped = counts[VERDICT_SKIP];
  int code = CTN_EXIT_OK;
  if (list) {
    json_t *value = json_pack("{s:O, s:I, s:I, s:I, s:I, s:I}", "cases", list, "passed", (json_int_t)counts[VERDICT_OK],
                              "failed", (json_int_t)failed, "skipped", (json_int_t)skipped, "programs_compiled",
                              (json_int_t)compiled, "programs_loaded", (json_int_t)loaded);
    code = ctn_print_json(command, value);
  } else {
    printf("%zu passed, %zu failed, %zu skipped\n", counts[VERDICT_OK], failed, skipped);
  }
  if (args->common.verbose) {
    fflush(stdout);
    fprintf(stderr, "%" PRIu64 " programs compiled, %" PRIu64 " loaded from the cache\n", compiled, loaded);
  }
  if (failed) return ctn_fail_job(command, "%zu of %zu cases failed", failed, counts[VERDICT_OK] + failed + skipped);
  if (strict && skipped) return ctn_fail_job(command, "%zu cases were skipped, which --strict takes for a failure", skipped);
  return code;
}

static int verify(const char *command, const struct args *args, bool strict) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = NULL;
  struct found_cases found = {0};
  json_t *list = args->common.json ? json_array() : NULL;
  size_t counts[3] = {0, 0, 0};
  clattn_status status = ctn_find_cases(&found, args->operands, &error);
  if (status == CLATTN_OK && found.count == 0) {
    status = ctn_fail(&error, CLATTN_IO_FAILED, "%s: no .safetensors file in there", args->operands[0]);
  }
  if (status == CLATTN_OK) status = ctn_open_context(&args->common, &context, &error);
  if (status == CLATTN_OK) status = verify_all(args, context, &found, counts, list, &error);
  int code = status ? ctn_fail_job(command, "%s", error.text) : summary(command, args, context, counts, list, strict);
  json_decref(list);
  ctn_found_cases_clear(&found);
  clattn_context_destroy(context);
  return code;
}

static int run(const struct command *self, int argc, const char **argv) {
  int strict = 0;
  const struct poptOption own[] = {{"strict", 0, POPT_ARG_NONE, &strict, 0, NULL, NULL}, POPT_TABLEEND};
  struct args args;
  int code = ctn_args_parse(&args, self, argc, argv, own);
  if (code < 0 && args.operand_count == 0) code = ctn_fail_usage(self->name, "no file or folder given");
  if (code < 0) code = ctn_finish(self->name, verify(self->name, &args, strict != 0));
  ctn_args_clear(&args);
  return code;
}
