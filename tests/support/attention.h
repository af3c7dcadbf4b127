/* Attention cases of every kind: a case in a few numbers, the problem it stands for, and the data, garbage included. */
#ifndef CTN_SUPPORT_ATTENTION_H
#define CTN_SUPPORT_ATTENTION_H

#include <stdbool.h>

#include "setup.h"

enum offsets { NO_OFFSET, BOTTOM_RIGHT, NEGATIVE_OFFSET, MIXED_OFFSETS, HUGE_OFFSETS, OFFSETS_COUNT };

/* ROWS_APART: [batch, row, head, column] with gaps everywhere. ONE_BUFFER: q, k and v side by side in each row of one buffer,
 * as a fused projection leaves them (needs q_len = kv_len). REPEATED: all heads of k and v are one. */
enum placement { DENSE, ROWS_APART, ONE_BUFFER, REPEATED, PLACEMENT_COUNT };

/* One element somewhere in the middle. */
enum trouble { NO_TROUBLE, NAN_IN_Q, NAN_IN_K, INFINITE_K, NAN_IN_V, INFINITE_V, NAN_IN_MASK, NAN_SINK, TROUBLE_COUNT };

struct attention_case {
  const char *name;
  clattn_dtype dtype; /* 0: f32 */
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, head_dim_v;
  bool causal;
  bool window;
  int64_t left, right; /* of the window */
  enum offsets offset;
  bool kv_lens; /* per batch: a part, none, one, all, in turns */
  clattn_dtype mask;
  int mask_rank;
  unsigned mask_ones;   /* dimensions of size 1: bit 0 batch, 1 head, 2 row, 3 key */
  int64_t mask_missing; /* keys that the mask lacks at its end */
  bool mask_strided;
  float softcap, scale; /* scale 0: the default */
  bool alibi, sinks;
  float dropout;
  bool packed;
  enum placement placement;
  double spread; /* of the scores; 0 means 1 */
  double rise;   /* not 0: the first key's scores are positive, and those of key n 1 + rise * n / kv_len times as large */
  enum trouble trouble;
  uint64_t seed;
};

/* Cases by option; shapes are filled in by the caller. */
extern const struct attention_case support_options[];
extern const size_t support_option_count;

/* shape and dtype of `shape`, everything else of `option`. */
struct attention_case support_combine(const struct attention_case *shape, const struct attention_case *option);

clattn_problem support_case_problem(const struct attention_case *c, uint32_t outputs);
/*
 * Makes the memory of a case and fills it. What may not matter is garbage, NaN and infinities: gaps between rows, and (half of
 * them, so that stages keep something to compare) rows of k and v that no query attends and rows of q that attend nothing.
 */
void support_case(struct setup *setup, const struct attention_case *c, uint32_t outputs);
/* The largest finite score among attended keys, before and after softcap, of a setup with these stages. */
double support_largest_score(const struct setup *setup);
/* The case in full, as designated initialisers. */
void support_case_text(const struct attention_case *c, char *text, size_t size);

#endif
