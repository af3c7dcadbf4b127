/* Sentences told: sections 6 and 7, attention without and with the masks. */
#include <math.h>
#include <stdio.h>

#include "print.h"
#include "walkthrough_sentences.h"

/* Scores and weights: d.dddde+xx. */
static const struct walk_format scores = {.decimals = 4, .scientific = true};

static const char *squares(const struct sentences *s) {
  return s->heads > 1 ? "[B, H, S, S]" : "[B, S, S]";
}

/* Scores or weights: a table for each sentence, because its keys are its own words, and for each head. */
static void print_square(const struct sentences *s, const char *name, bool sums) {
  const float *values = ctn_walk_values(s->walk, name);
  const int tables = s->batch * s->heads, shown = tables < WALK_SHOWN_TABLES ? tables : WALK_SHOWN_TABLES;
  for (int i = 0; i < shown; i++) {
    const int sentence = i / s->heads;
    struct sentence_names rows, columns;
    ctn_sentences_name(s, &rows, sentence * s->length, s->length, true);
    ctn_sentences_name(s, &columns, sentence * s->length, s->length, false);
    if (s->heads > 1) {
      printf("\n    ");
      printf(ctn_message(MSG_SENTENCE_HEAD), sentence + 1, i % s->heads + 1);
    }
    ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY_KEY),
                                              .rows = rows.of,
                                              .columns = columns.of,
                                              .row_count = s->length,
                                              .column_count = s->length,
                                              .values = values + (size_t)i * (size_t)s->length * (size_t)s->length,
                                              .format = scores,
                                              .sums = sums});
  }
  ctn_walk_print_more(MSG_MORE_TABLE, MSG_MORE_TABLES, tables - shown);
  ctn_walk_print_check(s->walk, name, scores);
}

/* ------------------------------------------------------------------------------------------------------------- by hand */

/* The first word's score for the second, its scaling, its weight, and the first output element; all of head 1. A sentence of
 * one word has only itself. */
static int second(const struct sentences *s) {
  return s->length > 1 ? 1 : 0;
}

static void print_score_by_hand(const struct sentences *s) {
  char cell[SENTENCE_LABEL];
  ctn_sentences_cell(s, cell, "q(%s) . k(%s)", ctn_sentences_word(s, 0), ctn_sentences_word(s, second(s)));
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, "query"), 1, 4},
                         &(struct walk_factors){ctn_walk_values(s->walk, "key") + (int64_t)second(s) * s->width, 1, 4},
                         s->head_width, NULL, 4);
}

static void print_scaling_by_hand(const struct sentences *s) {
  const double scaled = (double)ctn_walk_values(s->walk, "scaled_scores")[second(s)];
  const double raw = (double)ctn_walk_values(s->walk, "raw_scores")[second(s)];
  char cell[SENTENCE_LABEL];
  ctn_sentences_cell(s, cell, "%s, %s", ctn_sentences_word(s, 0), ctn_sentences_word(s, second(s)));
  putchar('\n');
  ctn_walk_print_hand_label();
  printf("%s: %.4e / %.4f = %.4e\n", cell, raw, sqrt((double)s->head_width), scaled);
}

static void print_weight_by_hand(const struct sentences *s) {
  enum { SHOWN = 8 };
  const float *row = ctn_walk_values(s->walk, "scaled_scores");
  double highest = (double)row[0], sum = 0;
  char cell[SENTENCE_LABEL];
  for (int j = 1; j < s->length; j++)
    highest = fmax(highest, (double)row[j]);
  char head[SENTENCE_LABEL] = "";
  if (s->heads > 1) snprintf(head, sizeof head, ctn_message(MSG_HAND_HEAD), 1);
  snprintf(cell, sizeof cell, "%s%.32s", ctn_sentences_word(s, 0), head);
  putchar('\n');
  ctn_walk_print_hand_label();
  printf(ctn_message(MSG_HAND_MAXIMUM), cell, highest);
  printf("\n%*s", WALK_HAND_INDENT, "");
  for (int j = 0; j < s->length; j++) {
    if (j < SHOWN) printf("%s%.4f", j == 0 ? "" : ", ", exp((double)row[j] - highest));
    sum += exp((double)row[j] - highest);
  }
  if (s->length > SHOWN) {
    putchar(' ');
    printf(ctn_message(MSG_MORE_TERMS), s->length - SHOWN);
    printf(";\n%*s", WALK_HAND_INDENT, "");
  } else {
    printf("; ");
  }
  printf(ctn_message(MSG_HAND_SUM), 4, sum);
  printf("\n%*s", WALK_HAND_INDENT, "");
  const double own = exp((double)row[second(s)] - highest);
  printf(ctn_message(MSG_HAND_WEIGHT), ctn_sentences_word(s, second(s)));
  printf("%.4f / %.4f = %.4e\n", own, sum, own / sum);
}

