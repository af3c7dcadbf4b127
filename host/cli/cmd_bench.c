/* clattn bench: how fast the works run here, beside the fastest that this machine can. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "args.h"
#include "bench.h"
#include "print.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_bench = {
    .name = "bench",
    .run = run,
    .shared = ARGS_CONTEXT | ARGS_PLAN,
    .synopsis = "bench [WORK...] [options]",
    .summary = "time attention here, against the fastest that the machine can do",
    .options =
        "  WORK                  any of these; without one, all:\n"
        "                          peak      fused multiply-adds, natively and through OpenCL\n"
        "                          memory    reading memory\n"
        "                          prefill   8 heads, 1920 and 1999 keys, D = 64 and 128, in f32, f16, bf16\n"
        "                          causal    4096 keys, causal against full\n"
        "                          window    8192 keys, a window of 512 against causal\n"
        "                          short     12 heads, 128 keys, a batch of 1 and of 8\n"
        "                          project   2048 rows, 768 numbers to 768\n"
        "                          overhead  calls on a tiny problem against an empty kernel's\n"
        "  --json FILE           the rows into FILE as well\n"
        "  --repeats N           rounds; the rows of a work take turns in each (default: 7)\n"
        "  --seq N               keys and queries, or projected rows, in place of the works' own sizes;\n"
        "  --batch N, --heads N, --kv-heads N, --head-dim N, --window N, --dtype f32|f16|bf16   likewise\n",
    .example =
        "  clattn bench\n"
        "  clattn bench peak prefill --path fused --json prefill.json\n"
        "  clattn bench prefill --seq 512 --heads 16 --kv-heads 4 --dtype f16\n"
        "  A result that differs from the reference is a failed row, not a time. Ctrl-C keeps what was measured.\n"
        "  Times on a device are from enqueueing on its buffers to finishing, without copies.\n",
};

struct bench_args {
  struct args args;
  struct bench_sizes sizes;
  long repeats;
  char *json, *dtype;
};

static int check_numbers(const struct bench_args *own, const char *command) {
  const struct {
    const char *name;
    long value;
  } numbers[] = {{"--batch", own->sizes.batch}, {"--heads", own->sizes.heads},   {"--kv-heads", own->sizes.kv_heads},
                 {"--seq", own->sizes.seq},     {"--window", own->sizes.window}, {"--head-dim", own->sizes.head_dim}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].value < 0 || numbers[i].value > 1 << 24) {
      return ctn_fail_usage(command, "%s: %ld is not 1 to %d", numbers[i].name, numbers[i].value, 1 << 24);
    }
  }
  if (own->repeats < 1 || own->repeats > 10000) {
    return ctn_fail_usage(command, "--repeats: %ld is not 1 to 10000", own->repeats);
  }
  return -1;
}

static int check(struct bench_args *own, const char *command) {
  static const char *const types[] = {[CLATTN_F32] = "f32", [CLATTN_F16] = "f16", [CLATTN_BF16] = "bf16"};
  if (own->dtype) {
    for (int t = CLATTN_F32; t <= CLATTN_BF16; t++) {
      if (strcasecmp(own->dtype, types[t]) == 0) own->sizes.dtype = (clattn_dtype)t;
    }
    if (!own->sizes.dtype) return ctn_fail_usage(command, "--dtype: %s is none of f32, f16, bf16", own->dtype);
  }
  const long heads = own->sizes.heads, kv = own->sizes.kv_heads;
  if (heads > 0 && kv > 0 && heads % kv != 0) {
    return ctn_fail_usage(command, "--kv-heads: %ld heads are not a multiple of %ld", heads, kv);
  }
  return check_numbers(own, command);
}

static int work_index(const char *name) {
  for (int i = 0; ctn_bench_works[i]; i++) {
    if (strcmp(ctn_bench_works[i], name) == 0) return i;
  }
  return -1;
}

/* The paths to time: the one asked for, or those that there are. */
static void choose_paths(struct bench *bench, const clattn_plan_options *options) {
  const clattn_path asked = options->path;
  static const struct bench_path all[BENCH_PATHS] = {{"fused", CLATTN_PATH_FUSED, false},
                                                     {"staged", CLATTN_PATH_STAGED, false},
                                                     {"cpu", CLATTN_PATH_CPU, true},
                                                     {"reference", CLATTN_PATH_REFERENCE, true}};
  for (int i = 0; i < BENCH_PATHS; i++) {
    if (asked != CLATTN_PATH_AUTO ? all[i].path != asked : all[i].path == CLATTN_PATH_REFERENCE) continue;
    if (all[i].on_host ? options->no_host != 0 : bench->device == NULL) continue;
    bench->paths[bench->path_count++] = all[i];
  }
}

static clattn_status open_contexts(struct bench *bench, const struct common_options *common, clattn_error *error) {
  clattn_context_options host = common->context;
  host.device_type = CLATTN_DEVICE_HOST;
  host.device_index = -1;
  host.device_name = NULL;
  clattn_status status = clattn_context_create(&bench->host, &host, error);
  if (status == CLATTN_OK) status = ctn_open_context(common, &bench->device, error);
  if (status != CLATTN_OK) return status;
  if (!clattn_context_device(bench->device)) {
    clattn_context_destroy(bench->device);
    bench->device = NULL;
  }
  return ctn_peak_create(&bench->peak, bench->device, common->context.threads, error);
}

