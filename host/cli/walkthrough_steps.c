/* Computes an example's steps through the public interface, each beside the float64 reference: see walkthrough.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "status.h"
#include "walkthrough.h"
#include "walkthrough_own.h"

/* The words of metadata "tokens", which are separated by spaces. */
static clattn_status split_words(struct walk *walk, clattn_error *error) {
  const char *tokens = ctn_st_metadata(&walk->file, "tokens");
  if (!tokens) return ctn_fail(error, CLATTN_INTERNAL, "example: no \"tokens\" in its metadata");
  const size_t size = strlen(tokens) + 1;
  walk->word_memory = malloc(size);
  walk->words = calloc(size, sizeof *walk->words);
  if (!walk->word_memory || !walk->words)
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "example: no memory for its %zu bytes of words", size);
  memcpy(walk->word_memory, tokens, size);
  char *rest = NULL;
  for (char *word = strtok_r(walk->word_memory, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    walk->words[walk->word_count++] = word;
  return CLATTN_OK;
}

clattn_status ctn_walk_open(struct walk *walk, const struct walk_example *example, clattn_error *error) {
  const struct embedded_file *embedded = ctn_embedded_examples;
  while (embedded->name && strcmp(embedded->name, example->file) != 0)
    embedded++;
  if (!embedded->name) return ctn_fail(error, CLATTN_INTERNAL, "%s: not among the embedded examples", example->file);
  const clattn_status status = ctn_st_parse(&walk->file, example->file, embedded->bytes, embedded->size, error);
  return status == CLATTN_OK ? split_words(walk, error) : status;
}

void ctn_walk_close(struct walk *walk) {
  for (int i = 0; i < walk->step_count; i++) {
    free(walk->steps[i].values);
    free(walk->steps[i].reference);
  }
  free(walk->word_memory);
  free(walk->words);
  ctn_st_clear(&walk->file);
  ctn_walk_own_free(walk->own);
  memset(walk, 0, sizeof *walk);
}

clattn_status ctn_walk_tensor(const struct walk *walk, const char *name, enum st_dtype dtype, int rank,
                              const struct st_tensor **tensor, clattn_error *error) {
  *tensor = ctn_st_find(&walk->file, name);
  if (*tensor && (*tensor)->dtype == dtype && (*tensor)->rank == rank) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INTERNAL, "example: %s is not there as a %s tensor of rank %d", name, ctn_st_name(dtype), rank);
}

/* ------------------------------------------------------------------------------------------------------------------- plans */

static clattn_plan_options reference_options(void) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = CLATTN_PATH_REFERENCE;
  return options;
}

clattn_status ctn_walk_plan_attention(const struct walk *walk, struct walk_plans *plans, const clattn_problem *problem,
                                      clattn_error *error) {
  const clattn_plan_options reference = reference_options();
  plans->operation = "attention";
  const clattn_status status = clattn_plan_create(&plans->plan, walk->context, problem, walk->options, error);
  if (status != CLATTN_OK) return status;
  return clattn_plan_create(&plans->reference, walk->context, problem, &reference, error);
}

clattn_status ctn_walk_plan_embedding(const struct walk *walk, struct walk_plans *plans, const clattn_embedding *problem,
                                      clattn_error *error) {
  const clattn_plan_options reference = reference_options();
  plans->operation = "embedding";
  const clattn_status status = clattn_embedding_plan_create(&plans->plan, walk->context, problem, walk->options, error);
  if (status != CLATTN_OK) return status;
  return clattn_embedding_plan_create(&plans->reference, walk->context, problem, &reference, error);
}

clattn_status ctn_walk_plan_position(const struct walk *walk, struct walk_plans *plans, const clattn_position *problem,
                                     clattn_error *error) {
  const clattn_plan_options reference = reference_options();
  plans->operation = "position";
  const clattn_status status = clattn_position_plan_create(&plans->plan, walk->context, problem, walk->options, error);
  if (status != CLATTN_OK) return status;
  return clattn_position_plan_create(&plans->reference, walk->context, problem, &reference, error);
}

clattn_status ctn_walk_plan_projection(const struct walk *walk, struct walk_plans *plans, const clattn_projection *problem,
                                       clattn_error *error) {
  const clattn_plan_options reference = reference_options();
  plans->operation = "projection";
  const clattn_status status = clattn_projection_plan_create(&plans->plan, walk->context, problem, walk->options, error);
  if (status != CLATTN_OK) return status;
  return clattn_projection_plan_create(&plans->reference, walk->context, problem, &reference, error);
}

void ctn_walk_unplan(struct walk_plans *plans) {
  clattn_plan_destroy(plans->plan);
  clattn_plan_destroy(plans->reference);
  memset(plans, 0, sizeof *plans);
}

/* ------------------------------------------------------------------------------------------------------------------- steps */

static bool has_shape(const struct st_tensor *tensor, const struct walk_shape *shape) {
  bool same = tensor->dtype == ST_F32 && tensor->rank == shape->rank && tensor->count > 0;
  for (int i = 0; same && i < shape->rank; i++)
    same = tensor->shape[i] == shape->size[i];
  return same;
}

