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
  ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY_KEY),
                                            .rows = walk->words,
                                            .columns = walk->words,
                                            .row_count = walk->word_count,
                                            .column_count = walk->word_count,
                                            .values = ctn_walk_values(walk, name),
                                            .format = format,
                                            .sums = sums});
  ctn_walk_print_check(walk, name, format);
}

static void print_glosses(const struct walk *walk) {
  if (!*ctn_walk_gloss(walk->words[0])) return;
  printf("  %s", ctn_message(MSG_IN_ENGLISH));
  for (int i = 0; i < walk->word_count; i++)
    printf("%s %s = %s", i == 0 ? "" : ",", walk->words[i], ctn_walk_gloss(walk->words[i]));
  printf(".\n");
}

static void print_inputs(const struct walk *walk, const struct st_tensor *x) {
  const int width = (int)x->shape[1];
  static const struct {
    enum message part;
    const char *formula, *name, *corner;
  } parts[] = {
      {MSG_PART_2_QUERY, "Q = X W_Q^T", "query", "Q"},
      {MSG_PART_2_KEY, "K = X W_K^T", "key", "K"},
      {MSG_PART_2_VALUE, "V = X W_V^T", "value", "V"},
  };
  char shapes[LABEL];
  ctn_walk_print_title(1, ctn_message(MSG_TITLE_VECTORS));
  ctn_walk_print_message(2, MSG_TEXT_VECTORS, width);
  print_glosses(walk);
  snprintf(shapes, sizeof shapes, "[%d, %d]", walk->word_count, width);
  ctn_walk_print_part(ctn_message(MSG_PART_INPUT), "X", shapes);
  print_vectors(walk, "X", x->data, width);
  ctn_walk_print_title(2, ctn_message(MSG_TITLE_PROJECTIONS));
  ctn_walk_print_message(2, MSG_TEXT_PROJECTIONS);
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", walk->word_count, width, width, width, walk->word_count,
           width);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ctn_walk_print_part(ctn_message(parts[i].part), parts[i].formula, shapes);
    print_vectors(walk, parts[i].corner, ctn_walk_values(walk, parts[i].name), width);
    ctn_walk_print_check(walk, parts[i].name, two_decimals);
  }
}

static void print_scores(const struct walk *walk, int width) {
  const int words = walk->word_count;
  char shapes[LABEL], cell[LABEL];
  ctn_walk_print_title(3, ctn_message(MSG_TITLE_SCORES));
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", words, width, width, words, words, words);
  ctn_walk_print_part(ctn_message(MSG_PART_3_SCORES), "scores = Q K^T", shapes);
  snprintf(cell, sizeof cell, "q(%s) . k(%s)", walk->words[0], walk->words[1]);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(walk, "query"), 1, 2},
                         &(struct walk_factors){ctn_walk_values(walk, "key") + width, 1, 2}, width, NULL, 2);
  print_square(walk, "scores", two_decimals, false);
  snprintf(shapes, sizeof shapes, "[%d, %d]", words, words);
  ctn_walk_print_part(ctn_message(MSG_PART_3_SCALED), "scaled = scores / sqrt(d)", shapes);
  ctn_walk_print_message(2, MSG_TEXT_SCALED, width, 2, sqrt((double)width));
  print_square(walk, "scaled_scores", two_decimals, false);
}

static void print_weights(const struct walk *walk) {
  const int words = walk->word_count;
  const float *row = ctn_walk_values(walk, "scaled_scores");
  char shapes[LABEL];
  double sum = 0;
  ctn_walk_print_title(4, ctn_message(MSG_TITLE_WEIGHTS));
  ctn_walk_print_message(4, MSG_TEXT_SOFTMAX_PLAIN);
  snprintf(shapes, sizeof shapes, "[%d, %d]", words, words);
  ctn_walk_print_part(ctn_message(MSG_PART_WEIGHTS), ctn_message(MSG_FORMULA_WEIGHTS), shapes);
  putchar('\n');
  ctn_walk_print_hand_label();
  printf(ctn_message(MSG_HAND_EXPONENTIALS), walk->words[0]);
  for (int j = 0; j < words; j++) {
    printf("%s%.3f", j == 0 ? "" : ", ", exp((double)row[j]));
    sum += exp((double)row[j]);
  }
  printf("; ");
  printf(ctn_message(MSG_HAND_SUM), 3, sum);
  printf("\n%*s", WALK_HAND_INDENT, "");
  printf(ctn_message(MSG_HAND_WEIGHT), walk->words[0]);
  printf("%.3f / %.3f = %.3f\n", exp((double)row[0]), sum, exp((double)row[0]) / sum);
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
  ctn_walk_print_title(5, ctn_message(MSG_TITLE_MOST));
  ctn_walk_print_message(2, MSG_TEXT_MOST);
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
    printf("  ");
    printf(ctn_message(MSG_MOST_WEIGHT), (double)weights[i * words + most]);
    printf("%s%s\n", most == i ? "  " : "", most == i ? ctn_message(MSG_MOST_ITSELF) : "");
  }
}

static void print_output(const struct walk *walk, int width) {
  const int words = walk->word_count;
  char shapes[LABEL], cell[LABEL];
  ctn_walk_print_title(6, ctn_message(MSG_TITLE_OUTPUT));
  snprintf(shapes, sizeof shapes, "[%d, %d] x [%d, %d] -> [%d, %d]", words, words, words, width, words, width);
  ctn_walk_print_part(ctn_message(MSG_PART_OUTPUT), "output = weights V", shapes);
  putchar('\n');
  for (int d = 0; d < width; d++) {
    snprintf(cell, sizeof cell, "output(%s), %s", walk->words[0], ctn_walk_dimensions()[d]);
    ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(walk, "weights"), 1, 3},
                           &(struct walk_factors){ctn_walk_values(walk, "value") + d, width, 2}, words, NULL, 2);
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
    .summary = MSG_SUMMARY_WORDS,
    .compute = ctn_walk_words_compute,
    .print = print_words_example,
};
