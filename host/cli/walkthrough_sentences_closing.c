/* Sentences told: sections 8 to 10, one sentence without and with the mask, what [PAD] gets, and all shapes. */
#include <math.h>
#include <stdio.h>

#include "print.h"
#include "walkthrough_sentences.h"

static const struct walk_format weights = {.decimals = 4, .scientific = true};

/* Names for rows in groups of lines: "WORD  without", "      with", and with three "      change". */
static void name_pairs(const struct sentences *s, struct sentence_names *names, int sentence, int lines) {
  const char *const suffixes[3] = {ctn_message(MSG_WITHOUT), ctn_message(MSG_WITH), ctn_message(MSG_CHANGE)};
  int width = 0;
  for (int i = 0; i < s->length && i * lines < WALK_SHOWN_ROWS; i++) {
    const int word = ctn_display_width(ctn_sentences_word(s, sentence * s->length + i));
    if (word > width) width = word;
  }
  for (int i = 0; i < s->length * lines && i < WALK_SHOWN_ROWS; i++) {
    const char *shown = i % lines == 0 ? ctn_sentences_word(s, sentence * s->length + i / lines) : "";
    snprintf(names->text[i], SENTENCE_LABEL, "%s%*s  %s", shown, width - ctn_display_width(shown), "", suffixes[i % lines]);
    names->of[i] = names->text[i];
  }
}

static void print_weight_pairs(const struct sentences *s, int sentence) {
  const int shown = s->heads < WALK_SHOWN_TABLES ? s->heads : WALK_SHOWN_TABLES;
  struct sentence_names rows, columns;
  name_pairs(s, &rows, sentence, 2);
  ctn_sentences_name(s, &columns, sentence * s->length, s->length, false);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_8_WEIGHTS), "", s->heads > 1 ? "[H, S, S]" : "[S, S]");
  for (int head = 0; head < shown; head++) {
    const size_t at = (size_t)(sentence * s->heads + head) * (size_t)s->length * (size_t)s->length;
    if (s->heads > 1) {
      printf("\n    ");
      printf(ctn_message(MSG_HEAD), head + 1);
    }
    ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY_KEY),
                                              .rows = rows.of,
                                              .columns = columns.of,
                                              .row_count = s->length * 2,
                                              .column_count = s->length,
                                              .values = ctn_walk_values(s->walk, "weights") + at,
                                              .other = ctn_walk_values(s->walk, "weights_masked") + at,
                                              .lines = 2,
                                              .format = weights,
                                              .sums = true,
                                              .group = 2});
  }
  ctn_walk_print_more(MSG_MORE_TABLE, MSG_MORE_TABLES, s->heads - shown);
}

static void print_output_pairs(const struct sentences *s, int sentence) {
  const size_t at = (size_t)sentence * (size_t)s->length * (size_t)s->width;
  struct sentence_names rows;
  name_pairs(s, &rows, sentence, 3);
  ctn_sentences_print_part(s, ctn_message(MSG_PART_8_OUTPUT), "", "[S, D]");
  ctn_walk_print_table(&(struct walk_table){.corner = "output",
                                            .rows = rows.of,
                                            .columns = s->dimensions,
                                            .row_count = s->length * 3,
                                            .column_count = s->width,
                                            .values = ctn_walk_values(s->walk, "output") + at,
                                            .other = ctn_walk_values(s->walk, "output_masked") + at,
                                            .lines = 3,
                                            .format = ctn_sentences_vectors,
                                            .group = 3});
}

/* The last sentence, or the last one with [PAD] where there is any. */
static int telling_sentence(const struct sentences *s) {
  for (int row = s->batch * s->length - 1; row >= 0 && s->padded; row--) {
    if (!ctn_sentences_keeps(s, row)) return row / s->length;
  }
  return s->batch - 1;
}

static void print_side_by_side(const struct sentences *s) {
  const int sentence = telling_sentence(s);
  char title[SENTENCE_LABEL];
  snprintf(title, sizeof title, ctn_message(sentence == s->batch - 1 ? MSG_TITLE_LAST : MSG_TITLE_ONE), sentence + 1);
  ctn_walk_print_title(8, title);
  if (!s->padded && !s->walk->causal) {
    ctn_walk_print_message(2, MSG_SAME_WITH_MASK);
    return;
  }
  ctn_walk_print_message(2, s->walk->causal ? MSG_TEXT_LAST_CAUSAL : MSG_TEXT_LAST);
  print_weight_pairs(s, sentence);
  print_output_pairs(s, sentence);
}

/* -------------------------------------------------------------------------------------------------------- what [PAD] gets */

/* What a row's query gives to [PAD] keys in one head. */
static double weight_on_padding(const struct sentences *s, const char *name, int row, int head) {
  const int sentence = row / s->length, query = row % s->length;
  const size_t start = ((size_t)(sentence * s->heads + head) * (size_t)s->length + (size_t)query) * (size_t)s->length;
  const float *values = ctn_walk_values(s->walk, name) + start;
  double sum = 0;
  for (int j = 0; j < s->length; j++) {
    if (!ctn_sentences_keeps(s, sentence * s->length + j)) sum += (double)values[j];
  }
  return sum;
}

