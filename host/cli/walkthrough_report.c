/* Says what ran and how well it agreed: the walkthrough's header, its check lines, its closing line, and all of it as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "print.h"
#include "text.h"
#include "walkthrough.h"
#include "walkthrough_own.h"

enum { CHECK_WIDTH = 7 };

static void print_described(enum message label, void (*describe)(struct text *, const struct walk *), const struct walk *walk) {
  struct text text = {0};
  describe(&text, walk);
  if (text.data) ctn_walk_print_labelled(ctn_message(label), text.data);
  ctn_text_free(&text);
}

void ctn_walk_print_header(const struct walk *walk, const struct walk_example *example) {
  printf(ctn_message(walk->own ? MSG_HEADER_OWN : MSG_HEADER), clattn_version_string(),
         walk->own ? walk->own->request.tokens : example->name, ctn_message(example->summary));
  printf("\n\n");
  print_described(MSG_DEVICE, ctn_walk_describe_device, walk);
  print_described(MSG_PATH, ctn_walk_describe_paths, walk);
  print_described(MSG_MODEL, ctn_walk_describe_model, walk);
  print_described(MSG_CHECK, ctn_walk_describe_checks, walk);
}

/* Float32 sums depend on the order of their terms, so a figure close to the border between two roundings may go either way. */
static int other_figures(const struct walk_step *step, struct walk_format format) {
  char computed[WALK_NUMBER_SIZE], stored[WALK_NUMBER_SIZE];
  int count = 0;
  for (int64_t i = 0; step->stored && i < step->count; i++) {
    ctn_walk_format_number(computed, format, (double)step->values[i]);
    ctn_walk_format_number(stored, format, ctn_st_f64(step->stored, i));
    count += strcmp(computed, stored) != 0 ? 1 : 0;
  }
  return count;
}

void ctn_walk_print_check(const struct walk *walk, const char *name, struct walk_format format) {
  const struct walk_step *step = ctn_walk_step(walk, name);
  struct text check = {0};
  const bool agrees = ctn_walk_describe_check(&check, step);
  const int others = other_figures(step, format);
  printf("\n    ");
  ctn_print_padded(stdout, ctn_message(MSG_CHECK), CHECK_WIDTH, false);
  printf("%-22s  ", step->name);
  printf("%s\n", check.data ? check.data : "");
  ctn_text_free(&check);
  if (agrees && others > 0) {
    printf("%*s", 4 + CHECK_WIDTH, "");
    printf(ctn_message(MSG_OTHER_DIGITS), others, (long long)step->count);
    putchar('\n');
  }
}

void ctn_walk_print_closing(const struct walk *walk) {
  struct text text = {0};
  ctn_walk_describe_closing(&text, walk);
  putchar('\n');
  if (text.data) ctn_walk_print_paragraph(text.data);
  ctn_text_free(&text);
}

/* -------------------------------------------------------------------------------------------------------------------- JSON */

static json_t *step_json(const struct walk_step *step) {
  json_t *shape = json_array(), *values = json_array();
  int failed = 0;
  for (int i = 0; i < step->rank; i++)
    failed |= json_array_append_new(shape, json_integer(step->shape[i]));
  for (int64_t i = 0; i < step->count; i++)
    failed |= json_array_append_new(values, ctn_json_number((double)step->values[i]));
  if (failed) {
    json_decref(shape);
    json_decref(values);
    return NULL;
  }
  json_t *stored = step->stored ? ctn_json_number(step->from_stored) : json_null();
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:f, s:o}", "name", step->name, "operation", step->operation, "path",
                   ctn_walk_path(step), "family", step->family, "shape", shape, "difference_reference",
                   ctn_json_number(step->from_reference), "difference_stored", stored, "allowed", step->allowed, "values",
                   values);
}

/* What one's own input was: NULL for an example. */
static json_t *own_json(const struct walk *walk) {
  if (!walk->own) return json_null();
  const struct walk_own *own = walk->own;
  json_t *ids = json_array();
  int failed = 0;
  for (int i = 0; i < own->tokens.batch; i++) {
    json_t *sentence = json_array();
    for (int j = 0; j < own->tokens.length; j++)
      failed |= json_array_append_new(sentence, json_integer(own->tokens.ids[i * own->tokens.length + j]));
    failed |= json_array_append_new(ids, sentence);
  }
  json_t *weights = own->request.weights ? json_string(own->request.weights) : json_null();
  json_t *seed = own->request.weights ? json_null() : json_integer((json_int_t)own->request.seed);
  json_t *packed = json_pack("{s:s, s:o, s:o, s:I, s:I, s:o}", "tokens", own->request.tokens, "weights", weights, "seed", seed,
                             "d_model", (json_int_t)own->d_model, "padding_id", (json_int_t)walk->padding_id, "ids", ids);
  if (!failed) return packed;
  json_decref(packed);
  return NULL;
}

int ctn_walk_print_json(const struct walk *walk, const struct walk_example *example, const char *command) {
  double difference;
  const struct walk_step *worst = ctn_walk_worst(walk, &difference);
  const clattn_device_info *device = clattn_context_device(walk->context);
  json_t *steps = json_array();
  int failed = steps ? 0 : -1;
  for (int i = 0; i < walk->step_count; i++)
    failed |= json_array_append_new(steps, step_json(&walk->steps[i]));
  if (failed) {
    json_decref(steps);
    return ctn_print_json(command, NULL);
  }
  json_t *words = json_array();
  for (int i = 0; i < walk->word_count; i++)
    failed |= json_array_append_new(words, json_string(walk->words[i]));
  json_t *ran_on = device ? json_pack("{s:s, s:s}", "name", device->name, "platform", device->platform_name) : json_null();
  json_t *name = walk->own ? json_null() : json_string(example->name);
  json_t *root = json_pack("{s:s, s:o, s:o, s:i, s:b, s:o, s:b, s:o, s:f, s:b, s:{s:o, s:s}, s:o}", "version",
                           clattn_version_string(), "example", name, "own", own_json(walk), "heads", walk->heads, "causal",
                           walk->causal, "device", ran_on, "host_computes", ctn_walk_host_steps(walk) > 0, "words", words,
                           "tolerance", WALK_TOLERANCE, "agrees", ctn_walk_agrees(worst), "largest_difference", "value",
                           ctn_json_number(difference), "step", worst->name, "steps", steps);
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  return ctn_print_json(command, root);
}
