/* Reading whole files. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fills up to size bytes; fewer only where the file ended. Returns 0 or an errno value. */
static int read_all(int file, unsigned char *bytes, size_t size, size_t *done) {
  *done = 0;
  while (*done < size) {
    ssize_t count = read(file, bytes + *done, size - *done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    *done += (size_t)count;
  }
  return 0;
}

int ctn_file_read(const char *path, size_t limit, bool own, unsigned char **bytes, size_t *size) {
  int code = 0;
  unsigned char *data = NULL;
  struct stat info;
  size_t expected = 0;
  *bytes = NULL;
  *size = 0;
  /* O_NONBLOCK: a named pipe must not hang us. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  if (fstat(file, &info) != 0) {
    code = errno;
    goto cleanup;
  }
  if (!S_ISREG(info.st_mode)) {
    code = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    goto cleanup;
  }
  if (own && info.st_uid != geteuid()) {
    code = EACCES;
    goto cleanup;
  }
  if (info.st_size < 0 || (unsigned long long)info.st_size > limit) {
    code = EFBIG;
    goto cleanup;
  }
  expected = (size_t)info.st_size;
  data = malloc(expected + 1);
  if (data == NULL) {
    code = ENOMEM;
    goto cleanup;
  }
  code = read_all(file, data, expected, size);
  if (code != 0) goto cleanup;
  data[*size] = 0;
  *bytes = data;
  data = NULL;
cleanup:
  free(data);
  close(file);
  return code;
}
