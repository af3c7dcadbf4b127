/* What the walkthrough is made of: steps that are computed and checked, tables, and the two examples built from them. */
#ifndef CTN_WALKTHROUGH_H
#define CTN_WALKTHROUGH_H

#include <stdbool.h>
#include <stdint.h>

#include <clattn/clattn.h>

#include "messages.h"
#include "safetensors.h"
#include "status.h"
#include "text.h"

enum { WALK_MAX_STEPS = 16, WALK_MAX_WORDS = 16, WALK_MAX_ROWS = 64, WALK_MAX_COLUMNS = 8 };

/* Columns that lines of text keep to. */
enum { WALK_WIDTH = 100, WALK_NUMBER_SIZE = 64 };

/* The largest difference that still counts as agreement. */
#define WALK_TOLERANCE 1e-5
/* What the first example's document writes for an excluded key's score, where the library has -inf. */
#define WALK_FILLER (-1e9)
/* The id of "[PAD]" in the first example. */
#define WALK_PADDING_ID 0

/* One tensor of the example: what was computed, and how far it lies from the float64 reference and from the stored values. */
struct walk_step {
  const char *name;               /* that of the stored tensor */
  const char *operation;          /* "embedding", "position", "projection", "attention" */
  const char *family;             /* of kernels that computed it, by its name in the library */
  const struct st_tensor *stored; /* gives the shape, too */
  float *values;
  float *reference;
  double from_reference; /* largest absolute differences; infinity where one side is no number */
  double from_stored;
};

/* A run of one example. */
struct walk {
  clattn_context *context;
  const clattn_plan_options *options;
  struct st_file file;
  char *word_memory;
  const char *words[WALK_MAX_WORDS]; /* in the order of the file's "tokens" */
  int word_count;
  struct walk_step steps[WALK_MAX_STEPS];
  int step_count;
};

/* An example: how its steps are computed, and how they are told. */
struct walk_example {
  const char *name;     /* as --example takes it */
  const char *file;     /* among the embedded examples */
  enum message summary; /* for the first line */
  clattn_status (*compute)(struct walk *walk, clattn_error *error);
  void (*print)(const struct walk *walk);
};

extern const struct walk_example ctn_walk_sentences;
extern const struct walk_example ctn_walk_words;
clattn_status ctn_walk_sentences_compute(struct walk *walk, clattn_error *error);
clattn_status ctn_walk_words_compute(struct walk *walk, clattn_error *error);

/* ------------------------------------------------------------------------------------------------- steps: walkthrough_steps.c
 */

/* Finds the example's embedded file and reads it. */
clattn_status ctn_walk_open(struct walk *walk, const struct walk_example *example, clattn_error *error);
void ctn_walk_close(struct walk *walk);

/* A tensor of the file, of the type and rank that are expected of it. */
clattn_status ctn_walk_tensor(const struct walk *walk, const char *name, enum st_dtype dtype, int rank,
                              const struct st_tensor **tensor, clattn_error *error);

/* The plan on the chosen path, and the reference's for the same problem. Start from {NULL}. */
struct walk_plans {
  clattn_plan *plan;
  clattn_plan *reference;
  const char *operation;
};

clattn_status ctn_walk_plan_attention(const struct walk *walk, struct walk_plans *plans, const clattn_problem *problem,
                                      clattn_error *error);
clattn_status ctn_walk_plan_embedding(const struct walk *walk, struct walk_plans *plans, const clattn_embedding *problem,
                                      clattn_error *error);
clattn_status ctn_walk_plan_position(const struct walk *walk, struct walk_plans *plans, const clattn_position *problem,
                                     clattn_error *error);
clattn_status ctn_walk_plan_projection(const struct walk *walk, struct walk_plans *plans, const clattn_projection *problem,
                                       clattn_error *error);
void ctn_walk_unplan(struct walk_plans *plans);

/* The stored tensors that a run's results answer to; NULL for those that the problem does not ask for. */
struct walk_results {
  const char *out;
  const char *scores_raw;
  const char *scores_masked;
  const char *weights;
};

