/* The second example told: three words, from their vectors to the output, with cells recomputed by hand. */
#include <math.h>
#include <stdio.h>

#include "print.h"
#include "walkthrough.h"

enum { LABEL = 64 };

static const struct walk_format two_decimals = {.decimals = 2};
static const struct walk_format three_decimals = {.decimals = 3};

static void print_vectors(const struct walk *walk, const char *corner, const float *values, int width) {
  ctn_walk_print_table(&(struct walk_table){.corner = corner,
                                            .rows = walk->words,
                                            .columns = ctn_walk_dimensions(),
                                            .row_count = walk->word_count,
                                            .column_count = width,
                                            .values = values,
                                            .format = two_decimals});
}

static void print_square(const struct walk *walk, const char *name, struct walk_format format, bool sums) {
  ctn_walk_print_table(&(struct walk_table){.corner = "query \\ key",
                                            .rows = walk->words,
                                            .columns = walk->words,
                                            .row_count = walk->word_count,
                                            .column_count = walk->word_count,
                                            .values = ctn_walk_values(walk, name),
                                            .format = format,
                                            .sums = sums});
  ctn_walk_print_check(walk, name, format);
}

static void print_inputs(const struct walk *walk, const struct st_tensor *x) {
  const int width = (int)x->shape[1];
  static const struct {
    const char *part, *formula, *name, *corner;
  } parts[] = {
      {"2a  Query", "Q = X W_Q^T", "query", "Q"},
      {"2b  Key", "K = X W_K^T", "key", "K"},
      {"2c  Value", "V = X W_V^T", "value", "V"},
  };
  char shapes[LABEL];
  ctn_walk_print_title(1, "X: the words as vectors");
  printf("  Each row is one word, each column one of the %d numbers that stand for it.\n  In English:", width);
  for (int i = 0; i < walk->word_count; i++)
    printf("%s %s = %s", i == 0 ? "" : ",", walk->words[i], ctn_walk_gloss(walk->words[i]));
  printf(".\n");
  snprintf(shapes, sizeof shapes, "[%d, %d]", walk->word_count, width);
  ctn_walk_print_part("Input", "X", shapes);
  print_vectors(walk, "X", x->data, width);
  ctn_walk_print_title(2, "Query, key and value: three views of each word");
  ctn_walk_print_text(2,
                      "Three learned matrices turn each word's vector into what it looks for (query), what it can be found by "
                      "(key), and what it has to say (value). All three are stored as [out, in], hence ^T.");
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", walk->word_count, width, width, width, walk->word_count,
           width);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ctn_walk_print_part(parts[i].part, parts[i].formula, shapes);
    print_vectors(walk, parts[i].corner, ctn_walk_values(walk, parts[i].name), width);
    ctn_walk_print_check(walk, parts[i].name, two_decimals);
  }
}

static void print_scores(const struct walk *walk, int width) {
  const int words = walk->word_count;
  char shapes[LABEL], cell[LABEL];
  ctn_walk_print_title(3, "Scores: how well does a word's query fit a word's key");
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", words, width, width, words, words, words);
  ctn_walk_print_part("3a  Scores", "scores = Q K^T", shapes);
  snprintf(cell, sizeof cell, "q(%s) . k(%s)", walk->words[0], walk->words[1]);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(walk, "query"), 1, 2},
                         &(struct walk_factors){ctn_walk_values(walk, "key") + width, 1, 2}, width, 2);
  print_square(walk, "scores", two_decimals, false);
  snprintf(shapes, sizeof shapes, "[%d, %d]", words, words);
  ctn_walk_print_part("3b  Scaled scores", "scaled = scores / sqrt(d)", shapes);
  ctn_walk_print_text(
      2, "Long vectors give large products, which would make the softmax all or nothing: so divide by sqrt(%d) = %.2f.", width,
      sqrt((double)width));
  print_square(walk, "scaled_scores", two_decimals, false);
}

static void print_weights(const struct walk *walk) {
  const int words = walk->word_count;
  const float *row = ctn_walk_values(walk, "scaled_scores");
  char shapes[LABEL];
  double sum = 0;
  ctn_walk_print_title(4, "Weights: scores become shares");
  ctn_walk_print_text(4, "softmax(s)_j = exp(s_j) / sum_k exp(s_k): positive numbers, and each row's sum is 1.");
  snprintf(shapes, sizeof shapes, "[%d, %d]", words, words);
  ctn_walk_print_part("Weights", "weights = softmax(scaled), row by row", shapes);
  printf("\n    by hand  query %s: exp(s) = ", walk->words[0]);
  for (int j = 0; j < words; j++) {
    printf("%s%.3f", j == 0 ? "" : ", ", exp((double)row[j]));
    sum += exp((double)row[j]);
  }
  printf("; their sum is %.3f,\n             so the weight of %s = %.3f / %.3f = %.3f\n", sum, walk->words[0],
         exp((double)row[0]), sum, exp((double)row[0]) / sum);
  print_square(walk, "weights", three_decimals, true);
}

static void print_most_attended(const struct walk *walk) {
  const int words = walk->word_count;
  const float *weights = ctn_walk_values(walk, "weights");
  int width = 0;
  for (int i = 0; i < words; i++) {
    const int needed = ctn_display_width(walk->words[i]);
    if (needed > width) width = needed;
  }
  ctn_walk_print_title(5, "The most attended word of each row");
  ctn_walk_print_text(2, "Which key does each query give the most weight?");
  putchar('\n');
  for (int i = 0; i < words; i++) {
    int most = 0;
    for (int j = 1; j < words; j++) {
      if (weights[i * words + j] > weights[i * words + most]) most = j;
    }
    printf("    ");
    ctn_print_padded(stdout, walk->words[i], width, false);
    printf("  ->  ");
    ctn_print_padded(stdout, walk->words[most], width, false);
    printf("  with weight %.3f%s\n", (double)weights[i * words + most], most == i ? "  (itself)" : "");
  }
}

static void print_output(const struct walk *walk, int width) {
  const int words = walk->word_count;
  char shapes[LABEL], cell[LABEL];
  ctn_walk_print_title(6, "Output: each word as a mean of the values, by the weights");
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", words, words, words, width, words, width);
  ctn_walk_print_part("Output", "output = weights V", shapes);
  putchar('\n');
  for (int d = 0; d < width; d++) {
    snprintf(cell, sizeof cell, "output(%s), %s", walk->words[0], ctn_walk_dimensions()[d]);
    ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(walk, "weights"), 1, 3},
                           &(struct walk_factors){ctn_walk_values(walk, "value") + d, width, 2}, words, 2);
  }
  print_vectors(walk, "output", ctn_walk_values(walk, "output"), width);
  ctn_walk_print_check(walk, "output", two_decimals);
}

static void print_words_example(const struct walk *walk) {
  const struct st_tensor *x = ctn_st_find(&walk->file, "x");
  const int width = (int)x->shape[1];
  print_inputs(walk, x);
  print_scores(walk, width);
  print_weights(walk);
  print_most_attended(walk);
  print_output(walk, width);
}

const struct walk_example ctn_walk_words = {
    .name = "words",
    .file = "words.safetensors",
    .summary = "attention over three Korean words, partly by hand",
    .compute = ctn_walk_words_compute,
    .print = print_words_example,
};
