/* clattn bench: how fast the works run here, beside the fastest that each device can, and beside an earlier run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_args.h"
#include "bench_help.h"
#include "bench_run.h"
#include "print.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_bench = {.name = "bench",
                                      .run = run,
                                      .shared = ARGS_CONTEXT | ARGS_PLAN,
                                      .synopsis = "bench [WORK...] [options]",
                                      .summary = "time attention on every device here, against the fastest that each can do",
                                      .options = CTN_BENCH_HELP,
                                      .example = CTN_BENCH_EXAMPLE};

/* The paths to time: the one asked for, or those that there are, at each place. */
static void choose_paths(struct bench *bench, const clattn_plan_options *options) {
  static const struct bench_path all[] = {{"fused", CLATTN_PATH_FUSED, 1, 0},
                                          {"staged", CLATTN_PATH_STAGED, 1, 0},
                                          {"cpu", CLATTN_PATH_CPU, 0, 0},
                                          {"reference", CLATTN_PATH_REFERENCE, 0, 0}};
  const clattn_path asked = options->path;
  for (int n = 1; n <= bench->place_count; n++) {
    const int place = n % bench->place_count; /* the host is last */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      if (asked != CLATTN_PATH_AUTO ? all[i].path != asked : all[i].path == CLATTN_PATH_REFERENCE) continue;
      if ((all[i].place == 0) != (place == 0) || (place == 0 && options->no_host)) continue;
      bench->paths[bench->path_count] = all[i];
      bench->paths[bench->path_count++].place = place;
    }
  }
}

static bool add_works(struct bench *bench, const struct args *args) {
  const int standard = ctn_bench_work("prefill");
  for (int i = 0; ctn_bench_works[i]; i++) {
    bool asked = args->operand_count == 0 && (!bench->sweep.axis || i == standard);
    for (int n = 0; n < args->operand_count; n++)
      asked = asked || ctn_bench_work(args->operands[n]) == i;
    if (asked && !ctn_bench_add(bench, i)) return false;
  }
  return true;
}

/* Whether the command line or the environment names a device; otherwise all are measured. */
static bool one_device(const struct args *args) {
  const clattn_context_options *context = &args->common.context;
  return args->device || context->device_index >= 0 || context->device_name || context->device_type != CLATTN_DEVICE_ANY;
}

/* Measures: bench's rows, where the exit code is OK. */
static int measure(struct bench *bench, const struct bench_args *own) {
  clattn_error error = CLATTN_ERROR_INIT;
  const struct common_options *common = &own->args.common;
  if (ctn_bench_open_places(bench, common, one_device(&own->args), &error)) {
    return ctn_fail_job(bench->command, "%s", error.text);
  }
  choose_paths(bench, &common->plan);
  if (bench->path_count == 0) {
    return ctn_fail_job(bench->command, "no OpenCL device for these paths; `clattn devices` lists what there is");
  }
  if (bench->longest > 0 && !bench->small) ctn_bench_probe(bench);
  if (!add_works(bench, &own->args)) return ctn_fail_job(bench->command, "out of memory");
  ctn_bench_measure(bench, isatty(STDERR_FILENO) ? stderr : NULL);
  return CTN_EXIT_OK;
}

/* Whether the run was good, after all of it was told. */
static int verdict(const struct run *run, const char *command, bool by_path) {
  int failed = 0, refused = 0, measured = 0;
  for (int i = 0; i < run->row_count; i++) {
    failed += strcmp(run->rows[i].state, "failed") == 0;
    refused += strcmp(run->rows[i].state, "left out") == 0;
    measured += strcmp(run->rows[i].state, "ok") == 0;
  }
  if (failed) return ctn_fail_job(command, "%d of %d rows failed", failed, run->row_count);
  if (run->interrupted) return ctn_fail_job(command, "interrupted");
  if (by_path && refused && !measured) return ctn_fail_job(command, "the path takes none of these works");
  return CTN_EXIT_OK;
}

