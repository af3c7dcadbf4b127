/* clattn tune: finds the sizes of kernels that suit a device, and keeps them in a table that is read at start. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "half.h"
#include "print.h"
#include "tune.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_tune = {
    .name = "tune",
    .run = run,
    .shared = ARGS_CONTEXT,
    .synopsis = "tune [WORK...] [options]",
    .summary = "find kernel sizes that suit a device, and keep them for every later run",
    .options =
        "  WORK                  of prefill, projection, staged, clblast (default: all)\n"
        "  --budget SECONDS      how long it may take in all (default: 120)\n"
        "  --dtype TYPE          storage type to tune for: f32, f16, bf16 (default: f32)\n"
        "  --output FILE         where winners go (default: the table that is read at start)\n"
        "  --dry-run             tell, and write nothing\n"
        "  --small               an eighth of each length: to try the command, not to tune\n",
    .example =
        "  clattn tune --device 0 --budget 300\n"
        "  clattn tune clblast --budget 600       # CLBlast's kernels compile for long\n"
        "An interrupt ends the search; what was found until then is kept.\n",
};

struct options {
  struct args args;
  double budget;
  char *output, *dtype;
  int dry, small;
};

/* Where winners go, to be freed: NULL where the environment names no place. */
static char *target(const struct options *own) {
  const char *given = own->output ? own->output : own->args.common.context.tuning_file;
  return given && *given ? strdup(given) : ctn_tuning_default_path();
}

static bool asked(const struct options *own, const struct tune_problem *problem) {
  for (int i = 0; i < own->args.operand_count; i++) {
    if (strcmp(own->args.operands[i], problem->work) == 0) return true;
  }
  return own->args.operand_count == 0;
}

static void print_heading(void) {
  ctn_print_padded(stdout, "problem", 28, false);
  ctn_print_padded(stdout, "built in", 12, true);
  ctn_print_padded(stdout, "tuned", 12, true);
  printf("   gain  sizes\n");
}

static void print_result(const struct tune_result *result) {
  char cell[64];
  ctn_print_padded(stdout, result->problem->title, 28, false);
  if (*result->reason) {
    printf("   not tuned: %s\n", result->reason);
    return;
  }
  snprintf(cell, sizeof cell, "%.3g GF/s", 1e-9 * result->flop / result->before);
  ctn_print_padded(stdout, cell, 12, true);
  snprintf(cell, sizeof cell, "%.3g GF/s", 1e-9 * result->flop / result->after);
  ctn_print_padded(stdout, result->best.count ? cell : "-", 12, true);
  if (!result->best.count) {
    printf("      -  none of %d tried is better%s", result->tried, result->cut ? "; the time was up" : "");
    if (result->wrong) printf("; %d gave wrong results", result->wrong);
    printf("\n");
    return;
  }
  printf("  %5.2fx ", result->before / result->after);
  for (int i = 0; i < result->best.count; i++) {
    struct text values = {0};
    if (result->best.sets[i].count == 0) continue;
    ctn_tuning_print_values(&result->best.sets[i], &values);
    printf(" %s %s", result->best.sets[i].family->name, values.data ? values.data : "");
    ctn_text_free(&values);
  }
  printf("\n");
}

/* Every problem that was asked for, in its share of the time. */
static int tune_all(struct tune *tune, const struct options *own, const char *path) {
  FILE *progress = isatty(STDERR_FILENO) || own->args.common.verbose ? stderr : NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  const double end = ctn_seconds() + own->budget;
  int weights = 0, searched = 0, saved = 0, code = CTN_EXIT_OK;
  char reason[TUNE_TEXT] = "";
  for (const struct tune_problem *problem = ctn_tune_problems; problem->work; problem++)
    weights += asked(own, problem) ? problem->weight : 0;
  print_heading();
  for (const struct tune_problem *problem = ctn_tune_problems; problem->work && !ctn_bench_stopped(); problem++) {
    struct tune_result result;
    if (!asked(own, problem)) continue;
    const double now = ctn_seconds();
    tune->deadline = now + (end - now) * problem->weight / weights;
    weights -= problem->weight;
    ctn_tune_search(&result, tune, problem, progress);
    print_result(&result);
    fflush(stdout);
    if (*result.reason) {
      snprintf(reason, sizeof reason, "%s", result.reason);
      continue;
    }
    searched++;
    if (!result.best.count || own->dry) continue;
    if (ctn_tune_save(path, tune, &result, &error)) {
      code = ctn_fail_job(tune->command, "%s", error.text);
      break;
    }
    saved++;
  }
  if (saved) printf("kept in %s\n", path);
  if (code == CTN_EXIT_OK && ctn_bench_stopped()) code = ctn_fail_job(tune->command, "interrupted");
  if (code == CTN_EXIT_OK && !searched) code = ctn_fail_job(tune->command, "nothing could be tuned: %s", reason);
  return code;
}

static int check(struct options *own, struct tune *tune, const char *command) {
  for (int i = 0; i < own->args.operand_count; i++) {
    if (!ctn_tune_is_work(own->args.operands[i])) {
      return ctn_fail_usage(command, "%s: is none of prefill, projection, staged, clblast", own->args.operands[i]);
    }
  }
  if (!(own->budget > 0) || own->budget > 1e6) return ctn_fail_usage(command, "--budget: is no number of seconds");
  tune->dtype = CLATTN_F32;
  for (int dtype = CLATTN_F32; own->dtype && dtype <= CLATTN_BF16 + 1; dtype++) {
    if (dtype > CLATTN_BF16) return ctn_fail_usage(command, "--dtype: %s is none of f32, f16, bf16", own->dtype);
    tune->dtype = (clattn_dtype)dtype;
    if (strcmp(own->dtype, ctn_dtype_name(tune->dtype)) == 0) break;
  }
  if (own->args.common.context.device_type == CLATTN_DEVICE_HOST) {
    return ctn_fail_usage(command, "--device: the host's own path is not tuned; name an OpenCL device");
  }
  return -1;
}

static int run(const struct command *self, int argc, const char **argv) {
  struct options own = {.budget = 120};
  struct tune tune = {.command = self->name};
  const struct poptOption table[] = {
      {"budget", 0, POPT_ARG_DOUBLE, &own.budget, 0, NULL, NULL}, {"dtype", 0, POPT_ARG_STRING, &own.dtype, 0, NULL, NULL},
      {"output", 0, POPT_ARG_STRING, &own.output, 0, NULL, NULL}, {"dry-run", 0, POPT_ARG_NONE, &own.dry, 0, NULL, NULL},
      {"small", 0, POPT_ARG_NONE, &own.small, 0, NULL, NULL},     POPT_TABLEEND};
  int code = ctn_args_parse(&own.args, self, argc, argv, table);
  if (code < 0) code = check(&own, &tune, self->name);
  if (code < 0) {
    char *path = target(&own);
    tune.common = &own.args.common;
    tune.small = own.small != 0;
    ctn_bench_catch_interrupt();
    if (!path && !own.dry) {
      code = ctn_fail_job(self->name, "no place for the table: give --output FILE");
    } else {
      code = ctn_finish(self->name, tune_all(&tune, &own, path));
    }
    free(path);
  }
  ctn_args_clear(&own.args);
  free(own.output);
  free(own.dtype);
  return code;
}
