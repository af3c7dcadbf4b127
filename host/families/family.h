/* A family: one way to carry out one operation. The registry is a table of these; a new kernel is one row more. */
#ifndef CTN_FAMILY_H
#define CTN_FAMILY_H

#include "launch.h"
#include "pool.h"
#include "problem.h"
#include "text.h"

/* What is to be done, and with what. */
struct request {
  const struct problem *problem; /* outlives the family's state */
  clattn_plan_options options;
  struct runtime *runtime; /* NULL: the host alone */
  struct pool *pool;
  const struct problem
      *tuned_for; /* whose lines of the tuning table are used: the plan's, for a self-test's small problems too */
};

/* One execution on a device: where the tensors lie, and the queue's chain. */
struct call {
  struct slice tensor[TENSOR_COUNT]; /* those the problem does not name are empty */
  struct slice workspace;
  struct layout out; /* of T_OUT: the problem's own, or dense while the host scatters the rows */
  uint64_t dropout_seed, dropout_offset;
  struct chain *chain;
};

struct family {
  const char *name;
  const char *summary; /* what it is, in a few words */
  enum operation operation;
  clattn_path path;
  bool on_host;
  const char *tuning[8]; /* families of the tuning table that it takes sizes from; ended by NULL */
  /* Whether it cannot take the request, with the reason; from capabilities and shapes, never from a device's name. */
  bool (*refuse)(const struct request *request, struct text *reason);
  /* Relative time, to compare families that do not refuse. */
  double (*cost)(const struct request *request);
  /* Compiles and sizes; nothing is left behind on failure. */
  clattn_status (*prepare)(void **state, const struct request *request, clattn_error *error);
  size_t (*workspace)(const void *state);
  void (*describe)(const void *state, struct text *text);
  /* Device families. Enqueues everything on call->chain. */
  clattn_status (*enqueue)(void *state, const struct call *call, clattn_error *error);
  /* Host families. workspace is aligned to 64 bytes. */
  void (*run)(void *state, const clattn_arrays *arrays, void *workspace);
  void (*release)(void *state);
};

/* The rows, by file. */
extern const struct family ctn_family_fused_vector;
extern const struct family ctn_family_fused_tile;
extern const struct family ctn_family_fused_matrix;
extern const struct family ctn_family_staged;
extern const struct family ctn_family_embedding;
extern const struct family ctn_family_position;
extern const struct family ctn_family_projection;
extern const struct family ctn_family_merge;
enum { HOST_FAMILY_COUNT = 10 };
extern const struct family ctn_families_host[HOST_FAMILY_COUNT];

#endif
