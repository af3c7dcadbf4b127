/* Sentences told: sections 1 to 4, from the words to query, key and value. */
#include <math.h>
#include <stdio.h>

#include "print.h"
#include "walkthrough_sentences.h"

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Words of a line, each with its id and an English gloss: three, or fewer where they are long. */
static void print_vocabulary(const struct walk *walk) {
  enum { WORDS_A_LINE = 3, GLOSS_WIDTH = 20, ID_WIDTH = 4 };
  const int shown = least(walk->word_count, WALK_SHOWN_WORDS);
  int word = 0;
  bool glosses = false;
  for (int i = 0; i < shown; i++) {
    if (ctn_display_width(walk->words[i]) > word) word = ctn_display_width(walk->words[i]);
    glosses = glosses || (!walk->own && *ctn_walk_gloss(walk->words[i]));
  }
  const int column = ID_WIDTH + word + 2 + (glosses ? GLOSS_WIDTH : 0);
  int words_a_line = (WALK_WIDTH - 4) / column;
  if (glosses) words_a_line = WORDS_A_LINE; /* the examples' words are short */
  if (words_a_line < 1) words_a_line = 1;
  for (int i = 0; i < shown; i++) {
    const bool last = i % words_a_line == words_a_line - 1 || i == shown - 1;
    const char *gloss = glosses ? ctn_walk_gloss(walk->words[i]) : "";
    printf("%s%2d  ", i % words_a_line == 0 ? "    " : "", i);
    ctn_print_padded(stdout, walk->words[i], last && !*gloss ? 0 : word + 2, false);
    if (glosses) ctn_print_padded(stdout, gloss, last ? 0 : GLOSS_WIDTH, false);
    if (last) putchar('\n');
  }
  ctn_walk_print_more(MSG_MORE_WORD, MSG_MORE_WORDS, walk->word_count - shown);
}

static void print_input(const struct sentences *s) {
  ctn_walk_print_title(1, ctn_message(MSG_TITLE_INPUT));
  ctn_walk_print_message(2, MSG_TEXT_INPUT, (int)s->walk->padding_id);
  putchar('\n');
  print_vocabulary(s->walk);
  printf("\n  %s  ", ctn_message(MSG_SHAPE));
  printf(ctn_message(MSG_SHAPE_TOKENS), s->batch, s->length, s->batch, s->length);
  putchar('\n');
  ctn_sentences_print_list(s, true, false);
}

static void print_embedding(const struct sentences *s) {
  const struct st_tensor *table = ctn_st_find(&s->walk->file, "embedding_table");
  const double root = sqrt((double)s->width);
  const int64_t id = ctn_st_i64(s->tokens, 0);
  const double entry = ctn_st_f64(table, id * s->width);
  ctn_walk_print_title(2, ctn_message(MSG_TITLE_EMBEDDING));
  ctn_walk_print_message(2, MSG_TEXT_EMBEDDING, s->width);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_EMBEDDING), "embedded = E[token] * sqrt(d_model)", "[B, S] -> [B, S, D]");
  if (id != s->walk->padding_id) {
    putchar('\n');
    ctn_walk_print_hand_label();
    printf("%s (%s %lld), d0 = E[%lld, 0] * sqrt(%d) = %.4f * %.4f = %.4f\n", ctn_sentences_word(s, 0),
           ctn_message(MSG_HAND_ID), (long long)id, (long long)id, s->width, entry, root, entry * root);
  }
  ctn_sentences_print_vectors(s, "embedded", "embedded", false);
}

static void print_position(const struct sentences *s) {
  struct sentence_names positions;
  for (int i = 0; i < s->length && i < WALK_SHOWN_ROWS; i++) {
    snprintf(positions.text[i], SENTENCE_LABEL, ctn_message(MSG_POSITION), i);
    positions.of[i] = positions.text[i];
  }
  const struct walk_step *encoding = ctn_walk_step(s->walk, "positional_encoding");
  ctn_walk_print_title(3, ctn_message(MSG_TITLE_POSITION));
  ctn_walk_print_message(2, MSG_TEXT_POSITION);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_POSITION), "PE[pos, 2i]   = sin(pos / 10000^(2i/D))", "[S, D]");
  ctn_sentences_print_part(s, "", "PE[pos, 2i+1] = cos(pos / 10000^(2i/D))", "");
  putchar('\n');
  ctn_walk_print_hand_label();
  printf("PE[1, 0] = sin(1 / 10000^(0/%d)) = sin(1) = %.4f,  PE[1, 1] = cos(1) = %.4f\n", s->width, sin(1.0), cos(1.0));
  ctn_walk_print_table(&(struct walk_table){.corner = "PE",
                                            .rows = positions.of,
                                            .columns = ctn_walk_dimensions(),
                                            .row_count = s->length,
                                            .column_count = s->width,
                                            .values = encoding->values,
                                            .format = ctn_sentences_vectors});
  if (encoding->shape[0] > s->length) {
    printf("    ");
    printf(ctn_message(MSG_POSITIONS_IN_USE), (long long)encoding->shape[0], s->length);
    putchar('\n');
  }
  ctn_walk_print_check(s->walk, "positional_encoding", ctn_sentences_vectors);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_SUM), "X = embedded + PE[0 ... S-1]", "[B, S, D]");
  ctn_sentences_print_vectors(s, "embedded_plus_position", "X", false);
}

static void print_projections(const struct sentences *s) {
  static const struct {
    enum message part;
    const char *formula, *biased, *name, *corner;
  } parts[] = {
      {MSG_PART_4_QUERY, "Q = X W_Q^T", "Q = X W_Q^T + b_Q", "query", "Q"},
      {MSG_PART_4_KEY, "K = X W_K^T", "K = X W_K^T + b_K", "key", "K"},
      {MSG_PART_4_VALUE, "V = X W_V^T", "V = X W_V^T + b_V", "value", "V"},
  };
  const bool biased = ctn_st_find(&s->walk->file, "bias_q") != NULL;
  ctn_walk_print_title(4, ctn_message(MSG_TITLE_PROJECTIONS));
  ctn_walk_print_message(2, MSG_TEXT_PROJECTIONS);
  if (s->heads > 1) ctn_walk_print_message(2, MSG_TEXT_HEADS, s->width, s->heads, s->head_width);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ctn_sentences_print_part(s, ctn_message(parts[i].part), biased ? parts[i].biased : parts[i].formula,
                             "[B, S, D] x [D, D] -> [B, S, D]");
    if (i == 0) {
      char cell[SENTENCE_LABEL];
      snprintf(cell, sizeof cell, "Q(%s), %s = X . W_Q[0]%s", ctn_sentences_word(s, 0), s->dimensions[0],
               biased ? " + b_Q[0]" : "");
      ctn_sentences_print_product(s, cell, "embedded_plus_position", "weight_q", "bias_q");
    }
    ctn_sentences_print_vectors(s, parts[i].name, parts[i].corner, true);
  }
}

void ctn_sentences_print_inputs(const struct sentences *s) {
  print_input(s);
  print_embedding(s);
  print_position(s);
  print_projections(s);
}
