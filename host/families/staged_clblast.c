/* The staged family's two products through CLBlast: float32 copies of q, k and v, runs of heads as batches, and a last kernel
 * that puts the results in place. */
#include "checked.h"
#include "half.h"
#include "staged.h"

/* V_GAP: elements after each row of v's copy, so that CLBlast does not read it in place: see gemm.c. */
enum { SEGMENT_ALIGNMENT = 128, V_GAP = 4 };

static int64_t v_pitch(const struct attention *a) {
  return a->head_dim_v + V_GAP;
}

/* The product of one run of heads with a common kv head, or, without grouping, of one batch: sizes alone. */
static struct gemm scores_shape(const struct attention *a, int64_t rows, int64_t batch) {
  return (struct gemm){
      .transpose_b = true,
      .m = rows,
      .n = a->kv_len,
      .k = a->head_dim,
      .alpha = a->scale,
      .a_row = a->head_dim,
      .a_batch = a->q_len * a->head_dim,
      .b_row = a->head_dim,
      .b_batch = a->group > 1 ? 0 : a->kv_len * a->head_dim,
      .c_row = a->kv_len,
      .c_batch = rows * a->kv_len,
      .batch = batch,
  };
}

static struct gemm values_shape(const struct attention *a, int64_t rows, int64_t batch) {
  return (struct gemm){
      .m = rows,
      .n = a->head_dim_v,
      .k = a->kv_len,
      .alpha = 1.0f,
      .a_row = a->kv_len,
      .a_batch = rows * a->kv_len,
      .b_row = v_pitch(a),
      .b_batch = a->group > 1 ? 0 : a->kv_len * v_pitch(a),
      .c_row = a->head_dim_v,
      .c_batch = rows * a->head_dim_v,
      .batch = batch,
  };
}

bool ctn_staged_clblast_refuse(const struct request *request, struct text *reason) {
  const struct attention *a = &request->problem->as.attention;
  if (a->packed) {
    ctn_text_printf(reason, "CLBlast's batches have one size, packed sequences have many");
    return true;
  }
  /* A chunk is no larger than all rows of all heads; offsets into the copies reach their ends. */
  const int64_t run = a->group > 1 ? a->group : a->q_heads;
  struct gemm gemm = scores_shape(a, 1, run);
  const char *refusal = ctn_gemm_refusal(&gemm);
  if (refusal == NULL) {
    gemm = values_shape(a, 1, run);
    refusal = ctn_gemm_refusal(&gemm);
  }
  const int64_t copies[4][3] = {{a->batch * a->q_heads, a->q_len, a->head_dim},
                                {a->batch * a->kv_heads, a->kv_len, a->head_dim},
                                {a->batch * a->kv_heads, a->kv_len, v_pitch(a)},
                                {a->batch * a->q_heads, a->q_len, a->head_dim_v}};
  for (int i = 0; i < 4 && refusal == NULL; i++) {
    int64_t elements = 0;
    if (!ctn_product(copies[i], 3, &elements) || elements > INT32_MAX / 8) {
      refusal = "a float32 copy of q, k, v or out passes the int of CLBlast's kernels";
    }
  }
  if (refusal == NULL && request->problem->tensor[T_SCORES_RAW].extent > INT32_MAX / 8) {
    refusal = "scores_raw passes the int of CLBlast's kernels";
  }
  if (refusal == NULL) return false;
  ctn_text_printf(reason, "%s", refusal);
  return true;
}

static size_t add_segment(struct staged_workspace *w, int64_t elements) {
  const size_t start = w->total;
  const size_t bytes = (size_t)elements * sizeof(float);
  w->total += (bytes + SEGMENT_ALIGNMENT - 1) / SEGMENT_ALIGNMENT * SEGMENT_ALIGNMENT;
  return start;
}

bool ctn_staged_clblast_size(struct staged *s) {
  const struct attention *a = &s->problem->as.attention;
  struct staged_workspace *w = &s->workspace;
  /* None overflows: refuse() has bounded them. */
  w->q = add_segment(w, a->batch * a->q_heads * a->q_len * a->head_dim);
  w->k = add_segment(w, a->batch * a->kv_heads * a->kv_len * a->head_dim);
  w->v = add_segment(w, a->batch * a->kv_heads * a->kv_len * v_pitch(a));
  w->flags = add_segment(w, 1 + a->batch * a->kv_heads * a->kv_len);
  w->out = add_segment(w, s->chunk_heads * s->chunk_rows * a->head_dim_v);
  return true;
}

clattn_status ctn_staged_clblast_prepare(struct staged *s, clattn_error *error) {
  ctn_gemm_tune(s->runtime);
  struct specialisation spec = {0};
  ctn_define(&spec, "DTYPE", ctn_dtype_macro(s->problem->as.attention.dtype));
  clattn_status status = ctn_kernel_create(&s->widen, s->runtime, "widen.cl", "widen", &spec, error);
  if (status == CLATTN_OK) {
    status = ctn_kernel_create(&s->finish, s->runtime, "values_finish.cl", "finish", &spec, error);
  }
  ctn_specialisation_free(&spec);
  return status;
}

/* A segment of the workspace, in bytes. */
static struct slice segment(const struct call *call, size_t start) {
  return (struct slice){call->workspace.memory, call->workspace.offset + start};
}