/* Where the most is lost, by a query that is a word. */
struct loss {
  int row, head;
  double most, masked; /* without the mask; the most of all with it */
};

static struct loss find_loss(const struct sentences *s) {
  struct loss loss = {0, 0, 0, 0};
  for (int row = 0; row < s->batch * s->length; row++) {
    for (int head = 0; head < s->heads; head++) {
      const double without = weight_on_padding(s, "weights", row, head);
      loss.masked = fmax(loss.masked, weight_on_padding(s, "weights_masked", row, head));
      if (!ctn_sentences_keeps(s, row) || without <= loss.most) continue;
      loss.row = row;
      loss.head = head;
      loss.most = without;
    }
  }
  return loss;
}

/* The rows of a table that is too long to be printed start with the first sentence that has [PAD]. */
static int first_row(const struct sentences *s) {
  const int rows = s->batch * s->length;
  for (int row = 0; row < rows && rows > WALK_SHOWN_ROWS; row++) {
    if (!ctn_sentences_keeps(s, row)) return row / s->length * s->length;
  }
  return 0;
}

/* One head: both sides in one table. Several: a table for each side, a column for each head. */
static void print_padding_table(const struct sentences *s, const char *const names[2], const char *const *columns, int sides,
                                int side) {
  float values[WALK_SHOWN_ROWS * WALK_SHOWN_COLUMNS];
  struct sentence_names rows;
  const int first = first_row(s), count = s->batch * s->length - first;
  const int column_count = sides == 2 ? 2 : s->heads;
  for (int i = 0; i < count && i < WALK_SHOWN_ROWS; i++) {
    for (int j = 0; j < column_count && j < WALK_SHOWN_COLUMNS; j++) {
      values[i * WALK_SHOWN_COLUMNS + j] =
          (float)weight_on_padding(s, names[sides == 2 ? j : side], first + i, sides == 2 ? 0 : j);
    }
  }
  ctn_sentences_name(s, &rows, first, count, true);
  ctn_walk_print_table(&(struct walk_table){.corner = ctn_message(MSG_QUERY),
                                            .rows = rows.of,
                                            .columns = columns,
                                            .row_count = count,
                                            .column_count = column_count,
                                            .values = values,
                                            .pitch = WALK_SHOWN_COLUMNS,
                                            .format = weights,
                                            .group = s->length});
}

static void print_padding(const struct sentences *s) {
  static const char *const names[2] = {"weights", "weights_masked"};
  const char *const sides[2] = {ctn_message(MSG_WITHOUT_MASK), ctn_message(MSG_WITH_MASK)};
  ctn_walk_print_title(9, ctn_message(MSG_TITLE_PADDING));
  if (!s->padded) {
    ctn_walk_print_message(2, MSG_TEXT_PADDING_NONE);
    return;
  }
  ctn_walk_print_message(2, MSG_TEXT_PADDING);
  if (s->heads == 1) {
    print_padding_table(s, names, sides, 2, 0);
  } else {
    struct sentence_names heads;
    for (int i = 0; i < s->heads && i < WALK_SHOWN_COLUMNS; i++) {
      snprintf(heads.text[i], SENTENCE_LABEL, ctn_message(MSG_HEAD), i + 1);
      heads.of[i] = heads.text[i];
    }
    for (int side = 0; side < 2; side++) {
      printf("\n    %s", sides[side]);
      print_padding_table(s, names, heads.of, 1, side);
    }
  }
  const struct loss loss = find_loss(s);
  const int sentence = loss.row / s->length + 1;
  putchar('\n');
  if (s->heads == 1) {
    ctn_walk_print_message(2, MSG_TEXT_PADDING_LOSS, 100 * loss.most, sentence, ctn_sentences_word(s, loss.row),
                           100 * loss.masked);
  } else {
    ctn_walk_print_message(2, MSG_TEXT_PADDING_LOSS_HEAD, 100 * loss.most, sentence, ctn_sentences_word(s, loss.row),
                           loss.head + 1, 100 * loss.masked);
  }
}

/* ----------------------------------------------------------------------------------------------------------------- shapes */

enum { SHAPE_SIZE = 96 };

