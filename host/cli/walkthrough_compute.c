/* The two examples computed, from the stored inputs to the attention's output. */
#include "status.h"
#include "walkthrough.h"

/* The sizes of a run. */
struct sizes {
  int64_t batch, length, width; /* B, S, D */
};

static struct walk_shape vectors(const struct walk *walk, const struct sizes *sizes) {
  if (!ctn_st_find(&walk->file, "tokens")) return (struct walk_shape){2, {sizes->length, sizes->width}};
  return (struct walk_shape){3, {sizes->batch, sizes->length, sizes->width}};
}

/* The heads' dimension is there only where there are several. */
static struct walk_shape squares(const struct walk *walk, const struct sizes *sizes) {
  if (!ctn_st_find(&walk->file, "tokens")) return (struct walk_shape){2, {sizes->length, sizes->length}};
  if (walk->heads == 1) return (struct walk_shape){3, {sizes->batch, sizes->length, sizes->length}};
  return (struct walk_shape){4, {sizes->batch, walk->heads, sizes->length, sizes->length}};
}

/* x [batch, length, width] times one of the file's weights, with its bias where the file has one. */
static clattn_status project(struct walk *walk, const float *x, const struct sizes *sizes, const char *const names[2],
                             const struct walk_results *results, clattn_error *error) {
  struct walk_plans plans = {NULL, NULL, NULL};
  const struct st_tensor *weight = NULL, *bias = ctn_st_find(&walk->file, names[1]);
  clattn_projection problem = CLATTN_PROJECTION_INIT;
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  clattn_status status = ctn_walk_tensor(walk, names[0], ST_F32, 2, &weight, error);
  if (status != CLATTN_OK) return status;
  problem.batch = sizes->batch;
  problem.length = sizes->length;
  problem.in_features = problem.head_dim = sizes->width;
  problem.has_bias = bias != NULL;
  inputs.x = x;
  inputs.weight = weight->data;
  inputs.bias = bias ? bias->data : NULL;
  status = ctn_walk_plan_projection(walk, &plans, &problem, error);
  if (status == CLATTN_OK) status = ctn_walk_run(walk, &plans, &inputs, results, error);
  ctn_walk_unplan(&plans);
  return status;
}

/* Query, key and value, all heads of them side by side in the columns. */
static clattn_status project_all(struct walk *walk, const float *x, const struct sizes *sizes, clattn_error *error) {
  static const char *const weights[3][2] = {{"weight_q", "bias_q"}, {"weight_k", "bias_k"}, {"weight_v", "bias_v"}};
  static const char *const names[3] = {"query", "key", "value"};
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < 3 && status == CLATTN_OK; i++) {
    const struct walk_results results = {.out = names[i], .out_shape = vectors(walk, sizes)};
    status = project(walk, x, sizes, weights[i], &results, error);
  }
  return status;
}

/* The output projection, where the file has one. */
static clattn_status project_output(struct walk *walk, const struct sizes *sizes, const char *from, const char *name,
                                    clattn_error *error) {
  static const char *const weight[2] = {"weight_o", "bias_o"};
  if (!ctn_st_find(&walk->file, weight[0])) return CLATTN_OK;
  const struct walk_results results = {.out = name, .out_shape = vectors(walk, sizes)};
  return project(walk, ctn_walk_values(walk, from), sizes, weight, &results, error);
}

/* A head reads and writes its own columns of [batch, length, width]: heads are split and merged by strides. */
static clattn_problem attention_of(const struct walk *walk, const struct sizes *sizes, uint32_t outputs) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  const int64_t head_width = sizes->width / walk->heads;
  problem.batch = sizes->batch;
  problem.q_heads = problem.kv_heads = walk->heads;
  problem.q_len = problem.kv_len = sizes->length;
  problem.head_dim = problem.head_dim_v = head_width;
  problem.q = (clattn_layout){sizes->length * sizes->width, head_width, sizes->width};
  problem.k = problem.v = problem.out = problem.q;
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
static clattn_status attend_unmasked(struct walk *walk, const struct sizes *sizes, const char *raw, clattn_error *error) {
  clattn_problem problem = attention_of(walk, sizes, CLATTN_OUTPUT_SCORES_RAW);
  problem.scale_given = 1;
  problem.scale = 1;
  struct walk_results results = {
      .scores_raw = raw, .scores_shape = squares(walk, sizes), .out_shape = vectors(walk, sizes), .changed = walk->heads > 1};
  const clattn_status status = attend(walk, &problem, NULL, &results, error);
  if (status != CLATTN_OK) return status;
  problem = attention_of(walk, sizes, CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_WEIGHTS | CLATTN_OUTPUT_OUT);
  results.scores_raw = "scaled_scores";
  results.weights = "weights";
  results.out = "output";
  return attend(walk, &problem, NULL, &results, error);
}

