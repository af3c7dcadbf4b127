/*
 * Fused attention for CPU devices: one pass over the keys with an online softmax, no S x S buffer.
 *
 * One work-item a work-group computes LANES = 2 * VEC (row, head) pairs of one key/value head, one pair a lane, so that the row statistics
 * are plain vectors and nothing is reduced across lanes. Pair n is row n / group, head n % group of the KV head: grouped heads share
 * every load of k and v. Causal problems hand out light and heavy tiles in turn.
 *
 *   q^T is kept as [head_dim][LANES], scaled by scale * log2 e; then, for each block of BLOCK keys:
 *   S^T = K Q^T       STEP keys x 2 vectors in registers, k broadcast element by element
 *   block maximum, rescale factor, P^T = 2^(S^T - maximum), row sums
 *   O^T = O^T * factor + V^T P^T    STEP columns x 2 vectors in registers, v broadcast
 *
 * A block is plain where every lane attends all its keys; only other blocks carry mask code, and blocks that nobody attends are not
 * visited. Each block's sums are made apart and then added, so that long rows keep float32's accuracy.
 *
 * Excluded keys: their score is -inf and their weight -0.0. Only a result that came out NaN or infinite in a block with excluded keys is
 * computed again with those keys left out: 0 * NaN must not leak, and the test costs one fma per BLOCK.
 *
 * Local memory (dynamic): qt 2 * head_dim vec, ot 2 * head_dim_v vec, and for f16 and bf16 BLOCK * max(head_dim, head_dim_v) floats,
 * into which each block of k, then v, is converted once for all lanes.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/mask.clh"
#include "common/philox.clh"
#include "common/lanes.clh"
#include "common/exp2_lanes.clh"
#include "common/online.clh"

#ifndef BLOCK
#define BLOCK 96 /* keys at a time: a multiple of 2 and 3, so that STEP divides it */
#endif
#if VEC == 16
#define STEP 8 /* 16 accumulators of 32 registers */
#else
#define STEP 6 /* 12 accumulators of 16 registers */
#endif
#if BLOCK % STEP != 0
#error "STEP (8 at VEC 16, 6 at VEC 8) divides BLOCK"
#endif
#define LANES (2 * VEC)

#if DTYPE == 1
#define KV_SPACE __global
#else
#define KV_SPACE __local /* converted */
#endif

/* What each lane computes. Arrays of one entry a lane, read as vectors where that helps. */
typedef struct {
  int low[LANES], high[LANES]; /* keys it may attend: [low, high) */
  float slope[LANES];
  long position[LANES];
  long mask_row[LANES];
  long row[LANES]; /* flattened (b * q_heads + h) * q_len + i: dropout's and lse's row */
} lanes;

/* to[j][d] = rows of k or v as float32. */
inline void convert_rows(__local float *to, const __global storage *from, long start, long pitch, int columns, int count) {
  for (int j = 0; j < count; j++) {
    const long line = start + j * pitch;
    int d = 0;
    for (; d + VEC <= columns; d += VEC) store_lanes(load_vector(from, line + d), to + j * columns + d);
    for (; d < columns; d++) to[j * columns + d] = load(from, line + d);
  }
}

