/* The page's tables: matrices, the vocabulary, the sentences, the shapes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "walkthrough_page.h"

enum { NAME_SIZE = 96 };

/* The tag's attributes may follow its name. */
static void append_cell(struct text *html, const char *tag, const char *text) {
  ctn_text_printf(html, "<%s>", tag);
  ctn_page_escaped(html, text);
  ctn_text_printf(html, "</%.*s>", (int)strcspn(tag, " "), tag);
}

/* Four decimals; a share that would look like none shows its size. */
static void append_number(struct text *html, double value, const char *kind) {
  ctn_text_printf(html, "<td%s>", kind);
  if (isinf(value)) {
    ctn_text_printf(html, value < 0 ? "&minus;&infin;" : "&infin;");
  } else if (value == 0) {
    ctn_text_printf(html, "0");
  } else if (fabs(value) < 5e-5) {
    ctn_text_printf(html, "%.1e", value);
  } else {
    ctn_text_printf(html, "%.4f", value);
  }
  ctn_text_printf(html, "</td>");
}

static int least(int a, int b) {
  return a < b ? a : b;
}

/* That there is more than what is shown. */
static void append_more(struct text *html, enum message one, enum message several, int count) {
  if (count <= 0) return;
  ctn_text_printf(html, "<p class=\"shape\">");
  if (count == 1) {
    ctn_text_printf(html, "%s", ctn_message(one));
  } else {
    ctn_text_printf(html, ctn_message(several), (long long)count);
  }
  ctn_text_printf(html, "</p>\n");
}

void ctn_page_table(struct text *html, const struct page_table *table) {
  const int rows = least(table->row_count, WALK_SHOWN_ROWS), columns = least(table->column_count, WALK_SHOWN_COLUMNS);
  ctn_text_printf(html, "<div class=\"wide\"><table>");
  if (table->caption && *table->caption) append_cell(html, "caption", table->caption);
  ctn_text_printf(html, "<thead><tr>");
  append_cell(html, "th", table->corner);
  for (int j = 0; j < columns; j++)
    append_cell(html, "th", table->columns[j]);
  if (table->sums) append_cell(html, "th", ctn_message(MSG_SUM));
  ctn_text_printf(html, "</tr></thead>\n<tbody>");
  for (int i = 0; i < rows; i++) {
    double sum = 0;
    ctn_text_printf(html, "<tr%s>", table->group && i > 0 && i % table->group == 0 ? " class=\"group\"" : "");
    append_cell(html, "th scope=\"row\"", table->rows[i]);
    for (int j = 0; j < table->column_count; j++) {
      const double value = (double)table->values[(size_t)i * (size_t)table->column_count + (size_t)j];
      if (j < columns) append_number(html, value, "");
      sum += value;
    }
    if (table->sums) append_number(html, sum, " class=\"sum\"");
    ctn_text_printf(html, "</tr>\n");
  }
  ctn_text_printf(html, "</tbody></table></div>\n");
  append_more(html, MSG_MORE_ROW, MSG_MORE_ROWS, table->row_count - rows);
  append_more(html, MSG_MORE_COLUMN, MSG_MORE_COLUMNS, table->column_count - columns);
}

void ctn_page_step_table(struct page *page, const struct walk_step *step) {
  const struct view_shape shape = ctn_view_shape(step);
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  const enum view_kind kind = tensor ? tensor->kind : VIEW_VECTORS;
  const bool square = kind == VIEW_SCORES || kind == VIEW_WEIGHTS;
  ctn_text_printf(page->html, "<details><summary>%s</summary>\n", ctn_message(MSG_PAGE_NUMBERS));
  const int shown = least(shape.count, WALK_SHOWN_TABLES);
  for (int i = 0; i < shown; i++) {
    char name[NAME_SIZE];
    ctn_view_matrix_name(page->view, step, i, name, sizeof name);
    ctn_page_table(page->html,
                   &(struct page_table){.caption = name,
                                        .corner = square                   ? ctn_message(MSG_QUERY_KEY)
                                                  : kind == VIEW_POSITIONS ? ctn_message(MSG_PICTURE_POSITION)
                                                                           : ctn_message(MSG_WORD),
                                        .rows = ctn_view_rows(page->view, step, i),
                                        .columns = ctn_view_columns(page->view, step, i),
                                        .row_count = shape.rows,
                                        .column_count = shape.columns,
                                        .values = step->values + (size_t)i * (size_t)shape.rows * (size_t)shape.columns,
                                        .sums = kind == VIEW_WEIGHTS});
  }
  append_more(page->html, MSG_MORE_TABLE, MSG_MORE_TABLES, shape.count - shown);
  ctn_text_printf(page->html, "</details>\n");
}