static clattn_status attend_masked(struct walk *walk, const struct sizes *sizes, clattn_error *error) {
  const struct st_tensor *keep = NULL;
  const clattn_status status = ctn_walk_tensor(walk, "keep_mask", ST_BOOL, 2, &keep, error);
  if (status != CLATTN_OK) return status;
  clattn_problem problem = attention_of(walk, sizes, CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS | CLATTN_OUTPUT_OUT);
  problem.mask = (clattn_mask){CLATTN_BOOL, 4, {sizes->batch, 1, 1, sizes->length}, {0, 0, 0, 0}};
  problem.causal = walk->causal;
  const struct walk_results results = {.scores_masked = "masked_scores",
                                       .weights = "weights_masked",
                                       .out = "output_masked",
                                       .scores_shape = squares(walk, sizes),
                                       .out_shape = vectors(walk, sizes),
                                       .changed = walk->heads > 1 || walk->causal};
  return attend(walk, &problem, keep->data, &results, error);
}

static clattn_status embed(struct walk *walk, struct sizes *sizes, clattn_error *error) {
  const struct st_tensor *tokens = NULL, *table = NULL;
  clattn_status status = ctn_walk_tensor(walk, "tokens", ST_I32, 2, &tokens, error);
  if (status == CLATTN_OK) status = ctn_walk_tensor(walk, "embedding_table", ST_F32, 2, &table, error);
  if (status != CLATTN_OK) return status;
  *sizes = (struct sizes){tokens->shape[0], tokens->shape[1], table->shape[1]};
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_embedding problem = CLATTN_EMBEDDING_INIT;
  problem.vocabulary = table->shape[0];
  problem.dim = table->shape[1];
  problem.count = tokens->count;
  problem.padding_id = walk->padding_id;
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  inputs.tokens = tokens->data;
  inputs.table = table->data;
  const struct walk_results results = {.out = "embedded", .out_shape = vectors(walk, sizes)};
  status = ctn_walk_plan_embedding(walk, &plans, &problem, error);
  if (status == CLATTN_OK) status = ctn_walk_run(walk, &plans, &inputs, &results, error);
  ctn_walk_unplan(&plans);
  return status;
}

static clattn_status position(struct walk *walk, const clattn_position *problem, const void *x,
                              const struct walk_results *results, clattn_error *error) {
  struct walk_plans plans = {NULL, NULL, NULL};
  clattn_arrays inputs = CLATTN_ARRAYS_INIT;
  inputs.x = x;
  clattn_status status = ctn_walk_plan_position(walk, &plans, problem, error);
  if (status == CLATTN_OK) status = ctn_walk_run(walk, &plans, &inputs, results, error);
  ctn_walk_unplan(&plans);
  return status;
}

/* The encoding alone, of as many positions as the example stores or one's own sentences have, and the words with it added. */
static clattn_status add_positions(struct walk *walk, const struct sizes *sizes, clattn_error *error) {
  const struct st_tensor *stored = ctn_st_find(&walk->file, "positional_encoding");
  clattn_position alone = CLATTN_POSITION_INIT;
  alone.length = stored && stored->rank == 2 ? stored->shape[0] : sizes->length;
  alone.dim = sizes->width;
  alone.has_x = 0;
  struct walk_results results = {.out = "positional_encoding", .out_shape = {2, {alone.length, alone.dim}}};
  const clattn_status status = position(walk, &alone, NULL, &results, error);
  if (status != CLATTN_OK) return status;
  clattn_position added = CLATTN_POSITION_INIT;
  added.batch = sizes->batch;
  added.length = sizes->length;
  added.dim = sizes->width;
  results.out = "embedded_plus_position";
  results.out_shape = vectors(walk, sizes);
  return position(walk, &added, ctn_walk_values(walk, "embedded"), &results, error);
}

clattn_status ctn_walk_sentences_compute(struct walk *walk, clattn_error *error) {
  struct sizes sizes;
  clattn_status status = embed(walk, &sizes, error);
  if (status == CLATTN_OK) status = add_positions(walk, &sizes, error);
  if (status == CLATTN_OK) status = project_all(walk, ctn_walk_values(walk, "embedded_plus_position"), &sizes, error);
  if (status == CLATTN_OK) status = attend_unmasked(walk, &sizes, "raw_scores", error);
  if (status == CLATTN_OK) status = project_output(walk, &sizes, "output", "projected", error);
  if (status == CLATTN_OK) status = attend_masked(walk, &sizes, error);
  return status == CLATTN_OK ? project_output(walk, &sizes, "output_masked", "projected_masked", error) : status;
}

clattn_status ctn_walk_words_compute(struct walk *walk, clattn_error *error) {
  const struct st_tensor *x = NULL;
  const clattn_status status = ctn_walk_tensor(walk, "x", ST_F32, 2, &x, error);
  if (status != CLATTN_OK) return status;
  const struct sizes sizes = {1, x->shape[0], x->shape[1]};
  if (sizes.length != walk->word_count || sizes.length > WALK_SHOWN_ROWS || sizes.width > WALK_SHOWN_COLUMNS) {
    return ctn_fail(error, CLATTN_INTERNAL, "example: %d words for %lld rows of x, or too many", walk->word_count,
                    (long long)sizes.length);
  }
  const clattn_status projected = project_all(walk, x->data, &sizes, error);
  return projected == CLATTN_OK ? attend_unmasked(walk, &sizes, "scores", error) : projected;
}
