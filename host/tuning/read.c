/*
 * Reading a table. Its first line that is neither empty nor a comment is "clattn tuning 1"; every other one is
 *
 *   device="NAME" driver="VERSION" family=NAME dtype=f32 head_dim=64 : NAME=value NAME=value   # comment
 *
 * where driver, dtype and head_dim may be missing, and quotes where a word has no spaces, ':' or '#'.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "tuning.h"

enum { WORD = 256 };

struct reader {
  struct tuning *tuning;
  const char *source, *device, *driver;
  bool shipped, failed;
  tuning_report report;
  void *user;
};

/* One line on its way. */
struct line {
  const char *at, *end;
  int number;
};

static bool complain(const struct reader *r, const struct line *line, const char *what, const char *name) {
  struct text text = {0};
  ctn_text_printf(&text, "%s%s", what, name);
  if (r->report != NULL && !text.failed) r->report(r->user, r->source, line->number, text.data);
  ctn_text_free(&text);
  return false;
}

static void skip_spaces(struct line *line) {
  while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r'))
    line->at++;
}

static bool ended(struct line *line) {
  skip_spaces(line);
  return line->at == line->end || *line->at == '#';
}

/* NAME=value or NAME="value with spaces". */
static bool read_pair(struct line *line, char name[WORD], char value[WORD]) {
  size_t length = 0;
  skip_spaces(line);
  while (line->at < line->end && *line->at != '=' && *line->at != ' ' && *line->at != ':' && length < WORD - 1)
    name[length++] = *line->at++;
  name[length] = '\0';
  if (length == 0 || line->at == line->end || *line->at != '=') return false;
  line->at++;
  const bool quoted = line->at < line->end && *line->at == '"';
  if (quoted) line->at++;
  for (length = 0; line->at < line->end && length < WORD - 1; value[length++] = *line->at++) {
    if (quoted ? *line->at == '"' : strchr(" \t\r:#", *line->at) != NULL) break;
  }
  value[length] = '\0';
  if (!quoted) return length > 0;
  if (line->at == line->end || *line->at != '"') return false;
  line->at++;
  return true;
}

static bool read_number(const char *text, long least, long most, long *value) {
  char *end = NULL;
  errno = 0;
  *value = strtol(text, &end, 10);
  return end != text && *end == '\0' && errno == 0 && *value >= least && *value <= most;
}

static void clear(struct tuning_entry *entry) {
  free(entry->device);
  free(entry->driver);
  free(entry->source);
}

static char *copy(struct reader *r, const char *text) {
  char *made = strdup(text);
  if (made == NULL) r->failed = true;
  return made;
}

/* What stands before the ':'. */
static bool read_selectors(struct reader *r, struct line *line, struct tuning_entry *entry) {
  char name[WORD], value[WORD];
  while (!ended(line) && *line->at != ':') {
    long number = 0;
    if (!read_pair(line, name, value)) return complain(r, line, "not NAME=value", "");
    if (strcmp(name, "device") == 0 && entry->device == NULL) {
      entry->device = copy(r, value);
    } else if (strcmp(name, "driver") == 0 && entry->driver == NULL) {
      entry->driver = copy(r, value);
    } else if (strcmp(name, "family") == 0) {
      entry->family = ctn_tuning_family(value);
      if (entry->family == NULL) return complain(r, line, "no family has the name ", value);
    } else if (strcmp(name, "dtype") == 0) {
      for (int dtype = CLATTN_F32; dtype <= CLATTN_BF16; dtype++) {
        if (strcmp(value, ctn_dtype_name((clattn_dtype)dtype)) == 0) entry->dtype = (clattn_dtype)dtype;
      }
      if (entry->dtype == CLATTN_NONE) return complain(r, line, "dtype is none of f32, f16, bf16: ", value);
    } else if (strcmp(name, "head_dim") == 0) {
      if (!read_number(value, 1, INT32_MAX, &number)) return complain(r, line, "head_dim is no number: ", value);
      entry->head_dim = number;
    } else {
      /* The line is for less than it seems: not ours to use. */
      return complain(r, line, "the line is left out, because nothing is known of ", name);
    }
  }
  if (r->failed) return false;
  if (entry->device == NULL || entry->family == NULL) return complain(r, line, "device and family have to be named", "");
  if (line->at == line->end || *line->at != ':') return complain(r, line, "no ':' before the values", "");
  line->at++;
  return true;
}

