/*
 * Attention in float32 on the pool's threads, blocked over keys with an online softmax.
 *
 * A piece is a block of query rows of one head. It walks over blocks of keys: scores = scale * q k^T; each row's maximum and
 * sum are brought up to date and what was gathered of out is rescaled; out += exp(scores - maximum) v. Nothing of the size of
 * the score matrix is held, unless the caller asks for it as a stage tensor. Key blocks that no row of the block can attend are
 * not visited then.
 */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "cpu_product.h"
#include "cpu_softmax.h"
#include "half.h"
#include "philox.h"
#include "reference.h"

enum { ROWS = 64, ALIGNMENT = 16 /* floats in 64 bytes */ };

#define STAGES \
  (CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED | CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS)

struct job {
  const struct attention *a;
  const clattn_arrays *arrays;
  float *scratch;
};

/* Rows first to first + rows of head h in batch b, and their scratch. */
struct block {
  const struct attention *a;
  const clattn_arrays *arrays;
  struct sequence seq;
  int64_t b, h, first, rows;
  float *q;        /* [ROWS, head_dim] */
  float *k;        /* [CPU_KEYS, head_dim] */
  float *kt;       /* [head_dim, CPU_KEYS] */
  float *v;        /* [CPU_KEYS, head_dim_v] */
  float *scores;   /* [ROWS, CPU_KEYS]: then weights */
  float *gathered; /* [ROWS, head_dim_v]: out times the row's sum */
  float *part;     /* [ROWS, head_dim_v]: what one block of keys adds to it, so that a long sum's rounding stays small */
  struct online online[ROWS];
};

/* Keys of which one row, or several, may attend some: low <= j < high. */
struct range {
  int64_t low, high;
};

static int64_t align(int64_t floats) {
  return ctn_ceil_div(floats, ALIGNMENT) * ALIGNMENT;
}

/* Floats of one worker. Sizes are below 2^31, so nothing overflows. */
static int64_t worker_floats(const struct attention *a) {
  return align(ROWS * a->head_dim) + 2 * align(CPU_KEYS * a->head_dim) + align(CPU_KEYS * a->head_dim_v) +
         align(ROWS * CPU_KEYS) + 2 * align(ROWS * a->head_dim_v);
}

