/*
 * Fused attention for devices that run many work-items side by side (GPUs): one pass over the keys with an online softmax, no S x S buffer.
 *
 * A work-group of SIDE x SIDE work-items computes TILE (row, head) pairs of one key/value head; pair n is row n / group, head n % group of
 * the KV head. For each block of TILE keys:
 *   scores      TILE x TILE in registers, PATCH x PATCH a work-item, q and k through local memory (common/product_tile.clh)
 *   softmax     two work-items a row: softcap, biases, exclusions, maximum, 2^(s - maximum), row sum, in local memory
 *   values      TILE x CHUNK in registers, rescaled and added to, v through local memory
 * Value columns beyond CHUNK go to other work-groups, which compute the scores again.
 *
 * Excluded keys have score -inf and weight -0.0; a block of v that holds NaN or infinity takes the loop that leaves them out. Blocks
 * outside every row's range are not visited. Late rows, which attend most under a causal mask, are handed out first.
 *
 * Where a device limits the turns of loops (host/opencl/loops.h), the keys are taken in several launches, each those from first_key on and before
 * last_key; between launches maximum, sum, seen and total lie in `carry`. One launch does it all elsewhere.
 *
 * Local memory: TILE * (TILE + 1) + 2 * DEPTH * (TILE + 1) + TILE * CHUNK floats and 7 values a row: 26 kB at CHUNK 128.
 * Local (SIDE * SIDE, 1, 1); global (tiles * chunks, kv_heads, batch) in work-groups.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/mask.clh"
#include "common/philox.clh"
#include "common/product_tile.clh"
#include "common/online.clh"

#ifndef CHUNK
#define CHUNK 64 /* value columns of a work-group: a multiple of SIDE */
#endif
#if CHUNK % SIDE != 0 || TILE != 32 || SIDE != 8
#error "CHUNK is a multiple of SIDE; two work-items a row need SIDE 8 and PATCH 4"
#endif
#define COLUMNS (CHUNK / SIDE) /* of a work-item */
#define SHARE (TILE / 2)       /* keys of a row that each of its two work-items takes in the softmax */

/* What this launch does with the state in carry, floats: TILE * CHUNK + 3 * TILE a work-group. */
#define CARRY_IN 1  /* begins with it */
#define CARRY_OUT 2 /* leaves it there, and no results */

/* tile[t][line] for rows that start at starts[line]: as tile_load, with the pairs' scattered rows of q. */
inline void load_pairs(__local float *tile, const __global storage *q, const __local long *starts, long first, long terms,
                       int item) {
  for (int n = item; n < TILE * DEPTH; n += SIDE * SIDE) {
    const int line = n / DEPTH, t = n - line * DEPTH;
    tile[t * TILE_PITCH + line] = first + t < terms ? load(q, starts[line] + first + t) : 0.0f;
  }
}

