/* The page's tables of what each query spends on [PAD] keys, without and with the mask. */
#include <stdio.h>
#include <stdlib.h>

#include "walkthrough_page.h"

enum { NAME = 32 };

/* What each query spends on excluded keys, in values: [rows, columns], of these sides from the first and heads from the first.
 */
static void sum_padding(const struct page *page, float *values, int first_side, int sides, int heads) {
  const struct walk_view *view = page->view;
  const struct walk_step *steps[2] = {ctn_view_find(view, "weights"), ctn_view_find(view, "weights_masked")};
  const struct st_tensor *keep = ctn_st_find(&view->walk->file, "keep_mask");
  const int length = view->length, all = ctn_view_shape(steps[0]).heads;
  for (int i = 0; i < view->batch * length; i++) {
    for (int n = 0; n < sides * heads; n++) {
      const int64_t matrix = (int64_t)(i / length) * all + n % heads;
      const float *row = steps[first_side + n / heads]->values + (matrix * length + i % length) * length;
      float *sum = values + (int64_t)i * sides * heads + n;
      for (int j = 0; j < length; j++)
        *sum += ctn_st_i64(keep, i / length * length + j) ? 0 : row[j];
    }
  }
}

static void write_padding_table(struct page *page, const char *caption, const char *const *columns, int first_side, int sides,
                                int heads) {
  const int rows = page->view->batch * page->view->length;
  float *values = calloc((size_t)rows * (size_t)(sides * heads), sizeof *values);
  if (!values) {
    page->html->failed = true;
    return;
  }
  sum_padding(page, values, first_side, sides, heads);
  ctn_page_table(page->html, &(struct page_table){.caption = caption,
                                                  .corner = ctn_message(MSG_QUERY),
                                                  .rows = page->view->words,
                                                  .columns = columns,
                                                  .row_count = rows,
                                                  .column_count = sides * heads,
                                                  .values = values,
                                                  .group = page->view->length});
  free(values);
}

void ctn_page_padding(struct page *page) {
  const char *const sides[2] = {ctn_message(MSG_WITHOUT_MASK), ctn_message(MSG_WITH_MASK)};
  const int heads = page->view->walk->heads;
  ctn_page_message(page, "", MSG_TEXT_PADDING);
  if (heads == 1) {
    write_padding_table(page, NULL, sides, 0, 2, 1);
    return;
  }
  char names[WALK_SHOWN_COLUMNS][NAME];
  const char *columns[WALK_SHOWN_COLUMNS];
  for (int i = 0; i < heads && i < WALK_SHOWN_COLUMNS; i++) {
    snprintf(names[i], NAME, ctn_message(MSG_PICTURE_HEAD), i + 1);
    columns[i] = names[i];
  }
  for (int side = 0; side < 2; side++)
    write_padding_table(page, sides[side], columns, side, 1, heads);
}