static bool add_works(struct bench *bench, const struct args *args) {
  for (int i = 0; ctn_bench_works[i]; i++) {
    bool asked = args->operand_count == 0;
    for (int n = 0; n < args->operand_count; n++)
      asked = asked || work_index(args->operands[n]) == i;
    if (asked && !ctn_bench_add(bench, i)) return false;
  }
  return true;
}

/* The exit code of a run whose rows are all there is to say. */
static int verdict(const struct bench *bench, bool by_path) {
  int failed = 0, refused = 0, measured = 0;
  for (int i = 0; i < bench->row_count; i++) {
    failed += bench->rows[i].state == BENCH_FAILED;
    refused += bench->rows[i].state == BENCH_REFUSED;
    measured += bench->rows[i].state == BENCH_READY;
  }
  if (failed) return ctn_fail_job(bench->command, "%d of %d rows failed", failed, bench->row_count);
  if (bench->interrupted) return ctn_fail_job(bench->command, "interrupted");
  if (by_path && refused && !measured) return ctn_fail_job(bench->command, "the path takes none of these works");
  return CTN_EXIT_OK;
}

static int bench_all(struct bench *bench, const struct bench_args *own) {
  const struct common_options *common = &own->args.common;
  clattn_error error = CLATTN_ERROR_INIT;
  FILE *json = NULL;
  int code = CTN_EXIT_OK;
  ctn_bench_catch_interrupt();
  if (own->json) {
    /* Before an hour of work rather than after it. */
    json = fopen(own->json, "w");
    if (!json) return ctn_fail_job(bench->command, "%s: cannot be written: %s", own->json, strerror(errno));
  }
  if (open_contexts(bench, common, &error)) {
    code = ctn_fail_job(bench->command, "%s", error.text);
    goto cleanup;
  }
  choose_paths(bench, &common->plan);
  if (bench->path_count == 0) {
    code = ctn_fail_job(bench->command, "no OpenCL device for these paths; `clattn devices` lists what there is");
    goto cleanup;
  }
  if (!add_works(bench, &own->args)) {
    code = ctn_fail_job(bench->command, "out of memory");
    goto cleanup;
  }
  ctn_bench_measure(bench, isatty(STDERR_FILENO) ? stderr : NULL);
  ctn_bench_print(bench);
  code = verdict(bench, own->args.path != NULL);
cleanup:
  if (json) {
    const bool written = !bench->rows || ctn_bench_write_json(bench, json);
    if (fclose(json) != 0 || !written) code = ctn_fail_job(bench->command, "%s: could not be written", own->json);
  }
  return code;
}

static void release(struct bench *bench) {
  for (int i = 0; i < bench->row_count; i++)
    free(bench->rows[i].samples);
  free(bench->rows);
  ctn_peak_destroy(bench->peak);
  clattn_context_destroy(bench->device);
  clattn_context_destroy(bench->host);
}

static int run(const struct command *self, int argc, const char **argv) {
  struct bench_args own;
  memset(&own, 0, sizeof own);
  own.repeats = 7;
  const struct poptOption options[] = {{"json", 0, POPT_ARG_STRING, &own.json, 0, NULL, NULL},
                                       {"repeats", 0, POPT_ARG_LONG, &own.repeats, 0, NULL, NULL},
                                       {"seq", 0, POPT_ARG_LONG, &own.sizes.seq, 0, NULL, NULL},
                                       {"batch", 0, POPT_ARG_LONG, &own.sizes.batch, 0, NULL, NULL},
                                       {"heads", 0, POPT_ARG_LONG, &own.sizes.heads, 0, NULL, NULL},
                                       {"kv-heads", 0, POPT_ARG_LONG, &own.sizes.kv_heads, 0, NULL, NULL},
                                       {"head-dim", 0, POPT_ARG_LONG, &own.sizes.head_dim, 0, NULL, NULL},
                                       {"window", 0, POPT_ARG_LONG, &own.sizes.window, 0, NULL, NULL},
                                       {"dtype", 0, POPT_ARG_STRING, &own.dtype, 0, NULL, NULL},
                                       POPT_TABLEEND};
  struct bench bench;
  memset(&bench, 0, sizeof bench);
  bench.command = self->name;
  int code = ctn_args_parse(&own.args, self, argc, argv, options);
  if (code >= 0) goto cleanup;
  code = check(&own, self->name);
  for (int i = 0; i < own.args.operand_count && code < 0; i++) {
    if (work_index(own.args.operands[i]) < 0) code = ctn_fail_usage(self->name, "%s: no such work", own.args.operands[i]);
  }
  if (code >= 0) goto cleanup;
  bench.sizes = own.sizes;
  bench.repeats = (int)own.repeats;
  bench.plan = own.args.common.plan;
  bench.plan.no_host = 0;
  code = ctn_finish(self->name, bench_all(&bench, &own));
cleanup:
  release(&bench);
  ctn_args_clear(&own.args);
  free(own.json);
  free(own.dtype);
  return code;
}