__kernel __attribute__((reqd_work_group_size(SIDE * SIDE, 1, 1))) void fused(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global mask_storage *mask, const long mask_offset,
    const __global float *sinks, const long sinks_offset, const __global float *alibi_slopes, const long alibi_offset,
    __global storage *out, const long out_offset, __global float *lse, const long lse_offset, const int write_out,
    const int write_lse, const ulong seed, const ulong dropout_offset, const long first_key, const long last_key,
    __global float *carry, const long carry_offset, const int carrying) {
  __local float weights[TILE * TILE_PITCH]; /* scores, then weights: [row][key] */
  __local float tile_q[DEPTH * TILE_PITCH];
  __local float tile_k[DEPTH * TILE_PITCH];
  __local float tile_v[TILE * CHUNK]; /* [key][column] */
  __local long starts[TILE];
  __local int low[TILE], high[TILE];
  __local float maximum[TILE], sum[TILE], factor[TILE];
  __local int seen[TILE];
  __local float partial[2 * TILE];
  __local int partial_seen[2 * TILE];
  __local int not_finite;

  const int item = (int)get_local_id(0), row = item / SIDE, column = item - row * SIDE;
  const long kv_head = (long)get_group_id(1), b = (long)get_group_id(2);
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long pairs = s.q_rows * p.group, tiles = (pairs + TILE - 1) / TILE;
  const long chunks = (p.head_dim_v + CHUNK - 1) / CHUNK;
  const long turn = (long)get_group_id(0) / chunks, e0 = ((long)get_group_id(0) - turn * chunks) * CHUNK;
  if (turn >= tiles) return; /* outside a packed sequence: the whole work-group */
  const long n0 = (tiles - 1 - turn) * TILE;

  carry += carry_offset +
           ((b * (long)get_num_groups(1) + kv_head) * (long)get_num_groups(0) + (long)get_group_id(0)) * (TILE * CHUNK + 3 * TILE);
  __global float *rows = carry + TILE * CHUNK;
  const bool resumes = (carrying & CARRY_IN) != 0;

  /* Rows past the last pair repeat it and are not stored. */
  if (item < TILE) {
    const long n = min(n0 + item, pairs - 1), i = n / p.group, h = kv_head * p.group + (n - i * p.group);
    long from, to;
    key_range(p, s, i, i, &from, &to);
    low[item] = (int)max(from, first_key);
    high[item] = (int)min(to, last_key);
    starts[item] = q_offset + b * p.q.batch + h * p.q.head + (s.q_first + i) * p.q.row;
    maximum[item] = resumes ? rows[item] : LOWEST;
    sum[item] = resumes ? rows[TILE + item] : 0.0f;
    seen[item] = resumes ? rows[2 * TILE + item] != 0.0f : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int some_low = INT_MAX, some_high = 0;
  for (int r = 0; r < TILE; r++) {
    if (low[r] < high[r]) {
      some_low = min(some_low, low[r]);
      some_high = max(some_high, high[r]);
    }
  }

  /* The row whose softmax this work-item shares, and the half of its keys. */
  const int my_row = item / 2, my_first = (item - my_row * 2) * SHARE;
  const long my_n = min(n0 + my_row, pairs - 1), my_i = my_n / p.group, my_h = kv_head * p.group + (my_n - my_i * p.group);
  const long my_mask = mask_offset + b * p.mask_batch + my_h * p.mask_head + my_i * p.mask_row;
  const long my_position = my_i + s.query_offset;
  const long my_dropout = ((b * p.q_heads + my_h) * p.q_len + my_i) * p.kv_len;
  const float my_slope = p.has_alibi ? alibi_slopes[alibi_offset + my_h] : 0.0f;

  const long k_start = k_offset + b * p.k.batch + kv_head * p.k.head + s.kv_first * p.k.row;
  const long v_start = v_offset + b * p.v.batch + kv_head * p.v.head + s.kv_first * p.v.row + e0;
  float total[PATCH][COLUMNS];
  for (int r = 0; r < PATCH; r++) {
    for (int c = 0; c < COLUMNS; c++) total[r][c] = resumes ? carry[(r * COLUMNS + c) * SIDE * SIDE + item] : 0.0f;
  }

  for (int j0 = some_low; j0 < some_high; j0 += TILE) {
    const int count = min(TILE, some_high - j0);
    /* Scores. */
    float4 patch[PATCH];
    float scores[PATCH * PATCH];
    patch_clear(patch);
    for (long d = 0; d < p.head_dim; d += DEPTH) {
      load_pairs(tile_q, q, starts, d, p.head_dim, item);
      tile_load(tile_k, k, k_start + j0 * p.k.row, p.k.row, count, d, p.head_dim, item);
      barrier(CLK_LOCAL_MEM_FENCE);
      patch_multiply(patch, tile_q, tile_k, row, column);
      barrier(CLK_LOCAL_MEM_FENCE);
      /* Pieces of FLUSH terms are added up where the score will lie; each work-item has its own places. */
      const long rest = d + DEPTH;
      if (rest < p.head_dim && rest % FLUSH == 0) {
        patch_spread(scores, patch);
        for (int r = 0; r < PATCH; r++) {
          for (int c = 0; c < PATCH; c++) {
            __local float *place = weights + (r * SIDE + row) * TILE_PITCH + c * SIDE + column;
            *place = rest > FLUSH ? *place + scores[r * PATCH + c] : scores[r * PATCH + c];
          }
        }
        patch_clear(patch);
      }
    }
    patch_spread(scores, patch);
    for (int r = 0; r < PATCH; r++) {
      for (int c = 0; c < PATCH; c++) {
        __local float *place = weights + (r * SIDE + row) * TILE_PITCH + c * SIDE + column;
        *place = (p.head_dim > FLUSH ? *place + scores[r * PATCH + c] : scores[r * PATCH + c]) * p.scale;
      }
    }
    if (item == 0) not_finite = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Biases, exclusions, maximum. */
    __local float *line = weights + my_row * TILE_PITCH;
    float top = maximum[my_row];
    int attends = 0;
    for (int t = my_first; t < my_first + SHARE; t++) {
      const long j = j0 + t;
      float score = line[t], bias = 0.0f;
      bool excluded = j < low[my_row] || j >= high[my_row];
      if (MASK != 0 && !excluded) {
        excluded = j >= p.mask_kv_len;
        if (!excluded) bias = load_mask(mask, my_mask + j * p.mask_key);
        excluded = excluded || bias == -INFINITY;
      }
      if (p.softcap > 0.0f) score = p.softcap * tanh(score / p.softcap);
      score += bias;
      if (p.has_alibi) score -= my_slope * (float)abs(my_position - j);
      score *= LOG2E;
      score = score < LOWEST ? LOWEST : score;
      top = !excluded && score > top ? score : top; /* a NaN is swallowed here and shows in the sum */
      attends |= !excluded;
      line[t] = excluded ? -INFINITY : score;
    }
    partial[item] = top;
    partial_seen[item] = attends;
    /* The block of v meanwhile. */
    int bad = 0;
    for (int n = item; n < TILE * CHUNK; n += SIDE * SIDE) {
      const int t = n / CHUNK, e = n - t * CHUNK;
      float value = 0.0f;
      if (t < count && e0 + e < p.head_dim_v) value = load(v, v_start + (j0 + t) * p.v.row + e);
      if (!isfinite(value)) bad = 1;
      tile_v[n] = value;
    }
    if (bad) atomic_or(&not_finite, 1);
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Weights, dropout, sums. */
    const float other = partial[item ^ 1];
    top = other > top ? other : top;
    float part = 0.0f;
    for (int t = my_first; t < my_first + SHARE; t++) {
      const float score = line[t];
      float weight = as_float(EXCLUDED_WEIGHT);
      if (score != -INFINITY) {
        weight = exp2(score - top);
        part += weight;
        if (p.dropout > 0.0f) {
          weight *= dropout_keeps(seed, dropout_offset, (ulong)(my_dropout + j0 + t), p.dropout) ? p.keep_scale : 0.0f;
        }
      }
      line[t] = weight;
    }
    const int both = partial_seen[item] | partial_seen[item ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    partial[item] = part;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (my_first == 0) {
      const float shrink = exp2(maximum[my_row] - top);
      factor[my_row] = shrink;
      sum[my_row] = sum[my_row] * shrink + (partial[item] + partial[item ^ 1]);
      maximum[my_row] = top;
      seen[my_row] |= both;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Values. */
    for (int r = 0; r < PATCH; r++) {
      const __local float *weight = weights + (r * SIDE + row) * TILE_PITCH;
      const float shrink = factor[r * SIDE + row];
      float sums[COLUMNS];
      for (int c = 0; c < COLUMNS; c++) sums[c] = 0.0f;
      if (not_finite) {
        for (int t = 0; t < TILE; t++) {
          const bool attended = as_uint(weight[t]) != EXCLUDED_WEIGHT;
          for (int c = 0; c < COLUMNS; c++) {
            const float next = fma(weight[t], tile_v[t * CHUNK + c * SIDE + column], sums[c]);
            sums[c] = attended ? next : sums[c];
          }
        }
      } else {
        for (int t = 0; t < TILE; t++) {
          for (int c = 0; c < COLUMNS; c++) sums[c] = fma(weight[t], tile_v[t * CHUNK + c * SIDE + column], sums[c]);
        }
      }
      for (int c = 0; c < COLUMNS; c++) total[r][c] = fma(total[r][c], shrink, sums[c]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (carrying & CARRY_OUT) {
    if (item < TILE) {
      rows[item] = maximum[item];
      rows[TILE + item] = sum[item];
      rows[2 * TILE + item] = seen[item] != 0 ? 1.0f : 0.0f;
    }
    for (int r = 0; r < PATCH; r++) {
      for (int c = 0; c < COLUMNS; c++) carry[(r * COLUMNS + c) * SIDE * SIDE + item] = total[r][c];
    }
    return;
  }

  for (int r = 0; r < PATCH; r++) {
    const int line = r * SIDE + row;
    const long n = n0 + line;
    if (n < pairs) {
      const long i = n / p.group, h = kv_head * p.group + (n - i * p.group);
      const float sink = p.has_sinks ? sinks[sinks_offset + h] : 0.0f;
      float row_lse;
      const float scale = row_end(maximum[line], sum[line], seen[line] != 0, p.has_sinks, sink, &row_lse);
      if (write_lse && column == 0 && e0 == 0) {
        lse[lse_offset + (p.packed ? h * p.total_q + s.q_first + i : (b * p.q_heads + h) * p.q_len + i)] = row_lse;
      }
      const long place = out_offset + b * p.out.batch + h * p.out.head + (s.q_first + i) * p.out.row + e0;
      for (int c = 0; c < COLUMNS; c++) {
        const long e = c * SIDE + column;
        if (write_out && e0 + e < p.head_dim_v) store(out, place + e, seen[line] != 0 ? total[r][c] * scale : 0.0f);
      }
    }
  }
}
