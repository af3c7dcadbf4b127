/* A run as pictures and the page see it, whichever example it is: which matrices there are, and what their rows are called. */
#ifndef CTN_WALKTHROUGH_VIEW_H
#define CTN_WALKTHROUGH_VIEW_H

#include "plot.h"
#include "walkthrough.h"

/* What a tensor's last two dimensions are. */
enum view_kind {
  VIEW_VECTORS,   /* words by dimensions */
  VIEW_POSITIONS, /* positions by dimensions */
  VIEW_SCORES,    /* queries by keys */
  VIEW_WEIGHTS    /* queries by keys, shares of 1 */
};

struct view_tensor {
  const char *name;
  enum view_kind kind;
  enum message title;
  const char *formula; /* HTML; NULL: none */
};

enum { VIEW_NAME = 24, VIEW_MOST_PANELS = 32 };

struct walk_view {
  const struct walk *walk;
  const struct walk_example *example;
  int batch;               /* sentences; 1 where there is only one */
  int length;              /* words of each */
  const char **words;      /* [batch, length] */
  const char **dimensions; /* d0, d1, ...: as many as the widest matrix has columns */
  const char **positions;  /* 0, 1, ... */
  char (*memory)[VIEW_NAME];
};

/* A tensor as matrices: [rows, columns], count of them, of which heads belong to one sentence. */
struct view_shape {
  int count, heads, rows, columns;
};

/* Start from {0}. */
clattn_status ctn_view_open(struct walk_view *view, const struct walk *walk, const struct walk_example *example,
                            clattn_error *error);
void ctn_view_close(struct walk_view *view);

/* What is known of a step, by its name; steps that the table does not know are vectors under their own name. */
const struct view_tensor *ctn_view_tensor(const char *name);
const char *ctn_view_title(const struct walk_step *step);
struct view_shape ctn_view_shape(const struct walk_step *step);
/* The step, or NULL where this run has none of the name. */
const struct walk_step *ctn_view_find(const struct walk_view *view, const char *name);
/* Names for a matrix's rows and columns; matrix counts through sentences and heads. */
const char *const *ctn_view_rows(const struct walk_view *view, const struct walk_step *step, int matrix);
const char *const *ctn_view_columns(const struct walk_view *view, const struct walk_step *step, int matrix);
/* "sentence 1", "sentence 1, head 2", "head 2", or "" where there is only one matrix. */
void ctn_view_matrix_name(const struct walk_view *view, const struct walk_step *step, int matrix, char *text, size_t size);

/* ----------------------------------------------------------------------------------------------------------- pictures */

/* A figure with the memory behind it, drawn in every form. */
struct walk_picture {
  const char *name; /* of its files, without an ending */
  const char *title;
  struct plot_image png;
  struct plot_image svg[PLOT_THEMES];
};

enum { VIEW_MAX_PICTURES = WALK_MAX_STEPS + 3 };

struct walk_pictures {
  struct walk_picture pictures[VIEW_MAX_PICTURES];
  int count;
  int missing; /* characters without a font */
  bool cut;    /* some picture leaves something out, as its title says */
};

/* Draws a picture for each step, the comparison of weights without and with a mask, and the strip of heads. Start from {0}. */
clattn_status ctn_pictures_draw(struct walk_pictures *pictures, const struct walk_view *view, clattn_error *error);
void ctn_pictures_free(struct walk_pictures *pictures);
const struct walk_picture *ctn_pictures_find(const struct walk_pictures *pictures, const char *name);

/* The whole page, with the pictures in it. */
clattn_status ctn_page_write(struct text *html, const struct walk_view *view, const struct walk_pictures *pictures,
                             clattn_error *error);

#endif
