/* The two examples computed, from the stored inputs to the attention's output. */
#include "status.h"
#include "walkthrough.h"

/* The tables have room for so many names. */
static clattn_status check_size(const int64_t shape[3], clattn_error *error) {
  if (shape[0] * shape[1] <= WALK_MAX_ROWS && shape[1] <= WALK_MAX_COLUMNS && shape[2] <= WALK_MAX_COLUMNS) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INTERNAL, "example: [%lld, %lld, %lld] is more than the tables have room for",
                  (long long)shape[0], (long long)shape[1], (long long)shape[2]);
}

/* x as [batch, length, width], projected to query, key and value by the same plan: only the weights differ. One head, so that
 * [batch, length, width] is attention's [batch, 1, length, width]. */
static clattn_status project(struct walk *walk, const void *x, const int64_t shape[3], clattn_error *error) {
  static const char *const names[3][2] = {{"weight_q", "query"}, {"weight_k", "key"}, {"weight_v", "value"}};
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_projection problem = CLATTN_PROJECTION_INIT;
  problem.batch = shape[0];
  problem.length = shape[1];
  problem.in_features = problem.head_dim = shape[2];
  clattn_status status = ctn_walk_plan_projection(walk, &plans, &problem, error);
  for (int i = 0; i < 3 && status == CLATTN_OK; i++) {
    const struct walk_results results = {.out = names[i][1]};
    const struct st_tensor *weight = NULL;
    clattn_arrays inputs = CLATTN_ARRAYS_INIT;
    status = ctn_walk_tensor(walk, names[i][0], ST_F32, 2, &weight, error);
    if (status != CLATTN_OK) break;
    inputs.x = x;
    inputs.weight = weight->data;
    status = ctn_walk_run(walk, &plans, &inputs, &results, error);
  }
  ctn_walk_unplan(&plans);
  return status;
}

static clattn_problem attention_of(const int64_t shape[3], uint32_t outputs) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.batch = shape[0];
  problem.q_len = problem.kv_len = shape[1];
  problem.head_dim = problem.head_dim_v = shape[2];
  problem.outputs = outputs;
  return problem;
}

static clattn_status attend(struct walk *walk, const clattn_problem *problem, const void *mask,
                            const struct walk_results *results, clattn_error *error) {
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  inputs.q = ctn_walk_values(walk, "query");
  inputs.k = ctn_walk_values(walk, "key");
  inputs.v = ctn_walk_values(walk, "value");
  inputs.mask = mask;
  clattn_status status = ctn_walk_plan_attention(walk, &plans, problem, error);
  if (status == CLATTN_OK) status = ctn_walk_run(walk, &plans, &inputs, results, error);
  ctn_walk_unplan(&plans);
  return status;
}

/* Scores as q k^T alone (a scale of 1), then with the default scale 1 / sqrt(d), its weights and its output. */
static clattn_status attend_unmasked(struct walk *walk, const int64_t shape[3], const char *raw, clattn_error *error) {
  clattn_problem problem = attention_of(shape, CLATTN_OUTPUT_SCORES_RAW);
  problem.scale_given = 1;
  problem.scale = 1;
  const clattn_status status = attend(walk, &problem, NULL, &(const struct walk_results){.scores_raw = raw}, error);
  if (status != CLATTN_OK) return status;
  problem = attention_of(shape, CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_WEIGHTS | CLATTN_OUTPUT_OUT);
  const struct walk_results results = {.scores_raw = "scaled_scores", .weights = "weights", .out = "output"};
  return attend(walk, &problem, NULL, &results, error);
}

static clattn_status attend_masked(struct walk *walk, const int64_t shape[3], clattn_error *error) {
  const struct st_tensor *keep = NULL;
  const clattn_status status = ctn_walk_tensor(walk, "keep_mask", ST_BOOL, 2, &keep, error);
  if (status != CLATTN_OK) return status;
  clattn_problem problem = attention_of(shape, CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS | CLATTN_OUTPUT_OUT);
  problem.mask = (clattn_mask){CLATTN_BOOL, 4, {shape[0], 1, 1, shape[1]}, {0, 0, 0, 0}};
  const struct walk_results results = {.scores_masked = "masked_scores", .weights = "weights_masked", .out = "output_masked"};
  return attend(walk, &problem, keep->data, &results, error);
}

