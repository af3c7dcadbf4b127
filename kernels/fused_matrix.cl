/*
 * Fused attention on a matrix engine (common/mma.clh): one pass over the keys with an online softmax, f16 or bf16 products with float32 sums.
 *
 * A work-group of ITEMS work-items, four warps, computes ROWS (row, head) pairs of one key/value head, 16 a warp; pair n is row n / group,
 * head n % group of the KV head. q stays in registers. For each block of KEYS keys:
 *   scores      16 x KEYS a warp, in registers (common/matrix.clh), k through local memory
 *   softmax     where the scores are; four lanes share a row (common/matrix_softmax.clh)
 *   values      16 x CHUNK a warp, in registers; the weights are operands as they lie there, v goes through local memory
 * k of the next block is copied while values are computed, v while scores are. Value columns beyond CHUNK go to other work-groups, which compute
 * the scores again.
 *
 * Weights are split into two 16-bit numbers each, so that they are not rounded more coarsely than attention's tolerances allow for few
 * results; and they are kept times 2^SHIFT, so that small f16 ones do not vanish.
 *
 * Excluded keys have weight 0, and 0 times NaN or infinity would spread. Either shows in what is left in the registers at the end; then the
 * work-group starts again and takes its time: weights are published to local memory, and keys left out one by one. Rows past the block's
 * last key are never read. Late rows, which attend most under a causal mask, are handed out first.
 *
 * Barriers: all work-items go the same way; what is copied is there after mma_copied and the barrier that follows it.
 * Local memory: 2 * KEYS * (DIM + CHUNK + 16) bytes: 34 kB at 64, 128, 128. Local (ITEMS, 1, 1); global (tiles * chunks, kv_heads, batch) in groups.
 */
#ifndef DIM
#define DIM 64 /* terms of a score: head_dim rounded up to a multiple of 16 */
#endif
#ifndef CHUNK
#define CHUNK 64 /* value columns of a work-group: a multiple of 16 */
#endif
#ifndef KEYS
#define KEYS 64 /* of a block */
#endif
#if DIM % 16 != 0 || CHUNK % 16 != 0 || KEYS % 16 != 0 || KEYS > 64
#error "DIM, CHUNK and KEYS are multiples of 16, and 64 keys at most have a bit each in matrix_drop"
#endif
#if KEYS * (DIM + 8) < 2048
#error "published weights of 16 keys take the room of k"
#endif
#include "common/matrix.clh"
#include "common/attention.clh"
#include "common/mask.clh"
#include "common/philox.clh"
#include "common/online.clh"

#if DTYPE == 2
#define SHIFT 15.0f
#define UNSHIFT 0x1p-15f
#else
#define SHIFT 0.0f
#define UNSHIFT 1.0f
#endif
#include "common/matrix_softmax.clh"

/* tile[r][c] = data[r * pitch + c] for r < lines, c < width; 0 for the rest of KEYS x columns. fast: rows begin on boundaries of 16 bytes. */
static inline __attribute__((always_inline)) void copy_tile(__local ushort *tile, int columns, const __global ushort *data, long pitch, int lines, long width, bool fast,
                      int item) {
  for (int n = item; n < KEYS * columns / 8; n += ITEMS) {
    const int line = n / (columns / 8), column = (n - line * (columns / 8)) * 8;
    const int left = line < lines ? (int)clamp(width - column, 0L, 8L) : 0;
    const __global ushort *from = data + (left > 0 ? line * pitch + column : 0);
    __local ushort *to = tile + line * PITCH(columns) + column;
    if (fast) {
      mma_copy(to, from, 2 * (uint)left);
    } else {
      for (int e = 0; e < 8; e++) to[e] = e < left ? from[e] : 0;
    }
  }
}

/* Terms first and first + 1 of a row of q; 0 past its end. */
static inline __attribute__((always_inline)) uint load_terms(const __global ushort *row, int first, long terms) {
  const uint low = first < terms ? row[first] : 0, high = first + 1 < terms ? row[first + 1] : 0;
  return low | high << 16;
}

static inline __attribute__((always_inline)) float widen_local(const __local ushort *data) {
#if DTYPE == 2
  return vload_half(0, (const __local half *)data);
#else
  return widen_bf16(*data);
#endif
}

