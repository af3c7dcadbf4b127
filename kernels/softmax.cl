/*
 * Row-wise masked softmax with softcap, biases, sink and dropout: one work-group of ITEMS work-items a row, in three passes over it.
 *
 *   1  s = softcap * tanh(raw / softcap) + mask + alibi; the row's maximum over attended keys
 *   2  e = exp(s - maximum); their sum, with the sink's term
 *   3  weight = e / sum; dropout
 *
 * Between the passes the row lies in `probabilities` as bits, with one pattern for "excluded" that no score has (scores that are NaN
 * are brought to the usual NaN first): an excluded key is no attended key with a score of -inf. The last pass leaves -0.0 there for the
 * product with v (see values_*.cl), and 0 in the weights that a caller sees.
 *
 * A NaN among the attended scores needs no care for the maximum: it makes the sum NaN, and with it the whole row. Sums are
 * compensated (Kahan), so that long rows keep float32's accuracy. probabilities may be the memory of raw.
 *
 * Local (ITEMS, 1); global (rows of the chunk, heads of the chunk) in work-groups. ITEMS is a power of two; 1 on CPU devices.
 */
#include "common/types.clh"
#include "common/attention.clh"
#include "common/mask.clh"
#include "common/philox.clh"

#ifndef ITEMS
#define ITEMS 64 /* work-items a row */
#endif
#if ITEMS < 1 || (ITEMS & (ITEMS - 1)) != 0
#error "ITEMS is a power of two"
#endif

#define EXCLUDED_SCORE 0xffffffffu  /* between the passes */
#define EXCLUDED_WEIGHT 0x80000000u /* -0.0f, after them */
#define USUAL_NAN 0x7fc00000u

/* Which results this launch writes; the host's enum softmax_writes. */
#define WRITE_LSE 1
#define WRITE_SOFTCAPPED 2
#define WRITE_MASKED 4
#define WRITE_WEIGHTS 8

