/* One execution of the staged family: for each chunk of rows scores, softmax, values. */
#include "checked.h"
#include "staged.h"

/* softmax.cl: WRITE_... */
enum softmax_writes { WRITE_LSE = 1, WRITE_SOFTCAPPED = 2, WRITE_MASKED = 4, WRITE_WEIGHTS = 8 };

static clattn_status enqueue_scores(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->scores, "scores");
  ctn_argument(&arguments, &c->parameters, sizeof c->parameters);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_Q, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_K, T_Q);
  ctn_argument_sequences(&arguments, c->call, s->problem, T_Q);
  ctn_argument(&arguments, &c->raw.memory, sizeof c->raw.memory);
  ctn_argument(&arguments, &c->raw_panel, sizeof c->raw_panel);
  ctn_argument(&arguments, &c->chunk, sizeof c->chunk);
  ctn_argument_int(&arguments, c->complete);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)ctn_ceil_div(a->kv_len, s->product.columns) * s->product.local[0],
                            (size_t)ctn_ceil_div(c->chunk.rows, s->product.rows) * s->product.local[1], (size_t)c->heads};
  return ctn_chain_kernel(c->call->chain, s->scores, "scores", 3, global, s->product.local, false, error);
}

static int softmax_writes(const struct attention *a) {
  return ((a->outputs & CLATTN_OUTPUT_LSE) ? WRITE_LSE : 0) |
         ((a->outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) ? WRITE_SOFTCAPPED : 0) |
         ((a->outputs & CLATTN_OUTPUT_SCORES_MASKED) ? WRITE_MASKED : 0) |
         ((a->outputs & CLATTN_OUTPUT_WEIGHTS) ? WRITE_WEIGHTS : 0);
}

static clattn_status enqueue_softmax(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->softmax, "softmax");
  ctn_argument(&arguments, &c->parameters, sizeof c->parameters);
  ctn_argument_sequences(&arguments, c->call, s->problem, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_MASK, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_SINKS, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_ALIBI, T_Q);
  ctn_argument(&arguments, &c->raw.memory, sizeof c->raw.memory);
  ctn_argument(&arguments, &c->raw_panel, sizeof c->raw_panel);
  ctn_argument(&arguments, &c->probabilities.memory, sizeof c->probabilities.memory);
  ctn_argument(&arguments, &c->probabilities_panel, sizeof c->probabilities_panel);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_SCORES_SOFTCAPPED, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_SCORES_MASKED, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_WEIGHTS, T_Q);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_LSE, T_Q);
  ctn_argument(&arguments, &c->chunk, sizeof c->chunk);
  ctn_argument_int(&arguments, softmax_writes(a));
  ctn_argument_long(&arguments, (int64_t)c->call->dropout_seed);
  ctn_argument_long(&arguments, (int64_t)c->call->dropout_offset);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t local[2] = {s->softmax_items, 1};
  const size_t global[2] = {(size_t)c->chunk.rows * s->softmax_items, (size_t)c->heads};
  const bool last = c->last && !(a->outputs & CLATTN_OUTPUT_OUT);
  return ctn_chain_kernel(c->call->chain, s->softmax, "softmax", 2, global, local, last, error);
}

static clattn_status enqueue_values(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->values, "values");
  ctn_argument(&arguments, &c->parameters, sizeof c->parameters);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_V, T_Q);
  ctn_argument_sequences(&arguments, c->call, s->problem, T_Q);
  ctn_argument(&arguments, &c->probabilities.memory, sizeof c->probabilities.memory);
  ctn_argument(&arguments, &c->probabilities_panel, sizeof c->probabilities_panel);
  ctn_argument(&arguments, &c->chunk, sizeof c->chunk);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_OUT, T_Q);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)ctn_ceil_div(a->head_dim_v, s->product.columns) * s->product.local[0],
                            (size_t)ctn_ceil_div(c->chunk.rows, s->product.rows) * s->product.local[1], (size_t)c->heads};
  return ctn_chain_kernel(c->call->chain, s->values, "values", 3, global, s->product.local, c->last, error);
}

/* Fills in where the chunk's scores and probabilities lie. */
static void place_panels(const struct staged *s, struct staged_chunk *c) {
  const struct attention *a = &s->problem->as.attention;
  c->probabilities = (struct slice){c->call->workspace.memory, 0};
  c->probabilities_panel = c->chunk;
  c->probabilities_panel.offset = (int64_t)((c->call->workspace.offset + s->workspace.panel) / sizeof(float));
  c->complete = (a->outputs & (CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED)) != 0;
  if (a->outputs & CLATTN_OUTPUT_SCORES_RAW) {
    const struct slice raw = c->call->tensor[T_SCORES_RAW];
    c->raw = (struct slice){raw.memory, 0};
    c->raw_panel = (struct panel){(int64_t)(raw.offset / sizeof(float)), 0, 0, a->q_len};
  } else {
    c->raw = c->probabilities;
    c->raw_panel = c->probabilities_panel;
  }
}

static clattn_status enqueue_chunk(struct staged *s, struct staged_chunk *c, clattn_error *error) {
  const bool clblast = s->product.kind == PRODUCT_CLBLAST;
  place_panels(s, c);
  clattn_status status = clblast ? ctn_staged_clblast_scores(s, c, error) : enqueue_scores(s, c, error);
  if (status == CLATTN_OK) status = enqueue_softmax(s, c, error);
  if (status == CLATTN_OK && (s->problem->as.attention.outputs & CLATTN_OUTPUT_OUT)) {
    status = clblast ? ctn_staged_clblast_values(s, c, error) : enqueue_values(s, c, error);
  }
  return status;
}

clattn_status ctn_staged_enqueue(void *state, const struct call *call, clattn_error *error) {
  struct staged *s = state;
  const struct attention *a = &s->problem->as.attention;
  const int64_t heads = a->batch * a->q_heads;
  struct staged_chunk c = {.call = call, .parameters = ctn_attention_parameters(a, call->out)};
  clattn_status status = CLATTN_OK;
  if (s->product.kind == PRODUCT_CLBLAST) status = ctn_staged_clblast_begin(s, call, error);
  for (int64_t head = 0; head < heads && status == CLATTN_OK; head += s->chunk_heads) {
    for (int64_t row = 0; row < a->q_len && status == CLATTN_OK; row += s->chunk_rows) {
      c.chunk = (struct panel){0, head, row, ctn_min(s->chunk_rows, a->q_len - row)};
      c.heads = ctn_min(s->chunk_heads, heads - head);
      c.last = head + s->chunk_heads >= heads && row + s->chunk_rows >= a->q_len;
      status = enqueue_chunk(s, &c, error);
    }
  }
  return status;
}
