/* The caller's arrays against the problem: each named tensor there, no other, and every length and id in range. */
#include <stddef.h>
#include <string.h>

#include "checked.h"
#include "problem.h"

static const size_t fields[TENSOR_COUNT] = {
    [T_Q] = offsetof(clattn_arrays, q),
    [T_K] = offsetof(clattn_arrays, k),
    [T_V] = offsetof(clattn_arrays, v),
    [T_MASK] = offsetof(clattn_arrays, mask),
    [T_KV_LEN] = offsetof(clattn_arrays, kv_len),
    [T_QUERY_OFFSET] = offsetof(clattn_arrays, query_offset),
    [T_CU_Q] = offsetof(clattn_arrays, cu_seqlens_q),
    [T_CU_KV] = offsetof(clattn_arrays, cu_seqlens_kv),
    [T_SINKS] = offsetof(clattn_arrays, sinks),
    [T_ALIBI] = offsetof(clattn_arrays, alibi_slopes),
    [T_TOKENS] = offsetof(clattn_arrays, tokens),
    [T_TABLE] = offsetof(clattn_arrays, table),
    [T_X] = offsetof(clattn_arrays, x),
    [T_WEIGHT] = offsetof(clattn_arrays, weight),
    [T_BIAS] = offsetof(clattn_arrays, bias),
    [T_PART_OUT] = offsetof(clattn_arrays, part_out),
    [T_PART_LSE] = offsetof(clattn_arrays, part_lse),
    [T_OUT] = offsetof(clattn_arrays, out),
    [T_LSE] = offsetof(clattn_arrays, lse),
    [T_SCORES_RAW] = offsetof(clattn_arrays, scores_raw),
    [T_SCORES_SOFTCAPPED] = offsetof(clattn_arrays, scores_softcapped),
    [T_SCORES_MASKED] = offsetof(clattn_arrays, scores_masked),
    [T_WEIGHTS] = offsetof(clattn_arrays, weights),
};

void ctn_arrays_table(const clattn_arrays *arrays, void *table[TENSOR_COUNT]) {
  for (int i = 0; i < TENSOR_COUNT; i++)
    memcpy(&table[i], (const char *)arrays + fields[i], sizeof table[i]);
}

void ctn_arrays_put(clattn_arrays *arrays, enum tensor tensor, void *data) {
  memcpy((char *)arrays + fields[tensor], &data, sizeof data);
}

/* One cumulative-lengths array: from 0, ascending, to total, no step longer than longest. */
static clattn_status check_cumulative(const int64_t *cu, int64_t batch, int64_t total, int64_t longest, const char *name,
                                      clattn_error *error) {
  if (cu[0] != 0 || cu[batch] != total) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: runs from %lld to %lld, not from 0 to %lld", name, (long long)cu[0],
                    (long long)cu[batch], (long long)total);
  }
  for (int64_t b = 0; b < batch; b++) {
    if (cu[b] < 0 || cu[b] > total || cu[b + 1] < cu[b]) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s[%lld]: %lld follows %lld: not ascending within 0 to %lld", name,
                      (long long)b + 1, (long long)cu[b + 1], (long long)cu[b], (long long)total);
    }
    if (cu[b + 1] - cu[b] > longest) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: sequence %lld has %lld rows, the problem says %lld at most", name,
                      (long long)b, (long long)(cu[b + 1] - cu[b]), (long long)longest);
    }
  }
  return CLATTN_OK;
}

static clattn_status check_attention(const struct attention *a, const clattn_arrays *arrays, clattn_error *error) {
  if (a->packed) {
    clattn_status status = check_cumulative(arrays->cu_seqlens_q, a->batch, a->total_q, a->q_len, "cu_seqlens_q", error);
    if (status == CLATTN_OK) {
      status = check_cumulative(arrays->cu_seqlens_kv, a->batch, a->total_kv, a->kv_len, "cu_seqlens_kv", error);
    }
    if (status != CLATTN_OK) return status;
  }
  for (int64_t b = 0; a->has_kv_len && b < a->batch; b++) {
    const int64_t rows = a->packed ? arrays->cu_seqlens_kv[b + 1] - arrays->cu_seqlens_kv[b] : a->kv_len;
    if (arrays->kv_len[b] < 0 || arrays->kv_len[b] > rows) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "kv_len[%lld]: %lld is not in 0 to %lld", (long long)b,
                      (long long)arrays->kv_len[b], (long long)rows);
    }
  }
  return CLATTN_OK;
}

static clattn_status check_tokens(const struct embedding *e, const void *tokens, clattn_error *error) {
  for (int64_t n = 0; n < e->count; n++) {
    const int64_t id = e->token_dtype == CLATTN_I32 ? ((const int32_t *)tokens)[n] : ((const int64_t *)tokens)[n];
    if (id < 0 || id >= e->vocabulary) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "tokens[%lld]: id %lld is outside the table of %lld rows", (long long)n,
                      (long long)id, (long long)e->vocabulary);
    }
  }
  return CLATTN_OK;
}

clattn_status ctn_arrays_check(const struct problem *problem, const clattn_arrays *arrays, clattn_error *error) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(arrays, table);
  for (int i = 0; i < TENSOR_COUNT; i++) {
    if (problem->tensor[i].used && table[i] == NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: NULL, but the plan's problem names it",
                      ctn_tensor_name((enum tensor)i));
    }
    if (!problem->tensor[i].used && table[i] != NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: given, but the plan's problem does not name it",
                      ctn_tensor_name((enum tensor)i));
    }
  }
  if (problem->operation == OP_ATTENTION) return check_attention(&problem->as.attention, arrays, error);
  if (problem->operation == OP_EMBEDDING) return check_tokens(&problem->as.embedding, arrays->tokens, error);
  return CLATTN_OK;
}

struct sequence ctn_sequence(const struct attention *problem, const clattn_arrays *arrays, int64_t batch) {
  struct sequence s = {.q_rows = problem->q_len, .kv_rows = problem->kv_len};
  if (problem->packed) {
    s.q_first = arrays->cu_seqlens_q[batch];
    s.q_rows = arrays->cu_seqlens_q[batch + 1] - s.q_first;
    s.kv_first = arrays->cu_seqlens_kv[batch];
    s.kv_rows = arrays->cu_seqlens_kv[batch + 1] - s.kv_first;
  }
  s.kv_len = problem->has_kv_len ? arrays->kv_len[batch] : s.kv_rows;
  if (problem->has_query_offset) {
    s.query_offset = ctn_max(-POSITION_LIMIT, ctn_min(arrays->query_offset[batch], POSITION_LIMIT));
  }
  return s;
}
