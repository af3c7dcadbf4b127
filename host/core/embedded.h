/* The shape of what embed.cmake writes: files inside the library, the last row all zero. */
#ifndef CTN_EMBEDDED_H
#define CTN_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
  const char *name;           /* path inside the folder */
  const unsigned char *bytes; /* followed by a zero byte */
  size_t size;
};

/* kernels/, embedded by the opencl room; host/tuning/known.tuning, by the tuning room; host/cli/examples/, by the tool. */
extern const struct embedded_file ctn_embedded_kernels[];
extern const struct embedded_file ctn_embedded_tuning[];
extern const struct embedded_file ctn_embedded_examples[];

#endif
