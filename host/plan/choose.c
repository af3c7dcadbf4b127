/* Choosing a family: ask each row of the operation, keep every reason, take the cheapest. */
#include "registry.h"

static const char *path_name(clattn_path path) {
  static const char *const names[] = {"auto", "fused", "staged", "cpu", "reference"};
  return (unsigned)path < sizeof names / sizeof names[0] ? names[path] : "unknown";
}

/* A line "staged: reason" at the end of text. */
static void add_reason(struct text *text, const struct family *family, const struct text *reason) {
  ctn_text_printf(text, "%s%s: %s", text->length > 0 ? "\n" : "", family->name, reason->data != NULL ? reason->data : "");
}

static bool refused(const struct family *family, const struct request *request, struct selftests *selftests,
                    struct text *reasons) {
  clattn_path wanted = request->options.path;
  struct text reason = {0};
  bool no = false;
  /* Only attention has a fused and a staged way on a device. */
  if (wanted == CLATTN_PATH_FUSED && family->operation != OP_ATTENTION) wanted = CLATTN_PATH_STAGED;
  if (wanted != CLATTN_PATH_AUTO && wanted != family->path) {
    ctn_text_printf(&reason, "the %s path was asked for", path_name(request->options.path));
    no = true;
  } else {
    no = family->refuse(request, &reason) || ctn_selftest_failed(selftests, family, &reason);
  }
  if (no) add_reason(reasons, family, &reason);
  ctn_text_free(&reason);
  return no;
}

static clattn_status fail_unsupported(const struct text *reasons, clattn_error *error) {
  struct text line = {0};
  /* One line: the reasons are joined by semicolons. */
  for (size_t i = 0; i < reasons->length; i++) {
    if (reasons->data[i] == '\n') {
      ctn_text_append(&line, "; ", 2);
    } else {
      ctn_text_append(&line, &reasons->data[i], 1);
    }
  }
  const clattn_status status =
      ctn_fail(error, CLATTN_UNSUPPORTED, "no family takes the problem: %s", line.data != NULL ? line.data : "none is known");
  ctn_text_free(&line);
  return status;
}

clattn_status ctn_choose(const struct family **chosen, const struct request *request, struct selftests *selftests,
                         struct text *reasons, clattn_error *error) {
  const struct family *best = NULL;
  double best_cost = 0;
  const struct family *family = NULL;
  for (size_t i = 0; (family = ctn_family(i)) != NULL; i++) {
    if (family->operation != request->problem->operation || refused(family, request, selftests, reasons)) continue;
    const double cost = family->cost(request);
    const bool better = best == NULL || cost < best_cost;
    const struct family *loser = better ? best : family;
    if (loser != NULL) {
      struct text reason = {0};
      ctn_text_printf(&reason, "would take it, at %.3g times the cost", better ? best_cost / cost : cost / best_cost);
      add_reason(reasons, loser, &reason);
      ctn_text_free(&reason);
    }
    if (better) {
      best = family;
      best_cost = cost;
    }
  }
  *chosen = best;
  return best != NULL ? CLATTN_OK : fail_unsupported(reasons, error);
}
