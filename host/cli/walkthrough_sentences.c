/* The first example told: sections 1 to 5, from the sentences to query, key, value and the padding mask. */
#include "walkthrough_sentences.h"

#include <math.h>
#include <stdio.h>

#include "print.h"

enum { SHAPES_SIZE = 96 };

const struct walk_format ctn_sentences_vectors = {.decimals = 4};

static const char *word_of(const struct walk *walk, int64_t id) {
  return id >= 0 && id < walk->word_count ? walk->words[id] : "?";
}

void ctn_sentences_print_part(const struct sentences *s, const char *part, const char *formula, const char *shapes) {
  char text[SHAPES_SIZE];
  size_t length = 0;
  for (; *shapes && length < sizeof text - 1; shapes++) {
    const int size = *shapes == 'B' ? s->batch : *shapes == 'S' ? s->length : *shapes == 'D' ? s->width : -1;
    if (size < 0) {
      text[length++] = *shapes;
    } else {
      const int added = snprintf(text + length, sizeof text - length, "%d", size);
      if (added > 0) length += (size_t)added;
    }
  }
  text[length < sizeof text ? length : sizeof text - 1] = '\0';
  ctn_walk_print_part(part, formula, text);
}

static int widest_word(const struct walk *walk) {
  int width = 0;
  for (int i = 0; i < walk->word_count; i++) {
    if (ctn_display_width(walk->words[i]) > width) width = ctn_display_width(walk->words[i]);
  }
  return width;
}

/* Opens a line of the sentences' table: "    1  word        |". */
static void open_line(int sentence, enum message label, int width) {
  char number[SENTENCE_LABEL] = "";
  if (sentence > 0) snprintf(number, sizeof number, "%d", sentence);
  printf("    %-3s", number);
  ctn_print_padded(stdout, ctn_message(label), width, false);
  printf(" |");
}

/* Three lines a sentence at most: its words, their ids, and whether each is kept. */
static void print_sentences(const struct sentences *s, bool ids, bool kept) {
  static const enum message labels[] = {MSG_WORD, MSG_TOKEN_ID, MSG_ATTENDED};
  const int column = widest_word(s->walk) + 3;
  int width = ctn_display_width(ctn_message(MSG_SENTENCE)) - 3;
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    const int needed = ctn_display_width(ctn_message(labels[i]));
    if (needed > width) width = needed;
  }
  printf("\n    ");
  ctn_print_padded(stdout, ctn_message(MSG_SENTENCE), width + 3, false);
  printf(" |");
  for (int j = 0; j < s->length; j++)
    printf("%*d", column, j);
  putchar('\n');
  for (int i = 0; i < s->batch; i++) {
    printf("    ");
    for (int j = 0; j < width + 4; j++)
      putchar('-');
    putchar('+');
    for (int j = 0; j < s->length * column; j++)
      putchar('-');
    putchar('\n');
    open_line(i + 1, MSG_WORD, width);
    for (int j = 0; j < s->length; j++)
      ctn_print_padded(stdout, s->words[i * s->length + j], column, true);
    putchar('\n');
    if (ids) open_line(0, MSG_TOKEN_ID, width);
    for (int j = 0; ids && j < s->length; j++)
      printf("%*lld", column, (long long)ctn_st_i64(s->tokens, i * s->length + j));
    if (kept) open_line(0, MSG_ATTENDED, width);
    for (int j = 0; kept && j < s->length; j++) {
      ctn_print_padded(stdout, ctn_message(ctn_st_i64(s->keep, i * s->length + j) ? MSG_YES : MSG_NO), column, true);
    }
    putchar('\n');
  }
}

static void print_vectors(const struct sentences *s, const char *name, const char *corner) {
  ctn_walk_print_table(&(struct walk_table){.corner = corner,
                                            .rows = s->rows,
                                            .columns = ctn_walk_dimensions(),
                                            .row_count = s->batch * s->length,
                                            .column_count = s->width,
                                            .values = ctn_walk_values(s->walk, name),
                                            .format = ctn_sentences_vectors,
                                            .group = s->length});
}

/* Three words a line, each with its id and an English gloss. */
static void print_vocabulary(const struct walk *walk) {
  enum { WORDS_A_LINE = 3, GLOSS_WIDTH = 20 };
  const int column = widest_word(walk) + 2;
  for (int i = 0; i < walk->word_count; i++) {
    const bool last = i % WORDS_A_LINE == WORDS_A_LINE - 1 || i == walk->word_count - 1;
    printf("%s%2d  ", i % WORDS_A_LINE == 0 ? "    " : "", i);
    ctn_print_padded(stdout, walk->words[i], column, false);
    ctn_print_padded(stdout, ctn_walk_gloss(walk->words[i]), last ? 0 : GLOSS_WIDTH, false);
    if (last) putchar('\n');
  }
}

static void print_input(const struct sentences *s) {
  ctn_walk_print_title(1, ctn_message(MSG_TITLE_INPUT));
  ctn_walk_print_message(2, MSG_TEXT_INPUT, WALK_PADDING_ID);
  putchar('\n');
  print_vocabulary(s->walk);
  printf("\n  %s  ", ctn_message(MSG_SHAPE));
  printf(ctn_message(MSG_SHAPE_TOKENS), s->batch, s->length, s->batch, s->length);
  putchar('\n');
  print_sentences(s, true, false);
}

