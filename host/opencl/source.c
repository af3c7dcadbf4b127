/* Finding kernel files and splicing their includes. */
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "file.h"

/* Far above any real kernel; a folder given by mistake should not be read into memory. */
#define FILE_LIMIT ((size_t)16 << 20)
#define DEPTH_LIMIT 32

struct splice {
  struct text *source;
  struct text seen; /* "\nname\n" of every file spliced so far */
  const char *kernel_dir;
  clattn_error *error;
};

/* Where an include stands, for messages; name NULL for the kernel itself. */
struct place {
  const char *name;
  size_t line;
};

static clattn_status fail_at(const struct splice *splice, clattn_status status, const char *name, struct place from,
                             const char *why) {
  const char *folder = splice->kernel_dir != NULL ? splice->kernel_dir : "the embedded kernels";
  if (from.name == NULL) return ctn_fail(splice->error, status, "kernels/%s: %s (in %s)", name, why, folder);
  return ctn_fail(splice->error, status, "kernels/%s: %s (in %s, included at kernels/%s:%zu)", name, why, folder, from.name,
                  from.line);
}

/* Whether every component of the path is a plain name: neither empty, "." nor "..". One file then has one name, inside the
 * folder. */
static bool stays_inside(const char *name) {
  if (strpbrk(name, "\\:") != NULL) return false;
  while (true) {
    size_t length = strcspn(name, "/");
    if (length == 0 || (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.')) return false;
    if (name[length] == 0) return true;
    name += length + 1;
  }
}

/* The bytes of a file; *owned is what to free, NULL for an embedded one. */
static clattn_status load(const struct splice *splice, const char *name, struct place from, const char **bytes, size_t *size,
                          unsigned char **owned) {
  *owned = NULL;
  if (!stays_inside(name)) return fail_at(splice, CLATTN_IO_FAILED, name, from, "the name points outside the kernel folder");
  if (splice->kernel_dir == NULL) {
    for (const struct embedded_file *file = ctn_embedded_kernels; file->name != NULL; file++) {
      if (strcmp(file->name, name) != 0) continue;
      *bytes = (const char *)file->bytes;
      *size = file->size;
      return CLATTN_OK;
    }
    return fail_at(splice, CLATTN_IO_FAILED, name, from, "there is no such file");
  }
  struct text path = {0};
  ctn_text_printf(&path, "%s/%s", splice->kernel_dir, name);
  int code = path.failed ? ENOMEM : ctn_file_read(path.data, FILE_LIMIT, false, owned, size);
  ctn_text_free(&path);
  if (code == ENOMEM) return fail_at(splice, CLATTN_OUT_OF_MEMORY, name, from, "no memory to read it");
  if (code != 0) return fail_at(splice, CLATTN_IO_FAILED, name, from, strerror(code));
  *bytes = (const char *)*owned;
  return CLATTN_OK;
}

/* The length of the name in a line `#include "name"`, and where it starts; 0 for any other line. */
static size_t parse_include(const char *line, size_t length, const char **name) {
  const char *end = line + length;
  while (line < end && (*line == ' ' || *line == '\t'))
    line++;
  if (line == end || *line != '#') return 0;
  line++;
  while (line < end && (*line == ' ' || *line == '\t'))
    line++;
  if ((size_t)(end - line) < 7 || memcmp(line, "include", 7) != 0) return 0;
  line += 7;
  while (line < end && (*line == ' ' || *line == '\t'))
    line++;
  if (line == end || *line != '"') return 0;
  line++;
  const char *quote = memchr(line, '"', (size_t)(end - line));
  *name = line;
  return quote != NULL ? (size_t)(quote - line) : 0;
}

/* Adds name to the files seen; *fresh tells whether it was not there. */
static void mark_seen(struct splice *splice, const char *name, bool *fresh) {
  struct text mark = {0};
  ctn_text_printf(&mark, "\n%s\n", name);
  splice->seen.failed = splice->seen.failed || mark.failed;
  *fresh = mark.failed || splice->seen.data == NULL || strstr(splice->seen.data, mark.data) == NULL;
  if (*fresh && !mark.failed) ctn_text_append(&splice->seen, mark.data, mark.length);
  ctn_text_free(&mark);
}

/* A file `*.inc` is text for every place that includes it, under other macros; any other file is spliced once. */
static bool is_template(const char *name) {
  const size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".inc") == 0;
}

static clattn_status splice_file(struct splice *splice, const char *name, struct place from, int depth);

/* Splices what an include line names and restores the numbering of the file that it stands in. */
static clattn_status splice_include(struct splice *splice, const char *name, size_t length, struct place at, int depth) {
  bool fresh = false;
  struct text copy = {0};
  clattn_status status = CLATTN_OK;
  ctn_text_append(&copy, name, length);
  if (copy.failed) {
    ctn_text_free(&copy);
    return ctn_fail(splice->error, CLATTN_OUT_OF_MEMORY, "kernels/%s: no memory to splice it", at.name);
  }
  mark_seen(splice, copy.data, &fresh);
  if (fresh || is_template(copy.data)) {
    status = splice_file(splice, copy.data, at, depth + 1);
    ctn_text_printf(splice->source, "#line %zu \"kernels/%s\"\n", at.line + 1, at.name);
  } else {
    ctn_text_append(splice->source, "\n", 1);
  }
  ctn_text_free(&copy);
  return status;
}

static clattn_status splice_file(struct splice *splice, const char *name, struct place from, int depth) {
  const char *bytes = NULL, *include = NULL;
  size_t size = 0;
  unsigned char *owned = NULL;
  struct place at = {name, 1};
  if (depth > DEPTH_LIMIT) return fail_at(splice, CLATTN_IO_FAILED, name, from, "includes are nested too deeply");
  clattn_status status = load(splice, name, from, &bytes, &size, &owned);
  if (status != CLATTN_OK) return status;
  ctn_text_printf(splice->source, "#line 1 \"kernels/%s\"\n", name);
  for (const char *end = bytes + size; bytes < end && status == CLATTN_OK; at.line++) {
    const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
    size_t length = stop != NULL ? (size_t)(stop - bytes) : (size_t)(end - bytes);
    size_t name_length = parse_include(bytes, length, &include);
    if (name_length > 0) {
      status = splice_include(splice, include, name_length, at, depth);
    } else {
      ctn_text_append(splice->source, bytes, length);
      ctn_text_append(splice->source, "\n", 1);
    }
    bytes += length + (stop != NULL);
  }
  free(owned);
  return status;
}

clattn_status ctn_source_splice(struct text *source, const char *kernel_dir, const char *file, clattn_error *error) {
  struct splice splice = {source, {0}, kernel_dir, error};
  const struct place nowhere = {NULL, 0};
  bool fresh = false;
  mark_seen(&splice, file, &fresh);
  clattn_status status = splice_file(&splice, file, nowhere, 0);
  if (status == CLATTN_OK && (source->failed || splice.seen.failed)) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "kernels/%s: no memory to splice it", file);
  }
  ctn_text_free(&splice.seen);
  return status;
}
