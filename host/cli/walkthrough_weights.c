/* The embedding table and the projections of one's own, from a .safetensors file. */
#include <math.h>
#include <stdlib.h>

#include "walkthrough_own.h"

/* Where an input is found: under its own name, under that of a layer of a common framework, or as a third of a packed tensor.
 */
struct source {
  const char *other;  /* NULL: none */
  const char *packed; /* NULL: none */
  int part;
};

static const struct source sources[WALK_INPUTS] = {
    [WALK_TABLE] = {"embedding.weight", NULL, 0},
    [WALK_Q] = {"q_proj.weight", "in_proj_weight", 0},
    [WALK_K] = {"k_proj.weight", "in_proj_weight", 1},
    [WALK_V] = {"v_proj.weight", "in_proj_weight", 2},
    [WALK_O] = {"out_proj.weight", NULL, 0},
    [WALK_BIAS_Q] = {"q_proj.bias", "in_proj_bias", 0},
    [WALK_BIAS_K] = {"k_proj.bias", "in_proj_bias", 1},
    [WALK_BIAS_V] = {"v_proj.bias", "in_proj_bias", 2},
    [WALK_BIAS_O] = {"out_proj.bias", NULL, 0},
};

/* The tensor that an input comes from, or NULL; *part of *parts of it. */
static const struct st_tensor *find_source(const struct st_file *file, int input, int *part, int *parts) {
  const struct source *source = &sources[input];
  const struct st_tensor *tensor = ctn_st_find(file, ctn_walk_input_names[input]);
  *part = 0;
  *parts = 1;
  if (!tensor && source->other) tensor = ctn_st_find(file, source->other);
  if (!tensor && source->packed) {
    tensor = ctn_st_find(file, source->packed);
    *part = source->part;
    *parts = 3;
  }
  return tensor;
}

static bool is_floating(enum st_dtype dtype) {
  return dtype == ST_F16 || dtype == ST_BF16 || dtype == ST_F32 || dtype == ST_F64;
}

/* Checks a tensor against [rows, columns], or [rows] where columns is 0. */
static clattn_status check_shape(const struct walk_own *own, const struct st_tensor *tensor, int64_t rows, int64_t columns,
                                 clattn_error *error) {
  const int rank = columns > 0 ? 2 : 1;
  const char *path = own->request.weights;
  char shape[128], wanted[64];
  if (!is_floating(tensor->dtype)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %s holds %s; it has to be F32, F16, BF16 or F64", path, tensor->name,
                    ctn_st_name(tensor->dtype));
  }
  if (tensor->rank == rank && tensor->shape[0] == rows && (rank == 1 || tensor->shape[1] == columns)) return CLATTN_OK;
  ctn_walk_format_shape(shape, sizeof shape, tensor->rank, tensor->shape);
  ctn_walk_format_shape(wanted, sizeof wanted, rank, (const int64_t[]){rows, columns});
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                  "%s: %s is %s; with d_model %lld and %d words (\"[PAD]\" among them) it is %s", path, tensor->name, shape,
                  (long long)own->d_model, own->tokens.word_count, wanted);
}

static clattn_status read_input(struct walk_own *own, const struct st_file *file, int input, clattn_error *error) {
  int part = 0, parts = 1;
  const struct st_tensor *tensor = find_source(file, input, &part, &parts);
  if (!tensor) return CLATTN_OK;
  const int64_t columns = input < WALK_BIAS_Q ? own->d_model : 0;
  const int64_t rows = input == WALK_TABLE ? own->tokens.word_count : own->d_model;
  const clattn_status status = check_shape(own, tensor, rows * parts, columns, error);
  if (status != CLATTN_OK) return status;
  const int64_t count = rows * (columns > 0 ? columns : 1);
  own->data[input] = calloc((size_t)count, sizeof *own->data[input]);
  if (!own->data[input]) {
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %lld numbers", tensor->name, (long long)count);
  }
  const int64_t first = part * count;
  for (int64_t i = 0; i < count; i++) {
    own->data[input][i] = (float)ctn_st_f64(tensor, first + i);
    if (isfinite(own->data[input][i])) continue;
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %s: element %lld is no finite float32 number", own->request.weights,
                    tensor->name, (long long)first + (long long)i);
  }
  return CLATTN_OK;
}

/* The table's columns are d_model; everything else follows from it. */
static clattn_status find_d_model(struct walk_own *own, const struct st_file *file, clattn_error *error) {
  int part, parts;
  const char *path = own->request.weights;
  const struct st_tensor *table = find_source(file, WALK_TABLE, &part, &parts);
  if (!table) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: no tensor embedding_table, nor embedding.weight", path);
  }
  if (table->rank != 2 || table->shape[1] < 1 || table->shape[1] > WALK_OWN_MAX_MODEL) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %s has to be [words, d_model], d_model from 1 to %d", path,
                    table->name, WALK_OWN_MAX_MODEL);
  }
  own->d_model = table->shape[1];
  if (own->request.d_model > 0 && own->request.d_model != own->d_model) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %s says d_model is %lld, --d-model %lld; leave --d-model out", path,
                    table->name, (long long)own->d_model, (long long)own->request.d_model);
  }
  return CLATTN_OK;
}

/* What has to be there, and what only together. */
static clattn_status check_complete(const struct walk_own *own, clattn_error *error) {
  const char *path = own->request.weights;
  for (int i = WALK_TABLE; i <= WALK_V; i++) {
    if (own->data[i]) continue;
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: no tensor %s, nor %s or %s", path, ctn_walk_input_names[i],
                    sources[i].other, sources[i].packed);
  }
  const int biases = (own->data[WALK_BIAS_Q] != NULL) + (own->data[WALK_BIAS_K] != NULL) + (own->data[WALK_BIAS_V] != NULL);
  if (biases != 0 && biases != 3) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %d of the three tensors bias_q, bias_k, bias_v; give all or none",
                    path, biases);
  }
  if (own->data[WALK_BIAS_O] && !own->data[WALK_O]) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: bias_o is there without weight_o", path);
  }
  return CLATTN_OK;
}

clattn_status ctn_walk_own_weights(struct walk_own *own, clattn_error *error) {
  struct st_file file = {0};
  clattn_status status = ctn_st_read(&file, own->request.weights, error);
  if (status == CLATTN_OK) status = find_d_model(own, &file, error);
  for (int i = 0; i < WALK_INPUTS && status == CLATTN_OK; i++)
    status = read_input(own, &file, i, error);
  if (status == CLATTN_OK) status = check_complete(own, error);
  ctn_st_clear(&file);
  return status;
}
