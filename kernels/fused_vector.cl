/*
 * Fused attention for CPU devices: one pass over the keys with an online softmax, no S x S buffer.
 *
 * One work-item a work-group computes up to `groups` lane groups of one key/value head, one (row, head) pair a lane, so that the row
 * statistics are plain vectors and nothing is reduced across lanes. Pair n is row n / group, head n % group of the KV head: grouped heads
 * share every load of k and v. Causal problems hand out light and heavy tiles in turn.
 *
 *   q^T is kept as [head_dim][lanes], scaled by scale * log2 e; then, for each block of keys and each lane group:
 *   S^T = K Q^T       STEP keys x vectors of lanes in registers, k broadcast element by element
 *   P^T = 2^(S^T - reference), row sums; the block's maximum and a rescale factor where the reference has to follow it
 *   O^T = O^T * factor + V^T P^T    STEP columns x vectors of lanes in registers, v broadcast
 *
 * A block of k and v is copied once for all lane groups: k's rows in order, v as panels [column / STEP][key][STEP], which the inner loops
 * read from front to back. Rows of k and v in their own places are far apart, often by a power of two: they push each other out of the first
 * cache before all their columns were used, and each lane group would fetch them again from memory. The copy also converts f16 and bf16.
 *
 * Lane groups have VECTORS vectors, the last ones VECTORS - 1 where that makes fewer empty lanes.
 *
 * Softmax is the same whatever its weights are relative to, as long as they neither overflow nor vanish. No score is larger than the product of
 * its query's and its key's lengths: where that leaves no doubt, the first keys' maximum stays the reference, and neither is the
 * maximum looked for nor any weight held above 2^-126. Elsewhere the reference is the largest score so far, as usual.
 *
 * A block is plain where every lane attends all its keys; only other blocks carry mask code, and blocks that nobody attends are not
 * visited. Each block's sums are made apart and then added, so that long rows keep float32's accuracy.
 *
 * Excluded keys: their score is -inf and their weight -0.0. Only a result that came out NaN or infinite in a block with excluded keys is
 * computed again with those keys left out: 0 * NaN must not leak, and the test costs one fma per block.
 *
 * Local memory (dynamic), with padded_k = head_dim rounded up to 4 and padded_v = head_dim_v rounded up to STEP: qt groups * VECTORS *
 * padded_k vec, ot groups * VECTORS * padded_v vec, rows block * (padded_k + padded_v) floats. STEP divides block, which is at most BLOCK.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/mask.clh"
#include "common/philox.clh"
#include "common/lanes.clh"
#include "common/exp2_lanes.clh"
#include "common/online.clh"

#ifndef BLOCK
#define BLOCK 96 /* keys at a time, at most */
#endif
#ifndef GROUPS
#define GROUPS 16 /* lane groups of a work-group, at most */
#endif
#ifndef VECTORS
#define VECTORS 2 /* vectors of a lane group: 2 at VEC 16, 3 at VEC 8 */
#endif
#ifndef STEP
#define STEP 8 /* keys or columns at a time, 8 at VEC 16, 4 at VEC 8: STEP * VECTORS accumulators of 32 or 16 registers */
#endif
#ifndef FLUSH
#define FLUSH 256 /* terms of a score that are summed in one piece: longer sums lose accuracy */
#endif
#if BLOCK % STEP != 0 || STEP % 4 != 0 || FLUSH % 4 != 0
#error "4 divides STEP and FLUSH, STEP divides BLOCK"
#endif
/* Terms of the inner loops that are written out: a branch every 64 terms or so is foreseen by no processor. Sums are padded to a multiple. */
#define UNROLL 4
#define PADDED(terms) (((terms) + UNROLL - 1) / UNROLL * UNROLL)

