/* One's own input for the walkthrough: sentences from a file, with random weights or those of a .safetensors file. */
#ifndef CTN_WALKTHROUGH_OWN_H
#define CTN_WALKTHROUGH_OWN_H

#include "tokens_file.h"
#include "walkthrough.h"

/* How large a run may be: elements of the embedding table and of [B, S, D], and of [B, H, S, S]. */
#define WALK_OWN_MAX_ELEMENTS (INT64_C(1) << 24)
#define WALK_OWN_MAX_SCORES (INT64_C(1) << 22)
#define WALK_OWN_MAX_MODEL 4096

/* As the options give it. */
struct walk_request {
  const char *tokens;  /* the file; NULL: an example */
  const char *weights; /* a .safetensors file; NULL: random */
  int64_t d_model;     /* 0: not given */
  int64_t heads;       /* 0: not given */
  int64_t cells;       /* of a picture; 0: not given */
  uint64_t seed;
  bool causal;
};

enum { WALK_D_MODEL = 6 }; /* where neither --d-model nor --weights says another */

/* The tensors that such a run is computed from, in the order of the random generator. */
enum walk_input { WALK_TABLE, WALK_Q, WALK_K, WALK_V, WALK_O, WALK_BIAS_Q, WALK_BIAS_K, WALK_BIAS_V, WALK_BIAS_O, WALK_INPUTS };

extern const char *const ctn_walk_input_names[WALK_INPUTS];

struct walk_own {
  struct walk_request request;
  struct tokens_file tokens;
  int64_t d_model;
  unsigned char *keep;      /* [B, S]: 1 where the token is no padding */
  float *data[WALK_INPUTS]; /* NULL: not there */
};

/* Fills walk->file as an example's would be, but for stored results: tokens, keep_mask, embedding_table, weight_q, weight_k,
 * weight_v, and where there are any weight_o and bias_q, bias_k, bias_v, bias_o. */
clattn_status ctn_walk_own_open(struct walk *walk, const struct walk_request *request, clattn_error *error);
void ctn_walk_own_free(struct walk_own *own);

/*
 * Random numbers, the same on every machine: number n of input t is word n mod 4 of the Philox4x32-10 block with counter
 * (n / 4, t) and key seed; u = (word >> 8) * 2^-23 - 1 lies in [-1, 1), and the number is u * sqrt(3 / d_model), in float32:
 * its variance is 1 / d_model.
 */
void ctn_walk_random(float *values, int64_t count, int64_t d_model, uint64_t seed, enum walk_input input);

/* walkthrough_weights.c: the inputs from own->request.weights, their shapes checked; gives own->d_model. */
clattn_status ctn_walk_own_weights(struct walk_own *own, clattn_error *error);

extern const struct walk_example ctn_walk_own_sentences;

#endif
