/*
 * The process of one candidate: a context with its table, the plan, its results checked, then runs as they are asked for. A
 * process of its own, because drivers crash and hang on unusual kernels, and because CLBlast's parameters are a process's.
 *
 * Tells "ready FAMILIES|DEVICE|DRIVER|SECONDS|FLOP" or "no REASON"; then answers each byte with the seconds of a run.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "tune.h"

static const double enough = 0.03; /* seconds of runs behind one answer */

struct worker {
  struct bench bench;
  struct bench_row row;
  struct bench_job job;
  const struct common_options *common;
  char refused[TUNE_TEXT]; /* what the library said of the candidate's lines */
};

/* The candidate is out where the library does not use it. All else goes where it always goes. */
static void listen(void *user, clattn_log_level level, const char *text) {
  struct worker *w = user;
  if (level == CLATTN_LOG_WARNING && strncmp(text, "tuning: ", 8) == 0 && !*w->refused) {
    const char *why = strstr(text, "is not used: ");
    snprintf(w->refused, sizeof w->refused, "%.*s", TUNE_TEXT - 1, why ? why + strlen("is not used: ") : text);
  }
  if (w->common->context.log) w->common->context.log(w->common->context.log_user, level, text);
}

static bool tell(int out, const char *text) {
  size_t length = strlen(text);
  while (length > 0) {
    const ssize_t done = write(out, text, length);
    if (done <= 0) return false;
    text += done;
    length -= (size_t)done;
  }
  return true;
}

static clattn_status open_places(struct worker *w, const char *table, clattn_error *error) {
  clattn_context_options host = CLATTN_CONTEXT_OPTIONS_INIT, device = w->common->context;
  host.device_type = CLATTN_DEVICE_HOST;
  device.tuning_file = table;
  device.no_tuning = table == NULL;
  device.no_cache = 1; /* candidates are not worth keeping */
  device.no_selftest = 0;
  device.log = listen;
  device.log_user = w;
  clattn_status status = clattn_context_create(&w->bench.places[0].context, &host, error);
  if (status == CLATTN_OK) status = clattn_context_create(&w->bench.places[1].context, &device, error);
  if (status == CLATTN_OK && !clattn_context_device(w->bench.places[1].context)) {
    status = ctn_fail(error, CLATTN_NO_DEVICE, "there is no OpenCL device; the host's own path is not tuned");
  }
  return status;
}

/* Plans, runs and checks a shape. */
static clattn_status prepare(struct worker *w, const struct bench_shape *shape, clattn_error *error) {
  double seconds = 0;
  w->row.shape = *shape;
  ctn_bench_count(&w->row);
  clattn_status status = ctn_bench_prepare(&w->job, &w->bench, &w->row, error);
  if (status == CLATTN_OK && *w->refused) status = ctn_fail(error, CLATTN_UNSUPPORTED, "%s", w->refused);
  if (status == CLATTN_OK) status = ctn_bench_run(&w->job, &seconds, error);
  if (status == CLATTN_OK) status = ctn_bench_check(&w->bench, &w->row, &w->job, error);
  return status;
}

/* Which families of the table the plan's sizes come from. */
static const char *families(const struct worker *w, clattn_product product) {
  const char *family = clattn_plan_family(w->job.plan);
  if (strncmp(family, "fused_", 6) == 0) return family;
  if (product == CLATTN_PRODUCT_CLBLAST) return "clblast_routine clblast_xgemm clblast_xgemm_direct";
  const bool vectors = strstr(clattn_plan_describe(w->job.plan), "own kernel, blocks") != NULL;
  if (w->row.kind == BENCH_PROJECTION) return vectors ? "projection_vector" : "product_tile";
  return vectors ? "product_vector softmax" : "product_tile softmax";
}

static void serve(struct worker *w, int in, int out, double once) {
  clattn_error error = CLATTN_ERROR_INIT;
  const int inner = once > enough ? 1 : once * 1000 < enough ? 1000 : (int)(enough / once) + 1;
  char byte, text[64];
  while (read(in, &byte, 1) == 1) {
    double sum = 0;
    for (int i = 0; i < inner; i++) {
      double seconds = 0;
      if (ctn_bench_run(&w->job, &seconds, &error)) return;
      sum += seconds;
    }
    snprintf(text, sizeof text, "%.9g\n", sum / inner);
    if (!tell(out, text)) return;
  }
}

int ctn_tune_work(const struct tune *tune, const struct tune_problem *problem, const char *table, int in, int out) {
  static struct worker w; /* of a process that does nothing else */
  clattn_error error = CLATTN_ERROR_INIT;
  struct bench_shape shape = problem->shape, awkward = ctn_tune_awkward(problem);
  double seconds = 0;
  char text[1200];
  w.common = tune->common;
  w.bench.command = tune->command;
  w.bench.plan = tune->common->plan;
  w.bench.plan.no_host = 1;
  w.bench.place_count = 2;
  w.bench.paths[0] = (struct bench_path){problem->path_name, problem->path, 1, 0};
  w.bench.path_count = 1;
  w.row = (struct bench_row){.kind = problem->kind, .path_index = 0, .place = 1, .product = problem->product, .inner = 1};
  shape.dtype = awkward.dtype = tune->dtype;
  if (tune->small) {
    shape.q_len /= 8;
    if (problem->kind == BENCH_ATTENTION) shape.kv_len /= 8;
  }
  clattn_status status = open_places(&w, table, &error);
  if (status == CLATTN_OK) status = prepare(&w, &awkward, &error);
  ctn_bench_release(&w.job);
  if (status == CLATTN_OK) status = prepare(&w, &shape, &error);
  if (status == CLATTN_OK) status = ctn_bench_run(&w.job, &seconds, &error);
  if (status == CLATTN_OK) {
    const clattn_device_info *info = clattn_context_device(w.bench.places[1].context);
    snprintf(text, sizeof text, "ready %s|%.150s|%.150s|%.9g|%.9g\n", families(&w, problem->product), info->name,
             info->driver_version, seconds, w.row.flop);
    if (tell(out, text)) serve(&w, in, out, seconds);
  } else {
    snprintf(text, sizeof text, "no %s\n", ctn_one_line(error.text));
    tell(out, text);
  }
  ctn_bench_release(&w.job);
  clattn_context_destroy(w.bench.places[1].context);
  clattn_context_destroy(w.bench.places[0].context);
  return 0;
}