/* Both end with a barrier, so that scratch can be used again. */
inline float row_maximum(__local float *scratch, float value, int item) {
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_count = ITEMS / 2; half_count > 0; half_count /= 2) {
    if (item < half_count) scratch[item] = fmax(scratch[item], scratch[item + half_count]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float result = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

inline float row_sum(__local float *scratch, float value, int item) {
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_count = ITEMS / 2; half_count > 0; half_count /= 2) {
    if (item < half_count) scratch[item] += scratch[item + half_count];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float result = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

/* The row of a packed problem that no sequence has: 0 everywhere, -inf in scores_masked. */
inline void fill_absent_row(const attention p, int writes, __global float *softcapped, __global float *masked,
                            __global float *weights, int item) {
  for (long j = item; j < p.kv_len; j += ITEMS) {
    if (writes & WRITE_SOFTCAPPED) softcapped[j] = 0.0f;
    if (writes & WRITE_MASKED) masked[j] = -INFINITY;
    if (writes & WRITE_WEIGHTS) weights[j] = 0.0f;
  }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void softmax(
    const attention p, const __global long *kv_len, const long kv_len_offset, const __global long *query_offset,
    const long query_offset_offset, const __global long *cu_q, const long cu_q_offset, const __global long *cu_kv,
    const long cu_kv_offset, const __global mask_storage *mask, const long mask_offset, const __global float *sinks,
    const long sinks_offset, const __global float *alibi_slopes, const long alibi_offset, const __global float *raw,
    const panel raw_panel, __global uint *probabilities, const panel probabilities_panel, __global float *softcapped,
    const long softcapped_offset, __global float *masked, const long masked_offset, __global float *weights,
    const long weights_offset, __global float *lse, const long lse_offset, const panel chunk, const int writes,
    const ulong seed, const ulong dropout_offset) {
  __local float scratch[ITEMS];
  const int item = (int)get_local_id(0);
  const long i = chunk.row + (long)get_group_id(0), bh = chunk.head + (long)get_group_id(1);
  const long b = bh / p.q_heads, h = bh - b * p.q_heads;
  const sequence s = find_sequence(p, b, kv_len + kv_len_offset, query_offset + query_offset_offset, cu_q + cu_q_offset,
                                   cu_kv + cu_kv_offset);
  const long row = (bh * p.q_len + i) * p.kv_len; /* in a whole stage tensor; dropout counts the same way */
  softcapped += softcapped_offset + row;
  masked += masked_offset + row;
  weights += weights_offset + row;
  if (i >= s.q_rows) { /* the whole work-group */
    fill_absent_row(p, writes, softcapped, masked, weights, item);
    return;
  }
  raw += panel_index(raw_panel, p, bh, i);
  probabilities += panel_index(probabilities_panel, p, bh, i);
  const long mask_row = mask_offset + b * p.mask_batch + h * p.mask_head + i * p.mask_row;
  const float slope = p.has_alibi ? alibi_slopes[alibi_offset + h] : 0.0f;
  const float sink = p.has_sinks ? sinks[sinks_offset + h] : -INFINITY;
  const bool complete = (writes & WRITE_SOFTCAPPED) != 0;

  float maximum = -INFINITY;
  bool attends = false;
  for (long j = item; j < p.kv_len; j += ITEMS) {
    float bias;
    const bool excluded = excludes(p, s, mask, mask_row, i, j, &bias);
    float score = 0.0f;
    if ((complete || !excluded) && j < s.kv_rows) score = raw[j];
    if (p.softcap > 0.0f) score = p.softcap * tanh(score / p.softcap);
    if (writes & WRITE_SOFTCAPPED) softcapped[j] = score;
    score += bias;
    if (p.has_alibi) score -= slope * (float)abs(i + s.query_offset - j);
    if (writes & WRITE_MASKED) masked[j] = excluded ? -INFINITY : score;
    if (!excluded) {
      maximum = fmax(maximum, score);
      attends = true;
    }
    probabilities[j] = excluded ? EXCLUDED_SCORE : isnan(score) ? USUAL_NAN : as_uint(score);
  }
  const bool row_attends = row_maximum(scratch, attends ? 1.0f : 0.0f, item) > 0.0f;
  maximum = fmax(row_maximum(scratch, maximum, item), sink);

  float sum = 0.0f, lost = 0.0f;
  for (long j = item; j < p.kv_len; j += ITEMS) {
    const uint bits = probabilities[j];
    if (bits != EXCLUDED_SCORE) {
      const float e = exp(as_float(bits) - maximum);
      probabilities[j] = as_uint(e);
      const float term = e - lost, next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
  }
  sum = row_sum(scratch, sum, item);
  if (p.has_sinks) sum += sink == maximum ? 1.0f : exp(sink - maximum);
  if ((writes & WRITE_LSE) && item == 0) {
    const long place = p.packed ? h * p.total_q + s.q_first + i : bh * p.q_len + i;
    const float dead = p.has_sinks ? sink : -INFINITY;
    lse[lse_offset + place] = row_attends ? maximum + log(sum) : dead;
  }

  const float inverse = 1.0f / sum;
  for (long j = item; j < p.kv_len; j += ITEMS) {
    const uint bits = probabilities[j];
    const bool excluded = bits == EXCLUDED_SCORE;
    const float weight = excluded ? 0.0f : as_float(bits) * inverse;
    if (writes & WRITE_WEIGHTS) weights[j] = weight;
    float probability = weight;
    if (p.dropout > 0.0f) {
      /* Multiplied also where dropped: a weight that is NaN stays one. */
      probability = weight * (dropout_keeps(seed, dropout_offset, (ulong)(row + j), p.dropout) ? p.keep_scale : 0.0f);
    }
    probabilities[j] = excluded ? EXCLUDED_WEIGHT : as_uint(probability);
  }
}
