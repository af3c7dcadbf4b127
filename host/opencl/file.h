/* Reading whole files, for the kernel folder and the disk cache. */
#ifndef CTN_FILE_H
#define CTN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a regular file of at most limit bytes. *bytes is the caller's (free) and is followed by a zero byte. own: only a file
 * that belongs to this user. Returns 0 or an errno value (EFBIG past the limit, EACCES for another's, EISDIR/EINVAL for what is
 * no regular file). */
int ctn_file_read(const char *path, size_t limit, bool own, unsigned char **bytes, size_t *size);

#endif
