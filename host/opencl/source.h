/* The text of a kernel with its includes spliced in. */
#ifndef CTN_SOURCE_H
#define CTN_SOURCE_H

#include "text.h"

/*
 * Appends kernels/`file` to source, from the folder kernel_dir or, where that is NULL, from the embedded table. A line
 * `#include "common/x.clh"` (the path counts from the kernels folder) is replaced by that file, once each; includes are
 * therefore placed outside of #if. #line directives keep compiler messages right. IO_FAILED names a file that is missing or
 * lies outside the folder.
 */
clattn_status ctn_source_splice(struct text *source, const char *kernel_dir, const char *file, clattn_error *error);

#endif
