/* What the two halves of the first example's telling share. */
#ifndef CTN_WALKTHROUGH_SENTENCES_H
#define CTN_WALKTHROUGH_SENTENCES_H

#include "walkthrough.h"

enum { SENTENCE_LABEL = 64 };

struct sentences {
  const struct walk *walk;
  int batch;  /* B: sentences */
  int length; /* S: words of each */
  int width;  /* D: d_model, and the head's dimension */
  const struct st_tensor *tokens;
  const struct st_tensor *keep;
  const char *words[WALK_MAX_ROWS]; /* [B, S] */
  const char *rows[WALK_MAX_ROWS];  /* "1  WORD", then "   WORD": names for a table of [B, S] rows */
  char row_text[WALK_MAX_ROWS][SENTENCE_LABEL];
};

/* 4 decimals: embeddings, encodings, query, key, value, outputs. */
extern const struct walk_format ctn_sentences_vectors;

/* ctn_walk_print_part with the sizes for B, S and D in shapes. */
void ctn_sentences_print_part(const struct sentences *s, const char *part, const char *formula, const char *shapes);
/* Sections 1 to 5, and 6 to 10. */
void ctn_sentences_print_inputs(const struct sentences *s);
void ctn_sentences_print_attention(const struct sentences *s);

#endif