size_t ctn_cpu_attention_scratch(const struct attention *a, const struct pool *pool) {
  const uint64_t bytes = (uint64_t)worker_floats(a) * sizeof(float) * (uint64_t)ctn_pool_size(pool);
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static void place_scratch(struct block *block, float *scratch) {
  const struct attention *a = block->a;
  block->q = scratch;
  block->k = block->q + align(ROWS * a->head_dim);
  block->kt = block->k + align(CPU_KEYS * a->head_dim);
  block->v = block->kt + align(CPU_KEYS * a->head_dim);
  block->scores = block->v + align(CPU_KEYS * a->head_dim_v);
  block->gathered = block->scores + align(ROWS * CPU_KEYS);
  block->part = block->gathered + align(ROWS * a->head_dim_v);
}

/* What lengths, causality and windows leave to rows first to last. */
static struct range key_range(const struct block *block, int64_t first, int64_t last) {
  const struct attention *a = block->a;
  const int64_t p_first = first + block->seq.query_offset, p_last = last + block->seq.query_offset;
  struct range range = {0, block->seq.kv_len};
  if (a->mask_dtype != CLATTN_NONE) range.high = ctn_min(range.high, a->mask_kv_len);
  if (a->causal) range.high = ctn_min(range.high, p_last + 1);
  if (a->window_right >= 0) range.high = ctn_min(range.high, p_last + a->window_right + 1);
  if (a->window_left >= 0) range.low = ctn_max(range.low, p_first - a->window_left);
  range.high = ctn_max(range.high, 0);
  range.low = ctn_min(range.low, range.high);
  return range;
}

/* The index of row i's first element in the stage tensors and in dropout's count. */
static int64_t stage_row(const struct block *block, int64_t i) {
  const struct attention *a = block->a;
  return ((block->b * a->q_heads + block->h) * a->q_len + i) * a->kv_len;
}

/* ------------------------------------------------------------------------------------------------------------------ scores */

static void load_queries(struct block *block) {
  const struct attention *a = block->a;
  const int64_t start = block->b * a->q.batch + block->h * a->q.head + (block->seq.q_first + block->first) * a->q.row;
  for (int64_t r = 0; r < block->rows; r++) {
    ctn_load_row(a->dtype, block->arrays->q, start + r * a->q.row, a->head_dim, block->q + r * a->head_dim);
  }
}

/* scores[r][j] = scale * dot(q, k) for keys j0 to j0 + keys. */
static void compute_scores(struct block *block, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const int64_t start = block->b * a->k.batch + block->h / a->group * a->k.head + (block->seq.kv_first + j0) * a->k.row;
  for (int64_t j = 0; j < keys; j++) {
    ctn_load_row(a->dtype, block->arrays->k, start + j * a->k.row, a->head_dim, block->k + j * a->head_dim);
  }
  ctn_cpu_transpose(block->kt, CPU_KEYS, block->k, a->head_dim, keys, a->head_dim);
  memset(block->scores, 0, (size_t)(block->rows * CPU_KEYS) * sizeof(float));
  ctn_cpu_multiply(block->scores, CPU_KEYS, block->q, a->head_dim, block->kt, CPU_KEYS, block->rows, keys, a->head_dim);
  for (int64_t n = 0; n < block->rows * CPU_KEYS; n++) {
    block->scores[n] *= a->scale;
  }
}

static void softcap(float *scores, float c) {
  for (int j = 0; j < CPU_KEYS; j++) {
    scores[j] = c * tanhf(scores[j] / c);
  }
}

/* The mask's values for keys from j on, as biases: a boolean mask gives 0 or -inf. */
static void load_mask(const struct block *block, int64_t i, int64_t j, int64_t count, float *bias) {
  const struct attention *a = block->a;
  const int64_t *stride = a->mask_stride;
  const int64_t start = block->b * stride[0] + block->h * stride[1] + i * stride[2] + j * stride[3];
  const uint8_t *truth = block->arrays->mask;
  if (a->mask_dtype == CLATTN_BOOL) {
    for (int64_t n = 0; n < count; n++)
      bias[n] = truth[start + n * stride[3]] != 0 ? 0.0f : -INFINITY;
  } else if (stride[3] == 1) {
    ctn_load_row(a->mask_dtype, block->arrays->mask, start, count, bias);
  } else {
    for (int64_t n = 0; n < count; n++)
      bias[n] = (float)ctn_load_f64(a->mask_dtype, block->arrays->mask, start + n * stride[3]);
  }
}

/* Which of keys j0 to j0 + keys row i attends, and what its mask adds to them. False where it attends none. */
static bool find_attended(const struct block *block, int64_t i, int64_t j0, int64_t keys, uint32_t *attended, float *bias) {
  const struct range range = key_range(block, i, i);
  const int low = (int)ctn_min(ctn_max(range.low - j0, 0), keys), high = (int)ctn_min(ctn_max(range.high - j0, 0), keys);
  for (int j = 0; j < CPU_KEYS; j++) {
    attended[j] = (j >= low) & (j < high);
    bias[j] = 0;
  }
  if (low >= high) return false;
  if (block->a->mask_dtype == CLATTN_NONE) return true;
  load_mask(block, i, j0 + low, high - low, bias + low);
  uint32_t some = 0;
  for (int j = 0; j < CPU_KEYS; j++) {
    attended[j] &= bias[j] != -INFINITY;
    some |= attended[j];
  }
  return some != 0;
}

/* Adds the biases, and makes excluded scores -inf. */
static void add_biases(const struct block *block, int64_t i, int64_t j0, float *scores, const uint32_t *attended,
                       const float *bias) {
  const struct attention *a = block->a;
  if (a->mask_dtype != CLATTN_NONE) {
    for (int j = 0; j < CPU_KEYS; j++)
      scores[j] += bias[j];
  }
  if (a->has_alibi) {
    const float slope = block->arrays->alibi_slopes[block->h];
    const float distance = (float)(i + block->seq.query_offset - j0);
    for (int j = 0; j < CPU_KEYS; j++)
      scores[j] -= slope * fabsf(distance - (float)j);
  }
  for (int j = 0; j < CPU_KEYS; j++) {
    scores[j] = attended[j] ? scores[j] : -INFINITY;
  }
}

/* ----------------------------------------------------------------------------------------------------------------- softmax */

static void drop_weights(const struct block *block, int64_t i, int64_t j0, int64_t keys, float *weights,
                         const uint32_t *attended) {
  const struct attention *a = block->a;
  const float scale = 1.0f / (1.0f - a->dropout);
  const uint64_t start = (uint64_t)(stage_row(block, i) + j0);
  for (int64_t j = 0; j < keys; j++) {
    if (!attended[j]) continue;
    const uint64_t n = start + (uint64_t)j;
    weights[j] *= ctn_dropout_keeps(block->arrays->dropout_seed, block->arrays->dropout_offset, n, a->dropout) ? scale : 0.0f;
  }
}

/* Takes a row's scores into its online softmax, and turns them into weights that are yet to be divided by the sum. */
static void update_row(struct block *block, int64_t r, float *scores, const uint32_t *attended) {
  const int64_t columns = block->a->head_dim_v;
  struct online *online = &block->online[r];
  float *gathered = block->gathered + r * columns;
  const float before = online->maximum;
  const float block_maximum = ctn_cpu_maximum(scores);
  if (block_maximum > before) online->maximum = block_maximum;
  /* While all attended scores are -inf their weights are 0: what a later score makes of them. */
  const float shift = online->maximum == -INFINITY ? 0.0f : online->maximum;
  const float sum = ctn_cpu_exponentials(scores, attended, shift);
  online->attends = true;
  if (before == online->maximum) {
    online->sum += sum;
    return;
  }
  const float correction = expf(before - online->maximum);
  online->sum = online->sum * correction + sum;
  for (int64_t d = 0; d < columns; d++) {
    gathered[d] *= correction;
  }
}

static void write_stage(float *stage, int64_t row, int64_t j0, const float *values, int64_t count) {
  memcpy(stage + row + j0, values, (size_t)count * sizeof *values);
}

/* One row of a block of scores: its stages, and its weights where it attends any of the keys. */
static bool process_row(struct block *block, int64_t r, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const int64_t i = block->first + r, row = stage_row(block, i);
  float *scores = block->scores + r * CPU_KEYS;
  uint32_t attended[CPU_KEYS];
  float bias[CPU_KEYS];
  const bool some = find_attended(block, i, j0, keys, attended, bias);
  if (a->outputs & CLATTN_OUTPUT_SCORES_RAW) write_stage(block->arrays->scores_raw, row, j0, scores, keys);
  if (a->softcap > 0) softcap(scores, a->softcap);
  if (a->outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) write_stage(block->arrays->scores_softcapped, row, j0, scores, keys);
  add_biases(block, i, j0, scores, attended, bias);
  if (a->outputs & CLATTN_OUTPUT_SCORES_MASKED) write_stage(block->arrays->scores_masked, row, j0, scores, keys);
  if (a->outputs & CLATTN_OUTPUT_WEIGHTS) write_stage(block->arrays->weights, row, j0, scores, keys);
  if (!some) {
    for (int j = 0; j < CPU_KEYS; j++)
      scores[j] = CPU_EXCLUDED;
    return false;
  }
  update_row(block, r, scores, attended);
  if (a->dropout > 0) drop_weights(block, i, j0, keys, scores, attended);
  return true;
}

/* ------------------------------------------------------------------------------------------------------------------ values */

/* part += weights v where some of v is NaN or infinite: excluded keys must not be multiplied. */
static void gather_attended(struct block *block, const float *weights, int64_t keys) {
  const int64_t columns = block->a->head_dim_v;
  for (int64_t r = 0; r < block->rows; r++) {
    for (int64_t j = 0; j < keys; j++) {
      const float weight = weights[r * CPU_KEYS + j];
      if (weight == 0 && signbit(weight)) continue;
      for (int64_t d = 0; d < columns; d++)
        block->part[r * columns + d] += weight * block->v[j * columns + d];
    }
  }
}

/* gathered += weights v for those of keys j0 to j0 + keys that lie in range: others are not even read. */
static void gather_values(struct block *block, struct range range, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const int64_t columns = a->head_dim_v;
  const int64_t from = ctn_max(j0, range.low), count = ctn_min(j0 + keys, range.high) - from;
  const int64_t start = block->b * a->v.batch + block->h / a->group * a->v.head + (block->seq.kv_first + from) * a->v.row;
  const float *weights = block->scores + (from - j0);
  for (int64_t j = 0; j < count; j++) {
    ctn_load_row(a->dtype, block->arrays->v, start + j * a->v.row, columns, block->v + j * columns);
  }
  memset(block->part, 0, (size_t)(block->rows * columns) * sizeof(float));
  if (ctn_cpu_not_finite(block->v, count * columns)) {
    gather_attended(block, weights, count);
  } else {
    ctn_cpu_multiply(block->part, columns, weights, CPU_KEYS, block->v, columns, block->rows, columns, count);
  }
  for (int64_t n = 0; n < block->rows * columns; n++) {
    block->gathered[n] += block->part[n];
  }
}

/* ------------------------------------------------------------------------------------------------------------------ results */

/* Turns the scores that lie in the weights' row into weights. */
static void finish_weights(const struct block *block, int64_t i, float maximum, float denominator) {
  float *row = block->arrays->weights + stage_row(block, i);
  for (int64_t j0 = 0; j0 < block->seq.kv_rows; j0 += CPU_KEYS) {
    const int64_t keys = ctn_min(CPU_KEYS, block->seq.kv_rows - j0);
    uint32_t attended[CPU_KEYS];
    float bias[CPU_KEYS];
    find_attended(block, i, j0, keys, attended, bias);
    ctn_cpu_weights(row + j0, attended, maximum, denominator, keys);
  }
}

/* Lets the sink join the row's softmax, divides, and stores. */
static void finish_row(struct block *block, int64_t r) {
  const struct attention *a = block->a;
  const int64_t i = block->first + r, columns = a->head_dim_v;
  const struct online *online = &block->online[r];
  const float sink = a->has_sinks ? block->arrays->sinks[block->h] : -INFINITY;
  float *gathered = block->gathered + r * columns;
  const float maximum = sink > online->maximum ? sink : online->maximum;
  const float rescale = online->maximum == maximum ? 1.0f : expf(online->maximum - maximum);
  float denominator = online->sum * rescale;
  if (a->has_sinks) denominator += sink == maximum ? 1.0f : expf(sink - maximum);
  if (maximum == -INFINITY) denominator = NAN; /* of nothing but -inf: -inf - -inf */
  if (a->outputs & CLATTN_OUTPUT_LSE) {
    const int64_t index =
        a->packed ? block->h * a->total_q + block->seq.q_first + i : (block->b * a->q_heads + block->h) * a->q_len + i;
    block->arrays->lse[index] = online->attends ? maximum + logf(denominator) : sink;
  }
  if (a->outputs & CLATTN_OUTPUT_WEIGHTS) finish_weights(block, i, maximum, denominator);
  if (a->outputs & CLATTN_OUTPUT_OUT) {
    const float factor = online->attends ? rescale / denominator : 0.0f;
    const int64_t out = block->b * a->out.batch + block->h * a->out.head + (block->seq.q_first + i) * a->out.row;
    for (int64_t d = 0; d < columns; d++)
      gathered[d] *= factor;
    ctn_store_row(a->dtype, block->arrays->out, out, columns, gathered);
  }
}

/* Stage entries of row i outside its packed sequence, from key j on. */
static void write_padding(const struct block *block, int64_t i, int64_t j) {
  const clattn_arrays *arrays = block->arrays;
  const uint32_t outputs = block->a->outputs;
  const int64_t row = stage_row(block, i);
  for (; j < block->a->kv_len; j++) {
    if (outputs & CLATTN_OUTPUT_SCORES_RAW) arrays->scores_raw[row + j] = 0;
    if (outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) arrays->scores_softcapped[row + j] = 0;
    if (outputs & CLATTN_OUTPUT_SCORES_MASKED) arrays->scores_masked[row + j] = -INFINITY;
    if (outputs & CLATTN_OUTPUT_WEIGHTS) arrays->weights[row + j] = 0;
  }
}

static void attend(struct block *block) {
  const struct attention *a = block->a;
  const bool stages = (a->outputs & STAGES) != 0;
  const struct range range = key_range(block, block->first, block->first + block->rows - 1);
  const int64_t from = stages ? 0 : range.low, to = stages ? block->seq.kv_rows : range.high;
  load_queries(block);
  memset(block->gathered, 0, (size_t)(block->rows * a->head_dim_v) * sizeof(float));
  for (int64_t r = 0; r < block->rows; r++) {
    block->online[r] = (struct online){.maximum = -INFINITY};
  }
  for (int64_t j0 = from; j0 < to; j0 += CPU_KEYS) {
    const int64_t keys = ctn_min(CPU_KEYS, to - j0);
    bool some = false;
    compute_scores(block, j0, keys);
    for (int64_t r = 0; r < block->rows; r++) {
      some |= process_row(block, r, j0, keys);
    }
    if (some && (a->outputs & CLATTN_OUTPUT_OUT)) gather_values(block, range, j0, keys);
  }
  for (int64_t r = 0; r < block->rows; r++) {
    finish_row(block, r);
  }
}

static void attention_piece(void *argument, int64_t piece, int worker) {
  const struct job *job = argument;
  const struct attention *a = job->a;
  const int64_t row_blocks = ctn_ceil_div(a->q_len, ROWS);
  const int64_t head = piece / row_blocks;
  struct block block = {.a = a, .arrays = job->arrays, .b = head / a->q_heads, .h = head % a->q_heads};
  block.seq = ctn_sequence(a, job->arrays, block.b);
  block.first = piece % row_blocks * ROWS;
  block.rows = ctn_max(0, ctn_min(ROWS, block.seq.q_rows - block.first));
  place_scratch(&block, job->scratch + worker * worker_floats(a));
  if (block.rows > 0) attend(&block);
  if (!(a->outputs & STAGES)) return;
  for (int64_t i = block.first; i < ctn_min(block.first + ROWS, a->q_len); i++) {
    write_padding(&block, i, i < block.seq.q_rows ? block.seq.kv_rows : 0);
  }
}

void ctn_cpu_attention(const struct attention *a, const clattn_arrays *arrays, struct pool *pool, void *scratch) {
  struct job job = {.a = a, .arrays = arrays, .scratch = scratch};
  ctn_pool_run(pool, a->batch * a->q_heads * ctn_ceil_div(a->q_len, ROWS), attention_piece, &job);
}
