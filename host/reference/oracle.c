/*
 * The float64 oracle of attention: plain loops, to be read against the formulas in <clattn/clattn.h>.
 *
 * Nothing is stored between steps: a score is computed anew wherever it is needed. That is slow, needs no memory, and leaves
 * one function a formula.
 */
#include <math.h>
#include <stdbool.h>

#include "half.h"
#include "philox.h"
#include "reference.h"

enum { COLUMNS = 256 }; /* of out summed at a time */

/* Query row i of head h in batch b. */
struct query {
  const struct attention *a;
  const clattn_arrays *arrays;
  struct sequence seq;
  int64_t b, h, i;
};

/* What the softmax of a row divides by: weight = exp(score - maximum) / denominator. */
struct softmax {
  bool dead; /* no key is attended */
  double maximum;
  double denominator;
};

static int64_t position(const struct query *r) {
  return r->i + r->seq.query_offset;
}

/* Element of the mask that belongs to (b, h, i, j). */
static int64_t mask_index(const struct query *r, int64_t j) {
  const int64_t *stride = r->a->mask_stride;
  return r->b * stride[0] + r->h * stride[1] + r->i * stride[2] + j * stride[3];
}

static bool excluded(const struct query *r, int64_t j) {
  const struct attention *a = r->a;
  const int64_t p = position(r);
  if (j >= r->seq.kv_len) return true;
  if (a->causal && j > p) return true;
  if (a->window_left >= 0 && j < p - a->window_left) return true;
  if (a->window_right >= 0 && j > p + a->window_right) return true;
  if (a->mask_dtype == CLATTN_NONE) return false;
  if (j >= a->mask_kv_len) return true;
  if (a->mask_dtype == CLATTN_BOOL) return ((const uint8_t *)r->arrays->mask)[mask_index(r, j)] == 0;
  return ctn_load_f64(a->mask_dtype, r->arrays->mask, mask_index(r, j)) == -INFINITY;
}

/* Step 1: scale * dot(q_i, k_j). */
static double raw_score(const struct query *r, int64_t j) {
  const struct attention *a = r->a;
  const int64_t q = r->b * a->q.batch + r->h * a->q.head + (r->seq.q_first + r->i) * a->q.row;
  const int64_t k = r->b * a->k.batch + r->h / a->group * a->k.head + (r->seq.kv_first + j) * a->k.row;
  double dot = 0;
  for (int64_t d = 0; d < a->head_dim; d++) {
    dot += ctn_load_f64(a->dtype, r->arrays->q, q + d) * ctn_load_f64(a->dtype, r->arrays->k, k + d);
  }
  return (double)a->scale * dot;
}

/* Step 2: c * tanh(s / c). */
static double softcapped_score(const struct query *r, int64_t j) {
  const double c = (double)r->a->softcap;
  const double s = raw_score(r, j);
  return c > 0 ? c * tanh(s / c) : s;
}

/* Step 3 for a key that is not excluded: the biases. */
static double biased_score(const struct query *r, int64_t j) {
  const struct attention *a = r->a;
  double s = softcapped_score(r, j);
  if (a->mask_dtype != CLATTN_NONE && a->mask_dtype != CLATTN_BOOL) {
    s += ctn_load_f64(a->mask_dtype, r->arrays->mask, mask_index(r, j));
  }
  if (a->has_alibi) s -= (double)r->arrays->alibi_slopes[r->h] * fabs((double)(position(r) - j));
  return s;
}

/*
 * Step 4, but for the division. The sink takes part in the maximum, so that its term cannot overflow; the terms are the same. A
 * maximum of NaN makes everything NaN, as does an infinite one in a score: inf - inf.
 */
static struct softmax row_softmax(const struct query *r) {
  struct softmax result = {.dead = true, .maximum = -INFINITY};
  for (int64_t j = 0; j < r->seq.kv_len; j++) {
    if (excluded(r, j)) continue;
    const double s = biased_score(r, j);
    if (isnan(s) || s > result.maximum) result.maximum = s;
    result.dead = false;
  }
  const double sink = r->a->has_sinks ? (double)r->arrays->sinks[r->h] : -INFINITY;
  if (isnan(sink) || sink > result.maximum) result.maximum = sink;
  for (int64_t j = 0; j < r->seq.kv_len; j++) {
    if (!excluded(r, j)) result.denominator += exp(biased_score(r, j) - result.maximum);
  }
  if (r->a->has_sinks) result.denominator += sink == result.maximum ? 1 : exp(sink - result.maximum);
  return result;
}

