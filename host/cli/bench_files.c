/* The files that a run of `clattn bench` goes into: see bench_files.h. */
#include "bench_files.h"

#include <errno.h>
#include <string.h>

const char *const ctn_bench_options[BENCH_OUTPUTS] = {[BENCH_JSON] = "--json",
                                                      [BENCH_CSV] = "--csv",
                                                      [BENCH_PLOT] = "--plot",
                                                      [BENCH_ROOFLINE] = "--roofline",
                                                      [BENCH_REPORT] = "--report"};

clattn_status ctn_bench_files_open(struct bench_files *files, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = BENCH_PLOT; i < BENCH_OUTPUTS && status == CLATTN_OK; i++) {
    if (files->names[i]) status = ctn_run_can_draw(ctn_bench_options[i], files->names[i], i == BENCH_REPORT, error);
  }
  for (int i = 0; i < BENCH_OUTPUTS && status == CLATTN_OK; i++) {
    if (!files->names[i]) continue;
    files->streams[i] = fopen(files->names[i], "wb");
    if (!files->streams[i]) {
      status = ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", files->names[i], strerror(errno));
    }
  }
  return status;
}

static clattn_status write_one(FILE *stream, enum bench_output output, const char *name, const struct run *run,
                               clattn_error *error) {
  struct text bytes = {0};
  clattn_status status = CLATTN_OK;
  bool written = true;
  if (output == BENCH_JSON) {
    written = json_dumpf(run->root, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 && fputc('\n', stream) != EOF;
  } else if (output == BENCH_CSV) {
    written = ctn_run_write_csv(run, stream);
  } else {
    status = output == BENCH_PLOT       ? ctn_run_plot(run, name, &bytes, error)
             : output == BENCH_ROOFLINE ? ctn_run_roofline(run, name, &bytes, error)
                                        : ctn_run_report(run, &bytes, error);
    written = fwrite(bytes.data ? bytes.data : "", 1, bytes.length, stream) == bytes.length;
    if (status == CLATTN_OK && bytes.failed) status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for it", name);
  }
  ctn_text_free(&bytes);
  return status != CLATTN_OK || written ? status : ctn_fail(error, CLATTN_IO_FAILED, "%s: could not be written", name);
}

clattn_status ctn_bench_files_write(struct bench_files *files, const struct run *run, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < BENCH_OUTPUTS; i++) {
    if (!files->streams[i]) continue;
    clattn_error one = CLATTN_ERROR_INIT;
    clattn_status result = write_one(files->streams[i], (enum bench_output)i, files->names[i], run, &one);
    if (fclose(files->streams[i]) != 0 && result == CLATTN_OK) {
      result = ctn_fail(&one, CLATTN_IO_FAILED, "%s: could not be written", files->names[i]);
    }
    files->streams[i] = NULL;
    /* One that cannot be written does not cost the others. */
    if (result != CLATTN_OK && status == CLATTN_OK) {
      status = result;
      if (error) *error = one;
    }
  }
  return status;
}

void ctn_bench_files_close(struct bench_files *files) {
  for (int i = 0; i < BENCH_OUTPUTS; i++) {
    if (files->streams[i]) fclose(files->streams[i]);
    files->streams[i] = NULL;
  }
}
