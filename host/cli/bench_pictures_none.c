/* The pictures of `clattn bench` in a tool that was built without: refused. */
#include "bench_run.h"

clattn_status ctn_run_can_draw(const char *option, const char *file, bool page, clattn_error *error) {
  (void)page;
  return ctn_fail(error, CLATTN_UNSUPPORTED, "%s %s: this clattn was built without pictures (-DCLATTN_PICTURES=ON has them)",
                  option, file);
}

clattn_status ctn_run_plot(const struct run *run, const char *file, struct text *bytes, clattn_error *error) {
  (void)run, (void)bytes;
  return ctn_run_can_draw("--plot", file, false, error);
}

clattn_status ctn_run_roofline(const struct run *run, const char *file, struct text *bytes, clattn_error *error) {
  (void)run, (void)bytes;
  return ctn_run_can_draw("--roofline", file, false, error);
}

clattn_status ctn_run_report(const struct run *run, struct text *html, clattn_error *error) {
  (void)run, (void)html;
  return ctn_run_can_draw("--report", "", true, error);
}