/* Everything that is made of a run, measured or read. */
static int tell(struct run *run, const struct run *before, struct bench_args *own, const char *command) {
  clattn_error error = CLATTN_ERROR_INIT;
  int slower = 0;
  ctn_run_print(run);
  int code = own->with ? CTN_EXIT_OK : verdict(run, command, own->args.path != NULL);
  if (ctn_bench_files_write(&own->files, run, &error)) code = ctn_fail_job(command, "%s", error.text);
  if (!before->root) return code;
  if (ctn_run_compare(before, run, own->threshold, &slower, &error)) return ctn_fail_job(command, "%s", error.text);
  if (slower) {
    return ctn_fail_job(command, "%d row%s slower than before by more than %.3g %%, or failed", slower,
                        slower == 1 ? " is" : "s are", 100 * own->threshold);
  }
  return code;
}

static int bench_all(struct bench *bench, struct bench_args *own, int argc, const char **argv) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct run run = {0}, before = {0};
  clattn_status status = CLATTN_OK;
  int code = CTN_EXIT_OK;
  ctn_bench_catch_interrupt();
  /* Before files are opened for writing, which may be the same ones. */
  if (own->compare) status = ctn_run_load(&before, own->compare, &error);
  if (status == CLATTN_OK && own->with) status = ctn_run_load(&run, own->with, &error);
  if (status == CLATTN_OK && own->with && own->outputs[BENCH_PLOT] && !*run.axis) {
    status = ctn_fail(&error, CLATTN_INVALID_ARGUMENT, "--plot: draws a sweep, and %s has none", own->with);
  }
  if (status == CLATTN_OK) status = ctn_bench_files_open(&own->files, &error);
  if (status != CLATTN_OK) code = ctn_fail_job(bench->command, "%s", error.text);
  if (status == CLATTN_OK && !own->with) {
    code = measure(bench, own);
    json_t *root = code == CTN_EXIT_OK ? ctn_bench_json(bench, argc, argv) : NULL;
    if (code == CTN_EXIT_OK && (!root || ctn_run_read(&run, root, "this run", &error))) {
      code = ctn_fail_job(bench->command, "out of memory");
    }
    json_decref(root);
  }
  if (run.root && code == CTN_EXIT_OK) code = tell(&run, &before, own, bench->command);
  ctn_bench_files_close(&own->files);
  ctn_run_free(&run);
  ctn_run_free(&before);
  return code;
}

static void release(struct bench *bench) {
  for (int i = 0; i < bench->row_count; i++) {
    ctn_series_free(&bench->rows[i].samples);
    ctn_series_free(&bench->rows[i].peaks);
    ctn_series_free(&bench->rows[i].reads);
  }
  free(bench->rows);
  for (int i = 0; i < bench->place_count || (i < BENCH_PLACES && bench->places[i].context); i++) {
    ctn_peak_destroy(bench->places[i].peak);
    clattn_context_destroy(bench->places[i].context);
    for (int n = 0; n < BENCH_PARTS; n++)
      clattn_context_destroy(bench->places[i].parts[n]);
    ctn_series_free(&bench->places[i].flop);
    ctn_series_free(&bench->places[i].read);
  }
}

static void settle(struct bench *bench, const struct bench_args *own) {
  const struct bench_sizes *sizes = &own->sizes;
  const bool sized =
      sizes->batch || sizes->heads || sizes->kv_heads || sizes->seq || sizes->head_dim || sizes->window || sizes->dtype;
  /* What is asked for by name or size is measured, however long it takes. */
  const bool asked = own->args.operand_count > 0 || sized;
  bench->sizes = own->sizes;
  bench->sweep = own->sweep;
  bench->small = own->small;
  bench->repeats = (int)own->repeats;
  bench->all_rounds = own->repeats_given || (asked && own->budget < 0 && !own->sweep.axis);
  bench->plan = own->args.common.plan;
  bench->plan.no_host = 0;
  bench->longest = own->budget >= 0 ? own->budget : own->sweep.axis ? 10 : asked ? 0 : 2;
  bench->patience = own->budget > 0 ? own->budget : 2;
}

static int run(const struct command *self, int argc, const char **argv) {
  struct bench_args own;
  struct bench bench;
  memset(&bench, 0, sizeof bench);
  bench.command = self->name;
  int code = ctn_bench_args_parse(&own, self, argc, argv);
  if (code < 0) {
    settle(&bench, &own);
    code = ctn_finish(self->name, bench_all(&bench, &own, argc, argv));
  }
  release(&bench);
  ctn_bench_args_clear(&own);
  return code;
}
