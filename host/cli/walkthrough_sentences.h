/* What the two halves of the sentences' telling share. */
#ifndef CTN_WALKTHROUGH_SENTENCES_H
#define CTN_WALKTHROUGH_SENTENCES_H

#include "walkthrough.h"

/* Two words of the longest kind, and what stands around them. */
enum { SENTENCE_LABEL = 192 };

struct sentences {
  const struct walk *walk;
  int batch;      /* B: sentences */
  int length;     /* S: words of each */
  int width;      /* D: d_model */
  int heads;      /* H */
  int head_width; /* d: D / H */
  bool padded;    /* some token is [PAD] */
  const struct st_tensor *tokens;
  const struct st_tensor *keep;
  const char *dimensions[WALK_SHOWN_COLUMNS]; /* d0, or h1.d0 with several heads */
  char dimension_text[WALK_SHOWN_COLUMNS][32];
};

/* Names for the rows or columns of a table that are printed. */
struct sentence_names {
  const char *of[WALK_SHOWN_ROWS];
  char text[WALK_SHOWN_ROWS][SENTENCE_LABEL];
};

/* 4 decimals: embeddings, encodings, query, key, value, outputs. */
extern const struct walk_format ctn_sentences_vectors;

/* The word of a row of [B, S], and whether it is none of the padding. */
const char *ctn_sentences_word(const struct sentences *s, int row);
bool ctn_sentences_keeps(const struct sentences *s, int row);
/* count words from row on: "1  WORD" at a sentence's start, else "   WORD"; or plain. */
void ctn_sentences_name(const struct sentences *s, struct sentence_names *names, int row, int count, bool numbered);
/* "head 1, " before a cell's name where there are several heads. */
void ctn_sentences_cell(const struct sentences *s, char cell[SENTENCE_LABEL], const char *format, ...) CTN_PRINTF(3, 4);
/* A table of [B, S, D] by the step's name, its columns those of the heads or not, and its check. */
void ctn_sentences_print_vectors(const struct sentences *s, const char *name, const char *corner, bool of_heads);
/* ctn_walk_print_part with the sizes for B, S, D, H and d in shapes. */
void ctn_sentences_print_part(const struct sentences *s, const char *part, const char *formula, const char *shapes);
/* ctn_walk_print_by_hand of row 0's first cell of X W^T + b. */
void ctn_sentences_print_product(const struct sentences *s, const char *cell, const char *x, const char *weight,
                                 const char *bias);
/* Sections 1 to 4; 5; 6 and 7; 8 to 10. */
void ctn_sentences_print_inputs(const struct sentences *s);
void ctn_sentences_print_masks(const struct sentences *s);
void ctn_sentences_print_attention(const struct sentences *s);
void ctn_sentences_print_closing(const struct sentences *s);

/* For 5 and 1: the sentences as a table, with their ids, or whether each word is attended to. */
void ctn_sentences_print_list(const struct sentences *s, bool ids, bool kept);

#endif
