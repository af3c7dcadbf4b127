/* Between the page's sections and the pieces that they are made of. */
#ifndef CTN_WALKTHROUGH_PAGE_H
#define CTN_WALKTHROUGH_PAGE_H

#include "walkthrough_view.h"

struct page {
  struct text *html;
  const struct walk_view *view;
  const struct walk_pictures *pictures;
};

/* The style sheet. */
extern const char ctn_page_style[];

/* ---------------------------------------------------------------------------------------------- walkthrough_page_parts.c */

/* Text with the characters that HTML reads otherwise written out. */
void ctn_page_escaped(struct text *html, const char *text);
/* <p class="kind">, the message with its arguments, </p>. */
void ctn_page_message(struct page *page, const char *kind, enum message id, ...);
/* A heading, the formula and the shape of a step; then its picture, its table and its check. */
void ctn_page_step_head(struct page *page, const char *name);
void ctn_page_step_body(struct page *page, const char *name);
/* Both at once; nothing where this run has no such step. */
void ctn_page_step(struct page *page, const char *name);
void ctn_page_picture(struct page *page, const char *name);

/* --------------------------------------------------------------------------------------------- walkthrough_page_tables.c */

struct page_table {
  const char *caption; /* NULL: none */
  const char *corner;
  const char *const *rows;
  const char *const *columns;
  int row_count, column_count;
  const float *values;
  bool sums;
  int group; /* a line above every so many rows; 0: none */
};

void ctn_page_table(struct text *html, const struct page_table *table);
/* All matrices of a step, folded away. */
void ctn_page_step_table(struct page *page, const struct walk_step *step);
/* The vocabulary, and the sentences by their words, ids and whether each word is attended to. */
void ctn_page_vocabulary(struct page *page);
void ctn_page_sentences(struct page *page, bool ids, bool kept);
/* What each query spends on [PAD], without and with the mask; several heads have a table for each side (in
 * walkthrough_page_padding.c). */
void ctn_page_padding(struct page *page);
/* Every step's shape and differences. */
void ctn_page_shapes(struct page *page);

/* ----------------------------------------------------------------------------------------------- walkthrough_page_hand.c */

/* The first cells recomputed, where the run has what they are made of. */
void ctn_page_hand_embedding(struct page *page);
void ctn_page_hand_position(struct page *page);
void ctn_page_hand_query(struct page *page);
void ctn_page_hand_score(struct page *page);
void ctn_page_hand_scaled(struct page *page);
void ctn_page_hand_weight(struct page *page);
void ctn_page_hand_output(struct page *page);

#endif