static void print_output_by_hand(const struct sentences *s) {
  char cell[SENTENCE_LABEL];
  snprintf(cell, sizeof cell, "output(%s), %s", ctn_sentences_word(s, 0), s->dimensions[0]);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, "weights"), 1, 4},
                         &(struct walk_factors){ctn_walk_values(s->walk, "value"), s->width, 4}, s->length, NULL, 4);
}

/* ------------------------------------------------------------------------------------------------------------ sections */

/* The output projection, where there is one. */
static void print_projected(const struct sentences *s, enum message part, const char *from, const char *name, bool by_hand) {
  if (!ctn_walk_step(s->walk, name)) return;
  const bool biased = ctn_st_find(&s->walk->file, "bias_o") != NULL;
  ctn_sentences_print_part(s, ctn_message(part), biased ? "projected = output W_O^T + b_O" : "projected = output W_O^T",
                           "[B, S, D] x [D, D] -> [B, S, D]");
  if (by_hand) {
    char cell[SENTENCE_LABEL];
    snprintf(cell, sizeof cell, "projected(%s), d0", ctn_sentences_word(s, 0));
    ctn_sentences_print_product(s, cell, from, "weight_o", "bias_o");
  }
  ctn_sentences_print_vectors(s, name, name, false);
}

static void print_unmasked(const struct sentences *s) {
  const bool several = s->heads > 1;
  ctn_walk_print_title(6, ctn_message(MSG_TITLE_UNMASKED));
  ctn_walk_print_message(2, MSG_TEXT_UNMASKED);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_RAW), "scores = Q K^T",
                           several ? "[B, H, S, d] x [B, H, d, S] -> [B, H, S, S]" : "[B, S, D] x [B, D, S] -> [B, S, S]");
  print_score_by_hand(s);
  print_square(s, "raw_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_SCALED),
                           several ? "scaled = scores / sqrt(d)" : "scaled = scores / sqrt(D)", squares(s));
  ctn_walk_print_message(2, MSG_TEXT_SCALED, s->head_width, 4, sqrt((double)s->head_width));
  print_scaling_by_hand(s);
  print_square(s, "scaled_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_WEIGHTS), ctn_message(MSG_FORMULA_WEIGHTS), squares(s));
  ctn_walk_print_message(4, MSG_TEXT_SOFTMAX);
  print_weight_by_hand(s);
  print_square(s, "weights", true);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_6_OUTPUT), "output = weights V",
                           several ? "[B, H, S, S] x [B, H, S, d] -> [B, S, D]" : "[B, S, S] x [B, S, D] -> [B, S, D]");
  print_output_by_hand(s);
  ctn_sentences_print_vectors(s, "output", "output", true);
  print_projected(s, MSG_PART_6_PROJECTED, "output", "projected", true);
}

static enum message masked_title(const struct sentences *s) {
  if (!s->walk->causal) return MSG_TITLE_MASKED;
  return s->padded ? MSG_TITLE_MASKED_BOTH : MSG_TITLE_MASKED_CAUSAL;
}

static void print_masked(const struct sentences *s) {
  ctn_walk_print_title(7, ctn_message(masked_title(s)));
  if (!s->padded && !s->walk->causal) {
    ctn_walk_print_message(2, MSG_TEXT_MASKED_NOTHING);
    ctn_walk_print_check(s->walk, "masked_scores", scores);
    ctn_walk_print_check(s->walk, "weights_masked", scores);
    ctn_walk_print_check(s->walk, "output_masked", ctn_sentences_vectors);
    if (ctn_walk_step(s->walk, "projected_masked")) ctn_walk_print_check(s->walk, "projected_masked", ctn_sentences_vectors);
    return;
  }
  ctn_walk_print_message(2, s->walk->causal ? MSG_TEXT_MASKED_CAUSAL : MSG_TEXT_MASKED, WALK_FILLER);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_SCORES), ctn_message(MSG_FORMULA_MASKED), squares(s));
  print_square(s, "masked_scores", false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_WEIGHTS), ctn_message(MSG_FORMULA_WEIGHTS_MASKED), squares(s));
  print_square(s, "weights_masked", true);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_7_OUTPUT), "output = weights V",
                           s->heads > 1 ? "[B, H, S, S] x [B, H, S, d] -> [B, S, D]" : "[B, S, S] x [B, S, D] -> [B, S, D]");
  ctn_sentences_print_vectors(s, "output_masked", "output_masked", true);
  print_projected(s, MSG_PART_7_PROJECTED, "output_masked", "projected_masked", false);
}

void ctn_sentences_print_attention(const struct sentences *s) {
  print_unmasked(s);
  print_masked(s);
}
