/*
 * Attention in float32 on the pool's threads, blocked over keys with an online softmax.
 *
 * A piece is a block of queries that share a KV head (cpu_block.h). It walks over blocks of keys: scores = k (scale q)^T, a
 * lane a query; each lane's maximum and sum are brought up to date; gathered = gathered * factor + exp(scores - maximum)^T v.
 * Nothing of the size of the score matrix is held, unless the caller asks for it as a stage tensor. Key blocks that no query of
 * the block can attend are not visited then, and masks are looked at only where they can exclude something.
 */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "cpu_block.h"
#include "half.h"
#include "reference.h"

enum { ALIGNMENT = 16 /* floats in 64 bytes */ };

struct job {
  const struct attention *a;
  const clattn_arrays *arrays;
  const struct cpu_kernels *kernels;
  float *scratch;
};

/* Takes floats from scratch; NULL only counts them. */
static float *take(float *scratch, int64_t *used, int64_t floats) {
  float *taken = scratch == NULL ? NULL : scratch + *used;
  *used += ctn_ceil_div(floats, ALIGNMENT) * ALIGNMENT;
  return taken;
}

/* Gives a worker's block its scratch; returns its size in floats. Sizes are below 2^31, so nothing overflows. */
static int64_t place_scratch(struct block *block, const struct attention *a, float *scratch) {
  const int64_t converted = a->dtype == CLATTN_F32 ? 0 : CPU_KEYS;
  const int64_t biased = a->mask_dtype == CLATTN_NONE || a->mask_dtype == CLATTN_BOOL ? 0 : CPU_KEYS * CPU_LANES;
  int64_t used = 0;
  block->queries = take(scratch, &used, a->head_dim * CPU_LANES);
  block->keys = take(scratch, &used, a->head_dim * converted);
  block->values = take(scratch, &used, a->head_dim_v * converted);
  block->scores = take(scratch, &used, CPU_KEYS * CPU_LANES);
  block->bias = take(scratch, &used, biased);
  block->bias_rows = take(scratch, &used, biased);
  block->gathered = take(scratch, &used, a->head_dim_v * CPU_LANES);
  block->out = take(scratch, &used, a->head_dim_v);
  return used;
}

