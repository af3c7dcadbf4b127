/* Sentences told: the table of sentences, and section 5, the masks. */
#include <stdio.h>

#include "print.h"
#include "walkthrough_sentences.h"

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Opens a line of the sentences' table: "    1  word        |". */
static void open_line(int sentence, enum message label, int width) {
  if (sentence > 0) {
    printf("    %-2d ", sentence);
  } else {
    printf("%7s", "");
  }
  ctn_print_padded(stdout, ctn_message(label), width, false);
  printf(" |");
}

/* What of the table is printed, and how wide it is. */
struct list {
  int label, column, columns, sentences;
};

static struct list measure(const struct sentences *s) {
  static const enum message labels[] = {MSG_WORD, MSG_TOKEN_ID, MSG_ATTENDED};
  struct list list = {.label = ctn_display_width(ctn_message(MSG_SENTENCE)) - 3,
                      .sentences = least(s->batch, WALK_SHOWN_ROWS / 2)};
  int column = ctn_display_width(ctn_message(MSG_NO));
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    const int needed = ctn_display_width(ctn_message(labels[i]));
    if (needed > list.label) list.label = needed;
  }
  for (int i = 0; i < list.sentences * s->length; i++) {
    const int needed = ctn_display_width(ctn_sentences_word(s, i));
    if (needed > column) column = needed;
  }
  list.column = column + 3;
  list.columns = least(s->length, (WALK_WIDTH - 9 - list.label) / list.column);
  if (list.columns < 1) list.columns = 1;
  return list;
}

static void print_list_head(const struct list *list) {
  printf("\n    ");
  ctn_print_padded(stdout, ctn_message(MSG_SENTENCE), list->label + 3, false);
  printf(" |");
  for (int j = 0; j < list->columns; j++)
    printf("%*d", list->column, j);
  putchar('\n');
}

static void print_list_rule(const struct list *list) {
  printf("    ");
  for (int j = 0; j < list->label + 4; j++)
    putchar('-');
  putchar('+');
  for (int j = 0; j < list->columns * list->column; j++)
    putchar('-');
  putchar('\n');
}

void ctn_sentences_print_list(const struct sentences *s, bool ids, bool kept) {
  const struct list list = measure(s);
  print_list_head(&list);
  for (int i = 0; i < list.sentences; i++) {
    const int row = i * s->length;
    print_list_rule(&list);
    open_line(i + 1, MSG_WORD, list.label);
    for (int j = 0; j < list.columns; j++)
      ctn_print_padded(stdout, ctn_sentences_word(s, row + j), list.column, true);
    putchar('\n');
    if (ids) {
      open_line(0, MSG_TOKEN_ID, list.label);
      for (int j = 0; j < list.columns; j++)
        printf("%*lld", list.column, (long long)ctn_st_i64(s->tokens, row + j));
      putchar('\n');
    }
    if (kept) {
      open_line(0, MSG_ATTENDED, list.label);
      for (int j = 0; j < list.columns; j++)
        ctn_print_padded(stdout, ctn_message(ctn_sentences_keeps(s, row + j) ? MSG_YES : MSG_NO), list.column, true);
      putchar('\n');
    }
  }
  ctn_walk_print_more(MSG_MORE_SENTENCE, MSG_MORE_SENTENCES, s->batch - list.sentences);
  ctn_walk_print_more(MSG_MORE_WORD_OF_EACH, MSG_MORE_WORDS_OF_EACH, s->length - list.columns);
}

/* Which later positions each query is kept from. */
static void print_causal(const struct sentences *s) {
  enum { COLUMN = 8, SHOWN = 8 };
  const int shown = least(s->length, SHOWN);
  const int label = ctn_display_width(ctn_message(MSG_QUERY_KEY));
  ctn_sentences_print_part(s, ctn_message(MSG_PART_5_CAUSAL), ctn_message(MSG_FORMULA_CAUSAL_MASK), "[1, 1, S, S]");
  ctn_walk_print_message(2, MSG_TEXT_CAUSAL_MASK);
  printf("\n    %s |", ctn_message(MSG_QUERY_KEY));
  for (int j = 0; j < shown; j++)
    printf("%*d", COLUMN, j);
  printf("\n    ");
  for (int j = 0; j <= label + shown * COLUMN + 1; j++)
    putchar(j == label + 1 ? '+' : '-');
  putchar('\n');
  for (int i = 0; i < shown; i++) {
    printf("    %*d |", label, i);
    for (int j = 0; j < shown; j++)
      ctn_print_padded(stdout, ctn_message(j <= i ? MSG_YES : MSG_NO), COLUMN, true);
    putchar('\n');
  }
  ctn_walk_print_more(MSG_MORE_WORD_OF_EACH, MSG_MORE_WORDS_OF_EACH, s->length - shown);
}

void ctn_sentences_print_masks(const struct sentences *s) {
  const bool causal = s->walk->causal;
  ctn_walk_print_title(5, ctn_message(causal ? MSG_TITLE_MASKS : MSG_TITLE_PADDING_MASK));
  ctn_walk_print_message(2, MSG_TEXT_PADDING_MASK, s->batch, s->length);
  ctn_sentences_print_part(s, ctn_message(causal ? MSG_PART_5_PADDING : MSG_PART_PADDING_MASK),
                           ctn_message(MSG_FORMULA_PADDING_MASK), "[B, 1, 1, S]");
  ctn_sentences_print_list(s, false, true);
  if (!s->padded) {
    putchar('\n');
    ctn_walk_print_message(4, MSG_NO_PADDING);
  }
  if (causal) print_causal(s);
}
