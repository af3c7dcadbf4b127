/* The context behind clattn_context: a device at work, or none, and the host's threads; counted by its plans. */
#ifndef CTN_CONTEXT_H
#define CTN_CONTEXT_H

#include <stdatomic.h>

#include "pool.h"
#include "runtime.h"

struct selftests;

struct clattn_context {
  atomic_int references;
  struct runtime *runtime; /* NULL: the host alone */
  struct pool *pool;
  struct selftests *selftests;
  bool no_selftest;
};

void ctn_context_retain(clattn_context *context);
void ctn_context_release(clattn_context *context);

#endif