static clattn_status add_step(struct walk *walk, const struct walk_plans *plans, const char *name,
                              const struct walk_shape *shape, bool is_stored, struct walk_step **step, clattn_error *error) {
  *step = NULL;
  if (!name) return CLATTN_OK;
  const struct st_tensor *stored = is_stored ? ctn_st_find(&walk->file, name) : NULL;
  if ((is_stored && (!stored || !has_shape(stored, shape))) || walk->step_count == WALK_MAX_STEPS) {
    return ctn_fail(error, CLATTN_INTERNAL,
                    "example: %s is not there as an F32 tensor of the right shape, or one step too many", name);
  }
  struct walk_step *added = &walk->steps[walk->step_count++];
  added->name = name;
  added->operation = plans->operation;
  added->family = clattn_plan_family(plans->plan);
  added->stored = stored;
  added->rank = shape->rank;
  added->count = 1;
  for (int i = 0; i < shape->rank; i++) {
    added->shape[i] = shape->size[i];
    added->count *= shape->size[i];
  }
  added->values = calloc((size_t)added->count, sizeof *added->values);
  added->reference = calloc((size_t)added->count, sizeof *added->reference);
  if (!added->values || !added->reference) {
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %lld numbers", name, (long long)added->count);
  }
  *step = added;
  return CLATTN_OK;
}

/* Equal infinities agree; anything else that is no number is infinitely far away, so that no comparison can miss it. */
static double distance(double got, double want) {
  if (got == want) return 0;
  const double difference = fabs(got - want);
  return isnan(difference) ? INFINITY : difference;
}

static void compare(struct walk_step *step) {
  for (int64_t i = 0; i < step->count; i++) {
    step->from_reference = fmax(step->from_reference, distance(step->values[i], step->reference[i]));
    if (!step->stored) continue;
    double stored = ctn_st_f64(step->stored, i);
    if (stored <= WALK_FILLER) stored = -INFINITY;
    step->from_stored = fmax(step->from_stored, distance(step->values[i], stored));
  }
}

/* The largest finite size among a result's numbers, 1 at least. */
static double magnitude(const struct walk_step *step) {
  double largest = 1;
  for (int64_t i = 0; step && i < step->count; i++) {
    const double size = fabs((double)step->reference[i]);
    if (isfinite(size)) largest = fmax(largest, size);
  }
  return largest;
}

clattn_status ctn_walk_run(struct walk *walk, const struct walk_plans *plans, const clattn_arrays *inputs,
                           const struct walk_results *results, clattn_error *error) {
  enum { RESULTS = 4 };
  const char *const names[RESULTS] = {results->scores_raw, results->scores_masked, results->weights, results->out};
  struct walk_step *steps[RESULTS] = {NULL};
  for (int i = 0; i < RESULTS; i++) {
    const clattn_status status = add_step(walk, plans, names[i], i < RESULTS - 1 ? &results->scores_shape : &results->out_shape,
                                          !walk->own && !results->changed, &steps[i], error);
    if (status != CLATTN_OK) return status;
  }
  for (int turn = 0; turn < 2; turn++) {
    float *data[RESULTS] = {NULL};
    for (int i = 0; i < RESULTS; i++) {
      if (steps[i]) data[i] = turn == 0 ? steps[i]->values : steps[i]->reference;
    }
    clattn_arrays arrays = *inputs;
    arrays.scores_raw = data[0];
    arrays.scores_masked = data[1];
    arrays.weights = data[2];
    arrays.out = data[3];
    const clattn_status status = clattn_plan_execute(turn == 0 ? plans->plan : plans->reference, &arrays, error);
    if (status != CLATTN_OK) return status;
  }
  /* Float32 errs in proportion: with one's own input numbers may be of any size, and weights err as their scores do. */
  double scores = fmax(magnitude(steps[0]), magnitude(steps[1]));
  for (int i = 0; i < RESULTS; i++) {
    if (!steps[i]) continue;
    compare(steps[i]);
    steps[i]->allowed = WALK_TOLERANCE * (walk->own ? scores * (i == RESULTS - 1 ? magnitude(steps[i]) : 1) : 1);
  }
  return CLATTN_OK;
}

const struct walk_step *ctn_walk_step(const struct walk *walk, const char *name) {
  for (int i = 0; i < walk->step_count; i++) {
    if (strcmp(walk->steps[i].name, name) == 0) return &walk->steps[i];
  }
  return NULL;
}

const float *ctn_walk_values(const struct walk *walk, const char *name) {
  return ctn_walk_step(walk, name)->values;
}

double ctn_walk_difference(const struct walk_step *step) {
  return fmax(step->from_reference, step->from_stored);
}

bool ctn_walk_agrees(const struct walk_step *step) {
  return ctn_walk_difference(step) <= step->allowed;
}

const struct walk_step *ctn_walk_worst(const struct walk *walk, double *difference) {
  const struct walk_step *worst = &walk->steps[0];
  for (int i = 1; i < walk->step_count; i++) {
    const struct walk_step *step = &walk->steps[i];
    if (ctn_walk_difference(step) / step->allowed > ctn_walk_difference(worst) / worst->allowed) worst = step;
  }
  *difference = ctn_walk_difference(worst);
  return worst;
}
