/* How fast each context computes a part of the problem while the others do the same: they may share memory, caches or even
 * processors. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checked.h"
#include "half.h"
#include "split.h"

/* Work of one probe at most, and how long each context is kept busy at least: the others are to be measured beside it. */
static const double most_flop = 4e9, least_seconds = 0.05;
enum { LEAST_RUNS = 3, MOST_RUNS = 1000 };

struct probe {
  const struct clattn_split *split;
  clattn_problem problem;
  clattn_arrays arrays; /* inputs */
  clattn_plan **plans;
  void **outs;
  double *seconds; /* the best run of each context */
  clattn_error *errors;
};

/* The whole problem's sizes, but one context's share of the heads of one sequence, and fewer queries where it would take long.
 */
static clattn_problem probe_problem(const struct attention *a, size_t contexts) {
  clattn_problem probe = CLATTN_PROBLEM_INIT;
  const int64_t pairs = ctn_split_pairs(a);
  probe.dtype = a->dtype;
  probe.kv_heads = ctn_min(a->kv_heads, ctn_ceil_div(pairs, (int64_t)contexts));
  probe.q_heads = probe.kv_heads * a->group;
  probe.head_dim = a->head_dim;
  probe.head_dim_v = a->head_dim_v;
  probe.kv_len = a->kv_len;
  probe.q_len = a->q_len;
  probe.causal = a->causal && a->q_len == a->kv_len;
  const double row = 2.0 * (double)probe.q_heads * (double)a->kv_len * (double)(a->head_dim + a->head_dim_v);
  if ((double)probe.q_len * row > most_flop) {
    probe.q_len = (int64_t)(most_flop / row);
    probe.q_len = ctn_max(probe.q_len, 1);
    probe.causal = 0;
  }
  return probe;
}

/* Small numbers of no pattern; timing on zeros would tell nothing. */
static void *random_elements(clattn_dtype dtype, int64_t count, uint32_t seed) {
  unsigned char *data = malloc((size_t)count * ctn_dtype_size(dtype));
  for (int64_t i = 0; data != NULL && i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    const float value = (float)(int32_t)seed * 0x1p-31f;
    if (dtype == CLATTN_F32) {
      ((float *)(void *)data)[i] = value;
    } else {
      ((uint16_t *)(void *)data)[i] = dtype == CLATTN_F16 ? ctn_f32_to_f16(value) : ctn_f32_to_bf16(value);
    }
  }
  return data;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run_probe(void *job, int64_t piece, int worker) {
  (void)worker;
  struct probe *probe = job;
  clattn_arrays arrays = probe->arrays;
  arrays.out = probe->outs[piece];
  double best = 0, total = 0;
  clattn_status status = clattn_plan_execute(probe->plans[piece], &arrays, &probe->errors[piece]); /* warm */
  for (int run = 0; status == CLATTN_OK && run < MOST_RUNS && (run < LEAST_RUNS || total < least_seconds); run++) {
    const double start = now();
    status = clattn_plan_execute(probe->plans[piece], &arrays, &probe->errors[piece]);
    const double seconds = now() - start;
    total += seconds;
    if (run == 0 || seconds < best) best = seconds;
  }
  probe->seconds[piece] = best;
}

static clattn_status prepare(struct probe *probe, const clattn_plan_options *options, clattn_error *error) {
  const clattn_problem *p = &probe->problem;
  const size_t count = probe->split->count;
  probe->plans = calloc(count, sizeof *probe->plans);
  probe->outs = calloc(count, sizeof *probe->outs);
  probe->seconds = calloc(count, sizeof *probe->seconds);
  probe->errors = calloc(count, sizeof *probe->errors);
  probe->arrays.q = random_elements(p->dtype, p->q_heads * p->q_len * p->head_dim, 1);
  probe->arrays.k = random_elements(p->dtype, p->kv_heads * p->kv_len * p->head_dim, 2);
  probe->arrays.v = random_elements(p->dtype, p->kv_heads * p->kv_len * p->head_dim_v, 3);
  bool complete = probe->plans != NULL && probe->outs != NULL && probe->seconds != NULL && probe->errors != NULL &&
                  probe->arrays.q != NULL && probe->arrays.k != NULL && probe->arrays.v != NULL;
  clattn_status status = CLATTN_OK;
  for (size_t i = 0; complete && i < count && status == CLATTN_OK; i++) {
    probe->errors[i] = (clattn_error)CLATTN_ERROR_INIT;
    probe->outs[i] = malloc((size_t)(p->q_heads * p->q_len * p->head_dim_v) * ctn_dtype_size(p->dtype));
    complete = probe->outs[i] != NULL;
    if (complete) status = clattn_plan_create(&probe->plans[i], probe->split->part[i].context, p, options, error);
  }
  return complete ? status : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "split: no memory to measure the devices");
}

static void clear(struct probe *probe) {
  for (size_t i = 0; i < probe->split->count; i++) {
    if (probe->plans != NULL) clattn_plan_destroy(probe->plans[i]);
    if (probe->outs != NULL) free(probe->outs[i]);
  }
  free(probe->plans);
  free(probe->outs);
  free(probe->seconds);
  free(probe->errors);
  free((void *)(uintptr_t)probe->arrays.q);
  free((void *)(uintptr_t)probe->arrays.k);
  free((void *)(uintptr_t)probe->arrays.v);
}

clattn_status ctn_split_measure(struct clattn_split *split, const clattn_plan_options *options, clattn_error *error) {
  struct probe probe = {.split = split, .arrays = CLATTN_ARRAYS_INIT};
  probe.problem = probe_problem(&split->problem.as.attention, split->count);
  clattn_status status = prepare(&probe, options, error);
  if (status == CLATTN_OK) ctn_pool_run(split->pool, (int64_t)split->count, run_probe, &probe);
  for (size_t i = 0; i < split->count && status == CLATTN_OK; i++) {
    if (probe.errors[i].status != CLATTN_OK) {
      status = ctn_fail(error, probe.errors[i].status, "split: measuring device %zu: %s", i, probe.errors[i].text);
    }
    split->part[i].speed = 1.0 / (probe.seconds[i] > 0 ? probe.seconds[i] : 1e-9);
  }
  clear(&probe);
  return status;
}
