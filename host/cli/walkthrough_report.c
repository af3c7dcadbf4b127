/* Says what ran and how well it agreed: the walkthrough's header, its check lines, its closing line, and all of it as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "print.h"
#include "walkthrough.h"

/* The paths that a step can have taken, by the family that ran: the host's two have a family each, the last stands for all
 * families of the device. */
static const struct {
  const char *path;
  enum message words;
} paths[] = {{"cpu", MSG_PATH_CPU}, {"reference", MSG_PATH_REFERENCE}, {"staged", MSG_PATH_STAGED}};

enum { PATHS = sizeof paths / sizeof *paths, DEVICE_PATH = PATHS - 1 };

static int path_of(const struct walk_step *step) {
  int path = 0;
  while (path < DEVICE_PATH && strcmp(paths[path].path, step->family) != 0)
    path++;
  return path;
}

/* How many of the steps the host computed. */
static int host_steps(const struct walk *walk) {
  int count = 0;
  for (int i = 0; i < walk->step_count; i++)
    count += path_of(&walk->steps[i]) < DEVICE_PATH ? 1 : 0;
  return count;
}

/* Below the label's column. */
enum { LABEL_WIDTH = 9, CHECK_WIDTH = 7 };

static void print_label(const char *label) {
  printf("  ");
  ctn_print_padded(stdout, label, LABEL_WIDTH, false);
}

static void print_device(const struct walk *walk) {
  const clattn_device_info *device = clattn_context_device(walk->context);
  const int host = host_steps(walk);
  print_label(ctn_message(MSG_DEVICE));
  if (!device) {
    printf("%s\n", ctn_message(MSG_DEVICE_NONE));
    return;
  }
  static const enum message types[] = {MSG_TYPE_DEVICE, MSG_TYPE_GPU, MSG_TYPE_ACCELERATOR, MSG_TYPE_CPU, MSG_TYPE_HOST};
  const size_t type = (size_t)device->type < sizeof types / sizeof *types ? (size_t)device->type : 0;
  printf(ctn_message(MSG_DEVICE_NAME), device->name, ctn_message(types[type]), device->platform_name);
  putchar('\n');
  if (host == 0) return;
  print_label("");
  printf("%s\n", ctn_message(host == walk->step_count ? MSG_DEVICE_UNUSED : MSG_DEVICE_AND_HOST));
}

/* What took a path: "for embedding, position". Equal neighbours are told once. */
static void print_operations(const struct walk *walk, int path) {
  char text[WALK_MAX_STEPS * WALK_NUMBER_SIZE] = "";
  size_t length = 0;
  const char *previous = "";
  for (int i = 0; i < walk->step_count; i++) {
    const struct walk_step *step = &walk->steps[i];
    if (path_of(step) != path || strcmp(step->operation, previous) == 0) continue;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", *previous ? ", " : "", step->operation);
    previous = step->operation;
  }
  print_label("");
  printf(ctn_message(MSG_PATH_OPERATIONS), text);
  putchar('\n');
}

/* One line a path; with several, each says which operations took it. */
static void print_paths(const struct walk *walk) {
  int steps[PATHS] = {0};
  for (int i = 0; i < walk->step_count; i++)
    steps[path_of(&walk->steps[i])]++;
  const char *label = ctn_message(MSG_PATH);
  for (int path = 0; path < PATHS; path++) {
    if (steps[path] == 0) continue;
    print_label(label);
    printf("%s: %s\n", paths[path].path, ctn_message(paths[path].words));
    if (steps[path] < walk->step_count) print_operations(walk, path);
    label = "";
  }
}

void ctn_walk_print_header(const struct walk *walk, const struct walk_example *example) {
  printf(ctn_message(MSG_HEADER), clattn_version_string(), example->name, ctn_message(example->summary));
  printf("\n\n");
  print_device(walk);
  print_paths(walk);
  ctn_walk_print_labelled(ctn_message(MSG_CHECK), MSG_CHECK_STORED, WALK_TOLERANCE);
  if (strcmp(paths[path_of(&walk->steps[0])].path, "reference") == 0) {
    ctn_walk_print_labelled("", MSG_CHECK_ONLY_STORED);
  }
}

/* Float32 sums depend on the order of their terms, so a figure close to the border between two roundings may go either way. */
static int other_figures(const struct walk_step *step, struct walk_format format) {
  char computed[WALK_NUMBER_SIZE], stored[WALK_NUMBER_SIZE];
  int count = 0;
  for (int64_t i = 0; i < step->stored->count; i++) {
    ctn_walk_format_number(computed, format, (double)step->values[i]);
    ctn_walk_format_number(stored, format, ctn_st_f64(step->stored, i));
    count += strcmp(computed, stored) != 0 ? 1 : 0;
  }
  return count;
}

void ctn_walk_print_check(const struct walk *walk, const char *name, struct walk_format format) {
  const struct walk_step *step = ctn_walk_step(walk, name);
  const bool agrees = step->from_reference <= WALK_TOLERANCE && step->from_stored <= WALK_TOLERANCE;
  const int others = other_figures(step, format);
  printf("\n    ");
  ctn_print_padded(stdout, ctn_message(MSG_CHECK), CHECK_WIDTH, false);
  printf("%-22s  ", step->name);
  printf(ctn_message(MSG_DIFFERENCE_STORED), step->from_reference, step->from_stored,
         ctn_message(agrees ? MSG_AGREES : MSG_TOO_FAR));
  putchar('\n');
  if (agrees && others > 0) {
    printf("%*s", 4 + CHECK_WIDTH, "");
    printf(ctn_message(MSG_OTHER_DIGITS), others, (long long)step->stored->count);
    putchar('\n');
  }
}

void ctn_walk_print_closing(const struct walk *walk) {
  double difference;
  const struct walk_step *worst = ctn_walk_worst(walk, &difference);
  putchar('\n');
  printf(ctn_message(MSG_CLOSING), walk->step_count, difference, worst->name);
  putchar(' ');
  printf(ctn_message(difference <= WALK_TOLERANCE ? MSG_CLOSING_AGREES : MSG_CLOSING_TOO_FAR), WALK_TOLERANCE);
  putchar('\n');
}

/* -------------------------------------------------------------------------------------------------------------------- JSON */

static json_t *step_json(const struct walk_step *step) {
  json_t *shape = json_array(), *values = json_array();
  int failed = 0;
  for (int i = 0; i < step->stored->rank; i++)
    failed |= json_array_append_new(shape, json_integer(step->stored->shape[i]));
  for (int64_t i = 0; i < step->stored->count; i++)
    failed |= json_array_append_new(values, ctn_json_number((double)step->values[i]));
  if (failed) {
    json_decref(shape);
    json_decref(values);
    return NULL;
  }
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", step->name, "operation", step->operation, "path",
                   paths[path_of(step)].path, "family", step->family, "shape", shape, "difference_reference",
                   ctn_json_number(step->from_reference), "difference_stored", ctn_json_number(step->from_stored), "values",
                   values);
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
  json_t *root = json_pack("{s:s, s:s, s:o, s:b, s:o, s:f, s:b, s:{s:o, s:s}, s:o}", "version", clattn_version_string(),
                           "example", example->name, "device", ran_on, "host_computes", host_steps(walk) > 0, "words", words,
                           "tolerance", WALK_TOLERANCE, "agrees", difference <= WALK_TOLERANCE, "largest_difference", "value",
                           ctn_json_number(difference), "step", worst->name, "steps", steps);
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  return ctn_print_json(command, root);
}
