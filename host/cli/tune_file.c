/* Writing winners into the user's tuning table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"
#include "status.h"
#include "tune.h"

/* The whole file, terminated; NULL with *missing where there is none, NULL without where it cannot be read. */
static char *read_file(const char *path, bool *missing) {
  FILE *file = fopen(path, "rb");
  struct text text = {0};
  char piece[4096];
  size_t count = 0;
  *missing = !file && errno == ENOENT;
  if (!file) return NULL;
  ctn_text_append(&text, "", 0);
  while ((count = fread(piece, 1, sizeof piece, file)) > 0)
    ctn_text_append(&text, piece, count);
  const bool failed = ferror(file) != 0 || text.failed;
  fclose(file);
  if (failed) ctn_text_free(&text);
  return text.data;
}

/* mkdir -p for a file's folder. */
static void make_folders(char *path) {
  for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = '\0';
    mkdir(path, 0777);
    *at = '/';
  }
}

static clattn_status write_file(const char *path, const struct text *text, clattn_error *error) {
  struct folder folder;
  memset(&folder, 0, sizeof folder);
  char *name = strdup(path);
  if (!name) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its name", path);
  char *slash = strrchr(name, '/');
  if (slash) make_folders(name);
  if (slash) *slash = '\0';
  clattn_status status = ctn_folder_open(&folder, !slash ? "." : *name ? name : "/", error);
  if (status == CLATTN_OK) status = ctn_folder_add(&folder, slash ? slash + 1 : name, text->data, text->length, error);
  if (status == CLATTN_OK) status = ctn_folder_publish(&folder, error);
  ctn_folder_close(&folder);
  free(name);
  return status;
}

/* What is wrong with the file as a whole. */
static void note(void *user, const char *source, int line, const char *text) {
  (void)source;
  (void)text;
  if (line == 0) *(bool *)user = true;
}

clattn_status ctn_tune_save(const char *path, const struct tune *tune, const struct tune_result *result, clattn_error *error) {
  struct text out = {0};
  struct tuning ignored = {0};
  bool missing = false, foreign = false;
  char *old = read_file(path, &missing);
  if (!old && !missing) return ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be read", path);
  if (old) ctn_tuning_read(&ignored, old, strlen(old), path, false, NULL, NULL, note, &foreign);
  ctn_tuning_free(&ignored);
  if (foreign) {
    free(old);
    return ctn_fail(error, CLATTN_IO_FAILED, "%s: is no tuning table of this version; it is left alone", path);
  }
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < result->best.count; i++) {
    struct tuning_entry entry = result->best.sets[i];
    char comment[120];
    if (entry.count == 0) continue;
    entry.device = (char *)(uintptr_t)tune->device;
    entry.driver = (char *)(uintptr_t)tune->driver;
    /* CLBlast multiplies float32 whatever the tensors hold. */
    entry.dtype = result->problem->product == CLATTN_PRODUCT_CLBLAST ? CLATTN_NONE : tune->dtype;
    entry.head_dim = result->problem->head_dim;
    snprintf(comment, sizeof comment, "%.2f times as fast as built in: %s", result->before / result->after,
             result->problem->title);
    struct text next = {0};
    ctn_tuning_update(&next, out.data ? out.data : old, &entry, comment);
    ctn_text_free(&out);
    out = next;
  }
  if (out.failed) status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory to write it", path);
  if (status == CLATTN_OK && out.data) status = write_file(path, &out, error);
  ctn_text_free(&out);
  free(old);
  return status;
}
