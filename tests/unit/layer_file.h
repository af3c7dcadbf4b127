/* Checkpoints for tests of layers: every framework's names, and files that hold a layer among other tensors. */
#ifndef CTN_LAYER_FILE_H
#define CTN_LAYER_FILE_H

#include "layer_support.h"
#include "safetensors.h"

#define PREFIX "model.layers.3.attn."

/* The names as the frameworks write them, not as the library's table does. */
struct names {
  const char *q, *k, *v, *out;
  const char *q_bias, *k_bias, *v_bias, *out_bias; /* q alone: packed */
  bool packed, packed_bias, transposed;
};

enum { NAMINGS = 19, TORCH = 0, TORCH_SEPARATE = 1, LLAMA = 2, GPT2 = NAMINGS - 1 };
extern const struct names layer_names[NAMINGS];

/* The file of the running test: these are its setup and teardown. */
extern char layer_path[64];
int layer_file_make(void **state);
int layer_file_remove(void **state);

clattn_context *layer_file_host(void);

/* A file in the making, and the copies that its tensors need. */
struct writer {
  struct st_file file;
  void *copies[8];
  int count;
};

/* One tensor; columns 0: of one dimension. */
void layer_file_add(struct writer *w, const char *prefix, const char *name, enum st_dtype dtype, int64_t rows, int64_t columns,
                    const void *data);
/* All of a layer's tensors under PREFIX; biases as the case has them. */
void layer_file_add_layer(struct writer *w, const struct names *n, const struct layer_data *d);
void layer_file_finish(struct writer *w);
/* A layer among what other layers and parts of a model would be. */
void layer_file_write(const struct names *n, const struct layer_data *d);

/* The problem with nothing but what the file cannot say. */
clattn_layer_problem layer_file_bare(const struct layer_data *d);

#endif
