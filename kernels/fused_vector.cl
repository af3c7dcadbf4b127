/*
 * Fused attention for CPU devices: one pass over the keys with an online softmax, no S x S buffer.
 *
 * One work-item a work-group computes LANES = VECTORS * VEC (row, head) pairs of one key/value head, one pair a lane, so that the row statistics
 * are plain vectors and nothing is reduced across lanes. Pair n is row n / group, head n % group of the KV head: grouped heads share
 * every load of k and v. Causal problems hand out light and heavy tiles in turn.
 *
 *   q^T is kept as [head_dim][LANES], scaled by scale * log2 e; then, for each block of BLOCK keys:
 *   S^T = K Q^T       STEP keys x VECTORS vectors in registers, k broadcast element by element
 *   block maximum, rescale factor, P^T = 2^(S^T - maximum), row sums
 *   O^T = O^T * factor + V^T P^T    STEP columns x VECTORS vectors in registers, v broadcast
 *
 * A block is plain where every lane attends all its keys; only other blocks carry mask code, and blocks that nobody attends are not
 * visited. Each block's sums are made apart and then added, so that long rows keep float32's accuracy.
 *
 * Excluded keys: their score is -inf and their weight -0.0. Only a result that came out NaN or infinite in a block with excluded keys is
 * computed again with those keys left out: 0 * NaN must not leak, and the test costs one fma per BLOCK.
 *
 * Local memory (dynamic): qt VECTORS * head_dim vec, ot VECTORS * head_dim_v vec, and for f16 and bf16 BLOCK * max(head_dim, head_dim_v) floats,
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
#define BLOCK 96 /* keys at a time */
#endif
#ifndef VECTORS
#define VECTORS 2 /* vectors of lanes: 2 at VEC 16, 3 at VEC 8 */
#endif
#ifndef STEP
#define STEP 8 /* keys or columns at a time, 8 at VEC 16, 4 at VEC 8: STEP * VECTORS accumulators of 32 or 16 registers */
#endif
#ifndef FLUSH
#define FLUSH 256 /* terms of a score that are summed in one piece: longer sums lose accuracy */
#endif
#if BLOCK % STEP != 0
#error "STEP divides BLOCK"
#endif
#define LANES (VECTORS * VEC)

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
  vec top[VECTORS];
  for (int n = 0; n < VECTORS; n++) top[n] = maximum[n];
  for (int j = 0; j < count; j += STEP) {
    const KV_SPACE float *line[STEP];
    vec x[STEP][VECTORS];
#pragma unroll
    for (int r = 0; r < STEP; r++) line[r] = k + min(j + r, count - 1) * pitch;
    for (int first = 0; first < head_dim; first += FLUSH) {
      const int end = min(first + FLUSH, head_dim);
#pragma unroll
      for (int r = 0; r < STEP; r++) {
#pragma unroll
        for (int n = 0; n < VECTORS; n++) x[r][n] = (vec)(0.0f);
      }
      for (int d = first; d < end; d++) {
        vec u[VECTORS];
#pragma unroll
        for (int n = 0; n < VECTORS; n++) u[n] = qt[VECTORS * d + n];
#pragma unroll
        for (int r = 0; r < STEP; r++) {
          const vec factor = (vec)(line[r][d]);
#pragma unroll
          for (int n = 0; n < VECTORS; n++) x[r][n] = fma(factor, u[n], x[r][n]);
        }
      }
      if (head_dim <= FLUSH) break;
      for (int r = 0; r < STEP; r++) {
        for (int n = 0; n < VECTORS; n++) {
          if (first > 0) x[r][n] += scores[VECTORS * (j + r) + n];
          scores[VECTORS * (j + r) + n] = x[r][n];
        }
      }
    }
#pragma unroll
    for (int r = 0; r < STEP; r++) {
#pragma unroll
      for (int n = 0; n < VECTORS; n++) {
        scores[VECTORS * (j + r) + n] = x[r][n];
        top[n] = x[r][n] > top[n] ? x[r][n] : top[n]; /* a NaN is swallowed here and shows in the sum */
      }
    }
  }
  for (int n = 0; n < VECTORS; n++) maximum[n] = top[n];
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
                          const __local vec *bias, bool masked, long j0, int count) {
  const float back = p.softcap > 0.0f ? p.softcap * LOG2E : 0.0f;
  for (int n = 0; n < VECTORS; n++) {
    const ivec low = ((const __local ivec *)l->low)[n], high = ((const __local ivec *)l->high)[n];
    vec top = maximum[n];
    ivec attends = (ivec)(0);
    for (int j = 0; j < count; j++) {
      __local vec *place = scores + VECTORS * j + n;
      vec s = *place;
      if (p.softcap > 0.0f) s = back * tanh(s * (1.0f / p.softcap));
      if (masked) s += bias[VECTORS * j + n];
      if (p.has_alibi) {
        for (int lane = 0; lane < VEC; lane++) {
          const float distance = (float)abs(l->position[n * VEC + lane] - (j0 + j));
          ((__local float *)place)[lane] = l->slope[n * VEC + lane] * distance;
        }
        s -= *place;
      }
      ivec excluded = ((ivec)((int)(j0 + j)) < low) | ((ivec)((int)(j0 + j)) >= high);
      if (masked) excluded |= bias[VECTORS * j + n] == (vec)(-INFINITY);
      s = s < (vec)(LOWEST) ? (vec)(LOWEST) : s;
      s = excluded ? (vec)(-INFINITY) : s;
      attends |= ~excluded;
      top = s > top ? s : top;
      *place = s;
    }
    maximum[n] = top;
    seen[n] |= attends;
  }
}

