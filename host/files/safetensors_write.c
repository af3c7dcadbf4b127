/* Writing .safetensors files by way of a temporary file beside the target and a rename. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "status.h"

/* A name beside the target and the file open under it. */
struct temporary {
  char *target; /* path with its symbolic links followed, so that a link stays one */
  char *name;
  int fd;
};

static clattn_status open_temporary(struct temporary *temporary, const char *path, clattn_error *error) {
  *temporary = (struct temporary){NULL, NULL, -1};
  struct stat about;
  /* Renaming onto a device or pipe would replace it. */
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
    return ctn_fail(error, CLATTN_IO_FAILED, "%s: is a %s, not a place for a file", path,
                    S_ISDIR(about.st_mode) ? "folder" : "pipe, socket or device");
  }
  temporary->target = realpath(path, NULL);
  size_t room = strlen(temporary->target ? temporary->target : path) + 48;
  if (!temporary->target) {
    temporary->target = malloc(room);
    if (temporary->target) memcpy(temporary->target, path, strlen(path) + 1);
  }
  temporary->name = malloc(room);
  if (!temporary->target || !temporary->name) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its name", path);
  /* Not mkstemp: the file takes the permissions that the user's mask gives any new file. */
  for (int attempt = 0; attempt < 100 && temporary->fd < 0; attempt++) {
    snprintf(temporary->name, room, "%s.tmp%ld.%d", temporary->target, (long)getpid(), attempt);
    temporary->fd = open(temporary->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (temporary->fd < 0 && errno != EEXIST) break;
  }
  if (temporary->fd < 0) return ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", path, strerror(errno));
  return CLATTN_OK;
}

/* Keeps the file under its own name where keep is true, leaves nothing otherwise. */
static clattn_status close_temporary(struct temporary *temporary, const char *path, bool keep, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  if (temporary->fd >= 0) {
    int failed = close(temporary->fd);
    if (keep && !failed) failed = rename(temporary->name, temporary->target);
    if (keep && failed) status = ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    if (!keep || failed) unlink(temporary->name);
  }
  free(temporary->name);
  free(temporary->target);
  return status;
}

clattn_status ctn_st_check_writable(const char *path, clattn_error *error) {
  struct temporary temporary;
  clattn_status status = open_temporary(&temporary, path, error);
  close_temporary(&temporary, path, false, NULL);
  return status;
}

static clattn_status write_bytes(int fd, const char *path, const void *bytes, size_t length, clattn_error *error) {
  const unsigned char *at = bytes;
  while (length) {
    ssize_t done = write(fd, at, length);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    at += done;
    length -= (size_t)done;
  }
  return CLATTN_OK;
}

/* Wide elements first, so that every tensor starts at a multiple of its element's size: order[] gets the tensors' places. */
static void order_by_size(const struct st_file *file, size_t *order) {
  size_t place = 0;
  for (size_t size = 8; size; size /= 2) {
    for (size_t i = 0; i < file->count; i++) {
      if (ctn_st_size(file->tensors[i].dtype) == size) order[place++] = i;
    }
  }
}

static bool set_metadata(json_t *header, const struct st_file *file) {
  if (!file->metadata_count) return true;
  json_t *metadata = json_object();
  for (size_t i = 0; i < file->metadata_count; i++) {
    if (json_object_set_new(metadata, file->keys[i], json_string(file->values[i]))) {
      json_decref(metadata);
      return false;
    }
  }
  return json_object_set_new(header, "__metadata__", metadata) == 0;
}

/* The header's text, padded with spaces to a multiple of 8 bytes; NULL where memory ran out or a name is no UTF-8. */
static char *make_header(const struct st_file *file, const size_t *order) {
  json_t *header = json_object();
  char *text = NULL;
  if (!set_metadata(header, file)) goto cleanup;
  json_int_t offset = 0;
  for (size_t i = 0; i < file->count; i++) {
    const struct st_tensor *tensor = &file->tensors[order[i]];
    json_t *shape = json_array();
    for (int d = 0; d < tensor->rank; d++)
      json_array_append_new(shape, json_integer(tensor->shape[d]));
    json_int_t end = offset + tensor->count * (json_int_t)ctn_st_size(tensor->dtype);
    json_t *entry =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", ctn_st_name(tensor->dtype), "shape", shape, "data_offsets", offset, end);
    if (json_object_set_new(header, tensor->name, entry)) goto cleanup;
    offset = end;
  }
  char *compact = json_dumps(header, JSON_COMPACT);
  if (!compact) goto cleanup;
  size_t length = strlen(compact), padded = (length + 7) / 8 * 8;
  text = realloc(compact, padded + 1);
  if (!text) {
    free(compact);
    goto cleanup;
  }
  memset(text + length, ' ', padded - length);
  text[padded] = '\0';

cleanup:
  json_decref(header);
  return text;
}

static clattn_status write_file(const struct st_file *file, int fd, const char *path, clattn_error *error) {
  size_t *order = calloc(file->count + 1, sizeof *order);
  if (!order) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu tensors", path, file->count);
  order_by_size(file, order);
  char *header = make_header(file, order);
  clattn_status status = CLATTN_OK;
  if (!header) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its header", path);
    goto cleanup;
  }
  unsigned char prefix[8];
  uint64_t length = strlen(header);
  for (int i = 0; i < 8; i++)
    prefix[i] = (unsigned char)(length >> (8 * i));
  status = write_bytes(fd, path, prefix, sizeof prefix, error);
  if (status == CLATTN_OK) status = write_bytes(fd, path, header, (size_t)length, error);
  for (size_t i = 0; i < file->count && status == CLATTN_OK; i++) {
    const struct st_tensor *tensor = &file->tensors[order[i]];
    status = write_bytes(fd, path, tensor->data, (size_t)tensor->count * ctn_st_size(tensor->dtype), error);
  }

cleanup:
  free(header);
  free(order);
  return status;
}

clattn_status ctn_st_write(const struct st_file *file, const char *path, clattn_error *error) {
  struct temporary temporary;
  clattn_status status = open_temporary(&temporary, path, error);
  if (status == CLATTN_OK) status = write_file(file, temporary.fd, path, error);
  clattn_status closed = close_temporary(&temporary, path, status == CLATTN_OK, error);
  if (status == CLATTN_OK) status = closed;
  if (status == CLATTN_OK) ctn_clear(error);
  return status;
}
