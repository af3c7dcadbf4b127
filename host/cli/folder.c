/* A folder of files that appear all together or not at all: see folder.h. */
#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "status.h"

static char *join(const char *folder, const char *name, const char *ending) {
  const size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s%s", folder, name, ending);
  return path;
}

static clattn_status no_memory(const char *path, clattn_error *error) {
  return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its name", path);
}

clattn_status ctn_folder_open(struct folder *folder, const char *path, clattn_error *error) {
  struct stat about;
  if (!*path) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "--out: an empty name is no folder; name one");
  folder->path = join(path, "", "");
  if (!folder->path) return no_memory(path, error);
  folder->path[strlen(path)] = '\0'; /* without the slash */
  if (mkdir(path, 0777) == 0) {
    folder->made = true;
  } else if (errno != EEXIST) {
    return ctn_fail(error, CLATTN_IO_FAILED, "%s: the folder cannot be made: %s", path, strerror(errno));
  } else if (stat(path, &about) != 0) {
    return ctn_fail(error, CLATTN_IO_FAILED, "%s: %s", path, strerror(errno));
  } else if (!S_ISDIR(about.st_mode)) {
    return ctn_fail(error, CLATTN_IO_FAILED, "%s: is a file, not a folder; name a folder, or a new one", path);
  }
  /* Asking by doing: permissions do not tell everything (a read-only mount, the user root). */
  char *probe = join(path, ".clattn-XXXXXX", "");
  if (!probe) return no_memory(path, error);
  const int file = mkstemp(probe);
  const int cause = errno;
  if (file >= 0) {
    close(file);
    unlink(probe);
  }
  free(probe);
  if (file >= 0) return CLATTN_OK;
  return ctn_fail(error, CLATTN_IO_FAILED, "%s: no file can be made in this folder: %s", path, strerror(cause));
}

/* mkstemp makes files for their owner alone; a result is for whom other new files are for. */
static int open_mode(int file) {
  const mode_t mask = umask(0);
  umask(mask);
  return fchmod(file, 0666 & ~mask);
}

static int write_all(int file, const char *bytes, size_t length) {
  while (length > 0) {
    const ssize_t done = write(file, bytes, length);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    bytes += done;
    length -= (size_t)done;
  }
  return 0;
}

clattn_status ctn_folder_add(struct folder *folder, const char *name, const void *bytes, size_t length, clattn_error *error) {
  if (folder->count == FOLDER_MAX_FILES) {
    return ctn_fail(error, CLATTN_INTERNAL, "%s/%s: more than %d files", folder->path, name, (int)FOLDER_MAX_FILES);
  }
  char *path = join(folder->path, name, ""), *temporary = join(folder->path, name, ".XXXXXX");
  const int file = path && temporary ? mkstemp(temporary) : -1;
  int cause = errno;
  if (file < 0) {
    const bool memory = !path || !temporary;
    const clattn_status status =
        memory ? no_memory(name, error) : ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", path, strerror(cause));
    free(path);
    free(temporary);
    return status;
  }
  folder->files[folder->count].path = path;
  folder->files[folder->count++].temporary = temporary;
  int failed = write_all(file, bytes, length);
  if (!failed) failed = open_mode(file);
  cause = errno;
  if (close(file) != 0 && !failed) {
    failed = -1;
    cause = errno;
  }
  if (!failed) return CLATTN_OK;
  return ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", path, strerror(cause));
}

clattn_status ctn_folder_publish(struct folder *folder, clattn_error *error) {
  struct stat about;
  for (int i = folder->published; i < folder->count; i++) {
    if (lstat(folder->files[i].path, &about) == 0 && S_ISDIR(about.st_mode)) {
      return ctn_fail(error, CLATTN_IO_FAILED, "%s: is a folder, where a file has to go; move it away", folder->files[i].path);
    }
  }
  for (; folder->published < folder->count; folder->published++) {
    const char *path = folder->files[folder->published].path;
    if (rename(folder->files[folder->published].temporary, path) != 0) {
      return ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be replaced: %s", path, strerror(errno));
    }
  }
  return CLATTN_OK;
}

void ctn_folder_close(struct folder *folder) {
  for (int i = 0; i < folder->count; i++) {
    if (i >= folder->published) unlink(folder->files[i].temporary);
    free(folder->files[i].path);
    free(folder->files[i].temporary);
  }
  if (folder->made && folder->published == 0) rmdir(folder->path);
  free(folder->path);
  memset(folder, 0, sizeof *folder);
}
