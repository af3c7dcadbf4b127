/* From a kernel's name and its specialisation to a compiled program: source, splicing, memory cache, disk cache, compiler. */
#ifndef CTN_PROGRAM_H
#define CTN_PROGRAM_H

#include "runtime.h"
#include "sha256.h"
#include "text.h"

struct program_store;

/* The store in a runtime; ctn_program_store_destroy accepts NULL. */
clattn_status ctn_program_store_create(struct program_store **store, clattn_error *error);
void ctn_program_store_destroy(struct program_store *store);

/* The macros a kernel is specialised with, added in one fixed order by its family. Start from {0}. */
struct specialisation {
  struct text options; /* " -DNAME=value -D..." */
};

void ctn_define(struct specialisation *spec, const char *name, long value);
void ctn_specialisation_free(struct specialisation *spec);

/*
 * The kernel `kernel` of kernels/`file` (for example "softmax.cl"), compiled with spec. The program is built once a runtime and
 * specialisation, loaded from the disk cache where a sound entry is there, and kept by the runtime; the kernel object is new
 * and the caller's (clReleaseKernel), so its arguments belong to one plan. Thread safe; the log callback is called with the
 * store locked, so it must not create kernels of the same runtime.
 */
clattn_status ctn_kernel_create(cl_kernel *kernel, struct runtime *runtime, const char *file, const char *name,
                                const struct specialisation *spec, clattn_error *error);

/* Programs compiled from source and loaded from disk since the runtime was opened. */
void ctn_program_counts(struct runtime *runtime, uint64_t *compiled, uint64_t *loaded);

/* From now on, and until called with NULL, this thread's ctn_kernel_create adds the key of each program (see disk_cache.h) to
 * keys: what a family was made from. Returns what was set before. */
struct sha256 *ctn_program_trace(struct sha256 *keys);

#endif
