/* A run as pictures and the page see it: see walkthrough_view.h. */
#include "walkthrough_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VAR(name) "<var>" name "</var>"
#define PROJECTED(name, of) VAR(name) " = " VAR("X") " " VAR("W") "<sub>" of "</sub><sup>T</sup>"

static const struct view_tensor tensors[] = {
    {"x", VIEW_VECTORS, MSG_NAME_X, NULL},
    {"embedded", VIEW_VECTORS, MSG_NAME_EMBEDDED, "embedded = " VAR("E") "[token] &middot; &radic;" VAR("D")},
    {"positional_encoding", VIEW_POSITIONS, MSG_NAME_POSITION,
     VAR("PE") "[pos, 2i] = sin(pos / 10000<sup>2i/" VAR("D") "</sup>)<br>" VAR(
         "PE") "[pos, 2i+1] = cos(pos / 10000<sup>2i/" VAR("D") "</sup>)"},
    {"embedded_plus_position", VIEW_VECTORS, MSG_NAME_SUM, VAR("X") " = embedded + " VAR("PE")},
    {"query", VIEW_VECTORS, MSG_NAME_QUERY, PROJECTED("Q", "Q")},
    {"key", VIEW_VECTORS, MSG_NAME_KEY, PROJECTED("K", "K")},
    {"value", VIEW_VECTORS, MSG_NAME_VALUE, PROJECTED("V", "V")},
    {"raw_scores", VIEW_SCORES, MSG_NAME_RAW, "scores = " VAR("Q") " " VAR("K") "<sup>T</sup>"},
    {"scores", VIEW_SCORES, MSG_NAME_RAW, "scores = " VAR("Q") " " VAR("K") "<sup>T</sup>"},
    {"scaled_scores", VIEW_SCORES, MSG_NAME_SCALED, "scaled = scores / &radic;" VAR("d")},
    {"weights", VIEW_WEIGHTS, MSG_NAME_WEIGHTS, "weights = softmax(scaled)"},
    {"output", VIEW_VECTORS, MSG_NAME_OUTPUT, "output = weights &middot; " VAR("V")},
    {"projected", VIEW_VECTORS, MSG_NAME_PROJECTED, "projected = output " VAR("W") "<sub>O</sub><sup>T</sup>"},
    {"projected_masked", VIEW_VECTORS, MSG_NAME_PROJECTED_MASKED, "projected = output " VAR("W") "<sub>O</sub><sup>T</sup>"},
    {"masked_scores", VIEW_SCORES, MSG_NAME_MASKED, "masked = scaled + mask, &ensp; mask &isin; {0, &minus;&infin;}"},
    {"weights_masked", VIEW_WEIGHTS, MSG_NAME_WEIGHTS_MASKED, "weights = softmax(masked)"},
    {"output_masked", VIEW_VECTORS, MSG_NAME_OUTPUT_MASKED, "output = weights &middot; " VAR("V")},
};

const struct view_tensor *ctn_view_tensor(const char *name) {
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
    if (strcmp(tensors[i].name, name) == 0) return &tensors[i];
  }
  return NULL;
}

static enum view_kind kind_of(const struct walk_step *step) {
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  return tensor ? tensor->kind : VIEW_VECTORS;
}

const char *ctn_view_title(const struct walk_step *step) {
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  return tensor ? ctn_message(tensor->title) : step->name;
}

struct view_shape ctn_view_shape(const struct walk_step *step) {
  const int rank = step->rank;
  const int64_t *shape = step->shape;
  struct view_shape found = {1, 1, 1, (int)shape[rank - 1]};
  if (rank > 1) found.rows = (int)shape[rank - 2];
  if (rank > 3) found.heads = (int)shape[rank - 3];
  for (int i = 0; i < rank - 2; i++)
    found.count *= (int)shape[i];
  return found;
}

const struct walk_step *ctn_view_find(const struct walk_view *view, const char *name) {
  return ctn_walk_step(view->walk, name);
}