void ctn_page_vocabulary(struct page *page) {
  const struct walk *walk = page->view->walk;
  ctn_text_printf(page->html, "<details><summary>%s</summary>\n<div class=\"wide\"><table class=\"text\"><thead><tr>",
                  ctn_message(MSG_PAGE_VOCABULARY));
  append_cell(page->html, "th", ctn_message(MSG_TOKEN_ID));
  append_cell(page->html, "th", ctn_message(MSG_WORD));
  ctn_text_printf(page->html, "<th></th></tr></thead>\n<tbody>");
  const int shown = least(walk->word_count, WALK_SHOWN_WORDS);
  for (int i = 0; i < shown; i++) {
    ctn_text_printf(page->html, "<tr><th scope=\"row\">%d</th>", i);
    append_cell(page->html, "td", walk->words[i]);
    append_cell(page->html, "td", ctn_walk_gloss(walk->words[i]));
    ctn_text_printf(page->html, "</tr>\n");
  }
  ctn_text_printf(page->html, "</tbody></table></div>\n");
  append_more(page->html, MSG_MORE_WORD, MSG_MORE_WORDS, walk->word_count - shown);
  ctn_text_printf(page->html, "</details>\n");
}

void ctn_page_sentences(struct page *page, bool ids, bool kept) {
  const struct walk_view *view = page->view;
  struct text *html = page->html;
  const struct st_tensor *tokens = ctn_st_find(&view->walk->file, "tokens");
  const struct st_tensor *keep = ctn_st_find(&view->walk->file, "keep_mask");
  const int sentences = least(view->batch, WALK_SHOWN_ROWS / 2), columns = least(view->length, WALK_SHOWN_COLUMNS);
  ctn_text_printf(html, "<div class=\"wide\"><table><thead><tr>");
  append_cell(html, "th", ctn_message(MSG_SENTENCE));
  ctn_text_printf(html, "<th></th>");
  for (int j = 0; j < columns; j++)
    ctn_text_printf(html, "<th>%d</th>", j);
  ctn_text_printf(html, "</tr></thead>\n<tbody>");
  for (int i = 0; i < sentences; i++) {
    ctn_text_printf(html, "<tr class=\"group\"><th scope=\"row\">%d</th>", i + 1);
    append_cell(html, "th", ctn_message(MSG_WORD));
    for (int j = 0; j < columns; j++)
      append_cell(html, "td", view->words[i * view->length + j]);
    if (ids && tokens) {
      ctn_text_printf(html, "</tr>\n<tr><th></th>");
      append_cell(html, "th", ctn_message(MSG_TOKEN_ID));
      for (int j = 0; j < columns; j++)
        ctn_text_printf(html, "<td>%lld</td>", (long long)ctn_st_i64(tokens, i * view->length + j));
    }
    if (kept && keep) {
      ctn_text_printf(html, "</tr>\n<tr><th></th>");
      append_cell(html, "th", ctn_message(MSG_ATTENDED));
      for (int j = 0; j < columns; j++) {
        const bool yes = ctn_st_i64(keep, i * view->length + j) != 0;
        ctn_text_printf(html, "<td%s>%s</td>", yes ? "" : " class=\"no\"", ctn_message(yes ? MSG_YES : MSG_NO));
      }
    }
    ctn_text_printf(html, "</tr>\n");
  }
  ctn_text_printf(html, "</tbody></table></div>\n");
  append_more(html, MSG_MORE_SENTENCE, MSG_MORE_SENTENCES, view->batch - sentences);
  append_more(html, MSG_MORE_WORD_OF_EACH, MSG_MORE_WORDS_OF_EACH, view->length - columns);
}

void ctn_page_shapes(struct page *page) {
  struct text *html = page->html;
  static const enum message columns[] = {MSG_COLUMN_TENSOR, MSG_COLUMN_IS, MSG_SHAPE, MSG_COLUMN_REFERENCE, MSG_COLUMN_STORED};
  ctn_text_printf(html, "<div class=\"wide\"><table class=\"text\"><thead><tr>");
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    append_cell(html, "th", ctn_message(columns[i]));
  ctn_text_printf(html, "</tr></thead>\n<tbody>");
  for (int i = 0; i < page->view->walk->step_count; i++) {
    const struct walk_step *step = &page->view->walk->steps[i];
    char shape[NAME_SIZE];
    ctn_walk_format_shape(shape, sizeof shape, step->rank, step->shape);
    ctn_text_printf(html, "<tr><th scope=\"row\"><code>%s</code></th>", step->name);
    append_cell(html, "td", ctn_view_title(step));
    append_cell(html, "td", shape);
    ctn_text_printf(html, "<td>%.1e</td>", step->from_reference);
    ctn_text_printf(html, step->stored ? "<td>%.1e</td></tr>\n" : "<td>&ndash;</td></tr>\n", step->from_stored);
  }
  ctn_text_printf(html, "</tbody></table></div>\n");
}
