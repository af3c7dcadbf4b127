/* The first example told: sections 6 to 10, attention without and with the padding mask. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "walkthrough_sentences.h"

/* Scores and weights: d.dddde+xx. */
static const struct walk_format scores = {.decimals = 4, .scientific = true};

/* Scores or weights: a table for each sentence, because its keys are its own words. */
static void print_square(const struct sentences *s, const char *name, bool sums) {
  const float *values = ctn_walk_values(s->walk, name);
  for (int i = 0; i < s->batch; i++) {
    ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY_KEY),
                                              .rows = s->rows + i * s->length,
                                              .columns = s->words + i * s->length,
                                              .row_count = s->length,
                                              .column_count = s->length,
                                              .values = values + i * s->length * s->length,
                                              .format = scores,
                                              .sums = sums});
  }
  ctn_walk_print_check(s->walk, name, scores);
}

static void print_output(const struct sentences *s, const char *name) {
  ctn_walk_print_table(&(struct walk_table){.corner = name,
                                            .rows = s->rows,
                                            .columns = ctn_walk_dimensions(),
                                            .row_count = s->batch * s->length,
                                            .column_count = s->width,
                                            .values = ctn_walk_values(s->walk, name),
                                            .format = ctn_sentences_vectors,
                                            .group = s->length});
  ctn_walk_print_check(s->walk, name, ctn_sentences_vectors);
}

/* The first word's score for the second, its scaling, its weight, and the first output element. */
static void print_score_by_hand(const struct sentences *s) {
  char cell[SENTENCE_LABEL];
  snprintf(cell, sizeof cell, "q(%s) . k(%s)", s->words[0], s->words[1]);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, "query"), 1, 4},
                         &(struct walk_factors){ctn_walk_values(s->walk, "key") + s->width, 1, 4}, s->width, 4);
}

static void print_weight_by_hand(const struct sentences *s) {
  const float *row = ctn_walk_values(s->walk, "scaled_scores");
  double highest = (double)row[0], sum = 0;
  for (int j = 1; j < s->length; j++)
    highest = fmax(highest, (double)row[j]);
  putchar('\n');
  ctn_walk_print_hand_label();
  printf(ctn_message(MSG_HAND_MAXIMUM), s->words[0], highest);
  printf("\n%*s", WALK_HAND_INDENT, "");
  for (int j = 0; j < s->length; j++) {
    printf("%s%.4f", j == 0 ? "" : ", ", exp((double)row[j] - highest));
    sum += exp((double)row[j] - highest);
  }
  printf("; ");
  printf(ctn_message(MSG_HAND_SUM), 4, sum);
  printf("\n%*s", WALK_HAND_INDENT, "");
  printf(ctn_message(MSG_HAND_WEIGHT), s->words[1]);
  printf("%.4f / %.4f = %.4e\n", exp((double)row[1] - highest), sum, exp((double)row[1] - highest) / sum);
}

static void print_output_by_hand(const struct sentences *s) {
  char cell[SENTENCE_LABEL];
  snprintf(cell, sizeof cell, "output(%s), d0", s->words[0]);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, "weights"), 1, 4},
                         &(struct walk_factors){ctn_walk_values(s->walk, "value"), s->width, 4}, s->length, 4);
}

static void print_unmasked(const struct sentences *s) {
  const double scaled = (double)ctn_walk_values(s->walk, "scaled_scores")[1];
  const double raw = (double)ctn_walk_values(s->walk, "raw_scores")[1];
  ctn_walk_print_title(6, ctn_message(MSG_TITLE_UNMASKED));
  ctn_walk_print_message(2, MSG_TEXT_UNMASKED);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_RAW), "scores = Q K^T", "[B, S, D] x [B, D, S] -> [B, S, S]");
  print_score_by_hand(s);
  print_square(s, "raw_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_SCALED), "scaled = scores / sqrt(D)", "[B, S, S]");
  ctn_walk_print_message(2, MSG_TEXT_SCALED, s->width, 4, sqrt((double)s->width));
  putchar('\n');
  ctn_walk_print_hand_label();
  printf("%s, %s: %.4e / %.4f = %.4e\n", s->words[0], s->words[1], raw, sqrt((double)s->width), scaled);
  print_square(s, "scaled_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_WEIGHTS), ctn_message(MSG_FORMULA_WEIGHTS), "[B, S, S]");
  ctn_walk_print_message(4, MSG_TEXT_SOFTMAX);
  print_weight_by_hand(s);
  print_square(s, "weights", true);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_OUTPUT), "output = weights V", "[B, S, S] x [B, S, D] -> [B, S, D]");
  print_output_by_hand(s);
  print_output(s, "output");
}