static const char *const *words_of(const struct walk_view *view, const struct walk_step *step, int matrix) {
  const int sentence = matrix / ctn_view_shape(step).heads;
  return view->words + (size_t)(sentence < view->batch ? sentence : 0) * (size_t)view->length;
}

const char *const *ctn_view_rows(const struct walk_view *view, const struct walk_step *step, int matrix) {
  const bool words = kind_of(step) != VIEW_POSITIONS && ctn_view_shape(step).rows == view->length;
  return words ? words_of(view, step, matrix) : view->positions;
}

const char *const *ctn_view_columns(const struct walk_view *view, const struct walk_step *step, int matrix) {
  const enum view_kind kind = kind_of(step);
  const bool words = (kind == VIEW_SCORES || kind == VIEW_WEIGHTS) && ctn_view_shape(step).columns == view->length;
  return words ? words_of(view, step, matrix) : view->dimensions;
}

void ctn_view_matrix_name(const struct walk_view *view, const struct walk_step *step, int matrix, char *text, size_t size) {
  const int heads = ctn_view_shape(step).heads;
  text[0] = '\0';
  if (heads > 1 && view->batch > 1) {
    snprintf(text, size, ctn_message(MSG_PICTURE_SENTENCE_HEAD), matrix / heads + 1, matrix % heads + 1);
  } else if (heads > 1) {
    snprintf(text, size, ctn_message(MSG_PICTURE_HEAD), matrix % heads + 1);
  } else if (ctn_view_shape(step).count > 1) {
    snprintf(text, size, ctn_message(MSG_PICTURE_SENTENCE), matrix + 1);
  }
}

/* ---------------------------------------------------------------------------------------------------------- names of rows */

/* The tokens' words where the run starts from tokens, else the file's words in order. */
static clattn_status name_words(struct walk_view *view, clattn_error *error) {
  const struct walk *walk = view->walk;
  const struct st_tensor *tokens = ctn_st_find(&walk->file, "tokens");
  view->batch = tokens && tokens->rank == 2 ? (int)tokens->shape[0] : 1;
  view->length = tokens && tokens->rank == 2 ? (int)tokens->shape[1] : walk->word_count;
  const size_t count = (size_t)view->batch * (size_t)view->length;
  view->words = calloc(count + 1, sizeof *view->words);
  if (!view->words) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the names of %zu words", count);
  for (size_t i = 0; i < count; i++) {
    const int64_t id = tokens ? ctn_st_i64(tokens, (int64_t)i) : (int64_t)i;
    view->words[i] = id >= 0 && id < walk->word_count ? walk->words[id] : "?";
  }
  return CLATTN_OK;
}

static clattn_status name_numbers(struct walk_view *view, clattn_error *error) {
  int most = 1;
  for (int i = 0; i < view->walk->step_count; i++) {
    const struct view_shape shape = ctn_view_shape(&view->walk->steps[i]);
    most = shape.columns > most ? shape.columns : most;
    most = shape.rows > most ? shape.rows : most;
  }
  view->memory = calloc(2 * (size_t)most, sizeof *view->memory);
  view->dimensions = calloc((size_t)most, sizeof *view->dimensions);
  view->positions = calloc((size_t)most, sizeof *view->positions);
  if (!view->memory || !view->dimensions || !view->positions) {
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the names of %d rows and columns", most);
  }
  for (int i = 0; i < most; i++) {
    char(*names)[VIEW_NAME] = view->memory + 2 * (size_t)i;
    snprintf(names[0], VIEW_NAME, "d%d", i);
    snprintf(names[1], VIEW_NAME, "%d", i);
    view->dimensions[i] = names[0];
    view->positions[i] = names[1];
  }
  return CLATTN_OK;
}

clattn_status ctn_view_open(struct walk_view *view, const struct walk *walk, const struct walk_example *example,
                            clattn_error *error) {
  view->walk = walk;
  view->example = example;
  const clattn_status status = name_words(view, error);
  return status == CLATTN_OK ? name_numbers(view, error) : status;
}

void ctn_view_close(struct walk_view *view) {
  free(view->words);
  free(view->dimensions);
  free(view->positions);
  free(view->memory);
  memset(view, 0, sizeof *view);
}