static const struct {
  const char *name, *dimensions, *of_heads; /* of_heads: with several; NULL: the same */
  const char *made_of;                      /* NULL: a message */
} tensors[] = {
    {"tokens", "[B, S]", NULL, NULL},
    {"embedded", "[B, S, D]", NULL, "E[tokens] * sqrt(D)"},
    {"positional_encoding", "[positions, D]", NULL, "sin, cos"},
    {"embedded_plus_position", "[B, S, D]", NULL, "X = embedded + PE"},
    {"query", "[B, S, D]", NULL, "X W_Q^T"},
    {"key", "[B, S, D]", NULL, "X W_K^T"},
    {"value", "[B, S, D]", NULL, "X W_V^T"},
    {"keep_mask", "[B, S]", NULL, "tokens != [PAD]"},
    {"raw_scores", "[B, S, S]", "[B, H, S, S]", "Q K^T"},
    {"scaled_scores", "[B, S, S]", "[B, H, S, S]", "scores / sqrt(d)"},
    {"weights", "[B, S, S]", "[B, H, S, S]", "softmax(scaled)"},
    {"output", "[B, S, D]", NULL, "weights V"},
    {"projected", "[B, S, D]", NULL, "output W_O^T"},
    {"masked_scores", "[B, S, S]", "[B, H, S, S]", NULL},
    {"weights_masked", "[B, S, S]", "[B, H, S, S]", "softmax(masked)"},
    {"output_masked", "[B, S, D]", NULL, "weights_masked V"},
    {"projected_masked", "[B, S, D]", NULL, "output_masked W_O^T"},
};

enum { TENSORS = sizeof tensors / sizeof *tensors };

static bool find_shape(const struct sentences *s, const char *name, char text[SHAPE_SIZE]) {
  const struct walk_step *step = ctn_walk_step(s->walk, name);
  const struct st_tensor *input = ctn_st_find(&s->walk->file, name);
  if (!step && !input) return false;
  ctn_walk_format_shape(text, SHAPE_SIZE, step ? step->rank : input->rank, step ? step->shape : input->shape);
  return true;
}

/* A line of the last table: four names, then text. */
static void print_columns(const char *name, const char *dimensions, const char *shape, int shape_width, const char *made_of) {
  enum { NAME = 23, DIMENSIONS = 15, MADE_OF = 23 };
  printf("    ");
  ctn_print_padded(stdout, name, NAME, false);
  ctn_print_padded(stdout, dimensions, DIMENSIONS, false);
  ctn_print_padded(stdout, shape, shape_width, false);
  ctn_print_padded(stdout, made_of, MADE_OF, false);
}

static void print_shapes_head(const struct sentences *s, int shape_width) {
  print_columns("", "", "", shape_width, "");
  printf("%s\n", ctn_message(MSG_COLUMN_DIFFERENCES));
  print_columns(ctn_message(MSG_COLUMN_TENSOR), ctn_message(MSG_COLUMN_DIMENSIONS), ctn_message(MSG_SHAPE), shape_width,
                ctn_message(MSG_COLUMN_IS));
  ctn_print_padded(stdout, ctn_message(MSG_COLUMN_REFERENCE), s->walk->own ? 0 : 11, false);
  printf("%s\n    ", s->walk->own ? "" : ctn_message(MSG_COLUMN_STORED));
  for (int i = 0; i < 80 + shape_width && i < WALK_WIDTH - 4; i++)
    putchar('-');
  putchar('\n');
}

static void print_shapes_row(const struct sentences *s, int row, int shape_width) {
  const struct walk_step *step = ctn_walk_step(s->walk, tensors[row].name);
  const char *dimensions = s->heads > 1 && tensors[row].of_heads ? tensors[row].of_heads : tensors[row].dimensions;
  const char *made_of = tensors[row].made_of;
  char shape[SHAPE_SIZE];
  if (!find_shape(s, tensors[row].name, shape)) return;
  if (!made_of) made_of = ctn_message(!step ? MSG_IS_SENTENCES : s->walk->causal ? MSG_IS_MASKED_CAUSAL : MSG_IS_MASKED);
  print_columns(tensors[row].name, dimensions, shape, shape_width, made_of);
  if (!step) {
    printf("%s\n", ctn_message(MSG_IS_INPUT));
  } else if (step->stored) {
    printf("%-9.1e  %.1e\n", step->from_reference, step->from_stored);
  } else {
    printf(s->walk->own ? "%.1e\n" : "%-9.1e  -\n", step->from_reference);
  }
}

static void print_shapes(const struct sentences *s) {
  char shape[SHAPE_SIZE];
  int width = 10;
  for (int i = 0; i < TENSORS; i++) {
    if (!find_shape(s, tensors[i].name, shape)) continue;
    if (ctn_display_width(shape) > width) width = ctn_display_width(shape);
  }
  ctn_walk_print_title(10, ctn_message(MSG_TITLE_SHAPES));
  ctn_walk_print_message(2, s->heads > 1 ? MSG_TEXT_SHAPES_HEADS : MSG_TEXT_SHAPES, s->batch, s->length, s->width, s->heads,
                         s->head_width);
  putchar('\n');
  print_shapes_head(s, width + 1);
  for (int i = 0; i < TENSORS; i++)
    print_shapes_row(s, i, width + 1);
}

void ctn_sentences_print_closing(const struct sentences *s) {
  print_side_by_side(s);
  print_padding(s);
  print_shapes(s);
}
