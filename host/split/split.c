/* clattn_split: from contexts and a problem to parts with plans, and their execution at once. */
#include "split.h"

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "descriptor.h"

static clattn_status check_speeds(const double *speeds, size_t count, clattn_error *error) {
  for (size_t i = 0; speeds != NULL && i < count; i++) {
    if (!(speeds[i] > 0 && speeds[i] <= 1e300)) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "speeds: number %zu is %g, not a positive number", i, speeds[i]);
    }
  }
  return CLATTN_OK;
}

static clattn_status make_parts(struct clattn_split *split, clattn_context *const *contexts, size_t count,
                                clattn_error *error) {
  split->part = calloc(count, sizeof *split->part);
  if (split->part == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "split: no memory for %zu parts", count);
  split->count = count;
  for (size_t i = 0; i < count; i++) {
    if (contexts[i] == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "contexts: number %zu is NULL", i);
    ctn_context_retain(contexts[i]);
    split->part[i].context = contexts[i];
    split->part[i].error = (clattn_error)CLATTN_ERROR_INIT;
  }
  return ctn_pool_create(&split->pool, (int)count, error);
}

static clattn_status find_speeds(struct clattn_split *split, const clattn_split_options *options, clattn_error *error) {
  for (size_t i = 0; i < split->count; i++)
    split->part[i].speed = options->speeds != NULL ? options->speeds[i] : 1.0;
  return options->speeds != NULL || split->count == 1 ? CLATTN_OK : ctn_split_measure(split, options->plan, error);
}

static clattn_status share_out(struct clattn_split *split, clattn_error *error) {
  const struct attention *a = &split->problem.as.attention;
  double *speeds = calloc(split->count, sizeof *speeds);
  int64_t *shares = calloc(split->count, sizeof *shares);
  if (speeds != NULL && shares != NULL) {
    size_t fastest = 0;
    for (size_t i = 0; i < split->count; i++) {
      speeds[i] = split->part[i].speed;
      if (speeds[i] > speeds[fastest]) fastest = i;
    }
    if (a->dropout > 0) {
      shares[fastest] = ctn_split_pairs(a);
    } else {
      ctn_split_share_out(speeds, split->count, ctn_split_pairs(a), shares);
    }
    int64_t first = 0;
    for (size_t i = 0; i < split->count; first += shares[i], i++) {
      split->part[i].first = first;
      split->part[i].pairs = shares[i];
    }
  }
  const bool complete = speeds != NULL && shares != NULL;
  free(speeds);
  free(shares);
  return complete ? CLATTN_OK : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "split: no memory to share the problem out");
}

static clattn_status plan_part(struct clattn_split *split, struct part *part, const clattn_plan_options *options,
                               clattn_error *error) {
  struct box boxes[BOXES];
  clattn_status status = CLATTN_OK;
  if (part->pairs == 0) return CLATTN_OK;
  part->pieces = ctn_split_boxes(&split->problem.as.attention, part->first, part->pairs, boxes);
  for (int i = 0; i < part->pieces && status == CLATTN_OK; i++) {
    part->piece[i].box = boxes[i];
    const clattn_problem problem = ctn_split_problem(&split->problem, &boxes[i]);
    status = clattn_plan_create(&part->piece[i].plan, part->context, &problem, options, error);
    if (status == CLATTN_OK) status = ctn_split_allocate(&split->problem, &part->piece[i], error);
  }
  return status;
}

static clattn_status describe(struct clattn_split *split, clattn_error *error) {
  const double pairs = (double)ctn_split_pairs(&split->problem.as.attention);
  double all = 0;
  for (size_t i = 0; i < split->count; i++)
    all += split->part[i].speed;
  for (size_t i = 0; i < split->count; i++) {
    const struct part *part = &split->part[i];
    const clattn_device_info *device = clattn_context_device(part->context);
    ctn_text_printf(&split->description, "device %zu (%s): %lld of %lld pairs of a batch and a KV head, %.0f %% of the speed",
                    i, device != NULL ? device->name : "the host", (long long)part->pairs, (long long)pairs,
                    100 * part->speed / all);
    ctn_text_printf(&split->description, "%s%s\n", part->pieces > 0 ? ", by " : "",
                    part->pieces > 0 ? clattn_plan_family(part->piece[0].plan) : "");
  }
  return split->description.failed ? ctn_fail(error, CLATTN_OUT_OF_MEMORY, "split: no memory for its description") : CLATTN_OK;
}

