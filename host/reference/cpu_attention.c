/*
 * Attention in float32 on the pool's threads, blocked over keys with an online softmax.
 *
 * A piece is some blocks of queries that share a KV head (cpu_block.h). They walk over blocks of keys together, so that these
 * are read, and converted, once for all of them: scores = k (scale q)^T, a lane a query; each lane's maximum and sum are
 * brought up to date; gathered = gathered * factor + v^T exp(scores - maximum). Nothing of the size of the score matrix is
 * held, unless the caller asks for it as a stage tensor. Keys that no query of a block can attend are not visited then, and
 * masks are looked at only where they can exclude something.
 */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "cpu_block.h"
#include "half.h"
#include "reference.h"

enum {
  ALIGNMENT = 16,     /* floats in 64 bytes */
  BLOCKS = 4,         /* of a piece, at most */
  PIECES_A_THREAD = 8 /* at least, where there are blocks enough */
};

struct job {
  const struct attention *a;
  const clattn_arrays *arrays;
  const struct cpu_kernels *kernels;
  int64_t blocks; /* of a piece */
  float *scratch;
};

struct piece {
  struct block block[BLOCKS];
  int count;
  float *keys;   /* [CPU_KEYS, head_dim]: a block of k as float32 */
  float *values; /* [CPU_KEYS, head_dim_v] */
};

static int64_t blocks_of_head(const struct attention *a) {
  return ctn_ceil_div(a->q_len * a->group, CPU_LANES);
}

static int64_t blocks_of_piece(const struct attention *a, const struct pool *pool) {
  const int64_t all = a->batch * a->kv_heads * blocks_of_head(a);
  const int64_t shared = ctn_min(BLOCKS, all / ((int64_t)PIECES_A_THREAD * ctn_pool_size(pool)));
  return ctn_max(1, ctn_min(shared, blocks_of_head(a)));
}

/* Takes floats from scratch; NULL only counts them. */
static float *take(float *scratch, int64_t *used, int64_t floats) {
  float *taken = scratch == NULL ? NULL : scratch + *used;
  *used += ctn_ceil_div(floats, ALIGNMENT) * ALIGNMENT;
  return taken;
}

/* Gives a worker's piece its scratch; returns its size in floats. Sizes are below 2^31, so nothing overflows. */
static int64_t place_scratch(struct piece *piece, const struct attention *a, int64_t blocks, float *scratch) {
  const int64_t biased = a->mask_dtype == CLATTN_NONE || a->mask_dtype == CLATTN_BOOL ? 0 : CPU_KEYS * CPU_LANES;
  int64_t used = 0;
  piece->keys = take(scratch, &used, CPU_KEYS * a->head_dim);
  piece->values = take(scratch, &used, CPU_KEYS * a->head_dim_v);
  float *scores = take(scratch, &used, (int64_t)CPU_KEYS * CPU_LANES), *out = take(scratch, &used, a->head_dim_v);
  float *bias = take(scratch, &used, biased), *bias_rows = take(scratch, &used, biased);
  for (int64_t n = 0; n < blocks; n++) {
    struct block *block = &piece->block[n];
    block->queries = take(scratch, &used, a->head_dim * CPU_LANES);
    block->gathered = take(scratch, &used, a->head_dim_v * CPU_LANES);
    block->scores = scores;
    block->bias = bias;
    block->bias_rows = bias_rows;
    block->out = out;
  }
  return used;
}