/* scores[j] = k_j . q for count keys, and their maximum so far. Rows past the last repeat it. */
inline void block_scores(__local vec *scores, vec *maximum, const __local vec *qt, const KV_SPACE float *k, long pitch,
                         int head_dim, int count) {
  vec top0 = maximum[0], top1 = maximum[1];
  for (int j = 0; j < count; j += STEP) {
    const KV_SPACE float *line[STEP];
    vec x[STEP], y[STEP];
#pragma unroll
    for (int r = 0; r < STEP; r++) {
      line[r] = k + min(j + r, count - 1) * pitch;
      x[r] = (vec)(0.0f);
      y[r] = (vec)(0.0f);
    }
    for (int d = 0; d < head_dim; d++) {
      const vec u = qt[2 * d], w = qt[2 * d + 1];
#pragma unroll
      for (int r = 0; r < STEP; r++) {
        const vec factor = (vec)(line[r][d]);
        x[r] = fma(factor, u, x[r]);
        y[r] = fma(factor, w, y[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < STEP; r++) {
      scores[2 * (j + r)] = x[r];
      scores[2 * (j + r) + 1] = y[r];
      top0 = x[r] > top0 ? x[r] : top0; /* a NaN is swallowed here and shows in the sum */
      top1 = y[r] > top1 ? y[r] : top1;
    }
  }
  maximum[0] = top0;
  maximum[1] = top1;
}

/* bias[j][lane] for the block's keys; whether some key is attended as far as the mask goes, and whether all are with bias 0. */
inline void gather_mask(__local float *bias, bool *some, bool *all_plain, const attention p, const __local lanes *l,
                        const __global mask_storage *mask, long j0, int count) {
  *some = false;
  *all_plain = true;
  for (int lane = 0; lane < LANES; lane++) {
    for (int j = 0; j < count; j++) {
      float value = -INFINITY;
      if (j0 + j < p.mask_kv_len) value = load_mask(mask, l->mask_row[lane] + (j0 + j) * p.mask_key) * LOG2E;
      bias[j * LANES + lane] = value;
      if (value != -INFINITY) *some = true;
      if (value != 0.0f) *all_plain = false;
    }
  }
}

/* Softcap, biases and exclusion on a block's scores, and their maximum; seen collects which lanes attend something. */
inline void block_special(__local vec *scores, vec *maximum, ivec *seen, const attention p, const __local lanes *l,
                          const __local float *bias, bool masked, long j0, int count) {
  const float back = p.softcap > 0.0f ? p.softcap * LOG2E : 0.0f;
  for (int half_index = 0; half_index < 2; half_index++) {
    const ivec low = ((const __local ivec *)l->low)[half_index], high = ((const __local ivec *)l->high)[half_index];
    vec top = maximum[half_index];
    ivec attends = (ivec)(0);
    for (int j = 0; j < count; j++) {
      vec s = scores[2 * j + half_index];
      if (p.softcap > 0.0f) s = back * tanh(s * (1.0f / p.softcap));
      if (masked) s += ((const __local vec *)bias)[2 * j + half_index];
      if (p.has_alibi) {
        for (int n = 0; n < VEC; n++) {
          const int lane = half_index * VEC + n;
          ((__local float *)scores)[2 * j * VEC + lane] = l->slope[lane] * (float)abs(l->position[lane] - (j0 + j));
        }
        s -= scores[2 * j + half_index];
      }
      ivec excluded = ((ivec)((int)(j0 + j)) < low) | ((ivec)((int)(j0 + j)) >= high);
      if (masked) excluded |= ((const __local vec *)bias)[2 * j + half_index] == (vec)(-INFINITY);
      s = s < (vec)(LOWEST) ? (vec)(LOWEST) : s;
      s = excluded ? (vec)(-INFINITY) : s;
      attends |= ~excluded;
      top = s > top ? s : top;
      scores[2 * j + half_index] = s;
    }
    maximum[half_index] = top;
    seen[half_index] |= attends;
  }
}

/* scores become weights relative to maximum; sum receives theirs. */
inline void block_weights(__local vec *scores, vec *sum, const vec *maximum, bool special, int count) {
  vec sum0 = (vec)(0.0f), sum1 = (vec)(0.0f);
  for (int j = 0; j < count; j++) {
    vec x = scores[2 * j], y = scores[2 * j + 1];
    vec a = exp2_lanes(x - maximum[0]), b = exp2_lanes(y - maximum[1]);
    if (special) {
      a = x == (vec)(-INFINITY) ? (vec)(-0.0f) : a;
      b = y == (vec)(-INFINITY) ? (vec)(-0.0f) : b;
    }
    sum0 += a;
    sum1 += b;
    scores[2 * j] = a;
    scores[2 * j + 1] = b;
  }
  sum[0] = sum0;
  sum[1] = sum1;
}

/* Dropped weights become 0, kept ones are scaled. */
inline void block_dropout(__local float *weights, const attention p, const __local lanes *l, ulong seed, ulong offset, long j0,
                          int count) {
  for (int lane = 0; lane < LANES; lane++) {
    for (int j = 0; j < count; j++) {
      const ulong n = (ulong)(l->row[lane] * p.kv_len + j0 + j);
      weights[j * LANES + lane] *= dropout_keeps(seed, offset, n, p.dropout) ? p.keep_scale : 0.0f;
    }
  }
}

/* O^T for STEP columns from e on: ot = ot * factor + sum_j v_j * weight_j. Columns past `columns` repeat the last. */
inline void block_values(__local vec *ot, const __local vec *weights, const vec *factor, const KV_SPACE float *v, long pitch,
                         int e, int columns, bool special, int count) {
  const KV_SPACE float *column[STEP];
  vec x[STEP], y[STEP];
#pragma unroll
  for (int r = 0; r < STEP; r++) {
    column[r] = v + min(e + r, columns - 1);
    x[r] = (vec)(0.0f);
    y[r] = (vec)(0.0f);
  }
  for (int j = 0; j < count; j++) {
    const vec u = weights[2 * j], w = weights[2 * j + 1];
    const long at = j * pitch;
#pragma unroll
    for (int r = 0; r < STEP; r++) {
      const vec value = (vec)(column[r][at]);
      x[r] = fma(value, u, x[r]);
      y[r] = fma(value, w, y[r]);
    }
  }
  if (special) {
    vec check = (vec)(0.0f); /* NaN where a result is not finite */
#pragma unroll
    for (int r = 0; r < STEP; r++) check = fma(x[r], (vec)(0.0f), fma(y[r], (vec)(0.0f), check));
    if (any(isnan(check))) {
      for (int r = 0; r < STEP; r++) {
        x[r] = (vec)(0.0f);
        y[r] = (vec)(0.0f);
        for (int j = 0; j < count; j++) {
          const vec value = (vec)(column[r][j * pitch]), u = weights[2 * j], w = weights[2 * j + 1];
          x[r] = as_ivec(u) == (ivec)((int)EXCLUDED_WEIGHT) ? x[r] : fma(value, u, x[r]);
          y[r] = as_ivec(w) == (ivec)((int)EXCLUDED_WEIGHT) ? y[r] : fma(value, w, y[r]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < STEP; r++) {
    if (e + r < columns) {
      ot[2 * (e + r)] = fma(ot[2 * (e + r)], factor[0], x[r]);
      ot[2 * (e + r) + 1] = fma(ot[2 * (e + r) + 1], factor[1], y[r]);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void fused(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global mask_storage *mask, const long mask_offset,
    const __global float *sinks, const long sinks_offset, const __global float *alibi_slopes, const long alibi_offset,
    __global storage *out, const long out_offset, __global float *lse, const long lse_offset, const int write_out,
    const int write_lse, const ulong seed, const ulong dropout_offset, __local vec *qt, __local vec *ot,
    __local float *converted) {
  __local vec scores[2 * (BLOCK + STEP)];
  __local vec bias[MASK != 0 ? 2 * BLOCK : 1];
  __local lanes l;
  const long kv_head = (long)get_group_id(1), b = (long)get_group_id(2);
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long pairs = s.q_rows * p.group, tiles = (pairs + LANES - 1) / LANES;
  const long turn = (long)get_group_id(0);
  if (turn >= tiles) return; /* outside a packed sequence */
  /* First, last, second, last but one, ...: neighbours in the queue then make equal work under a causal mask. */
  const long tile = (turn & 1) ? tiles - 1 - turn / 2 : turn / 2;
  const int head_dim = (int)p.head_dim, head_dim_v = (int)p.head_dim_v;

  /* Lanes past the last pair repeat it and are not stored. */
  const float q_factor = p.softcap > 0.0f ? p.scale : p.scale * LOG2E;
  int all_low = 0, all_high = INT_MAX, some_low = INT_MAX, some_high = 0;
  for (int lane = 0; lane < LANES; lane++) {
    const long n = min(tile * LANES + lane, pairs - 1), i = n / p.group, h = kv_head * p.group + (n - i * p.group);
    long low, high;
    key_range(p, s, i, i, &low, &high);
    l.low[lane] = (int)low;
    l.high[lane] = (int)high;
    l.position[lane] = i + s.query_offset;
    l.slope[lane] = p.has_alibi ? alibi_slopes[alibi_offset + h] * LOG2E : 0.0f;
    l.mask_row[lane] = mask_offset + b * p.mask_batch + h * p.mask_head + i * p.mask_row;
    l.row[lane] = (b * p.q_heads + h) * p.q_len + i;
    all_low = max(all_low, (int)low);
    all_high = min(all_high, (int)high);
    if (low < high) {
      some_low = min(some_low, (int)low);
      some_high = max(some_high, (int)high);
    }
    const long line = q_offset + b * p.q.batch + h * p.q.head + (s.q_first + i) * p.q.row;
    for (int d = 0; d < head_dim; d++) ((__local float *)qt)[d * LANES + lane] = load(q, line + d) * q_factor;
  }
  for (int n = 0; n < 2 * head_dim_v; n++) ot[n] = (vec)(0.0f);

  vec maximum[2] = {(vec)(LOWEST), (vec)(LOWEST)}, sum[2] = {(vec)(0.0f), (vec)(0.0f)};
  ivec seen[2] = {(ivec)(0), (ivec)(0)};
  const long k_start = k_offset + b * p.k.batch + kv_head * p.k.head + s.kv_first * p.k.row;
  const long v_start = v_offset + b * p.v.batch + kv_head * p.v.head + s.kv_first * p.v.row;
  for (int j0 = some_low; j0 < some_high; j0 += BLOCK) {
    const int count = min(BLOCK, some_high - j0);
    bool masked = false;
    if (MASK != 0) {
      bool some, all_plain;
      gather_mask((__local float *)bias, &some, &all_plain, p, &l, mask, j0, count);
      if (!some) continue;
      masked = !all_plain;
    }
    const bool edge = masked || j0 < all_low || j0 + count > all_high;
    const bool special = edge || p.softcap > 0.0f || p.has_alibi;
#if DTYPE == 1
    const __global float *k_block = k + k_start + j0 * p.k.row, *v_block = v + v_start + j0 * p.v.row;
    const long k_pitch = p.k.row, v_pitch = p.v.row;
#else
    const __local float *k_block = converted, *v_block = converted;
    const long k_pitch = head_dim, v_pitch = head_dim_v;
    convert_rows(converted, k, k_start + j0 * p.k.row, p.k.row, head_dim, count);
#endif
    vec top[2] = {maximum[0], maximum[1]};
    block_scores(scores, top, qt, k_block, k_pitch, head_dim, count);
    if (special) {
      top[0] = maximum[0];
      top[1] = maximum[1];
      block_special(scores, top, seen, p, &l, (const __local float *)bias, masked, j0, count);
    } else {
      seen[0] = (ivec)(-1);
      seen[1] = (ivec)(-1);
    }
    const vec factor[2] = {exp2_lanes(maximum[0] - top[0]), exp2_lanes(maximum[1] - top[1])};
    vec block_sum[2];
    block_weights(scores, block_sum, top, special, count);
    sum[0] = fma(sum[0], factor[0], block_sum[0]);
    sum[1] = fma(sum[1], factor[1], block_sum[1]);
    maximum[0] = top[0];
    maximum[1] = top[1];
    if (!write_out) continue;
    if (p.dropout > 0.0f) block_dropout((__local float *)scores, p, &l, seed, dropout_offset, j0, count);
#if DTYPE != 1
    convert_rows(converted, v, v_start + j0 * p.v.row, p.v.row, head_dim_v, count);
#endif
    for (int e = 0; e < head_dim_v; e += STEP) {
      block_values(ot, scores, factor, v_block, v_pitch, e, head_dim_v, special, count);
    }
  }

  /* Lane by lane: the statistics go through local memory. */
  scores[0] = maximum[0];
  scores[1] = maximum[1];
  scores[2] = sum[0];
  scores[3] = sum[1];
  ((__local ivec *)scores)[4] = seen[0];
  ((__local ivec *)scores)[5] = seen[1];
  const __local float *statistics = (const __local float *)scores;
  for (int lane = 0; lane < LANES && tile * LANES + lane < pairs; lane++) {
    const long n = tile * LANES + lane, i = n / p.group, h = kv_head * p.group + (n - i * p.group);
    const float sink = p.has_sinks ? sinks[sinks_offset + h] : 0.0f;
    const bool attends = ((const __local int *)statistics)[2 * LANES + lane] != 0;
    float row_lse;
    const float scale = row_end(statistics[lane], statistics[LANES + lane], attends, p.has_sinks, sink, &row_lse);
    if (write_lse) lse[lse_offset + (p.packed ? h * p.total_q + s.q_first + i : l.row[lane])] = row_lse;
    const long place = out_offset + b * p.out.batch + h * p.out.head + (s.q_first + i) * p.out.row;
    for (int e = 0; write_out && e < head_dim_v; e++) {
      store(out, place + e, attends ? ((const __local float *)ot)[e * LANES + lane] * scale : 0.0f);
    }
  }
}
