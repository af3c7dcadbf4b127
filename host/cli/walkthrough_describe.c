/* What ran and how well it agreed, in words: for the terminal as for the page. */
#include <string.h>

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

bool ctn_walk_describe_check(struct text *text, const struct walk_step *step) {
  const bool agrees = step->from_reference <= WALK_TOLERANCE && step->from_stored <= WALK_TOLERANCE;
  ctn_text_printf(text, ctn_message(MSG_DIFFERENCE_STORED), step->from_reference, step->from_stored,
                  ctn_message(agrees ? MSG_AGREES : MSG_TOO_FAR));
  return agrees;
}
