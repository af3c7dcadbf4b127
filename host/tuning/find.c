/* Which line of a table a problem gets. */
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "tuning.h"

static bool names_device(const struct tuning_entry *entry) {
  const size_t length = strlen(entry->device);
  return length == 0 || entry->device[length - 1] != '*';
}

/* Whether a is for less than b, or as much and the user's. */
static bool better(const struct tuning_entry *a, const struct tuning_entry *b) {
  if (a->shipped != b->shipped) return !a->shipped;
  if (a->head_dim != b->head_dim) return a->head_dim != 0 && (b->head_dim == 0 || a->head_dim < b->head_dim);
  if (a->dtype != b->dtype) return a->dtype != CLATTN_NONE;
  if (names_device(a) != names_device(b)) return names_device(a);
  if ((a->driver != NULL) != (b->driver != NULL)) return a->driver != NULL;
  return true; /* a comes later */
}

struct tuning_entry *ctn_tuning_find(const struct tuning *tuning, const char *family, clattn_dtype dtype, int64_t head_dim) {
  struct tuning_entry *best = NULL;
  for (size_t i = 0; i < tuning->count; i++) {
    struct tuning_entry *entry = &tuning->entries[i];
    if (strcmp(entry->family->name, family) != 0 || atomic_load(&entry->refused)) continue;
    if (entry->dtype != CLATTN_NONE && entry->dtype != dtype) continue;
    if (entry->head_dim != 0 && head_dim > entry->head_dim) continue;
    if (best == NULL || better(entry, best)) best = entry;
  }
  return best;
}

long ctn_tuning_value(const struct tuning_entry *entry, const char *name, long standard) {
  for (int i = 0; entry != NULL && i < entry->count; i++) {
    if (strcmp(entry->values[i].name, name) == 0) return entry->values[i].value;
  }
  return standard;
}

const char *ctn_tuning_shipped(size_t *length) {
  *length = ctn_embedded_tuning[0].size;
  return (const char *)ctn_embedded_tuning[0].bytes;
}

/* As for the cache folder: the XDG specification has relative paths ignored. */
char *ctn_tuning_default_path(void) {
  const char *base = getenv("XDG_CONFIG_HOME"), *tail = "/clattn/tuning";
  if (base == NULL || base[0] != '/') {
    base = getenv("HOME");
    tail = "/.config/clattn/tuning";
  }
  if (base == NULL || base[0] != '/') return NULL;
  char *path = malloc(strlen(base) + strlen(tail) + 1);
  if (path == NULL) return NULL;
  memcpy(path, base, strlen(base));
  memcpy(path + strlen(base), tail, strlen(tail) + 1);
  return path;
}