/* What 16 published weights of each row, [16 rows][16 keys], give, without excluded keys. values: the first of the keys. */
static inline __attribute__((always_inline)) void add_attended(float total[CHUNK / 8][4], const __local float *weights, const __local ushort *values, int quad, int member) {
  for (int t = 0; t < 16; t++) {
    const float first = weights[quad * 16 + t], second = weights[(quad + 8) * 16 + t];
    UNROLL
    for (int c = 0; c < CHUNK / 8; c++) {
      UNROLL
      for (int e = 0; e < 2; e++) {
        const float value = widen_local(values + t * PITCH(CHUNK) + c * 8 + 2 * member + e);
        const float a = fma(first, value, total[c][e]), b = fma(second, value, total[c][2 + e]);
        total[c][e] = as_uint(first) != EXCLUDED_WEIGHT ? a : total[c][e];
        total[c][2 + e] = as_uint(second) != EXCLUDED_WEIGHT ? b : total[c][2 + e];
      }
    }
  }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void fused(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global mask_storage *mask, const long mask_offset,
    const __global float *sinks, const long sinks_offset, const __global float *alibi_slopes, const long alibi_offset,
    __global storage *out, const long out_offset, __global float *lse, const long lse_offset, const int write_out,
    const int write_lse, const ulong seed, const ulong dropout_offset) {
  __local ushort __attribute__((aligned(16))) tile_k[KEYS * PITCH(DIM)];
  __local ushort __attribute__((aligned(16))) tile_v[KEYS * PITCH(CHUNK)];
  __local uint scratch[MMA_SCRATCH];
  __local int not_finite;

  const int item = (int)get_local_id(0), lane = item & (WARP - 1), quad = lane / 4, member = lane & 3;
  const long kv_head = (long)get_group_id(1), b = (long)get_group_id(2);
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long pairs = s.q_rows * p.group, tiles = (pairs + ROWS - 1) / ROWS;
  const long chunks = (p.head_dim_v + CHUNK - 1) / CHUNK;
  const long turn = (long)get_group_id(0) / chunks, e0 = ((long)get_group_id(0) - turn * chunks) * CHUNK;
  if (turn >= tiles) return; /* outside a packed sequence: the whole work-group */
  const long n0 = (tiles - 1 - turn) * ROWS;

  /* Keys of any row of the work-group, and those that all its rows attend but for the mask. */
  const long first_row = n0 / p.group, last_row = (min(n0 + ROWS, pairs) - 1) / p.group;
  long from, to, all_low, all_high, ignored;
  key_range(p, s, first_row, last_row, &from, &to);
  key_range(p, s, last_row, last_row, &all_low, &ignored);
  key_range(p, s, first_row, first_row, &ignored, &all_high);

  /* The two rows of this work-item. Those past the last pair repeat it and are not stored. */
  matrix_rows rows;
  long starts[2];
  const long n_first = n0 + item / WARP * 16 + quad;
  UNROLL
  for (int r = 0; r < 2; r++) {
    const long n = min(n_first + 8 * r, pairs - 1), i = n / p.group, h = kv_head * p.group + (n - i * p.group);
    long low, high;
    key_range(p, s, i, i, &low, &high);
    rows.low[r] = (int)low;
    rows.high[r] = (int)high;
    rows.mask[r] = mask_offset + b * p.mask_batch + h * p.mask_head + i * p.mask_row;
    rows.dropout[r] = ((b * p.q_heads + h) * p.q_len + i) * p.kv_len;
    rows.position[r] = i + s.query_offset;
    rows.slope[r] = p.has_alibi ? alibi_slopes[alibi_offset + h] : 0.0f;
    starts[r] = q_offset + b * p.q.batch + h * p.q.head + (s.q_first + i) * p.q.row;
  }
  uint fragments[DIM / 16][4];
  UNROLL
  for (int d = 0; d < DIM / 16; d++) {
    UNROLL
    for (int n = 0; n < 4; n++) {
      fragments[d][n] = load_terms((const __global ushort *)q + starts[n & 1], d * 16 + n / 2 * 8 + 2 * member, p.head_dim);
    }
  }
  const __global ushort *keys = (const __global ushort *)k + (k_offset + b * p.k.batch + kv_head * p.k.head + s.kv_first * p.k.row);
  const __global ushort *values =
      (const __global ushort *)v + (v_offset + b * p.v.batch + kv_head * p.v.head + s.kv_first * p.v.row + e0);
  const bool fast_k = ((size_t)keys & 15) == 0 && (p.k.row & 7) == 0;
  const bool fast_v = ((size_t)values & 15) == 0 && (p.v.row & 7) == 0;

  float total[CHUNK / 8][4], maximum[2], sum[2], seen[2];
  bool careful = false, again;
  if (item == 0) not_finite = 0;
  do {
    UNROLL
    for (int c = 0; c < CHUNK / 8; c++) {
      UNROLL
      for (int e = 0; e < 4; e++) total[c][e] = 0.0f;
    }
    maximum[0] = maximum[1] = LOWEST;
    sum[0] = sum[1] = seen[0] = seen[1] = 0.0f;
    if (from < to) copy_tile(tile_k, DIM, keys + from * p.k.row, p.k.row, (int)min((long)KEYS, to - from), p.head_dim, fast_k, item);

    for (int j0 = (int)from; j0 < (int)to; j0 += KEYS) {
      mma_copied();
      barrier(CLK_LOCAL_MEM_FENCE); /* k is there; v is no longer read */
      copy_tile(tile_v, CHUNK, values + j0 * p.v.row, p.v.row, min(KEYS, (int)to - j0), p.head_dim_v - e0, fast_v, item);

      float scores[FRAGMENTS][4], shrink[2];
      UNROLL
      for (int n = 0; n < FRAGMENTS; n++) {
        UNROLL
        for (int e = 0; e < 4; e++) scores[n][e] = 0.0f;
      }
      UNROLL
      for (int d = 0; d < DIM / 16; d++) {
        UNROLL
        for (int n = 0; n < KEYS / 16; n++) {
          matrix_scores(scores[2 * n], scores[2 * n + 1], fragments[d], tile_k + n * 16 * PITCH(DIM) + d * 16, PITCH(DIM), lane,
                        scratch);
        }
      }
      matrix_scale(scores, p, &rows, j0, member);
      matrix_exclude(scores, p, &rows, mask, j0, member, MASK != 0 || j0 < all_low || j0 + KEYS > all_high, seen);
      matrix_weigh(scores, maximum, sum, shrink, careful, scratch);
      if (p.dropout > 0.0f) matrix_drop(scores, p, &rows, seed, dropout_offset, j0, member);

      mma_copied();
      barrier(CLK_LOCAL_MEM_FENCE); /* v is there; k is no longer read */
      if (careful) {
        __local float *published = (__local float *)tile_k + item / WARP * 256;
        UNROLL
        for (int c = 0; c < CHUNK / 8; c++) {
          UNROLL
          for (int e = 0; e < 4; e++) total[c][e] *= shrink[e / 2];
        }
        UNROLL
        for (int n = 0; n < KEYS / 16; n++) {
          UNROLL
          for (int e = 0; e < 8; e++) {
            published[(quad + (e & 2) * 4) * 16 + e / 4 * 8 + 2 * member + (e & 1)] = scores[2 * n + e / 4][e & 3];
          }
          barrier(CLK_LOCAL_MEM_FENCE);
          add_attended(total, published, tile_v + n * 16 * PITCH(CHUNK), quad, member);
          barrier(CLK_LOCAL_MEM_FENCE);
        }
      }
      const int next = j0 + KEYS;
      if (next < (int)to) {
        copy_tile(tile_k, DIM, keys + next * p.k.row, p.k.row, min(KEYS, (int)to - next), p.head_dim, fast_k, item);
      }
      if (!careful) {
        uint high[KEYS / 16][4], low[KEYS / 16][4];
        UNROLL
        for (int n = 0; n < KEYS / 16; n++) matrix_split(high[n], low[n], scores[2 * n], scores[2 * n + 1]);
        UNROLL
        for (int c = 0; c < CHUNK / 16; c++) {
          float part[2][4]; /* by itself: some engines cut what they add to a sum */
          UNROLL
          for (int e = 0; e < 8; e++) part[e / 4][e & 3] = 0.0f;
          UNROLL
          for (int n = 0; n < KEYS / 16; n++) {
            matrix_values(part[0], part[1], high[n], low[n], tile_v + n * 16 * PITCH(CHUNK) + c * 16, PITCH(CHUNK), lane, scratch);
          }
          UNROLL
          for (int e = 0; e < 8; e++) {
            const int at = 2 * c + e / 4;
            total[at][e & 3] = fma(total[at][e & 3], shrink[(e & 3) / 2], part[e / 4][e & 3]);
          }
        }
      }
    }

    bool bad = false;
    UNROLL
    for (int c = 0; c < CHUNK / 8; c++) {
      UNROLL
      for (int e = 0; e < 4; e++) bad = bad || !isfinite(total[c][e]);
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* not_finite is 0, and k is no longer read */
    if (bad) atomic_or(&not_finite, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    again = !careful && not_finite != 0;
    careful = true;
  } while (again);

  UNROLL
  for (int r = 0; r < 2; r++) {
    sum[r] = matrix_row_sum(sum[r], scratch);
    seen[r] = matrix_row_maximum(seen[r], scratch);
  }
  UNROLL
  for (int r = 0; r < 2; r++) {
    const long n = n_first + 8 * r, i = n / p.group, h = kv_head * p.group + (n - i * p.group);
    if (n < pairs) {
      const bool attended = seen[r] != 0.0f;
      float row_lse;
      const float scale =
          row_end(maximum[r], sum[r] * UNSHIFT, attended, p.has_sinks, p.has_sinks ? sinks[sinks_offset + h] : 0.0f, &row_lse);
      if (write_lse && member == 0 && e0 == 0) {
        lse[lse_offset + (p.packed ? h * p.total_q + s.q_first + i : (b * p.q_heads + h) * p.q_len + i)] = row_lse;
      }
      const float factor = scale * (p.dropout > 0.0f ? UNSHIFT * p.keep_scale : UNSHIFT);
      const long place = out_offset + b * p.out.batch + h * p.out.head + (s.q_first + i) * p.out.row + e0;
      UNROLL
      for (int c = 0; c < CHUNK / 8; c++) {
        UNROLL
        for (int e = 0; e < 2; e++) {
          const int column = c * 8 + 2 * member + e;
          if (write_out && e0 + column < p.head_dim_v) store(out, place + column, attended ? total[c][2 * r + e] * factor : 0.0f);
        }
      }
    }
  }
}
