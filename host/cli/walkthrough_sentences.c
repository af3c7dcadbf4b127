/* Sentences told, the example's or one's own: what all ten sections are printed with. */
#include "walkthrough_sentences.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "walkthrough_own.h"

enum { SHAPES_SIZE = 192 };

const struct walk_format ctn_sentences_vectors = {.decimals = 4};

const char *ctn_sentences_word(const struct sentences *s, int row) {
  const int64_t id = ctn_st_i64(s->tokens, row);
  return id >= 0 && id < s->walk->word_count ? s->walk->words[id] : "?";
}

bool ctn_sentences_keeps(const struct sentences *s, int row) {
  return ctn_st_i64(s->keep, row) != 0;
}

void ctn_sentences_name(const struct sentences *s, struct sentence_names *names, int row, int count, bool numbered) {
  for (int i = 0; i < count && i < WALK_SHOWN_ROWS; i++) {
    const char *word = ctn_sentences_word(s, row + i);
    if (!numbered) {
      snprintf(names->text[i], SENTENCE_LABEL, "%s", word);
    } else if ((row + i) % s->length == 0) {
      snprintf(names->text[i], SENTENCE_LABEL, "%-2d %s", (row + i) / s->length + 1, word);
    } else {
      snprintf(names->text[i], SENTENCE_LABEL, "   %s", word);
    }
    names->of[i] = names->text[i];
  }
}

void ctn_sentences_cell(const struct sentences *s, char cell[SENTENCE_LABEL], const char *format, ...) {
  size_t length = 0;
  if (s->heads > 1) {
    snprintf(cell, SENTENCE_LABEL, ctn_message(MSG_HEAD), 1);
    length = strlen(cell);
    length += (size_t)snprintf(cell + length, SENTENCE_LABEL - length, ", ");
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(cell + length, SENTENCE_LABEL - length, format, arguments);
  va_end(arguments);
}

void ctn_sentences_print_vectors(const struct sentences *s, const char *name, const char *corner, bool of_heads) {
  struct sentence_names rows;
  ctn_sentences_name(s, &rows, 0, s->batch * s->length, true);
  ctn_walk_print_table(&(struct walk_table){.corner = corner,
                                            .rows = rows.of,
                                            .columns = of_heads ? s->dimensions : ctn_walk_dimensions(),
                                            .row_count = s->batch * s->length,
                                            .column_count = s->width,
                                            .values = ctn_walk_values(s->walk, name),
                                            .format = ctn_sentences_vectors,
                                            .group = s->length});
  ctn_walk_print_check(s->walk, name, ctn_sentences_vectors);
}

static int size_of(const struct sentences *s, char letter) {
  switch (letter) {
    case 'B':
      return s->batch;
    case 'S':
      return s->length;
    case 'D':
      return s->width;
    case 'H':
      return s->heads;
    case 'd':
      return s->head_width;
    default:
      return -1;
  }
}

void ctn_sentences_print_part(const struct sentences *s, const char *part, const char *formula, const char *shapes) {
  char text[SHAPES_SIZE];
  size_t length = 0;
  for (; *shapes && length + 16 < sizeof text; shapes++) {
    const int size = size_of(s, *shapes);
    if (size < 0) {
      text[length++] = *shapes;
    } else {
      length += (size_t)snprintf(text + length, sizeof text - length, "%d", size);
    }
  }
  text[length] = '\0';
  ctn_walk_print_part(part, formula, text);
}

void ctn_sentences_print_product(const struct sentences *s, const char *cell, const char *x, const char *weight,
                                 const char *bias) {
  const struct st_tensor *matrix = ctn_st_find(&s->walk->file, weight), *added = ctn_st_find(&s->walk->file, bias);
  putchar('\n');
  ctn_walk_print_by_hand(cell, &(struct walk_factors){ctn_walk_values(s->walk, x), 1, 4},
                         &(struct walk_factors){matrix->data, 1, 4}, s->width, added ? added->data : NULL, 4);
}

/* The names of d_model's columns that are printed. */
static void name_dimensions(struct sentences *s) {
  for (int i = 0; i < s->width && i < WALK_SHOWN_COLUMNS; i++) {
    if (s->heads > 1) {
      snprintf(s->dimension_text[i], sizeof s->dimension_text[i], "h%d.d%d", i / s->head_width + 1, i % s->head_width);
    } else {
      snprintf(s->dimension_text[i], sizeof s->dimension_text[i], "d%d", i);
    }
    s->dimensions[i] = s->dimension_text[i];
  }
}

static void print_sentences(const struct walk *walk) {
  const struct walk_step *embedded = ctn_walk_step(walk, "embedded");
  struct sentences s = {.walk = walk,
                        .batch = (int)embedded->shape[0],
                        .length = (int)embedded->shape[1],
                        .width = (int)embedded->shape[2],
                        .heads = walk->heads,
                        .head_width = (int)embedded->shape[2] / walk->heads,
                        .tokens = ctn_st_find(&walk->file, "tokens"),
                        .keep = ctn_st_find(&walk->file, "keep_mask")};
  for (int i = 0; i < s.batch * s.length && !s.padded; i++)
    s.padded = !ctn_sentences_keeps(&s, i);
  name_dimensions(&s);
  ctn_sentences_print_inputs(&s);
  ctn_sentences_print_masks(&s);
  ctn_sentences_print_attention(&s);
  ctn_sentences_print_closing(&s);
}

const struct walk_example ctn_walk_sentences = {
    .name = "sentences",
    .file = "sentences.safetensors",
    .summary = MSG_SUMMARY_SENTENCES,
    .compute = ctn_walk_sentences_compute,
    .print = print_sentences,
};

const struct walk_example ctn_walk_own_sentences = {
    .name = "own",
    .file = NULL,
    .summary = MSG_SUMMARY_OWN,
    .compute = ctn_walk_sentences_compute,
    .print = print_sentences,
};
