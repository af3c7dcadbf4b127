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

enum { WALK_MAX_STEPS = 16 };

/* What is printed of a large run: rows and columns of a table, tables of a step, words of a list, terms of a sum. All of it is
 * computed and checked. */
enum { WALK_SHOWN_ROWS = 24, WALK_SHOWN_COLUMNS = 16, WALK_SHOWN_TABLES = 12, WALK_SHOWN_WORDS = 60, WALK_SHOWN_TERMS = 12 };

/* Columns that lines of text keep to. */
enum { WALK_WIDTH = 100, WALK_NUMBER_SIZE = 64 };

/* The largest difference that still counts as agreement. */
#define WALK_TOLERANCE 1e-5
/* What the first example's document writes for an excluded key's score, where the library has -inf. */
#define WALK_FILLER (-1e9)

/* One tensor of the run: what was computed, and how far it lies from the float64 reference and from the stored values. */
struct walk_step {
  const char *name;               /* that of the stored tensor */
  const char *operation;          /* "embedding", "position", "projection", "attention" */
  const char *family;             /* of kernels that computed it, by its name in the library */
  const struct st_tensor *stored; /* NULL: nothing is stored that answers to it */
  int rank;
  int64_t shape[4];
  int64_t count; /* elements */
  float *values;
  float *reference;
  double from_reference; /* largest absolute differences; infinity where one side is no number */
  double from_stored;    /* 0 where nothing is stored */
  double allowed;        /* the largest of them that still counts as agreement */
};

struct walk_own;

/* A run of one example, or of one's own input. */
struct walk {
  clattn_context *context;
  const clattn_plan_options *options;
  int heads;            /* that share the d_model columns of query, key and value */
  bool causal;          /* the masked attention excludes later words, too */
  int cells;            /* numbers that a picture shows at most */
  int64_t padding_id;   /* of "[PAD]" */
  struct walk_own *own; /* NULL: an example, with stored values */
  struct st_file file;  /* the inputs, and an example's stored values */
  char *word_memory;
  const char **words; /* by token id; without tokens in their order */
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

struct walk_shape {
  int rank;
  int64_t size[4];
};

/* The stored tensors that a run's results answer to; NULL for those that the problem does not ask for. */
struct walk_results {
  const char *out;
  const char *scores_raw;
  const char *scores_masked;
  const char *weights;
  struct walk_shape out_shape;
  struct walk_shape scores_shape; /* of the other three */
  bool changed;                   /* the options ask for something else than what is stored */
};

/* Runs both plans on inputs, and keeps each result as a step, compared. */
clattn_status ctn_walk_run(struct walk *walk, const struct walk_plans *plans, const clattn_arrays *inputs,
                           const struct walk_results *results, clattn_error *error);

/* A step that was run; a name that was not is a fault of the caller's. */
const struct walk_step *ctn_walk_step(const struct walk *walk, const char *name);
const float *ctn_walk_values(const struct walk *walk, const char *name);
/* The larger of a step's differences, and whether it is small enough. */
double ctn_walk_difference(const struct walk_step *step);
bool ctn_walk_agrees(const struct walk_step *step);
/* The step that lies farthest from its reference or its stored values, measured by what is allowed to it; *difference is how
 * far. */
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

/* A matrix with names. Of large ones the first WALK_SHOWN_ROWS rows are printed, and as many columns as fit, WALK_SHOWN_COLUMNS
 * at most; only so many names are read. */
struct walk_table {
  const char *corner;
  const char *const *rows;
  const char *const *columns;
  int row_count;
  int column_count;
  const float *values;
  int pitch;          /* between the starts of rows; 0: column_count */
  const float *other; /* another such matrix, for lines */
  int lines;          /* 2: each row of values is followed by other's; 3: and by other less values. rows counts and names all */
  struct walk_format format;
  bool sums; /* a last column with the sum of each row */
  int group; /* a rule after so many rows; 0: none */
};

void ctn_walk_print_title(int number, const char *title);
void ctn_walk_print_table(const struct walk_table *table);
/* "... 12 more rows" below a table or list; nothing for 0. several takes a long long. */
void ctn_walk_print_more(enum message one, enum message several, int64_t count);
/* A paragraph: the message's words separated by single spaces, wrapped. Arguments as its conversions say. */
void ctn_walk_print_message(int indent, enum message id, ...);
/* text, wrapped from the margin on. Cuts it into words. */
void ctn_walk_print_paragraph(char *text);
/* Lines of text, wrapped, beside a label in a column of its own. Cuts text into words. */
void ctn_walk_print_labelled(const char *label, char *text);
/* The heading of one part of a section: "6a  Raw scores", its formula, and the shapes in it. */
void ctn_walk_print_part(const char *part, const char *formula, const char *shapes);
/* An English word or two for a Korean one of the examples; "" for any other, and where English is not the language. */
const char *ctn_walk_gloss(const char *word);
/* The names d0, d1, ... of a vector's elements. */
const char *const *ctn_walk_dimensions(void);
/* A shape as "[4, 4, 6]" into text. */
void ctn_walk_format_shape(char *text, size_t size, int rank, const int64_t *shape);

/* ------------------------------------------------------------------------------------------------- by hand: walkthrough_hand.c
 */

/* One side of a sum of products: count values, stride apart, and the decimals they are shown with. */
struct walk_factors {
  const float *values;
  int64_t stride;
  int decimals;
};

/* The columns that "by hand  " takes, and what prints it. */
enum { WALK_HAND_INDENT = 13 };
void ctn_walk_print_hand_label(void);
/* "by hand  CELL = a0 * b0 + a1 * b1 ... + BIAS = SUM", summed from the full values. bias may be NULL. Of long sums only the
 * first terms are spelled out. */
void ctn_walk_print_by_hand(const char *cell, const struct walk_factors *a, const struct walk_factors *b, int count,
                            const float *bias, int decimals);

/* ------------------------------------------------------------------------------------------- in words: walkthrough_describe.c
 */

/* The path that computed a step: "staged", "cpu" or "reference"; and how many steps the host computed. */
const char *ctn_walk_path(const struct walk_step *step);
int ctn_walk_host_steps(const struct walk *walk);
/* Without labels; each line ends in a line break: the device, and the paths. */
void ctn_walk_describe_device(struct text *text, const struct walk *walk);
void ctn_walk_describe_paths(struct text *text, const struct walk *walk);
/* The model's size, its mask and where its weights come from; nothing for an example as it is. */
void ctn_walk_describe_model(struct text *text, const struct walk *walk);
/* What the steps are compared with, each line a paragraph. */
void ctn_walk_describe_checks(struct text *text, const struct walk *walk);
/* The largest difference of all, on one line without its break, and whether every step agrees. */
bool ctn_walk_describe_closing(struct text *text, const struct walk *walk);
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