/* scores become weights relative to maximum; sum receives theirs. */
inline void block_weights(__local vec *scores, vec *sum, const vec *maximum, bool special, int count) {
  for (int n = 0; n < VECTORS; n++) {
    const vec top = maximum[n];
    vec total = (vec)(0.0f);
    for (int j = 0; j < count; j++) {
      const vec s = scores[VECTORS * j + n];
      vec weight = exp2_lanes(s - top);
      if (special) weight = s == (vec)(-INFINITY) ? (vec)(-0.0f) : weight;
      total += weight;
      scores[VECTORS * j + n] = weight;
    }
    sum[n] = total;
  }
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

/* One column's sum for one vector of lanes, leaving out excluded keys. */
inline vec attended_values(const __local vec *weights, const KV_SPACE float *column, long pitch, int count) {
  vec x = (vec)(0.0f);
  for (int j = 0; j < count; j++) {
    const vec weight = weights[VECTORS * j];
    x = as_ivec(weight) == (ivec)((int)EXCLUDED_WEIGHT) ? x : fma((vec)(column[j * pitch]), weight, x);
  }
  return x;
}

/* O^T for STEP columns from e on: ot = ot * factor + sum_j v_j * weight_j. Columns past `columns` repeat the last. */
inline void block_values(__local vec *ot, const __local vec *weights, const vec *factor, const KV_SPACE float *v, long pitch,
                         int e, int columns, bool special, int count) {
  const KV_SPACE float *column[STEP];
  vec x[STEP][VECTORS];
#pragma unroll
  for (int r = 0; r < STEP; r++) {
    column[r] = v + min(e + r, columns - 1);
#pragma unroll
    for (int n = 0; n < VECTORS; n++) x[r][n] = (vec)(0.0f);
  }
  for (int j = 0; j < count; j++) {
    const long at = j * pitch;
    vec u[VECTORS];
#pragma unroll
    for (int n = 0; n < VECTORS; n++) u[n] = weights[VECTORS * j + n];
#pragma unroll
    for (int r = 0; r < STEP; r++) {
      const vec value = (vec)(column[r][at]);
#pragma unroll
      for (int n = 0; n < VECTORS; n++) x[r][n] = fma(value, u[n], x[r][n]);
    }
  }
  if (special) {
    vec check = (vec)(0.0f); /* NaN where a result is not finite */
#pragma unroll
    for (int r = 0; r < STEP; r++) {
#pragma unroll
      for (int n = 0; n < VECTORS; n++) check = fma(x[r][n], (vec)(0.0f), check);
    }
    if (any(isnan(check))) {
#pragma unroll
      for (int r = 0; r < STEP; r++) {
#pragma unroll
        for (int n = 0; n < VECTORS; n++) x[r][n] = attended_values(weights + n, column[r], pitch, count);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < STEP; r++) {
    if (e + r < columns) {
#pragma unroll
      for (int n = 0; n < VECTORS; n++) {
        __local vec *place = ot + VECTORS * (e + r) + n;
        *place = fma(*place, factor[n], x[r][n]);
      }
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
  __local vec scores[VECTORS * (BLOCK + STEP)];
  __local vec bias[MASK != 0 ? VECTORS * BLOCK : 1];
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
  for (int n = 0; n < VECTORS * head_dim_v; n++) ot[n] = (vec)(0.0f);

  vec maximum[VECTORS], sum[VECTORS];
  ivec seen[VECTORS];
  for (int n = 0; n < VECTORS; n++) {
    maximum[n] = (vec)(LOWEST);
    sum[n] = (vec)(0.0f);
    seen[n] = (ivec)(0);
  }
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
    vec top[VECTORS], factor[VECTORS], block_sum[VECTORS];
    for (int n = 0; n < VECTORS; n++) top[n] = maximum[n];
    block_scores(scores, top, qt, k_block, k_pitch, head_dim, count);
    if (special) {
      for (int n = 0; n < VECTORS; n++) top[n] = maximum[n];
      block_special(scores, top, seen, p, &l, bias, masked, j0, count);
    } else {
      for (int n = 0; n < VECTORS; n++) seen[n] = (ivec)(-1);
    }
    block_weights(scores, block_sum, top, special, count);
    for (int n = 0; n < VECTORS; n++) {
      factor[n] = exp2_lanes(maximum[n] - top[n]);
      sum[n] = fma(sum[n], factor[n], block_sum[n]);
      maximum[n] = top[n];
    }
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
  for (int n = 0; n < VECTORS; n++) {
    scores[n] = maximum[n];
    scores[VECTORS + n] = sum[n];
    ((__local ivec *)scores)[2 * VECTORS + n] = seen[n];
  }
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
