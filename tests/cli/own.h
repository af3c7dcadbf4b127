/* Sentences, weights and runs for the tests of `clattn walkthrough --tokens`. */
#ifndef TEST_OWN_H
#define TEST_OWN_H

#include <stdint.h>

#include <jansson.h>

#include "safetensors.h"
#include "tool.h"

/* Two sentences of three and two words, d_model 4 in two heads, a vocabulary of five with [PAD]. */
enum { B = 2, S = 3, D = 4, H = 2, HEAD = D / H, V = 5, ROWS = B * S };

/* The file of tokens, and its ids in the table, padded. */
extern const char own_sentences[];
extern const int own_ids[ROWS];

/* What the run is computed from. */
struct inputs {
  float table[V * D], q[D * D], k[D * D], v[D * D], o[D * D], bias_q[D], bias_k[D], bias_v[D], bias_o[D];
};

void own_inputs(struct inputs *in);

/* A folder with a file of tokens, and a path for weights. */
struct place {
  char *folder, *tokens, *weights;
};

struct place own_place(const char *text);
void own_leave(struct place *place);

/* Adds [rows, D], or [rows] where rank is 1; and writes the file, which is empty afterwards. */
void own_add(struct st_file *file, const char *name, int rank, int64_t rows, const float *data);
void own_write(struct st_file *file, const char *path);
/* The table and the three projections. */
void own_add_separate(struct st_file *file, const struct inputs *in);
/* Everything there is: under names of its own, or under those of a packed layer. */
void own_write_all(const char *path, const struct inputs *in);
void own_write_packed(const char *path, const struct inputs *in);

/* Runs that have to succeed: as JSON with these options; as text, on the CPU path. */
json_t *own_json(const char *const *options);
struct tool_result own_text(const char *const *options);
/* The step of that name, or NULL. */
const json_t *own_step(const json_t *root, const char *name);

#endif
