/* What ran and how well it agreed, in words: for the terminal as for the page. */
#include <string.h>

#include "walkthrough.h"
#include "walkthrough_own.h"

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

const char *ctn_walk_path(const struct walk_step *step) {
  return paths[path_of(step)].path;
}

int ctn_walk_host_steps(const struct walk *walk) {
  int count = 0;
  for (int i = 0; i < walk->step_count; i++)
    count += path_of(&walk->steps[i]) < DEVICE_PATH ? 1 : 0;
  return count;
}

void ctn_walk_describe_device(struct text *text, const struct walk *walk) {
  static const enum message types[] = {MSG_TYPE_DEVICE, MSG_TYPE_GPU, MSG_TYPE_ACCELERATOR, MSG_TYPE_CPU, MSG_TYPE_HOST};
  const clattn_device_info *device = clattn_context_device(walk->context);
  const int host = ctn_walk_host_steps(walk);
  if (!device) {
    ctn_text_printf(text, "%s\n", ctn_message(MSG_DEVICE_NONE));
    return;
  }
  const size_t type = (size_t)device->type < sizeof types / sizeof *types ? (size_t)device->type : 0;
  ctn_text_printf(text, ctn_message(MSG_DEVICE_NAME), device->name, ctn_message(types[type]), device->platform_name);
  ctn_text_printf(text, "\n");
  if (host == 0) return;
  ctn_text_printf(text, "%s\n", ctn_message(host == walk->step_count ? MSG_DEVICE_UNUSED : MSG_DEVICE_AND_HOST));
}

/* What took a path: "for embedding, position". Equal neighbours are told once. */
static void describe_operations(struct text *text, const struct walk *walk, int path) {
  struct text operations = {0};
  const char *previous = "";
  for (int i = 0; i < walk->step_count; i++) {
    const struct walk_step *step = &walk->steps[i];
    if (path_of(step) != path || strcmp(step->operation, previous) == 0) continue;
    ctn_text_printf(&operations, "%s%s", *previous ? ", " : "", step->operation);
    previous = step->operation;
  }
  ctn_text_printf(text, ctn_message(MSG_PATH_OPERATIONS), operations.data ? operations.data : "");
  ctn_text_printf(text, "\n");
  text->failed = text->failed || operations.failed;
  ctn_text_free(&operations);
}

void ctn_walk_describe_paths(struct text *text, const struct walk *walk) {
  for (int path = 0; path < PATHS; path++) {
    int steps = 0;
    for (int i = 0; i < walk->step_count; i++)
      steps += path_of(&walk->steps[i]) == path ? 1 : 0;
    if (steps == 0) continue;
    ctn_text_printf(text, "%s: %s\n", paths[path].path, ctn_message(paths[path].words));
    if (steps < walk->step_count) describe_operations(text, walk, path);
  }
}

void ctn_walk_describe_model(struct text *text, const struct walk *walk) {
  if (!walk->own && walk->heads == 1 && !walk->causal) return;
  const struct walk_step *query = ctn_walk_step(walk, "query");
  const long long width = (long long)query->shape[query->rank - 1];
  if (walk->heads == 1) {
    ctn_text_printf(text, ctn_message(MSG_MODEL_ONE_HEAD), width);
  } else {
    ctn_text_printf(text, ctn_message(MSG_MODEL_HEADS), width, walk->heads, width / walk->heads);
  }
  if (walk->causal) ctn_text_printf(text, ", %s", ctn_message(MSG_MODEL_CAUSAL));
  ctn_text_printf(text, "\n");
  if (!walk->own) return;
  const struct walk_request *request = &walk->own->request;
  if (request->weights) {
    ctn_text_printf(text, ctn_message(MSG_MODEL_FILE), request->weights);
  } else {
    ctn_text_printf(text, ctn_message(MSG_MODEL_RANDOM), (unsigned long long)request->seed);
  }
  ctn_text_printf(text, "\n");
}

void ctn_walk_describe_checks(struct text *text, const struct walk *walk) {
  const bool reference = strcmp(ctn_walk_path(&walk->steps[0]), "reference") == 0;
  ctn_text_printf(text, ctn_message(walk->own ? MSG_CHECK_OWN : MSG_CHECK_STORED), WALK_TOLERANCE);
  ctn_text_printf(text, "\n");
  if (!walk->own && (walk->heads > 1 || walk->causal)) ctn_text_printf(text, "%s\n", ctn_message(MSG_CHECK_CHANGED));
  if (reference) ctn_text_printf(text, "%s\n", ctn_message(walk->own ? MSG_CHECK_NOTHING : MSG_CHECK_ONLY_STORED));
}

bool ctn_walk_describe_closing(struct text *text, const struct walk *walk) {
  double difference;
  const struct walk_step *worst = ctn_walk_worst(walk, &difference);
  const bool agrees = ctn_walk_agrees(worst);
  if (walk->own) {
    ctn_text_printf(text, ctn_message(MSG_CLOSING_OWN), walk->step_count, worst->name, difference);
  } else {
    ctn_text_printf(text, ctn_message(MSG_CLOSING), walk->step_count, difference, worst->name);
  }
  ctn_text_printf(text, " ");
  if (agrees && walk->own) {
    ctn_text_printf(text, "%s", ctn_message(MSG_CLOSING_AGREES_OWN));
  } else {
    ctn_text_printf(text, ctn_message(agrees ? MSG_CLOSING_AGREES : MSG_CLOSING_TOO_FAR), worst->allowed);
  }
  return agrees;
}

bool ctn_walk_describe_check(struct text *text, const struct walk_step *step) {
  const bool agrees = ctn_walk_agrees(step);
  const char *verdict = ctn_message(agrees ? MSG_AGREES : MSG_TOO_FAR);
  if (step->stored) {
    ctn_text_printf(text, ctn_message(MSG_DIFFERENCE_STORED), step->from_reference, step->from_stored, verdict);
  } else {
    ctn_text_printf(text, ctn_message(MSG_DIFFERENCE_REFERENCE), step->from_reference, verdict);
  }
  return agrees;
}
