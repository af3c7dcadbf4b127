/* Looking for case files in folders: see find_cases.h. */
#include "find_cases.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "status.h"

static const char suffix[] = ".safetensors";
enum { SUFFIX = sizeof suffix - 1, DEPTH_LIMIT = 64 };

static size_t stem_length(const char *path) {
  size_t length = strlen(path);
  return length > SUFFIX && strcmp(path + length - SUFFIX, suffix) == 0 ? length - SUFFIX : length;
}

/* first + "/" + second, or a copy of the first bytes of first where second is NULL. */
static char *make_path(const char *first, size_t bytes, const char *second) {
  size_t room = bytes + (second ? strlen(second) + 1 : 0) + 1;
  char *path = malloc(room);
  if (path) snprintf(path, room, "%.*s%s%s", (int)bytes, first, second ? "/" : "", second ? second : "");
  return path;
}

static clattn_status add(struct found_cases *found, const char *path, size_t skip, const char *reason, clattn_error *error) {
  struct found_case item = {0};
  item.path = make_path(path, strlen(path), NULL);
  const char *from = path + (skip < strlen(path) ? skip : 0); /* the searched folder itself keeps its name */
  item.name = make_path(from, stem_length(from), NULL);
  item.reason = reason ? make_path(reason, strlen(reason), NULL) : NULL;
  struct found_case *items = realloc(found->items, (found->count + 1) * sizeof *items);
  if (items) found->items = items;
  if (!items || !item.path || !item.name || (reason && !item.reason)) {
    free(item.path);
    free(item.name);
    free(item.reason);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its name", path);
  }
  found->items[found->count++] = item;
  return CLATTN_OK;
}

static clattn_status search(struct found_cases *found, const char *folder, size_t skip, int depth, clattn_error *error) {
  if (depth > DEPTH_LIMIT) return add(found, folder, skip, "folders too deep in one another", error);
  DIR *stream = opendir(folder);
  if (!stream) return add(found, folder, skip, strerror(errno), error);
  clattn_status status = CLATTN_OK;
  const struct dirent *entry;
  while (status == CLATTN_OK && (entry = readdir(stream))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char *path = make_path(folder, strlen(folder), entry->d_name);
    struct stat about;
    if (!path) {
      status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its files' names", folder);
    } else if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
      /* Links to folders are not followed: they may lead in circles. */
      status = search(found, path, skip, depth + 1, error);
    } else if (path[stem_length(path)]) {
      status = add(found, path, skip, NULL, error);
    }
    free(path);
  }
  closedir(stream);
  return status;
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct found_case *)a)->path, ((const struct found_case *)b)->path);
}

clattn_status ctn_find_cases(struct found_cases *found, const char *const *paths, clattn_error *error) {
  memset(found, 0, sizeof *found);
  clattn_status status = CLATTN_OK;
  for (; *paths && status == CLATTN_OK; paths++) {
    size_t first = found->count;
    struct stat about;
    if (stat(*paths, &about) == 0 && S_ISDIR(about.st_mode)) {
      size_t length = strlen(*paths);
      while (length > 1 && (*paths)[length - 1] == '/')
        length--;
      char *folder = make_path(*paths, length, NULL);
      status = folder ? search(found, folder, length + 1, 0, error)
                      : ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its name", *paths);
      free(folder);
      if (found->count > first) qsort(found->items + first, found->count - first, sizeof *found->items, by_path);
    } else {
      status = add(found, *paths, 0, NULL, error);
    }
  }
  if (status) ctn_found_cases_clear(found);
  return status;
}

void ctn_found_cases_clear(struct found_cases *found) {
  for (size_t i = 0; i < found->count; i++) {
    free(found->items[i].path);
    free(found->items[i].name);
    free(found->items[i].reason);
  }
  free(found->items);
  memset(found, 0, sizeof *found);
}
