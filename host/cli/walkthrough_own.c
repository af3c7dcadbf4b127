/* One's own input put together as an example's file would be: see walkthrough_own.h. */
#include "walkthrough_own.h"

#include <math.h>
#include <stdlib.h>

#include "philox.h"

const char *const ctn_walk_input_names[WALK_INPUTS] = {
    [WALK_TABLE] = "embedding_table",
    [WALK_Q] = "weight_q",
    [WALK_K] = "weight_k",
    [WALK_V] = "weight_v",
    [WALK_O] = "weight_o",
    [WALK_BIAS_Q] = "bias_q",
    [WALK_BIAS_K] = "bias_k",
    [WALK_BIAS_V] = "bias_v",
    [WALK_BIAS_O] = "bias_o",
};

void ctn_walk_random(float *values, int64_t count, int64_t d_model, uint64_t seed, enum walk_input input) {
  const float bound = (float)sqrt(3.0 / (double)d_model);
  uint32_t words[4] = {0};
  for (int64_t n = 0; n < count; n++) {
    if (n % 4 == 0) ctn_philox(seed, (uint64_t)input, (uint64_t)(n / 4), words);
    /* 24 bits, so that the product is the only rounding. */
    const float unit = (float)((int32_t)(words[n % 4] >> 8) - (1 << 23)) * 0x1p-23f;
    values[n] = unit * bound;
  }
}

static clattn_status make_random(struct walk_own *own, clattn_error *error) {
  own->d_model = own->request.d_model > 0 ? own->request.d_model : WALK_D_MODEL;
  for (int i = WALK_TABLE; i <= WALK_V; i++) {
    const int64_t count = (i == WALK_TABLE ? own->tokens.word_count : own->d_model) * own->d_model;
    if (count > WALK_OWN_MAX_ELEMENTS) {
      return ctn_fail(error, CLATTN_TOO_LARGE, "%s: %lld numbers for %d words and --d-model %lld; %lld is the most",
                      ctn_walk_input_names[i], (long long)count, own->tokens.word_count, (long long)own->d_model,
                      (long long)WALK_OWN_MAX_ELEMENTS);
    }
    own->data[i] = calloc((size_t)count, sizeof *own->data[i]);
    if (!own->data[i]) {
      return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %lld numbers", ctn_walk_input_names[i], (long long)count);
    }
    ctn_walk_random(own->data[i], count, own->d_model, own->request.seed, (enum walk_input)i);
  }
  return CLATTN_OK;
}

static clattn_status check_sizes(const struct walk_own *own, int heads, clattn_error *error) {
  const struct tokens_file *tokens = &own->tokens;
  const int64_t rows = (int64_t)tokens->batch * tokens->length;
  const int64_t elements = rows * own->d_model;
  if (elements > WALK_OWN_MAX_ELEMENTS) {
    return ctn_fail(error, CLATTN_TOO_LARGE,
                    "%s: %d sentences padded to %d words, with d_model %lld, are %lld numbers; %lld is the most",
                    own->request.tokens, tokens->batch, tokens->length, (long long)own->d_model, (long long)elements,
                    (long long)WALK_OWN_MAX_ELEMENTS);
  }
  const int64_t scores = rows * tokens->length * heads;
  if (scores > WALK_OWN_MAX_SCORES) {
    return ctn_fail(error, CLATTN_TOO_LARGE,
                    "%s: %d sentences padded to %d words have %lld scores in %d heads; %lld is the most", own->request.tokens,
                    tokens->batch, tokens->length, (long long)scores, heads, (long long)WALK_OWN_MAX_SCORES);
  }
  return CLATTN_OK;
}

/* Lends everything to walk->file. */
static clattn_status fill_file(struct walk *walk, const struct walk_own *own, clattn_error *error) {
  const int64_t d_model = own->d_model;
  const int64_t tokens[2] = {own->tokens.batch, own->tokens.length};
  clattn_status status = ctn_st_add(&walk->file, "tokens", ST_I32, 2, tokens, own->tokens.ids, error);
  if (status == CLATTN_OK) status = ctn_st_add(&walk->file, "keep_mask", ST_BOOL, 2, tokens, own->keep, error);
  for (int i = 0; i < WALK_INPUTS && status == CLATTN_OK; i++) {
    const int64_t matrix[2] = {i == WALK_TABLE ? own->tokens.word_count : d_model, d_model};
    const int rank = i < WALK_BIAS_Q ? 2 : 1;
    if (!own->data[i]) continue;
    status = ctn_st_add(&walk->file, ctn_walk_input_names[i], ST_F32, rank, rank == 2 ? matrix : &d_model, own->data[i], error);
  }
  return status;
}

clattn_status ctn_walk_own_open(struct walk *walk, const struct walk_request *request, clattn_error *error) {
  struct walk_own *own = calloc(1, sizeof *own);
  if (!own) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory to read it", request->tokens);
  walk->own = own;
  own->request = *request;
  clattn_status status = ctn_tokens_read(&own->tokens, request->tokens, error);
  if (status == CLATTN_OK) status = request->weights ? ctn_walk_own_weights(own, error) : make_random(own, error);
  if (status == CLATTN_OK) status = check_sizes(own, walk->heads, error);
  if (status != CLATTN_OK) return status;
  const size_t rows = (size_t)own->tokens.batch * (size_t)own->tokens.length;
  own->keep = malloc(rows);
  walk->words = calloc((size_t)own->tokens.word_count, sizeof *walk->words);
  if (!own->keep || !walk->words) {
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu tokens", request->tokens, rows);
  }
  for (size_t i = 0; i < rows; i++)
    own->keep[i] = own->tokens.ids[i] != own->tokens.padding_id;
  for (int i = 0; i < own->tokens.word_count; i++)
    walk->words[i] = own->tokens.words[i];
  walk->word_count = own->tokens.word_count;
  walk->padding_id = own->tokens.padding_id;
  return fill_file(walk, own, error);
}

void ctn_walk_own_free(struct walk_own *own) {
  if (!own) return;
  ctn_tokens_clear(&own->tokens);
  for (int i = 0; i < WALK_INPUTS; i++)
    free(own->data[i]);
  free(own->keep);
  free(own);
}