static void print_embedding(const struct sentences *s) {
  const struct st_tensor *table = ctn_st_find(&s->walk->file, "embedding_table");
  const double root = sqrt((double)s->width);
  const int64_t id = ctn_st_i64(s->tokens, 0);
  const double entry = ctn_st_f64(table, id * s->width);
  ctn_walk_print_title(2, ctn_message(MSG_TITLE_EMBEDDING));
  ctn_walk_print_message(2, MSG_TEXT_EMBEDDING, s->width);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_EMBEDDING), "embedded = E[token] * sqrt(d_model)", "[B, S] -> [B, S, D]");
  putchar('\n');
  ctn_walk_print_hand_label();
  printf("%s (%s %lld), d0 = E[%lld, 0] * sqrt(%d) = %.4f * %.4f = %.4f\n", s->words[0], ctn_message(MSG_HAND_ID),
         (long long)id, (long long)id, s->width, entry, root, entry * root);
  print_vectors(s, "embedded", "embedded");
  ctn_walk_print_check(s->walk, "embedded", ctn_sentences_vectors);
}

static void print_position(const struct sentences *s) {
  char text[WALK_MAX_COLUMNS][SENTENCE_LABEL];
  const char *positions[WALK_MAX_COLUMNS];
  for (int i = 0; i < s->length; i++) {
    snprintf(text[i], sizeof text[i], ctn_message(MSG_POSITION), i);
    positions[i] = text[i];
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
                                            .rows = positions,
                                            .columns = ctn_walk_dimensions(),
                                            .row_count = s->length,
                                            .column_count = s->width,
                                            .values = encoding->values,
                                            .format = ctn_sentences_vectors});
  printf("    ");
  printf(ctn_message(MSG_POSITIONS_IN_USE), (long long)encoding->stored->shape[0], s->length);
  putchar('\n');
  ctn_walk_print_check(s->walk, "positional_encoding", ctn_sentences_vectors);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_SUM), "X = embedded + PE[0 ... S-1]", "[B, S, D]");
  print_vectors(s, "embedded_plus_position", "X");
  ctn_walk_print_check(s->walk, "embedded_plus_position", ctn_sentences_vectors);
}

static void print_projections(const struct sentences *s) {
  static const struct {
    enum message part;
    const char *formula, *name, *corner;
  } parts[] = {
      {MSG_PART_4_QUERY, "Q = X W_Q^T", "query", "Q"},
      {MSG_PART_4_KEY, "K = X W_K^T", "key", "K"},
      {MSG_PART_4_VALUE, "V = X W_V^T", "value", "V"},
  };
  const struct st_tensor *weight = ctn_st_find(&s->walk->file, "weight_q");
  ctn_walk_print_title(4, ctn_message(MSG_TITLE_PROJECTIONS));
  ctn_walk_print_message(2, MSG_TEXT_PROJECTIONS);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ctn_sentences_print_part(s, ctn_message(parts[i].part), parts[i].formula, "[B, S, D] x [D, D] -> [B, S, D]");
    if (i == 0) {
      char cell[SENTENCE_LABEL];
      snprintf(cell, sizeof cell, "Q(%s), d0 = X . W_Q[0]", s->words[0]);
      putchar('\n');
      ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, "embedded_plus_position"), 1, 4},
                             &(struct walk_factors){weight->data, 1, 4}, s->width, 4);
    }
    print_vectors(s, parts[i].name, parts[i].corner);
    ctn_walk_print_check(s->walk, parts[i].name, ctn_sentences_vectors);
  }
}

static void print_mask(const struct sentences *s) {
  ctn_walk_print_title(5, ctn_message(MSG_TITLE_PADDING_MASK));
  ctn_walk_print_message(2, MSG_TEXT_PADDING_MASK, s->batch, s->length);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_PADDING_MASK), ctn_message(MSG_FORMULA_PADDING_MASK), "[B, 1, 1, S]");
  print_sentences(s, false, true);
}

void ctn_sentences_print_inputs(const struct sentences *s) {
  print_input(s);
  print_embedding(s);
  print_position(s);
  print_projections(s);
  print_mask(s);
}

/* Names every row of a [B, S] table: the sentence's number stands at its first word. */
static void name_rows(struct sentences *s) {
  for (int i = 0; i < s->batch * s->length; i++) {
    s->words[i] = word_of(s->walk, ctn_st_i64(s->tokens, i));
    if (i % s->length == 0) {
      snprintf(s->row_text[i], SENTENCE_LABEL, "%d  %s", i / s->length + 1, s->words[i]);
    } else {
      snprintf(s->row_text[i], SENTENCE_LABEL, "   %s", s->words[i]);
    }
    s->rows[i] = s->row_text[i];
  }
}

static void print_sentences_example(const struct walk *walk) {
  const struct walk_step *embedded = ctn_walk_step(walk, "embedded");
  struct sentences s = {.walk = walk,
                        .batch = (int)embedded->stored->shape[0],
                        .length = (int)embedded->stored->shape[1],
                        .width = (int)embedded->stored->shape[2],
                        .tokens = ctn_st_find(&walk->file, "tokens"),
                        .keep = ctn_st_find(&walk->file, "keep_mask")};
  name_rows(&s);
  ctn_sentences_print_inputs(&s);
  ctn_sentences_print_attention(&s);
}

const struct walk_example ctn_walk_sentences = {
    .name = "sentences",
    .file = "sentences.safetensors",
    .summary = MSG_SUMMARY_SENTENCES,
    .compute = ctn_walk_sentences_compute,
    .print = print_sentences_example,
};
