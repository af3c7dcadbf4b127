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
    ctn_walk_print_table(&(struct walk_table){.corner = "query \\ key",
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
  printf("\n    by hand  query %s: the largest score of its row is m = %.4f, so exp(s - m) =\n             ", s->words[0],
         highest);
  for (int j = 0; j < s->length; j++) {
    printf("%s%.4f", j == 0 ? "" : ", ", exp((double)row[j] - highest));
    sum += exp((double)row[j] - highest);
  }
  printf("; their sum is %.4f,\n             so the weight of %s = %.4f / %.4f = %.4e\n", sum, s->words[1],
         exp((double)row[1] - highest), sum, exp((double)row[1] - highest) / sum);
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
  ctn_walk_print_title(6, "Attention without the mask, step by step");
  ctn_walk_print_text(2,
                      "Every word (query) asks every word (key) of its sentence how well they fit. The answers become weights, "
                      "and the output is the weighted mean of the values.");
  ctn_sentences_print_part(s, "6a  Raw scores", "scores = Q K^T", "[B, S, D] x [B, D, S] -> [B, S, S]");
  print_score_by_hand(s);
  print_square(s, "raw_scores", false);
  ctn_sentences_print_part(s, "6b  Scaled scores", "scaled = scores / sqrt(D)", "[B, S, S]");
  ctn_walk_print_text(
      2, "Long vectors give large products, which would make the softmax all or nothing: so divide by sqrt(%d) = %.4f.",
      s->width, sqrt((double)s->width));
  printf("\n    by hand  %s, %s: %.4e / %.4f = %.4e\n", s->words[0], s->words[1], raw, sqrt((double)s->width), scaled);
  print_square(s, "scaled_scores", false);
  ctn_sentences_print_part(s, "6c  Weights", "weights = softmax(scaled), row by row", "[B, S, S]");
  ctn_walk_print_text(4, "softmax(s)_j = exp(s_j - m) / sum_k exp(s_k - m) with m = max(s): positive, with the sum 1.");
  print_weight_by_hand(s);
  print_square(s, "weights", true);
  ctn_sentences_print_part(s, "6d  Output", "output = weights V", "[B, S, S] x [B, S, D] -> [B, S, D]");
  print_output_by_hand(s);
  print_output(s, "output");
}

static void print_masked(const struct sentences *s) {
  ctn_walk_print_title(7, "Attention with the padding mask");
  ctn_walk_print_text(2,
                      "The same with the mask of section 5: before the softmax the score of an excluded key is replaced by a "
                      "very negative number, so that exp() makes its weight 0. It is printed as %.4e; clattn itself computes "
                      "with -infinity. Sentences without [PAD] keep their numbers from section 6.",
                      WALK_FILLER);
  ctn_sentences_print_part(s, "7a  Masked scores", "masked = attended to ? scaled : -1e9", "[B, S, S]");
  print_square(s, "masked_scores", false);
  ctn_sentences_print_part(s, "7b  Weights", "weights = softmax(masked), row by row", "[B, S, S]");
  print_square(s, "weights_masked", true);
  ctn_sentences_print_part(s, "7c  Output", "output = weights V", "[B, S, S] x [B, S, D] -> [B, S, D]");
  print_output(s, "output_masked");
}

/* One sentence's rows of two tensors in turn, the second as it is or, with change, followed by their difference. */
static void print_pairs(const struct sentences *s, int sentence, const char *const names[2], int columns, bool change) {
  static const char *const suffixes[3] = {"without", "with", "change"};
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
  ctn_walk_print_table(&(struct walk_table){.corner = weights ? "query \\ key" : "output",
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
  snprintf(title, sizeof title, "The last sentence (%d) without and with the mask", last + 1);
  ctn_walk_print_title(8, title);
  ctn_walk_print_text(
      2,
      "Side by side, from sections 6 and 7. With the mask the column of [PAD] is 0, and what it had goes to the real words in "
      "proportion. The row of the query [PAD] is computed, too, but nobody reads its output.");
  ctn_sentences_print_part(s, "8a  Weights", "", "[S, S]");
  print_pairs(s, last, weights, s->length, false);
  ctn_sentences_print_part(s, "8b  Output", "", "[S, D]");
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
  static const char *const columns[2] = {"without mask", "with mask"};
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
  ctn_walk_print_title(9, "Attention to [PAD], compared");
  ctn_walk_print_text(2, "How much of its weight each query spends on [PAD] keys (0 where its sentence has none).");
  ctn_walk_print_table(&(struct walk_table){.corner = "query",
                                            .rows = s->rows,
                                            .columns = columns,
                                            .row_count = rows,
                                            .column_count = 2,
                                            .values = values,
                                            .format = scores,
                                            .group = s->length});
  putchar('\n');
  ctn_walk_print_text(2,
                      "Without the mask a real word loses up to %.2f %% of its attention to [PAD] (sentence %d, query %s); "
                      "with the mask %.2f %%.",
                      100 * (double)values[2 * highest], highest / s->length + 1, s->words[highest], 100 * largest);
}

/* The dimensions of each step's tensor by their letters. */
static void print_shapes(const struct sentences *s) {
  static const struct {
    const char *name, *dimensions, *made_of;
  } rows[] = {
      {"tokens", "[B, S]", "the sentences"},
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
      {"masked_scores", "[B, S, S]", "scaled, -1e9 at [PAD]"},
      {"weights_masked", "[B, S, S]", "softmax(masked)"},
      {"output_masked", "[B, S, D]", "weights_masked V"},
  };
  ctn_walk_print_title(10, "Shapes");
  ctn_walk_print_text(2, "B = %d sentences, S = %d words each, D = %d numbers a word (d_model; the only head is as wide).",
                      s->batch, s->length, s->width);
  printf("\n    %-72s largest difference from\n", "");
  printf("    %-23s %-14s %-10s %-24s  %-9s  stored\n", "tensor", "dimensions", "shape", "is", "reference");
  printf("    -----------------------------------------------------------------------------------------------\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char shape[SENTENCE_LABEL];
    const struct walk_step *step = ctn_walk_step(s->walk, rows[i].name);
    ctn_walk_format_shape(shape, sizeof shape, ctn_st_find(&s->walk->file, rows[i].name));
    printf("    %-23s %-14s %-10s %-24s", rows[i].name, rows[i].dimensions, shape, rows[i].made_of);
    if (step) {
      printf("  %-9.1e  %.1e\n", step->from_reference, step->from_stored);
    } else {
      printf("  (input)\n");
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