/* Runs both plans on inputs, and keeps each result as a step, compared. */
clattn_status ctn_walk_run(struct walk *walk, const struct walk_plans *plans, const clattn_arrays *inputs,
                           const struct walk_results *results, clattn_error *error);

/* A step that was run; a name that was not is a fault of the caller's. */
const struct walk_step *ctn_walk_step(const struct walk *walk, const char *name);
const float *ctn_walk_values(const struct walk *walk, const char *name);
/* The step that lies farthest from its reference or its stored values, by *difference. */
const struct walk_step *ctn_walk_worst(const struct walk *walk, double *difference);

/* ------------------------------------------------------------------------------------------------ tables: walkthrough_table.c
 */

/* How numbers are printed. */
struct walk_format {
  int decimals;
  bool scientific; /* d.ddde+xx */
};

/* An excluded key's -inf is shown as WALK_FILLER. */
void ctn_walk_format_number(char text[WALK_NUMBER_SIZE], struct walk_format format, double value);

/* A matrix with names. Rows are dense. */
struct walk_table {
  const char *corner;
  const char *const *rows;
  const char *const *columns;
  int row_count;
  int column_count;
  const float *values;
  struct walk_format format;
  bool sums; /* a last column with the sum of each row */
  int group; /* a rule after so many rows; 0: none */
};

void ctn_walk_print_title(int number, const char *title);
void ctn_walk_print_table(const struct walk_table *table);
/* A paragraph: the message's words separated by single spaces, wrapped. Arguments as its conversions say. */
void ctn_walk_print_message(int indent, enum message id, ...);
/* The same beside a label, in a column of its own. */
void ctn_walk_print_labelled(const char *label, enum message id, ...);
/* The heading of one part of a section: "6a  Raw scores", its formula, and the shapes in it. */
void ctn_walk_print_part(const char *part, const char *formula, const char *shapes);
/* An English word or two for a Korean one of the examples; "" for any other, and where English is not the language. */
const char *ctn_walk_gloss(const char *word);
/* The names d0, d1, ... of a vector's elements. */
const char *const *ctn_walk_dimensions(void);
/* A shape as "[4, 4, 6]" into text. */
void ctn_walk_format_shape(char *text, size_t size, const struct st_tensor *tensor);

/* ------------------------------------------------------------------------------------------------- by hand: walkthrough_hand.c
 */

/* One side of a sum of products: count values, stride apart, and the decimals they are shown with. */
struct walk_factors {
  const float *values;
  int stride;
  int decimals;
};

/* The columns that "by hand  " takes, and what prints it. */
enum { WALK_HAND_INDENT = 13 };
void ctn_walk_print_hand_label(void);
/* "by hand  CELL = a0 * b0 + a1 * b1 ... = SUM", summed from the full values. */
void ctn_walk_print_by_hand(const char *cell, const struct walk_factors *a, const struct walk_factors *b, int count,
                            int decimals);

/* ------------------------------------------------------------------------------------------- in words: walkthrough_describe.c
 */

/* The path that computed a step: "staged", "cpu" or "reference"; and how many steps the host computed. */
const char *ctn_walk_path(const struct walk_step *step);
int ctn_walk_host_steps(const struct walk *walk);
/* Without labels; each line ends in a line break: the device, and the paths. */
void ctn_walk_describe_device(struct text *text, const struct walk *walk);
void ctn_walk_describe_paths(struct text *text, const struct walk *walk);
/* A step's differences, without a line break, and whether they are small enough. */
bool ctn_walk_describe_check(struct text *text, const struct walk_step *step);

/* ----------------------------------------------------------------------------------------------- report: walkthrough_report.c
 */

/* Which device and which path ran, read off the steps. */
void ctn_walk_print_header(const struct walk *walk, const struct walk_example *example);
/* The "check" line below a step's table: its largest differences; and, where there are any, how many of its figures in the
 * table's format differ from the stored values' in the last digit. */
void ctn_walk_print_check(const struct walk *walk, const char *name, struct walk_format format);
/* The closing line with the largest difference of all. */
void ctn_walk_print_closing(const struct walk *walk);
/* Everything as JSON on standard output; gives an exit code. */
int ctn_walk_print_json(const struct walk *walk, const struct walk_example *example, const char *command);

#endif