static void print_masked(const struct sentences *s) {
  ctn_walk_print_title(7, ctn_message(MSG_TITLE_MASKED));
  ctn_walk_print_message(2, MSG_TEXT_MASKED, WALK_FILLER);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_SCORES), ctn_message(MSG_FORMULA_MASKED), "[B, S, S]");
  print_square(s, "masked_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_WEIGHTS), ctn_message(MSG_FORMULA_WEIGHTS_MASKED), "[B, S, S]");
  print_square(s, "weights_masked", true);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_OUTPUT), "output = weights V", "[B, S, S] x [B, S, D] -> [B, S, D]");
  print_output(s, "output_masked");
}

/* One sentence's rows of two tensors in turn, the second as it is or, with change, followed by their difference. */
static void print_pairs(const struct sentences *s, int sentence, const char *const names[2], int columns, bool change) {
  const char *const suffixes[3] = {ctn_message(MSG_WITHOUT), ctn_message(MSG_WITH), ctn_message(MSG_CHANGE)};
  enum { MOST = 3 * WALK_MAX_COLUMNS };
  const int lines = change ? 3 : 2;
  const float *first = ctn_walk_values(s->walk, names[0]) + sentence * s->length * columns;
  const float *second = ctn_walk_values(s->walk, names[1]) + sentence * s->length * columns;
  char text[MOST][SENTENCE_LABEL];
  const char *rows[MOST];
  float values[MOST * WALK_MAX_COLUMNS];
  int width = 0;
  for (int i = 0; i < s->length; i++) {
    const int word = ctn_display_width(s->words[sentence * s->length + i]);
    if (word > width) width = word;
  }
  for (int i = 0; i < s->length * lines; i++) {
    const char *word = s->words[sentence * s->length + i / lines];
    const char *shown = i % lines == 0 ? word : "";
    snprintf(text[i], SENTENCE_LABEL, "%s%*s  %s", shown, width - ctn_display_width(shown), "", suffixes[i % lines]);
    rows[i] = text[i];
    for (int j = 0; j < columns; j++) {
      const float a = first[i / lines * columns + j], b = second[i / lines * columns + j];
      values[i * columns + j] = i % lines == 0 ? a : i % lines == 1 ? b : b - a;
    }
  }
  const bool weights = columns == s->length && !change;
  ctn_walk_print_table(&(struct walk_table){.corner = weights ? ctn_message(MSG_QUERY_KEY) : "output",
                                            .rows = rows,
                                            .columns = weights ? s->words + sentence * s->length : ctn_walk_dimensions(),
                                            .row_count = s->length * lines,
                                            .column_count = columns,
                                            .values = values,
                                            .format = weights ? scores : ctn_sentences_vectors,
                                            .sums = weights,
                                            .group = lines});
}

static void print_last(const struct sentences *s) {
  static const char *const weights[2] = {"weights", "weights_masked"};
  static const char *const outputs[2] = {"output", "output_masked"};
  const int last = s->batch - 1;
  char title[SENTENCE_LABEL * 2];
  snprintf(title, sizeof title, ctn_message(MSG_TITLE_LAST), last + 1);
  ctn_walk_print_title(8, title);
  ctn_walk_print_message(2, MSG_TEXT_LAST);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_8_WEIGHTS), "", "[S, S]");
  print_pairs(s, last, weights, s->length, false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_8_OUTPUT), "", "[S, D]");
  print_pairs(s, last, outputs, s->width, true);
}

/* What a row's query gives to the keys that the mask excludes. */
static double weight_on_padding(const struct sentences *s, const char *name, int row) {
  const float *weights = ctn_walk_values(s->walk, name) + row * s->length;
  double sum = 0;
  for (int j = 0; j < s->length; j++) {
    if (!ctn_st_i64(s->keep, row / s->length * s->length + j)) sum += (double)weights[j];
  }
  return sum;
}