static double weight(const struct query *r, const struct softmax *softmax, int64_t j) {
  return exp(biased_score(r, j) - softmax->maximum) / softmax->denominator;
}

/* Step 5: what the weight is multiplied with. A dropped weight still multiplies, as 0. */
static double dropout_factor(const struct query *r, int64_t j) {
  const struct attention *a = r->a;
  if (!(a->dropout > 0)) return 1;
  const uint64_t n = (uint64_t)(((r->b * a->q_heads + r->h) * a->q_len + r->i) * a->kv_len + j);
  const bool kept = ctn_dropout_keeps(r->arrays->dropout_seed, r->arrays->dropout_offset, n, a->dropout);
  return kept ? 1 / (1 - (double)a->dropout) : 0;
}

/* Step 6. A dead row is 0: nothing is added. */
static void write_out(const struct query *r, const struct softmax *softmax) {
  const struct attention *a = r->a;
  const int64_t v = r->b * a->v.batch + r->h / a->group * a->v.head + r->seq.kv_first * a->v.row;
  const int64_t out = r->b * a->out.batch + r->h * a->out.head + (r->seq.q_first + r->i) * a->out.row;
  for (int64_t first = 0; first < a->head_dim_v; first += COLUMNS) {
    const int64_t count = a->head_dim_v - first < COLUMNS ? a->head_dim_v - first : COLUMNS;
    double sum[COLUMNS] = {0};
    for (int64_t j = 0; j < r->seq.kv_len; j++) {
      if (excluded(r, j)) continue;
      const double w = weight(r, softmax, j) * dropout_factor(r, j);
      for (int64_t d = 0; d < count; d++) {
        sum[d] += w * ctn_load_f64(a->dtype, r->arrays->v, v + j * a->v.row + first + d);
      }
    }
    for (int64_t d = 0; d < count; d++) {
      ctn_store_f64(a->dtype, r->arrays->out, out + first + d, sum[d]);
    }
  }
}

static void write_lse(const struct query *r, const struct softmax *softmax) {
  const struct attention *a = r->a;
  const int64_t index = a->packed ? r->h * a->total_q + r->seq.q_first + r->i : (r->b * a->q_heads + r->h) * a->q_len + r->i;
  double lse = softmax->maximum + log(softmax->denominator);
  if (softmax->dead) lse = a->has_sinks ? (double)r->arrays->sinks[r->h] : -INFINITY;
  r->arrays->lse[index] = (float)lse;
}

/* The stage tensors' row, up to the padded length: what lies outside a packed sequence is 0, or -inf in scores_masked. softmax
 * is NULL where the query itself lies outside. */
static void write_stages(const struct query *r, const struct softmax *softmax) {
  const struct attention *a = r->a;
  const int64_t row = ((r->b * a->q_heads + r->h) * a->q_len + r->i) * a->kv_len;
  for (int64_t j = 0; j < a->kv_len; j++) {
    const bool exists = softmax != NULL && j < r->seq.kv_rows;
    const bool attended = exists && !excluded(r, j);
    if (a->outputs & CLATTN_OUTPUT_SCORES_RAW) {
      r->arrays->scores_raw[row + j] = exists ? (float)raw_score(r, j) : 0;
    }
    if (a->outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) {
      r->arrays->scores_softcapped[row + j] = exists ? (float)softcapped_score(r, j) : 0;
    }
    if (a->outputs & CLATTN_OUTPUT_SCORES_MASKED) {
      r->arrays->scores_masked[row + j] = attended ? (float)biased_score(r, j) : -INFINITY;
    }
    if (a->outputs & CLATTN_OUTPUT_WEIGHTS) {
      r->arrays->weights[row + j] = attended ? (float)weight(r, softmax, j) : 0;
    }
  }
}

void ctn_oracle_attention(const struct attention *a, const clattn_arrays *arrays) {
  for (int64_t b = 0; b < a->batch; b++) {
    struct query r = {.a = a, .arrays = arrays, .seq = ctn_sequence(a, arrays, b), .b = b};
    for (r.h = 0; r.h < a->q_heads; r.h++) {
      for (r.i = 0; r.i < a->q_len; r.i++) {
        if (r.i >= r.seq.q_rows) { /* padding of a packed problem */
          write_stages(&r, NULL);
          continue;
        }
        const struct softmax softmax = row_softmax(&r);
        write_stages(&r, &softmax);
        if (a->outputs & CLATTN_OUTPUT_LSE) write_lse(&r, &softmax);
        if (a->outputs & CLATTN_OUTPUT_OUT) write_out(&r, &softmax);
      }
    }
  }
}
