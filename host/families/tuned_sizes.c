/* Sizes from the tuning table, for the problem of a request. */
#include "tuned_sizes.h"

#include <string.h>

#include "checked.h"
#include "tuned.h"

/* What a line is chosen by: the storage type, and the larger head dimension (0: there are none). */
static clattn_dtype type_of(const struct problem *problem) {
  return problem->operation == OP_PROJECTION ? problem->as.projection.dtype : problem->as.attention.dtype;
}

static int64_t head_dim_of(const struct problem *problem) {
  if (problem->operation != OP_ATTENTION) return 0;
  return ctn_max(problem->as.attention.head_dim, problem->as.attention.head_dim_v);
}

static struct tuning_entry *find(const struct request *request, const char *family) {
  const struct problem *problem = request->tuned_for != NULL ? request->tuned_for : request->problem;
  if (request->runtime == NULL) return NULL;
  return ctn_tuning_find(&request->runtime->tuning, family, type_of(problem), head_dim_of(problem));
}

struct tuning_entry *ctn_tuned(const struct request *request, const char *family, tuned_fault fault) {
  for (;;) {
    struct tuning_entry *entry = find(request, family);
    const char *why = entry != NULL ? fault(entry, request) : NULL;
    if (why == NULL) return entry;
    ctn_tuned_refuse(request->runtime, entry, why);
  }
}

void ctn_tuned_describe(const struct tuning_entry *entry, struct text *text) {
  if (entry == NULL) return;
  ctn_text_printf(text, "tuned: %s ", entry->family->name);
  ctn_tuned_print(entry, text);
  ctn_text_printf(text, "\n");
}

void ctn_tuned_list(const struct family *family, const struct request *request, struct text *text) {
  for (int i = 0; family->tuning[i] != NULL; i++) {
    const struct tuning_entry *entry = find(request, family->tuning[i]);
    if (entry == NULL) continue;
    ctn_text_printf(text, "%s ", family->tuning[i]);
    ctn_tuning_print_values(entry, text);
    ctn_text_printf(text, "\n");
  }
}

bool ctn_tuned_drop(const struct family *family, const struct request *request, const char *why) {
  bool any = false;
  for (int i = 0; family->tuning[i] != NULL; i++) {
    struct tuning_entry *entry = find(request, family->tuning[i]);
    if (entry == NULL) continue;
    ctn_tuned_refuse(request->runtime, entry, why);
    any = true;
  }
  return any;
}
