/* The command line of `clattn bench`. */
#ifndef CTN_BENCH_ARGS_H
#define CTN_BENCH_ARGS_H

#include "args.h"
#include "bench.h"
#include "bench_files.h"

struct bench_args {
  struct args args;
  struct bench_sizes sizes;
  struct bench_sweep sweep;
  struct bench_files files;
  long repeats;
  bool repeats_given, small;
  double budget; /* seconds; below 0: not given */
  double threshold;
  char *outputs[BENCH_OUTPUTS], *dtype, *sweep_spec, *set, *compare, *with, *threshold_text;
};

/* Parses and checks. -1 to go on, or an exit code. */
int ctn_bench_args_parse(struct bench_args *own, const struct command *command, int argc, const char **argv);
void ctn_bench_args_clear(struct bench_args *own);

#endif