static void print_padding(const struct sentences *s) {
  const char *const columns[2] = {ctn_message(MSG_WITHOUT_MASK), ctn_message(MSG_WITH_MASK)};
  float values[2 * WALK_MAX_ROWS];
  const int rows = s->batch * s->length;
  int highest = 0;
  double largest = 0;
  for (int i = 0; i < rows; i++) {
    values[2 * i] = (float)weight_on_padding(s, "weights", i);
    values[2 * i + 1] = (float)weight_on_padding(s, "weights_masked", i);
    if (ctn_st_i64(s->keep, i) && values[2 * i] > values[2 * highest]) highest = i;
    largest = fmax(largest, (double)values[2 * i + 1]);
  }
  ctn_walk_print_title(9, ctn_message(MSG_TITLE_PADDING));
  ctn_walk_print_message(2, MSG_TEXT_PADDING);
  ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY),
                                            .rows = s->rows,
                                            .columns = columns,
                                            .row_count = rows,
                                            .column_count = 2,
                                            .values = values,
                                            .format = scores,
                                            .group = s->length});
  putchar('\n');
  ctn_walk_print_message(2, MSG_TEXT_PADDING_LOSS, 100 * (double)values[2 * highest], highest / s->length + 1,
                         s->words[highest], 100 * largest);
}

/* A line of the last table: four names, then text. */
static void print_columns(const char *name, const char *dimensions, const char *shape, const char *made_of) {
  enum { NAME = 24, DIMENSIONS = 15, SHAPE = 11, MADE_OF = 25 };
  printf("    ");
  ctn_print_padded(stdout, name, NAME, false);
  ctn_print_padded(stdout, dimensions, DIMENSIONS, false);
  ctn_print_padded(stdout, shape, SHAPE, false);
  ctn_print_padded(stdout, made_of, MADE_OF, false);
}

/* The dimensions of each step's tensor by their letters. */
static void print_shapes(const struct sentences *s) {
  static const struct {
    const char *name, *dimensions, *made_of;
  } rows[] = {
      {"tokens", "[B, S]", NULL},
      {"embedded", "[B, S, D]", "E[tokens] * sqrt(D)"},
      {"positional_encoding", "[positions, D]", "sin, cos"},
      {"embedded_plus_position", "[B, S, D]", "X = embedded + PE"},
      {"query", "[B, S, D]", "X W_Q^T"},
      {"key", "[B, S, D]", "X W_K^T"},
      {"value", "[B, S, D]", "X W_V^T"},
      {"keep_mask", "[B, S]", "tokens != [PAD]"},
      {"raw_scores", "[B, S, S]", "Q K^T"},
      {"scaled_scores", "[B, S, S]", "scores / sqrt(D)"},
      {"weights", "[B, S, S]", "softmax(scaled)"},
      {"output", "[B, S, D]", "weights V"},
      {"masked_scores", "[B, S, S]", NULL},
      {"weights_masked", "[B, S, S]", "softmax(masked)"},
      {"output_masked", "[B, S, D]", "weights_masked V"},
  };
  ctn_walk_print_title(10, ctn_message(MSG_TITLE_SHAPES));
  ctn_walk_print_message(2, MSG_TEXT_SHAPES, s->batch, s->length, s->width);
  putchar('\n');
  print_columns("", "", "", "");
  printf("%s\n", ctn_message(MSG_COLUMN_DIFFERENCES));
  print_columns(ctn_message(MSG_COLUMN_TENSOR), ctn_message(MSG_COLUMN_DIMENSIONS), ctn_message(MSG_SHAPE),
                ctn_message(MSG_COLUMN_IS));
  ctn_print_padded(stdout, ctn_message(MSG_COLUMN_REFERENCE), 11, false);
  printf("%s\n    -----------------------------------------------------------------------------------------------\n",
         ctn_message(MSG_COLUMN_STORED));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char shape[SENTENCE_LABEL];
    const struct walk_step *step = ctn_walk_step(s->walk, rows[i].name);
    const char *made_of = rows[i].made_of;
    if (!made_of) made_of = ctn_message(step ? MSG_IS_MASKED : MSG_IS_SENTENCES);
    ctn_walk_format_shape(shape, sizeof shape, ctn_st_find(&s->walk->file, rows[i].name));
    print_columns(rows[i].name, rows[i].dimensions, shape, made_of);
    if (step) {
      printf("%-9.1e  %.1e\n", step->from_reference, step->from_stored);
    } else {
      printf("%s\n", ctn_message(MSG_IS_INPUT));
    }
  }
}

void ctn_sentences_print_attention(const struct sentences *s) {
  print_unmasked(s);
  print_masked(s);
  print_last(s);
  print_padding(s);
  print_shapes(s);
}