static clattn_status embed(struct walk *walk, int64_t shape[3], clattn_error *error) {
  const struct st_tensor *tokens = NULL, *table = NULL;
  clattn_status status = ctn_walk_tensor(walk, "tokens", ST_I32, 2, &tokens, error);
  if (status == CLATTN_OK) status = ctn_walk_tensor(walk, "embedding_table", ST_F32, 2, &table, error);
  if (status != CLATTN_OK) return status;
  shape[0] = tokens->shape[0];
  shape[1] = tokens->shape[1];
  shape[2] = table->shape[1];
  status = check_size(shape, error);
  if (status != CLATTN_OK) return status;
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_embedding problem = CLATTN_EMBEDDING_INIT;
  problem.vocabulary = table->shape[0];
  problem.dim = shape[2];
  problem.count = tokens->count;
  problem.padding_id = WALK_PADDING_ID;
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  inputs.tokens = tokens->data;
  inputs.table = table->data;
  status = ctn_walk_plan_embedding(walk, &plans, &problem, error);
  if (status == CLATTN_OK) {
    status = ctn_walk_run(walk, &plans, &inputs, &(const struct walk_results){.out = "embedded"}, error);
  }
  ctn_walk_unplan(&plans);
  return status;
}

static clattn_status position(struct walk *walk, const clattn_position *problem, const void *x, const char *name,
                              clattn_error *error) {
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  inputs.x = x;
  clattn_status status = ctn_walk_plan_position(walk, &plans, problem, error);
  if (status == CLATTN_OK) status = ctn_walk_run(walk, &plans, &inputs, &(const struct walk_results){.out = name}, error);
  ctn_walk_unplan(&plans);
  return status;
}

/* The encoding alone, of as many positions as the example stores, and the words with it added. */
static clattn_status add_positions(struct walk *walk, const int64_t shape[3], clattn_error *error) {
  const struct st_tensor *stored = NULL;
  clattn_status status = ctn_walk_tensor(walk, "positional_encoding", ST_F32, 2, &stored, error);
  if (status != CLATTN_OK) return status;
  clattn_position alone = CLATTN_POSITION_INIT;
  alone.length = stored->shape[0];
  alone.dim = stored->shape[1];
  alone.has_x = 0;
  status = position(walk, &alone, NULL, stored->name, error);
  if (status != CLATTN_OK) return status;
  clattn_position added = CLATTN_POSITION_INIT;
  added.batch = shape[0];
  added.length = shape[1];
  added.dim = shape[2];
  return position(walk, &added, ctn_walk_values(walk, "embedded"), "embedded_plus_position", error);
}

clattn_status ctn_walk_sentences_compute(struct walk *walk, clattn_error *error) {
  int64_t shape[3];
  clattn_status status = embed(walk, shape, error);
  if (status == CLATTN_OK) status = add_positions(walk, shape, error);
  if (status == CLATTN_OK) status = project(walk, ctn_walk_values(walk, "embedded_plus_position"), shape, error);
  if (status == CLATTN_OK) status = attend_unmasked(walk, shape, "raw_scores", error);
  return status == CLATTN_OK ? attend_masked(walk, shape, error) : status;
}

clattn_status ctn_walk_words_compute(struct walk *walk, clattn_error *error) {
  const struct st_tensor *x = NULL;
  clattn_status status = ctn_walk_tensor(walk, "x", ST_F32, 2, &x, error);
  if (status != CLATTN_OK) return status;
  const int64_t shape[3] = {1, x->shape[0], x->shape[1]};
  status = check_size(shape, error);
  if (status == CLATTN_OK && shape[1] != walk->word_count) {
    status = ctn_fail(error, CLATTN_INTERNAL, "example: %d words for %lld rows of x", walk->word_count, (long long)shape[1]);
  }
  if (status == CLATTN_OK) status = project(walk, x->data, shape, error);
  return status == CLATTN_OK ? attend_unmasked(walk, shape, "scores", error) : status;
}
