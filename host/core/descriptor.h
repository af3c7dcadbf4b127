/* Reading the public structs: versions of them through struct_size, and the checks their fields have in common. */
#ifndef CTN_DESCRIPTOR_H
#define CTN_DESCRIPTOR_H

#include "problem.h"

/*
 * Copies a descriptor of the caller's over *full, which holds this version's defaults: a caller compiled against an older
 * header has a smaller struct, whose missing fields keep the defaults. name is the struct's, for messages.
 */
clattn_status ctn_descriptor_read(void *full, size_t full_size, const void *in, const char *name, clattn_error *error);

/* value is 1 to 2^31 - 1, or an error that names it: row and column indices inside kernels are 32-bit. */
clattn_status ctn_check_size(int64_t value, const char *name, clattn_error *error);
clattn_status ctn_check_storage(clattn_dtype dtype, clattn_error *error);

/* The sizes of one strided tensor. */
struct extent {
  enum tensor tensor;
  int64_t batch, heads, rows, columns;
};

/* Resolves a layout: all zero becomes `dense`, negative strides are errors, and so is a result that overlaps itself. Fills in
 * the tensor's row of problem->tensor. */
clattn_status ctn_layout_resolve(struct problem *problem, struct layout *out, const clattn_layout *in, struct layout dense,
                                 const struct extent *extent, clattn_error *error);

/* Fills in the row of a dense tensor of the given sizes. */
clattn_status ctn_tensor_dense(struct problem *problem, enum tensor tensor, size_t element, const int64_t *shape, size_t rank,
                               clattn_error *error);

#endif
