/* The command line of `clattn bench`: see bench_args.h. */
#include "bench_args.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "print.h"

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
  if (own->budget != -1 && !(own->budget >= 0 && own->budget <= 1e6)) {
    return ctn_fail_usage(command, "--budget: %g is no number of seconds", own->budget);
  }
  return -1;
}

/* "5%" or "5": of how much slower a row may be. */
static int check_threshold(struct bench_args *own, const char *command) {
  char *end = NULL;
  own->threshold = 0.05;
  if (!own->threshold_text) return -1;
  own->threshold = strtod(own->threshold_text, &end) / 100;
  const bool number = end != own->threshold_text && (!*end || strcmp(end, "%") == 0);
  if (number && own->threshold >= 0 && own->threshold <= 10) return -1;
  return ctn_fail_usage(command, "--threshold: %s is no percentage from 0 to 1000", own->threshold_text);
}

static int check_words(struct bench_args *own, const char *command) {
  static const char *const types[] = {[CLATTN_F32] = "f32", [CLATTN_F16] = "f16", [CLATTN_BF16] = "bf16"};
  if (own->dtype) {
    for (int t = CLATTN_F32; t <= CLATTN_BF16; t++) {
      if (strcasecmp(own->dtype, types[t]) == 0) own->sizes.dtype = (clattn_dtype)t;
    }
    if (!own->sizes.dtype) return ctn_fail_usage(command, "--dtype: %s is none of f32, f16, bf16", own->dtype);
  }
  if (own->set) {
    own->small = strcasecmp(own->set, "small") == 0;
    if (!own->small && strcasecmp(own->set, "standard") != 0) {
      return ctn_fail_usage(command, "--sizes: %s is none of standard, small", own->set);
    }
  }
  for (int i = 0; i < own->args.operand_count; i++) {
    const int work = ctn_bench_work(own->args.operands[i]);
    if (work < 0) return ctn_fail_usage(command, "%s: no such work", own->args.operands[i]);
    if (own->sweep_spec && !ctn_bench_work_can_sweep(work)) {
      return ctn_fail_usage(command, "%s: has no size to sweep", own->args.operands[i]);
    }
  }
  return -1;
}

static int check_sweep(struct bench_args *own, const char *command) {
  char text[256];
  if (!own->sweep_spec) {
    if (own->outputs[BENCH_PLOT] && !own->with) return ctn_fail_usage(command, "--plot: draws a sweep; give --sweep");
    return -1;
  }
  if (!ctn_bench_sweep_parse(&own->sweep, own->sweep_spec, text, sizeof text)) {
    return ctn_fail_usage(command, "--sweep: %s", text);
  }
  for (int i = 0; i < own->sweep.count; i++) {
    const struct bench_sizes sizes = ctn_bench_sweep_sizes(&own->sweep, own->sizes, i);
    if (sizes.kv_heads > 0 && (sizes.heads > 0 ? sizes.heads : 8) % sizes.kv_heads != 0) {
      return ctn_fail_usage(command, "--sweep: %ld heads are not a multiple of %ld key-value heads",
                            sizes.heads > 0 ? sizes.heads : 8, sizes.kv_heads);
    }
  }
  return -1;
}

static int check(struct bench_args *own, const char *command) {
  const long heads = own->sizes.heads, kv = own->sizes.kv_heads;
  int code = check_words(own, command);
  if (code < 0) code = check_threshold(own, command);
  if (code < 0) code = check_sweep(own, command);
  if (code < 0 && heads > 0 && kv > 0 && heads % kv != 0 && !own->sweep.axis) {
    code = ctn_fail_usage(command, "--kv-heads: %ld heads are not a multiple of %ld", heads, kv);
  }
  if (code < 0 && own->with && (own->args.operand_count || own->sweep_spec || own->outputs[BENCH_JSON])) {
    code = ctn_fail_usage(command, "--with: reads a run in place of measuring; no works, --sweep or --json beside it");
  }
  own->repeats_given = own->repeats != LONG_MIN;
  if (!own->repeats_given) own->repeats = 7;
  return code < 0 ? check_numbers(own, command) : code;
}

int ctn_bench_args_parse(struct bench_args *own, const struct command *command, int argc, const char **argv) {
  memset(own, 0, sizeof *own);
  own->budget = -1;
  own->repeats = LONG_MIN;
  const struct poptOption options[] = {{"json", 0, POPT_ARG_STRING, &own->outputs[BENCH_JSON], 0, NULL, NULL},
                                       {"csv", 0, POPT_ARG_STRING, &own->outputs[BENCH_CSV], 0, NULL, NULL},
                                       {"plot", 0, POPT_ARG_STRING, &own->outputs[BENCH_PLOT], 0, NULL, NULL},
                                       {"roofline", 0, POPT_ARG_STRING, &own->outputs[BENCH_ROOFLINE], 0, NULL, NULL},
                                       {"report", 0, POPT_ARG_STRING, &own->outputs[BENCH_REPORT], 0, NULL, NULL},
                                       {"sweep", 0, POPT_ARG_STRING, &own->sweep_spec, 0, NULL, NULL},
                                       {"sizes", 0, POPT_ARG_STRING, &own->set, 0, NULL, NULL},
                                       {"compare", 0, POPT_ARG_STRING, &own->compare, 0, NULL, NULL},
                                       {"with", 0, POPT_ARG_STRING, &own->with, 0, NULL, NULL},
                                       {"threshold", 0, POPT_ARG_STRING, &own->threshold_text, 0, NULL, NULL},
                                       {"budget", 0, POPT_ARG_DOUBLE, &own->budget, 0, NULL, NULL},
                                       {"repeats", 0, POPT_ARG_LONG, &own->repeats, 0, NULL, NULL},
                                       {"seq", 0, POPT_ARG_LONG, &own->sizes.seq, 0, NULL, NULL},
                                       {"batch", 0, POPT_ARG_LONG, &own->sizes.batch, 0, NULL, NULL},
                                       {"heads", 0, POPT_ARG_LONG, &own->sizes.heads, 0, NULL, NULL},
                                       {"kv-heads", 0, POPT_ARG_LONG, &own->sizes.kv_heads, 0, NULL, NULL},
                                       {"head-dim", 0, POPT_ARG_LONG, &own->sizes.head_dim, 0, NULL, NULL},
                                       {"window", 0, POPT_ARG_LONG, &own->sizes.window, 0, NULL, NULL},
                                       {"dtype", 0, POPT_ARG_STRING, &own->dtype, 0, NULL, NULL},
                                       POPT_TABLEEND};
  const int code = ctn_args_parse(&own->args, command, argc, argv, options);
  for (int i = 0; i < BENCH_OUTPUTS; i++)
    own->files.names[i] = own->outputs[i];
  return code < 0 ? check(own, command->name) : code;
}

void ctn_bench_args_clear(struct bench_args *own) {
  char *const words[] = {own->dtype, own->sweep_spec, own->set, own->compare, own->with, own->threshold_text};
  ctn_args_clear(&own->args);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    free(words[i]);
  for (int i = 0; i < BENCH_OUTPUTS; i++)
    free(own->outputs[i]);
}
