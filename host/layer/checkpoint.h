/* A layer's weights inside a .safetensors file: found by name, measured by shape. */
#ifndef CTN_CHECKPOINT_H
#define CTN_CHECKPOINT_H

#include "layer.h"
#include "safetensors.h"

/* The rows of the tables about a checkpoint's tensors. */
enum { W_Q, W_K, W_V, W_IN, W_OUT, W_COUNT };

struct checkpoint {
  const char *path;
  const char *prefix; /* NULL: none */
  struct st_file file;
  bool transposed;                         /* weights are stored as [in, out] */
  const struct st_tensor *weight[W_COUNT]; /* W_Q, W_K and W_V, or W_IN; and W_OUT */
  const struct st_tensor *bias[W_COUNT];   /* any of W_Q, W_K and W_V, or W_IN; W_OUT */
};

/* Finds the tensors in the file by the table of accepted names. */
clattn_status ctn_checkpoint_find(struct checkpoint *checkpoint, clattn_error *error);

/* Fills in the problem's sizes and dtype that are 0, and holds every tensor to the shape that follows. */
clattn_status ctn_checkpoint_measure(const struct checkpoint *checkpoint, clattn_layer_problem *problem, clattn_error *error);

/* CLATTN_NONE for types that are no storage types. */
clattn_dtype ctn_checkpoint_dtype(const struct st_tensor *tensor);

#endif
