/* Layers with their data, and what they should give: a multi-head attention in plain float64 loops that shares nothing with the
 * library. */
#ifndef CTN_LAYER_SUPPORT_H
#define CTN_LAYER_SUPPORT_H

#include <stdbool.h>

#include <clattn/clattn_layer.h>

#include "setup.h"

enum { BIAS_Q = 1, BIAS_K = 2, BIAS_V = 4, BIAS_OUT = 8, BIAS_ALL = 15 };
enum masking { NO_MASK, BOOL_MASK, FLOAT_MASK };

struct layer_case {
  const char *name;
  clattn_dtype dtype; /* 0: F32 */
  clattn_layer_inputs inputs;
  int64_t batch, q_len, kv_len, q_heads, kv_heads, head_dim, head_dim_v, d_model, k_features, v_features, out_features;
  int biases;
  bool packed_weights, packed_biases;
  bool causal, kv_lens, offsets, weights;
  enum masking mask;
  bool apart; /* inputs and out sequence first, with gaps */
};

/* Inputs and weights in the case's dtype, and the same numbers as doubles: index W_... */
enum { D_QUERY, D_KEY, D_VALUE, D_WQ, D_WK, D_WV, D_WO, D_BQ, D_BK, D_BV, D_BO, D_COUNT };
struct layer_data {
  struct layer_case c;
  clattn_layer_problem problem;
  clattn_layer_weights weights;
  clattn_layer_arrays arrays; /* out and weights are memory of its own, poisoned */
  double *plain[D_COUNT];     /* dense; NULL: the case has none */
  void *typed[D_COUNT];
  void *packed_weight, *packed_bias;
  int64_t count[D_COUNT];
  unsigned char *bool_mask;
  float *float_mask;
  int64_t *kv_len, *query_offset;
  void *input[3], *out; /* placed by the problem's layouts */
  float *softmax;
  double *want_out, *want_softmax;
};

void layer_data_make(struct layer_data *d, const struct layer_case *in);
void layer_data_free(struct layer_data *d);

/* Results to poison, the layer executed, both results against the plain loops, the gaps of out still poison. */
void layer_data_execute(clattn_layer *layer, struct layer_data *d, const char *what);
void layer_data_poison(struct layer_data *d);
void layer_data_compare(const struct layer_data *d, const char *what);

/* The bytes of out, gaps included. */
size_t layer_data_out_bytes(const struct layer_data *d);
size_t layer_data_input_bytes(const struct layer_data *d, int input);

#endif
