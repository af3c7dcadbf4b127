/* See own.h. */
#include "own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char own_sentences[] = "ga na da ra\nra ga na\nda ra\n";
const int own_ids[ROWS] = {4, 1, 2, 3, 4, 0};

static void fill(float *values, int count, int step) {
  for (int i = 0; i < count; i++)
    values[i] = (float)((i * 7 + step) % 13 - 6) / 8;
}

void own_inputs(struct inputs *in) {
  float *const parts[] = {in->table, in->q, in->k, in->v, in->o, in->bias_q, in->bias_k, in->bias_v, in->bias_o};
  const int counts[] = {V * D, D * D, D * D, D * D, D * D, D, D, D, D};
  for (int i = 0; i < 9; i++)
    fill(parts[i], counts[i], 3 * i + 1);
}

/* ------------------------------------------------------------------------------------------------------------------ files */

struct place own_place(const char *text) {
  struct place place = {.folder = make_folder()};
  place.tokens = join_path(place.folder, "tokens.txt");
  place.weights = join_path(place.folder, "weights.safetensors");
  write_file(place.tokens, text, strlen(text));
  return place;
}

void own_leave(struct place *place) {
  free(place->tokens);
  free(place->weights);
  remove_folder(place->folder);
}

void own_add(struct st_file *file, const char *name, int rank, int64_t rows, const float *data) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_add(file, name, ST_F32, rank, (const int64_t[]){rows, D}, data, &error) != CLATTN_OK) fail_msg("%s", error.text);
}

void own_write(struct st_file *file, const char *path) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_write(file, path, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_st_clear(file);
}

void own_add_separate(struct st_file *file, const struct inputs *in) {
  own_add(file, "embedding_table", 2, V, in->table);
  own_add(file, "weight_q", 2, D, in->q);
  own_add(file, "weight_k", 2, D, in->k);
  own_add(file, "weight_v", 2, D, in->v);
}

/* Everything there is, under names of its own. */
void own_write_all(const char *path, const struct inputs *in) {
  struct st_file file = {0};
  own_add_separate(&file, in);
  own_add(&file, "weight_o", 2, D, in->o);
  own_add(&file, "bias_q", 1, D, in->bias_q);
  own_add(&file, "bias_k", 1, D, in->bias_k);
  own_add(&file, "bias_v", 1, D, in->bias_v);
  own_add(&file, "bias_o", 1, D, in->bias_o);
  own_write(&file, path);
}

/* The same under the names of a packed layer. */
void own_write_packed(const char *path, const struct inputs *in) {
  float weight[3 * D * D], bias[3 * D];
  const float *const weights[] = {in->q, in->k, in->v}, *const biases[] = {in->bias_q, in->bias_k, in->bias_v};
  struct st_file file = {0};
  for (int i = 0; i < 3; i++) {
    memcpy(weight + (size_t)i * D * D, weights[i], D * D * sizeof *weight);
    memcpy(bias + (size_t)i * D, biases[i], D * sizeof *bias);
  }
  own_add(&file, "embedding.weight", 2, V, in->table);
  own_add(&file, "in_proj_weight", 2, 3 * D, weight);
  own_add(&file, "in_proj_bias", 1, 3 * D, bias);
  own_add(&file, "out_proj.weight", 2, D, in->o);
  own_add(&file, "out_proj.bias", 1, D, in->bias_o);
  own_write(&file, path);
}

json_t *own_json(const char *const *options) {
  const char *argv[24] = {"walkthrough", "--json"};
  for (int i = 0; options[i]; i++) {
    assert_true(i < 20);
    argv[2 + i] = options[i];
  }
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  json_error_t error;
  json_t *root = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at line %d", error.text, error.line);
  tool_free(&result);
  return root;
}

const json_t *own_step(const json_t *root, const char *name) {
  const json_t *steps = json_object_get(root, "steps");
  for (size_t i = 0; i < json_array_size(steps); i++) {
    const json_t *step = json_array_get(steps, i);
    if (strcmp(json_string_value(json_object_get(step, "name")), name) == 0) return step;
  }
  return NULL;
}

struct tool_result own_text(const char *const *options) {
  const char *argv[24] = {"walkthrough", "--path", "cpu"};
  for (int i = 0; options[i]; i++)
    argv[3 + i] = options[i];
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  return result;
}
