/* Writing a table: one line changed or added, the user's own lines and comments left as they are. */
#include <string.h>

#include "half.h"
#include "tuning.h"

void ctn_tuning_print_values(const struct tuning_entry *entry, struct text *text) {
  for (int i = 0; i < entry->count; i++)
    ctn_text_printf(text, "%s%s=%ld", i > 0 ? " " : "", entry->values[i].name, entry->values[i].value);
}

static void print_line(struct text *out, const struct tuning_entry *entry, const char *comment) {
  ctn_text_printf(out, "device=\"%s\"", entry->device);
  if (entry->driver != NULL) ctn_text_printf(out, " driver=\"%s\"", entry->driver);
  ctn_text_printf(out, " family=%s", entry->family->name);
  if (entry->dtype != CLATTN_NONE) ctn_text_printf(out, " dtype=%s", ctn_dtype_name(entry->dtype));
  if (entry->head_dim != 0) ctn_text_printf(out, " head_dim=%lld", (long long)entry->head_dim);
  ctn_text_printf(out, " : ");
  ctn_tuning_print_values(entry, out);
  if (comment != NULL) ctn_text_printf(out, "  # %s", comment);
  ctn_text_printf(out, "\n");
}

static bool same(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether the line of number `line` is for what the entry is for. */
static bool replaced(const struct tuning *old, int line, const struct tuning_entry *entry) {
  for (size_t i = 0; i < old->count; i++) {
    const struct tuning_entry *at = &old->entries[i];
    if (at->line == line) {
      return same(at->device, entry->device) && same(at->driver, entry->driver) && at->family == entry->family &&
             at->dtype == entry->dtype && at->head_dim == entry->head_dim;
    }
  }
  return false;
}

void ctn_tuning_update(struct text *out, const char *old, const struct tuning_entry *entry, const char *comment) {
  struct tuning lines = {0};
  bool written = false;
  int number = 0;
  if (old == NULL || *old == '\0') {
    old = "clattn tuning 1\n# Written by `clattn tune`, read at start: see docs/tuning.md. Yours to edit.\n";
  }
  if (!ctn_tuning_read(&lines, old, strlen(old), "", false, NULL, NULL, NULL, NULL)) out->failed = true;
  while (*old != '\0') {
    const size_t length = strcspn(old, "\n");
    if (replaced(&lines, ++number, entry)) {
      if (!written) print_line(out, entry, comment);
      written = true;
    } else {
      ctn_text_append(out, old, length);
      ctn_text_append(out, "\n", 1);
    }
    old += length + (old[length] == '\n');
  }
  if (!written) print_line(out, entry, comment);
  ctn_tuning_free(&lines);
}
