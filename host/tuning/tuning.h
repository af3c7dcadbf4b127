/* Tuning tables: which sizes a kernel family takes on a device, as lines of a readable text file. docs/tuning.md is its manual.
 */
#ifndef CTN_TUNING_H
#define CTN_TUNING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <clattn/clattn.h>

#include "text.h"

enum { TUNING_VALUES = 24 };

struct tuning_value {
  const char *name; /* of the family's parameters: not owned */
  long value;
};

/* One line. Strings are owned. */
struct tuning_entry {
  char *device; /* a device's name; its beginning where it ends in '*' */
  char *driver; /* its driver's version; NULL: any */
  const struct tuning_family *family;
  clattn_dtype dtype; /* CLATTN_NONE: any */
  int64_t head_dim;   /* the largest head dimension that the line is for; 0: any */
  struct tuning_value values[TUNING_VALUES];
  int count;
  char *source; /* the file's name */
  int line;
  bool shipped;        /* from the table inside the library */
  atomic_bool refused; /* does not fit the device, or failed its self-test: not found any more */
};

struct tuning {
  struct tuning_entry *entries;
  size_t count, room;
};

/* What can be tuned: the parameters of a family, by name. */
struct tuning_family {
  const char *name;
  const char *parameters[TUNING_VALUES]; /* ended by NULL */
};
extern const struct tuning_family ctn_tuning_families[]; /* ended by a NULL name */
/* NULL where there is none. */
const struct tuning_family *ctn_tuning_family(const char *name);

/* What is wrong with a file; line 0: with all of it. */
typedef void (*tuning_report)(void *user, const char *source, int line, const char *text);

/*
 * Adds a file's lines for this device and driver; other devices' lines are passed over, and those of another driver of the
 * same device are reported. A line that cannot be understood is reported and left out, an unknown parameter likewise; a file
 * that is none of ours (or of a later version) gives one report and no lines. device NULL: all lines. False where memory ran
 * out.
 */
bool ctn_tuning_read(struct tuning *tuning, const char *text, size_t length, const char *source, bool shipped,
                     const char *device, const char *driver, tuning_report report, void *user);
void ctn_tuning_free(struct tuning *tuning);

/* The entry for a problem, or NULL: the user's before a shipped one; then the one for the smallest head dimension that is large
 * enough, the one that names the type, the one that names the device in full, the last. head_dim 0: the family has none. */
struct tuning_entry *ctn_tuning_find(const struct tuning *tuning, const char *family, clattn_dtype dtype, int64_t head_dim);
/* The entry's value, or `standard` where it has none (or entry is NULL). */
long ctn_tuning_value(const struct tuning_entry *entry, const char *name, long standard);

/* Appends "NAME=value NAME=value". */
void ctn_tuning_print_values(const struct tuning_entry *entry, struct text *text);
/* Appends the text of a file that is like old (NULL: there is none) with the entry's line in place of the one for the same
 * device, driver, family, type and head dimension, or added to its end. All other lines stay as they are. */
void ctn_tuning_update(struct text *out, const char *old, const struct tuning_entry *entry, const char *comment);

/* The table inside the library. */
const char *ctn_tuning_shipped(size_t *length);

/* $XDG_CONFIG_HOME/clattn/tuning or $HOME/.config/clattn/tuning, to be freed; NULL where the environment names neither or
 * memory ran out. */
char *ctn_tuning_default_path(void);

#endif