static clattn_status fill(struct clattn_split *split, clattn_context *const *contexts, size_t count,
                          const clattn_problem *problem, const clattn_split_options *in, clattn_error *error) {
  clattn_split_options options = CLATTN_SPLIT_OPTIONS_INIT;
  clattn_status status = in != NULL ? ctn_descriptor_read(&options, sizeof options, in, "split options", error) : CLATTN_OK;
  if (status == CLATTN_OK) status = check_speeds(options.speeds, count, error);
  if (status == CLATTN_OK && options.plan != NULL && options.plan->user_workspace) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "user_workspace: a split has workspaces of its own");
  }
  if (status == CLATTN_OK) status = ctn_problem_attention(&split->problem, problem, error);
  if (status == CLATTN_OK) status = make_parts(split, contexts, count, error);
  if (status == CLATTN_OK) status = find_speeds(split, &options, error);
  if (status == CLATTN_OK) status = share_out(split, error);
  for (size_t i = 0; i < count && status == CLATTN_OK; i++)
    status = plan_part(split, &split->part[i], options.plan, error);
  return status == CLATTN_OK ? describe(split, error) : status;
}

clattn_status clattn_split_create(clattn_split **out, clattn_context *const *contexts, size_t count,
                                  const clattn_problem *problem, const clattn_split_options *options, clattn_error *error) {
  ctn_clear(error);
  if (out == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "split: the place for the result is NULL");
  *out = NULL;
  if (contexts == NULL || count == 0 || count > 4096) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "contexts: NULL, or their number, %zu, is not 1 to 4096", count);
  }
  clattn_split *split = calloc(1, sizeof *split);
  if (split == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "split: no memory");
  const clattn_status status = fill(split, contexts, count, problem, options, error);
  if (status != CLATTN_OK) {
    clattn_split_destroy(split);
    return status;
  }
  *out = split;
  return CLATTN_OK;
}

struct execution {
  clattn_split *split;
  const clattn_arrays *arrays;
};

static void run_part(void *job, int64_t number, int worker) {
  (void)worker;
  const struct execution *execution = job;
  struct part *part = &execution->split->part[number];
  const struct problem *problem = &execution->split->problem;
  ctn_clear(&part->error);
  for (int i = 0; i < part->pieces; i++) {
    const clattn_arrays arrays = ctn_split_arrays(problem, &part->piece[i], execution->arrays);
    if (clattn_plan_execute(part->piece[i].plan, &arrays, &part->error) != CLATTN_OK) return;
    ctn_split_scatter(problem, &part->piece[i], execution->arrays);
  }
}

clattn_status clattn_split_execute(clattn_split *split, const clattn_arrays *in, clattn_error *error) {
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  ctn_clear(error);
  if (split == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "split: NULL");
  clattn_status status = ctn_descriptor_read(&arrays, sizeof arrays, in, "arrays", error);
  if (status == CLATTN_OK) status = ctn_arrays_check(&split->problem, &arrays, error);
  if (status != CLATTN_OK) return status;
  struct execution execution = {split, &arrays};
  ctn_pool_run(split->pool, (int64_t)split->count, run_part, &execution);
  for (size_t i = 0; i < split->count; i++) {
    const clattn_error *failed = &split->part[i].error;
    if (failed->status != CLATTN_OK) return ctn_fail(error, failed->status, "device %zu of the split: %s", i, failed->text);
  }
  return CLATTN_OK;
}

double clattn_split_share(const clattn_split *split, size_t index) {
  if (split == NULL || index >= split->count) return 0.0;
  return (double)split->part[index].pairs / (double)ctn_split_pairs(&split->problem.as.attention);
}

const char *clattn_split_describe(const clattn_split *split) {
  return split != NULL ? split->description.data : "";
}

void clattn_split_destroy(clattn_split *split) {
  if (split == NULL) return;
  for (size_t i = 0; i < split->count; i++) {
    struct part *part = &split->part[i];
    for (int n = 0; n < BOXES; n++) {
      clattn_plan_destroy(part->piece[n].plan);
      for (int t = 0; t < TENSOR_COUNT; t++)
        free(part->piece[n].dense[t]);
    }
    clattn_context_destroy(part->context);
  }
  ctn_pool_destroy(split->pool);
  ctn_text_free(&split->description);
  free(split->part);
  free(split);
}