#include "common/lane_group.clh"
#include "common/lane_block.clh"
#define WIDTH VECTORS
#define OF_WIDTH(name) name##_wide
#include "common/lane_block.inc"
#undef WIDTH
#undef OF_WIDTH
#define WIDTH (VECTORS - 1)
#define OF_WIDTH(name) name##_narrow
#include "common/lane_block.inc"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void fused(
    const attention p, const __global storage *q, const long q_offset, const __global storage *k, const long k_offset,
    const __global storage *v, const long v_offset, const __global long *kv_len, const long kv_len_offset,
    const __global long *query_offset, const long query_offset_offset, const __global long *cu_q, const long cu_q_offset,
    const __global long *cu_kv, const long cu_kv_offset, const __global mask_storage *mask, const long mask_offset,
    const __global float *sinks, const long sinks_offset, const __global float *alibi_slopes, const long alibi_offset,
    __global storage *out, const long out_offset, __global float *lse, const long lse_offset, const int write_out,
    const int write_lse, const ulong seed, const ulong dropout_offset, __local vec *qt, __local vec *ot, __local float *rows,
    const int groups, const int block) {
  __local vec scores[VECTORS * BLOCK];
  __local vec bias[MASK != 0 ? VECTORS * BLOCK : 1];
  __local lane_group group[GROUPS];
  const long kv_head = (long)get_group_id(1), b = (long)get_group_id(2);
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long pairs = s.q_rows * p.group, all_groups = count_groups(pairs), tiles = (all_groups + groups - 1) / groups;
  const long turn = (long)get_group_id(0);
  if (turn >= tiles) return; /* outside a packed sequence */
  /* First, last, second, last but one, ...: neighbours in the queue then make equal work under a causal mask. */
  const long tile = (turn & 1) ? tiles - 1 - turn / 2 : turn / 2;
  const long first_group = tile * all_groups / tiles;
  const int count_here = (int)((tile + 1) * all_groups / tiles - first_group);
  const int head_dim = (int)p.head_dim, head_dim_v = (int)p.head_dim_v;
  const int padded_k = PADDED(head_dim), padded_v = (head_dim_v + STEP - 1) / STEP * STEP;
  __local float *keys = rows, *values = rows + block * padded_k;

  int low = INT_MAX, high = 0;
  for (int n = 0; n < count_here; n++) {
    __local lane_group *g = group + n;
    start_group(g, qt + n * VECTORS * padded_k, first_group + n, pairs, p, s, b, kv_head, q, q_offset,
                p.softcap > 0.0f ? p.scale : p.scale * LOG2E);
    for (int lane = 0; p.has_alibi && lane < g->vectors * VEC; lane++) {
      g->slope[lane] = alibi_slopes[alibi_offset + g->head[lane]] * LOG2E;
    }
    low = min(low, g->some_low);
    high = max(high, g->some_high);
  }
  for (int n = 0; n < count_here * VECTORS * padded_v; n++) ot[n] = (vec)(0.0f);

  const long k_start = k_offset + b * p.k.batch + kv_head * p.k.head + s.kv_first * p.k.row;
  const long v_start = v_offset + b * p.v.batch + kv_head * p.v.head + s.kv_first * p.v.row;
  for (int j0 = low; j0 < high; j0 += block) {
    const int count = min(block, high - j0);
    bool copied = false;
    float longest = -1.0f; /* of the block's keys; found when a group first asks for it */
    for (int n = 0; n < count_here; n++) {
      __local lane_group *g = group + n;
      if (j0 >= g->some_high || j0 + count <= g->some_low) continue;
      bool masked = false;
      if (MASK != 0) {
        bool some, all_plain;
        gather_mask(bias, &some, &all_plain, p, g, mask + mask_offset, j0, count);
        if (!some) continue;
        masked = !all_plain;
      }
      if (!copied) {
        copy_keys(keys, k, k_start + j0 * p.k.row, p.k.row, head_dim, count);
        if (write_out) copy_values(values, v, v_start + j0 * p.v.row, p.v.row, head_dim_v, block, count);
        copied = true;
      }
      const int next = min(block, high - j0 - block);
      if (next > 0) {
        fetch_rows(k, k_start + (j0 + block) * p.k.row, p.k.row, head_dim, n * next / count_here, (n + 1) * next / count_here);
        fetch_rows(v, v_start + (j0 + block) * p.v.row, p.v.row, head_dim_v, n * next / count_here, (n + 1) * next / count_here);
      }
      const bool edge = masked || j0 < g->all_low || j0 + count > g->all_high;
      const bool special = edge || p.softcap > 0.0f || p.has_alibi;
      if (!special && longest < 0.0f) longest = longest_row(keys, padded_k, count);
      const __local vec *queries = qt + n * VECTORS * padded_k;
      __local vec *sums = ot + n * VECTORS * padded_v;
      if (g->vectors == VECTORS) {
        visit_block_wide(g, scores, bias, queries, sums, keys, values, p, masked, special, longest, j0, count, block,
                         write_out, seed, dropout_offset);
      } else {
        visit_block_narrow(g, scores, bias, queries, sums, keys, values, p, masked, special, longest, j0, count, block,
                           write_out, seed, dropout_offset);
      }
    }
  }
  for (int n = 0; n < count_here; n++) {
    finish_group(group + n, ot + n * VECTORS * padded_v, p, sinks + sinks_offset, out + out_offset, write_out, lse + lse_offset,
                 write_lse);
  }
}