static bool read_values(struct reader *r, struct line *line, struct tuning_entry *entry) {
  char name[WORD], value[WORD];
  while (!ended(line)) {
    const char *const *known = entry->family->parameters;
    if (!read_pair(line, name, value)) return complain(r, line, "not NAME=value", "");
    while (*known != NULL && strcmp(*known, name) != 0)
      known++;
    if (*known == NULL) {
      complain(r, line, "the value is ignored, because the family has no parameter ", name);
      continue;
    }
    long number = 0;
    if (!read_number(value, 0, 1 << 20, &number)) return complain(r, line, "no number from 0 to 1048576: ", value);
    for (int i = 0; i < entry->count; i++) {
      if (entry->values[i].name == *known) return complain(r, line, "named twice: ", name);
    }
    entry->values[entry->count++] = (struct tuning_value){*known, number};
  }
  return true;
}

static bool same_device(const char *pattern, const char *name) {
  const size_t length = strlen(pattern);
  if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, name, length - 1) == 0;
  return strcmp(pattern, name) == 0;
}

/* Whether the entry is for the reader's device. */
static bool wanted(const struct reader *r, const struct line *line, const struct tuning_entry *entry) {
  if (r->device == NULL) return true;
  if (!same_device(entry->device, r->device)) return false;
  if (entry->driver == NULL || strcmp(entry->driver, r->driver) == 0) return true;
  return r->shipped ? false : complain(r, line, "the line is left out, because it was tuned with driver ", entry->driver);
}

static bool append(struct tuning *tuning, const struct tuning_entry *entry) {
  if (tuning->count == tuning->room) {
    const size_t room = tuning->room > 0 ? 2 * tuning->room : 8;
    struct tuning_entry *entries = realloc(tuning->entries, room * sizeof *entries);
    if (entries == NULL) return false;
    tuning->entries = entries;
    tuning->room = room;
  }
  tuning->entries[tuning->count++] = *entry;
  return true;
}

static void read_line(struct reader *r, struct line *line) {
  struct tuning_entry entry;
  memset(&entry, 0, sizeof entry);
  atomic_init(&entry.refused, false);
  entry.line = line->number;
  entry.shipped = r->shipped;
  entry.source = copy(r, r->source);
  if (read_selectors(r, line, &entry) && read_values(r, line, &entry) && wanted(r, line, &entry)) {
    if (append(r->tuning, &entry)) return;
    r->failed = true;
  }
  clear(&entry);
}

bool ctn_tuning_read(struct tuning *tuning, const char *text, size_t length, const char *source, bool shipped,
                     const char *device, const char *driver, tuning_report report, void *user) {
  static const char title[] = "clattn tuning 1";
  struct reader r = {tuning, source, device, driver, shipped, false, report, user};
  const char *const end = text + length;
  bool titled = false;
  int number = 0;
  if (memchr(text, '\0', length) != NULL) {
    const struct line whole = {text, text, 0};
    complain(&r, &whole, "is no tuning table: it holds zero bytes", "");
    return true;
  }
  while (text < end && !r.failed) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    struct line line = {text, stop != NULL ? stop : end, ++number};
    text = stop != NULL ? stop + 1 : end;
    if (ended(&line)) continue;
    if (titled) {
      read_line(&r, &line);
      continue;
    }
    const size_t size = sizeof title - 1;
    titled = (size_t)(line.end - line.at) >= size && memcmp(line.at, title, size) == 0;
    line.at += titled ? size : 0;
    if (!titled || !ended(&line)) {
      line.number = 0;
      complain(&r, &line, "is no tuning table of this version: it does not begin with the line ", title);
      return true;
    }
  }
  return !r.failed;
}

void ctn_tuning_free(struct tuning *tuning) {
  for (size_t i = 0; i < tuning->count; i++)
    clear(&tuning->entries[i]);
  free(tuning->entries);
  memset(tuning, 0, sizeof *tuning);
}