size_t ctn_cpu_attention_scratch(const struct attention *a, const struct pool *pool) {
  struct piece piece;
  const uint64_t floats = (uint64_t)place_scratch(&piece, a, blocks_of_piece(a, pool), NULL);
  const uint64_t bytes = floats * sizeof(float) * (uint64_t)ctn_pool_size(pool);
  return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

/* ---------------------------------------------------------------------------------------------------------- scores, values */

/*
 * Copies rows of k and v next to each other, as float32. Float32 ones are copied too: reading them in order is what memory does
 * best, and where they lie a multiple of a cache way apart a tile's rows would displace each other.
 */
static void load_keys(const struct piece *piece, int64_t j0, int64_t keys) {
  const struct block *block = &piece->block[0];
  const struct attention *a = block->a;
  const int64_t first = block->seq.kv_first + j0;
  const int64_t k = block->b * a->k.batch + block->kv_head * a->k.head + first * a->k.row;
  const int64_t v = block->b * a->v.batch + block->kv_head * a->v.head + first * a->v.row;
  for (int64_t j = 0; j < keys; j++) {
    block->kernels->load_row(a->dtype, block->arrays->k, k + j * a->k.row, a->head_dim, piece->keys + j * a->head_dim);
  }
  for (int64_t j = 0; j < keys && (a->outputs & CLATTN_OUTPUT_OUT); j++) {
    block->kernels->load_row(a->dtype, block->arrays->v, v + j * a->v.row, a->head_dim_v, piece->values + j * a->head_dim_v);
  }
}

/* room: [CPU_LANES, head_dim], where q is not float32. */
static void load_queries(struct block *block, float *room) {
  const struct attention *a = block->a;
  const float *rows[CPU_LANES];
  for (int l = 0; l < block->lanes; l++) {
    float *row = room + l * a->head_dim;
    const int64_t start = block->b * a->q.batch + block->head[l] * a->q.head + (block->seq.q_first + block->row[l]) * a->q.row;
    if (a->dtype != CLATTN_F32) block->kernels->load_row(a->dtype, block->arrays->q, start, a->head_dim, row);
    rows[l] = a->dtype == CLATTN_F32 ? (const float *)block->arrays->q + start : row;
  }
  block->kernels->transpose(block->queries, rows, block->lanes, a->head_dim, a->scale);
}

static bool finite(const float *values, int64_t count) {
  uint32_t found = 0;
  for (int64_t n = 0; n < count; n++) {
    uint32_t bits;
    memcpy(&bits, &values[n], sizeof bits);
    found |= (bits & 0x7f800000) == 0x7f800000;
  }
  return found == 0;
}

/* The same as the kernel gather where some of v is NaN or infinite: excluded keys must not be multiplied. */
static void gather_attended(struct block *block, const float *weights, const uint32_t *attended, const float *v, int64_t keys) {
  const int64_t columns = block->a->head_dim_v;
  for (int64_t d = 0; d < columns; d++) {
    for (int l = 0; l < block->lanes; l++) {
      float *gathered = &block->gathered[d * CPU_LANES + l], sum = 0;
      for (int64_t j = 0; j < keys; j++) {
        if (attended[j] >> l & 1) sum += weights[j * CPU_LANES + l] * v[j * columns + d];
      }
      *gathered = *gathered * block->factor[l] + sum;
    }
  }
}

/* gathered = gathered * factor + weights v for those of keys j0 to j0 + keys that lie in a lane's range: others do not count.
 */
static void gather_values(struct block *block, const float *v, int64_t j0, int64_t keys, bool all) {
  const int64_t skip = ctn_max(block->some.low - j0, 0), count = ctn_min(keys, block->some.high - j0) - skip;
  const int64_t columns = block->a->head_dim_v;
  const float *weights = block->scores + skip * CPU_LANES;
  v += skip * columns;
  if (all || finite(v, count * columns)) {
    block->kernels->gather(block->gathered, block->factor, v, columns, weights, columns, count, block->lanes);
  } else {
    gather_attended(block, weights, block->attended + skip, v, count);
  }
}

/* ------------------------------------------------------------------------------------------------------------------ a block */

static void start_block(struct block *block) {
  memset(block->gathered, 0, (size_t)(block->a->head_dim_v * CPU_LANES) * sizeof(float));
  for (int l = 0; l < CPU_LANES; l++) {
    block->maximum[l] = -INFINITY;
    block->sum[l] = 0;
  }
  block->attends = 0;
}

/* Keys j0 to j0 + keys, with their rows of k and v. */
static void visit_keys(struct block *block, const float *k, const float *v, int64_t j0, int64_t keys, enum attended attended) {
  const struct attention *a = block->a;
  const clattn_arrays *arrays = block->arrays;
  block->kernels->multiply(block->scores, k, a->head_dim, block->queries, keys, a->head_dim, block->lanes, false);
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
  if (a->outputs & CLATTN_OUTPUT_OUT) gather_values(block, v, j0, keys, attended == ATTENDED_ALL);
}

/* Multiplies a lane's column of gathered, and stores it. */
static void store_out(struct block *block, int l, float factor) {
  const struct attention *a = block->a;
  const int64_t start =
      block->b * a->out.batch + block->head[l] * a->out.head + (block->seq.q_first + block->row[l]) * a->out.row;
  for (int64_t d = 0; d < a->head_dim_v; d++) {
    block->out[d] = block->gathered[d * CPU_LANES + l] * factor;
  }
  block->kernels->store_row(a->dtype, block->arrays->out, start, a->head_dim_v, block->out);
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

static void finish_block(struct block *block) {
  for (int l = 0; l < block->lanes; l++) {
    finish_lane(block, l);
  }
  if (block->a->outputs & CLATTN_OUTPUT_WEIGHTS) ctn_cpu_finish_weights(block, block->maximum, block->sum);
}

/* ------------------------------------------------------------------------------------------------------------------- pieces */

/* Each block of a piece with keys j0 to j0 + keys; without stages only with those of them that it can attend. */
static void visit_block_of_keys(struct piece *piece, int64_t j0, int64_t keys, bool stages) {
  const struct attention *a = piece->block[0].a;
  bool loaded = false;
  for (int n = 0; n < piece->count; n++) {
    struct block *block = &piece->block[n];
    const int64_t first = stages ? j0 : ctn_max(j0, block->some.low);
    const int64_t count = (stages ? j0 + keys : ctn_min(j0 + keys, block->some.high)) - first;
    if (count <= 0) continue;
    const enum attended attended = ctn_cpu_find_attended(block, first, count);
    if (attended == ATTENDED_NONE && !stages) continue;
    if (!loaded) load_keys(piece, j0, keys);
    loaded = true;
    visit_keys(block, piece->keys + (first - j0) * a->head_dim, piece->values + (first - j0) * a->head_dim_v, first, count,
               attended);
  }
}

static void attend(struct piece *piece) {
  const bool stages = (piece->block[0].a->outputs & CPU_STAGES) != 0;
  struct range visited = {stages ? 0 : INT64_MAX, stages ? piece->block[0].seq.kv_rows : 0};
  for (int n = 0; n < piece->count; n++) {
    struct block *block = &piece->block[n];
    ctn_cpu_find_ranges(block);
    load_queries(block, piece->keys);
    start_block(block);
    if (block->some.low == block->some.high) continue;
    visited.low = ctn_min(visited.low, block->some.low);
    visited.high = ctn_max(visited.high, block->some.high);
  }
  for (int64_t j0 = visited.low; j0 < visited.high; j0 += CPU_KEYS) {
    visit_block_of_keys(piece, j0, ctn_min(CPU_KEYS, visited.high - j0), stages);
  }
  for (int n = 0; n < piece->count; n++) {
    finish_block(&piece->block[n]);
  }
}

/* Names the queries of a block, the first-th of their KV head and those that follow; returns how many there are, padding of
 * packed sequences included. */
static int name_lanes(struct block *block, int64_t first) {
  const struct attention *a = block->a;
  const int count = (int)ctn_max(0, ctn_min(CPU_LANES, a->q_len * a->group - first));
  block->lanes = 0;
  for (int l = 0; l < count; l++) {
    block->row[l] = (first + l) / a->group;
    block->head[l] = block->kv_head * a->group + (first + l) % a->group;
    if (block->row[l] < block->seq.q_rows) block->lanes = l + 1;
  }
  return count;
}

/* Under a causal mask late queries attend the most: the last blocks come first, so that the work ends in small pieces. */
static void attention_piece(void *argument, int64_t index, int worker) {
  const struct job *job = argument;
  const struct attention *a = job->a;
  const int64_t pieces = ctn_ceil_div(blocks_of_head(a), job->blocks), head = index / pieces;
  const int64_t first = (pieces - 1 - index % pieces) * job->blocks;
  struct piece piece;
  piece.count = 0;
  const int64_t floats = place_scratch(&piece, a, job->blocks, NULL);
  place_scratch(&piece, a, job->blocks, job->scratch + worker * floats);
  int queries[BLOCKS] = {0};
  for (int n = 0; n < job->blocks; n++) {
    struct block *block = &piece.block[n];
    block->a = a;
    block->arrays = job->arrays;
    block->kernels = job->kernels;
    block->b = head / a->kv_heads;
    block->kv_head = head % a->kv_heads;
    block->seq = ctn_sequence(a, job->arrays, block->b);
    queries[n] = name_lanes(block, (first + n) * CPU_LANES);
    if (block->lanes > 0) piece.count = n + 1;
  }
  if (piece.count > 0) attend(&piece);
  for (int n = 0; n < job->blocks && (a->outputs & CPU_STAGES) != 0; n++) {
    const struct block *block = &piece.block[n];
    for (int l = 0; l < queries[n]; l++) {
      ctn_cpu_write_padding(block, l, l < block->lanes ? block->seq.kv_rows : 0);
    }
  }
}

void ctn_cpu_attention_with(const struct cpu_kernels *kernels, const struct attention *a, const clattn_arrays *arrays,
                            struct pool *pool, void *scratch) {
  struct job job = {.a = a, .arrays = arrays, .kernels = kernels, .scratch = scratch};
  job.blocks = blocks_of_piece(a, pool);
  ctn_pool_run(pool, a->batch * a->kv_heads * ctn_ceil_div(blocks_of_head(a), job.blocks), attention_piece, &job);
}

void ctn_cpu_attention(const struct attention *a, const clattn_arrays *arrays, struct pool *pool, void *scratch) {
  ctn_cpu_attention_with(ctn_cpu_kernels_best(), a, arrays, pool, scratch);
}