size_t ctn_cpu_attention_scratch(const struct attention *a, const struct pool *pool) {
  struct block block;
  const uint64_t bytes = (uint64_t)place_scratch(&block, a, NULL) * sizeof(float) * (uint64_t)ctn_pool_size(pool);
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

/* ---------------------------------------------------------------------------------------------------------- scores, values */

/* Rows of k or v as float32: where they lie, or converted into room. */
static const float *float_rows(const struct block *block, const void *data, int64_t start, int64_t *pitch, int64_t count,
                               int64_t columns, float *room) {
  if (block->a->dtype == CLATTN_F32) return (const float *)data + start;
  for (int64_t j = 0; j < count; j++) {
    block->kernels->load_row(block->a->dtype, data, start + j * *pitch, columns, room + j * columns);
  }
  *pitch = columns;
  return room;
}

static void load_queries(struct block *block) {
  const struct attention *a = block->a;
  const float *rows[CPU_LANES];
  for (int l = 0; l < block->lanes; l++) {
    int64_t pitch = a->q.row;
    const int64_t start = block->b * a->q.batch + block->head[l] * a->q.head + (block->seq.q_first + block->row[l]) * a->q.row;
    rows[l] = float_rows(block, block->arrays->q, start, &pitch, 1, a->head_dim, block->keys + l * a->head_dim);
  }
  block->kernels->transpose(block->queries, rows, block->lanes, a->head_dim, a->scale);
}

static void compute_scores(struct block *block, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const int64_t start = block->b * a->k.batch + block->kv_head * a->k.head + (block->seq.kv_first + j0) * a->k.row;
  int64_t pitch = a->k.row;
  const float *k = float_rows(block, block->arrays->k, start, &pitch, keys, a->head_dim, block->keys);
  for (int64_t d = 0; d < a->head_dim; d += CPU_TERMS) {
    block->kernels->multiply(block->scores, k + d, pitch, block->queries + d * CPU_LANES, keys,
                             ctn_min(CPU_TERMS, a->head_dim - d), block->lanes, d > 0);
  }
}

static bool finite(const float *v, int64_t pitch, int64_t keys, int64_t columns) {
  uint32_t found = 0;
  for (int64_t j = 0; j < keys; j++) {
    for (int64_t d = 0; d < columns; d++) {
      uint32_t bits;
      memcpy(&bits, &v[j * pitch + d], sizeof bits);
      found |= (bits & 0x7f800000) == 0x7f800000;
    }
  }
  return found == 0;
}

/* The same as the kernel gather where some of v is NaN or infinite: excluded keys must not be multiplied. */
static void gather_attended(struct block *block, const float *weights, const uint32_t *attended, const float *v, int64_t pitch,
                            int64_t keys) {
  for (int64_t d = 0; d < block->a->head_dim_v; d++) {
    for (int l = 0; l < block->lanes; l++) {
      float *gathered = &block->gathered[d * CPU_LANES + l], sum = 0;
      for (int64_t j = 0; j < keys; j++) {
        if (attended[j] >> l & 1) sum += weights[j * CPU_LANES + l] * v[j * pitch + d];
      }
      *gathered = *gathered * block->factor[l] + sum;
    }
  }
}

/* gathered = gathered * factor + weights v for those of keys j0 to j0 + keys that lie in a lane's range: others are not read.
 */
static void gather_values(struct block *block, int64_t j0, int64_t keys, bool all) {
  const struct attention *a = block->a;
  const int64_t first = ctn_max(j0, block->some.low), count = ctn_min(j0 + keys, block->some.high) - first;
  const int64_t start = block->b * a->v.batch + block->kv_head * a->v.head + (block->seq.kv_first + first) * a->v.row;
  const float *weights = block->scores + (first - j0) * CPU_LANES;
  int64_t pitch = a->v.row;
  const float *v = float_rows(block, block->arrays->v, start, &pitch, count, a->head_dim_v, block->values);
  if (all || finite(v, pitch, count, a->head_dim_v)) {
    block->kernels->gather(block->gathered, block->factor, v, pitch, weights, a->head_dim_v, count, block->lanes);
  } else {
    gather_attended(block, weights, block->attended + (first - j0), v, pitch, count);
  }
}

/* ------------------------------------------------------------------------------------------------------------------ a block */

static void visit_keys(struct block *block, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const clattn_arrays *arrays = block->arrays;
  const enum attended attended = ctn_cpu_find_attended(block, j0, keys);
  if (attended == ATTENDED_NONE && !(a->outputs & CPU_STAGES)) return;
  compute_scores(block, j0, keys);
  if (a->outputs & CLATTN_OUTPUT_SCORES_RAW) ctn_cpu_write_scores(block, arrays->scores_raw, j0, keys);
  if (a->softcap > 0) block->kernels->softcap(block->scores, keys * CPU_LANES, a->softcap);
  if (a->outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) ctn_cpu_write_scores(block, arrays->scores_softcapped, j0, keys);
  ctn_cpu_add_biases(block, j0, keys);
  if (a->outputs & CLATTN_OUTPUT_SCORES_MASKED) ctn_cpu_write_masked(block, arrays->scores_masked, j0, keys);
  if (a->outputs & CLATTN_OUTPUT_WEIGHTS) ctn_cpu_write_masked(block, arrays->weights, j0, keys);
  if (attended == ATTENDED_NONE) return;
  block->kernels->softmax(block->scores, attended == ATTENDED_ALL ? NULL : block->attended, keys, block->lanes, block->maximum,
                          block->sum, block->factor);
  if (a->dropout > 0) ctn_cpu_drop_weights(block, j0, keys);
  if (a->outputs & CLATTN_OUTPUT_OUT) gather_values(block, j0, keys, attended == ATTENDED_ALL);
}

/* Multiplies a lane's column of gathered, and stores it. */
static void store_out(struct block *block, int l, float factor) {
  const struct attention *a = block->a;
  const int64_t start =
      block->b * a->out.batch + block->head[l] * a->out.head + (block->seq.q_first + block->row[l]) * a->out.row;
  for (int64_t d = 0; d < a->head_dim_v; d++) {
    block->out[d] = block->gathered[d * CPU_LANES + l] * factor;
  }
  ctn_store_row(a->dtype, block->arrays->out, start, a->head_dim_v, block->out);
}

/* Lets the sink join a lane's softmax, divides, and stores. Leaves maximum and denominator. */
static void finish_lane(struct block *block, int l) {
  const struct attention *a = block->a;
  const int64_t h = block->head[l], i = block->row[l];
  const bool attends = block->attends >> l & 1;
  const float sink = a->has_sinks ? block->arrays->sinks[h] : -INFINITY, before = block->maximum[l];
  const float maximum = sink > before ? sink : before;
  const float rescale = before == maximum ? 1.0f : expf(before - maximum);
  float denominator = block->sum[l] * rescale;
  if (a->has_sinks) denominator += sink == maximum ? 1.0f : expf(sink - maximum);
  if (maximum == -INFINITY) denominator = NAN; /* of nothing but -inf: -inf - -inf */
  if (a->outputs & CLATTN_OUTPUT_LSE) {
    const int64_t index = a->packed ? h * a->total_q + block->seq.q_first + i : (block->b * a->q_heads + h) * a->q_len + i;
    block->arrays->lse[index] = attends ? maximum + logf(denominator) : sink;
  }
  if (a->outputs & CLATTN_OUTPUT_OUT) store_out(block, l, attends ? rescale / denominator : 0.0f);
  block->maximum[l] = maximum;
  block->sum[l] = denominator;
}

static void attend(struct block *block) {
  const struct attention *a = block->a;
  const bool stages = (a->outputs & CPU_STAGES) != 0;
  ctn_cpu_find_ranges(block);
  load_queries(block);
  memset(block->gathered, 0, (size_t)(a->head_dim_v * CPU_LANES) * sizeof(float));
  for (int l = 0; l < CPU_LANES; l++) {
    block->maximum[l] = -INFINITY;
    block->sum[l] = 0;
  }
  block->attends = 0;
  const struct range visited = stages ? (struct range){0, block->seq.kv_rows} : block->some;
  for (int64_t j0 = visited.low; j0 < visited.high; j0 += CPU_KEYS) {
    visit_keys(block, j0, ctn_min(CPU_KEYS, visited.high - j0));
  }
  for (int l = 0; l < block->lanes; l++) {
    finish_lane(block, l);
  }
  if (a->outputs & CLATTN_OUTPUT_WEIGHTS) ctn_cpu_finish_weights(block, block->maximum, block->sum);
}

/* ------------------------------------------------------------------------------------------------------------------- pieces */

static int64_t blocks_of_head(const struct attention *a) {
  return ctn_ceil_div(a->q_len * a->group, CPU_LANES);
}

/* Under a causal mask late queries attend the most: the last block comes first, so that the work ends in small pieces. */
static void attention_piece(void *argument, int64_t piece, int worker) {
  const struct job *job = argument;
  const struct attention *a = job->a;
  const int64_t blocks = blocks_of_head(a), head = piece / blocks;
  const int64_t first = (blocks - 1 - piece % blocks) * CPU_LANES;
  struct block block = {.a = a, .arrays = job->arrays, .kernels = job->kernels};
  const int64_t floats = place_scratch(&block, a, NULL);
  place_scratch(&block, a, job->scratch + worker * floats);
  block.b = head / a->kv_heads;
  block.kv_head = head % a->kv_heads;
  block.seq = ctn_sequence(a, job->arrays, block.b);
  const int count = (int)ctn_min(CPU_LANES, a->q_len * a->group - first);
  for (int l = 0; l < count; l++) {
    block.row[l] = (first + l) / a->group;
    block.head[l] = block.kv_head * a->group + (first + l) % a->group;
    if (block.row[l] < block.seq.q_rows) block.lanes = l + 1;
  }
  if (block.lanes > 0) attend(&block);
  for (int l = 0; l < count && (a->outputs & CPU_STAGES) != 0; l++) {
    ctn_cpu_write_padding(&block, l, l < block.lanes ? block.seq.kv_rows : 0);
  }
}

void ctn_cpu_attention_with(const struct cpu_kernels *kernels, const struct attention *a, const clattn_arrays *arrays,
                            struct pool *pool, void *scratch) {
  struct job job = {.a = a, .arrays = arrays, .kernels = kernels, .scratch = scratch};
  ctn_pool_run(pool, a->batch * a->kv_heads * blocks_of_head(a), attention_piece, &job);
}

void ctn_cpu_attention(const struct attention *a, const clattn_arrays *arrays, struct pool *pool, void *scratch) {
  ctn_cpu_attention_with(ctn_cpu_kernels_best(), a, arrays, pool, scratch);
}