static clattn_status widen(struct staged *s, const struct call *call, enum tensor tensor, struct layout layout, int64_t heads,
                           int64_t rows, int64_t columns, int64_t pitch, size_t to, bool checked, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->widen, "widen");
  ctn_argument_tensor(&arguments, call, s->problem, tensor, T_Q);
  ctn_argument(&arguments, &layout, sizeof layout);
  ctn_argument_long(&arguments, heads);
  ctn_argument_long(&arguments, rows);
  ctn_argument_long(&arguments, columns);
  ctn_argument_long(&arguments, pitch);
  ctn_argument_slice(&arguments, segment(call, to), sizeof(float));
  ctn_argument_slice(&arguments, segment(call, s->workspace.flags), sizeof(int32_t));
  ctn_argument_int(&arguments, checked);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[2] = {(size_t)rows, (size_t)(a->batch * heads)};
  return ctn_chain_kernel(call->chain, s->widen, "widen", 2, global, NULL, false, error);
}

clattn_status ctn_staged_clblast_begin(struct staged *s, const struct call *call, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  const struct staged_workspace *w = &s->workspace;
  clattn_status status = widen(s, call, T_Q, a->q, a->q_heads, a->q_len, a->head_dim, a->head_dim, w->q, false, error);
  if (status == CLATTN_OK)
    status = widen(s, call, T_K, a->k, a->kv_heads, a->kv_len, a->head_dim, a->head_dim, w->k, false, error);
  if (status == CLATTN_OK)
    status = widen(s, call, T_V, a->v, a->kv_heads, a->kv_len, a->head_dim_v, v_pitch(a), w->v, true, error);
  return status;
}

/* Heads from bh on, below end, that one batch of products can take: the same kv head, or the same batch without grouping. */
static int64_t run_of_heads(const struct attention *a, int64_t bh, int64_t end) {
  const int64_t together = a->group > 1 ? a->group : a->q_heads;
  return ctn_min(end, (bh / together + 1) * together) - bh;
}

/* The kv head, counted over the batches, that flattened query head bh reads. */
static int64_t kv_head(const struct attention *a, int64_t bh) {
  return bh / a->q_heads * a->kv_heads + bh % a->q_heads / a->group;
}

static void advance(struct slice *slice, int64_t elements) {
  slice->offset += (size_t)elements * sizeof(float);
}

clattn_status ctn_staged_clblast_scores(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  const int64_t end = c->chunk.head + c->heads;
  for (int64_t bh = c->chunk.head; bh < end;) {
    const int64_t run = run_of_heads(a, bh, end);
    struct gemm gemm = scores_shape(a, c->chunk.rows, run);
    gemm.a = segment(c->call, s->workspace.q);
    advance(&gemm.a, (bh * a->q_len + c->chunk.row) * a->head_dim);
    gemm.b = segment(c->call, s->workspace.k);
    advance(&gemm.b, kv_head(a, bh) * a->kv_len * a->head_dim);
    const struct panel *raw = &c->raw_panel;
    gemm.c = c->raw;
    gemm.c_batch = raw->rows * a->kv_len;
    advance(&gemm.c, raw->offset + ((bh - raw->head) * raw->rows + c->chunk.row - raw->row) * a->kv_len);
    const clattn_status status = ctn_gemm_enqueue(s->runtime, c->call->chain, &gemm, false, error);
    if (status != CLATTN_OK) return status;
    bh += run;
  }
  return CLATTN_OK;
}

static clattn_status enqueue_finish(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->finish, "finish");
  ctn_argument(&arguments, &c->parameters, sizeof c->parameters);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_V, T_Q);
  ctn_argument(&arguments, &c->probabilities.memory, sizeof c->probabilities.memory);
  ctn_argument(&arguments, &c->probabilities_panel, sizeof c->probabilities_panel);
  ctn_argument_slice(&arguments, segment(c->call, s->workspace.out), sizeof(float));
  ctn_argument_slice(&arguments, segment(c->call, s->workspace.flags), sizeof(int32_t));
  ctn_argument_long(&arguments, a->kv_heads);
  ctn_argument(&arguments, &c->chunk, sizeof c->chunk);
  ctn_argument_tensor(&arguments, c->call, s->problem, T_OUT, T_Q);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)a->head_dim_v, (size_t)c->chunk.rows, (size_t)c->heads};
  return ctn_chain_kernel(c->call->chain, s->finish, "finish", 3, global, NULL, c->last, error);
}

clattn_status ctn_staged_clblast_values(struct staged *s, const struct staged_chunk *c, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  const int64_t end = c->chunk.head + c->heads;
  for (int64_t bh = c->chunk.head; bh < end;) {
    const int64_t run = run_of_heads(a, bh, end);
    const struct panel *weights = &c->probabilities_panel;
    struct gemm gemm = values_shape(a, c->chunk.rows, run);
    gemm.a = c->probabilities;
    advance(&gemm.a, weights->offset + (bh - weights->head) * weights->rows * a->kv_len);
    gemm.b = segment(c->call, s->workspace.v);
    advance(&gemm.b, kv_head(a, bh) * a->kv_len * v_pitch(a));
    gemm.c = segment(c->call, s->workspace.out);
    advance(&gemm.c, (bh - c->chunk.head) * c->chunk.rows * a->head_dim_v);
    const clattn_status status = ctn_gemm_enqueue(s->runtime, c->call->chain, &gemm, false, error);
    if (status != CLATTN_OK) return status;
    bh += run;
  }
  return enqueue_finish(s, c, error);
}
