/* The files that a run of `clattn bench` goes into: opened before an hour of work rather than after it. */
#ifndef CTN_BENCH_FILES_H
#define CTN_BENCH_FILES_H

#include "bench_run.h"

enum bench_output { BENCH_JSON, BENCH_CSV, BENCH_PLOT, BENCH_ROOFLINE, BENCH_REPORT, BENCH_OUTPUTS };
/* "--json" and so on. */
extern const char *const ctn_bench_options[BENCH_OUTPUTS];

struct bench_files {
  const char *names[BENCH_OUTPUTS]; /* NULL: not asked for */
  FILE *streams[BENCH_OUTPUTS];
};

clattn_status ctn_bench_files_open(struct bench_files *files, clattn_error *error);
/* Writes the run into all of them. */
clattn_status ctn_bench_files_write(struct bench_files *files, const struct run *run, clattn_error *error);
void ctn_bench_files_close(struct bench_files *files);

#endif
