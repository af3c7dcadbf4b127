/* The page of `walkthrough --out`: one self-contained HTML document that tells the whole run in order. */
#include "walkthrough_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "status.h"

#define VAR(name) "<var>" name "</var>"

static bool has(const struct page *page, const char *name) {
  return ctn_view_find(page->view, name) != NULL;
}

static const struct st_tensor *stored(const struct page *page, const char *name) {
  return ctn_st_find(&page->view->walk->file, name);
}

/* ------------------------------------------------------------------------------------------------------------------ sections
 */

static bool has_tokens(const struct page *page) {
  return stored(page, "tokens") != NULL;
}

static void write_tokens(struct page *page) {
  ctn_page_message(page, "", MSG_TEXT_INPUT, (int)page->view->walk->padding_id);
  ctn_page_message(page, "shape", MSG_SHAPE_TOKENS, page->view->batch, page->view->length, page->view->batch,
                   page->view->length);
  ctn_page_sentences(page, true, false);
  ctn_page_vocabulary(page);
}

static bool has_x(const struct page *page) {
  const struct st_tensor *x = stored(page, "x");
  return x && x->dtype == ST_F32 && x->rank == 2 && x->shape[0] == page->view->length;
}

/* What the words mean, where they are known and not in the page's language. */
static void write_glosses(struct page *page) {
  for (int i = 0; i < page->view->length; i++) {
    const char *gloss = ctn_walk_gloss(page->view->words[i]);
    if (!*gloss) return;
    if (i == 0) ctn_text_printf(page->html, "<p>%s ", ctn_message(MSG_IN_ENGLISH));
    ctn_text_printf(page->html, "%s%s = %s", i == 0 ? "" : ", ", page->view->words[i], gloss);
    if (i == page->view->length - 1) ctn_text_printf(page->html, ".</p>\n");
  }
}

static void write_x(struct page *page) {
  const struct st_tensor *x = stored(page, "x");
  ctn_page_message(page, "", MSG_TEXT_VECTORS, (int)x->shape[1]);
  ctn_page_table(page->html, &(struct page_table){.corner = ctn_message(MSG_WORD),
                                                  .rows = page->view->words,
                                                  .columns = page->view->dimensions,
                                                  .row_count = (int)x->shape[0],
                                                  .column_count = (int)x->shape[1],
                                                  .values = x->data});
  write_glosses(page);
}

static bool has_embedding(const struct page *page) {
  return has(page, "embedded");
}

static void write_embedding(struct page *page) {
  ctn_page_message(page, "", MSG_TEXT_EMBEDDING, ctn_view_shape(ctn_view_find(page->view, "embedded")).columns);
  ctn_page_step_head(page, "embedded");
  ctn_page_hand_embedding(page);
  ctn_page_step_body(page, "embedded");
}

static bool has_position(const struct page *page) {
  return has(page, "positional_encoding");
}

static void write_position(struct page *page) {
  ctn_page_message(page, "", MSG_TEXT_POSITION);
  ctn_page_step_head(page, "positional_encoding");
  const int positions = ctn_view_shape(ctn_view_find(page->view, "positional_encoding")).rows;
  if (positions > page->view->length) ctn_page_message(page, "", MSG_PAGE_POSITIONS, positions, page->view->length);
  ctn_page_hand_position(page);
  ctn_page_step_body(page, "positional_encoding");
  ctn_page_step(page, "embedded_plus_position");
}

static bool has_projections(const struct page *page) {
  return has(page, "query") && has(page, "key") && has(page, "value");
}

static void write_projections(struct page *page) {
  ctn_page_message(page, "", MSG_TEXT_PROJECTIONS);
  ctn_page_step_head(page, "query");
  ctn_page_hand_query(page);
  ctn_page_step_body(page, "query");
  ctn_page_step(page, "key");
  ctn_page_step(page, "value");
}

/* Whether the padding mask excludes any word. */
static bool has_padding(const struct page *page) {
  const struct st_tensor *keep = stored(page, "keep_mask");
  for (int64_t i = 0; keep && i < keep->count; i++) {
    if (!ctn_st_i64(keep, i)) return true;
  }
  return false;
}

static bool has_mask(const struct page *page) {
  return has_tokens(page) && stored(page, "keep_mask") != NULL;
}

static void write_mask(struct page *page) {
  ctn_page_message(page, "", MSG_TEXT_PADDING_MASK, page->view->batch, page->view->length);
  ctn_page_sentences(page, false, true);
  if (page->view->walk->causal) ctn_page_message(page, "", MSG_TEXT_CAUSAL_MASK);
}

static bool has_scores(const struct page *page) {
  return has(page, "scaled_scores");
}

static void write_scores(struct page *page) {
  const char *raw = has(page, "raw_scores") ? "raw_scores" : "scores";
  ctn_page_message(page, "", MSG_TEXT_UNMASKED);
  if (has(page, raw)) {
    ctn_page_step_head(page, raw);
    ctn_page_hand_score(page);
    ctn_page_step_body(page, raw);
  }
  ctn_page_step_head(page, "scaled_scores");
  if (has(page, "query")) {
    const int width = ctn_view_shape(ctn_view_find(page->view, "query")).columns / page->view->walk->heads;
    ctn_page_message(page, "", MSG_TEXT_SCALED, width, 4, sqrt((double)width));
  }
  ctn_page_hand_scaled(page);
  ctn_page_step_body(page, "scaled_scores");
}

static void write_softmax(struct page *page) {
  ctn_text_printf(page->html, "<p class=\"formula\">softmax(" VAR("s") ")<sub>" VAR("j") "</sub> = <span class=\"frac\"><span>exp(" VAR(
                                  "s") "<sub>" VAR("j") "</sub> &minus; " VAR("m") ")</span><span>&sum;<sub>" VAR("k") "</sub> exp(" VAR(
                                  "s") "<sub>" VAR("k") "</sub> &minus; " VAR("m") ")</span></span>, " VAR("m") " = max(" VAR("s") ")</p>\n");
}

static bool has_weights(const struct page *page) {
  return has(page, "weights");
}

static void write_weights(struct page *page) {
  ctn_page_message(page, "", MSG_PAGE_HOW_TO_READ);
  ctn_page_step_head(page, "weights");
  write_softmax(page);
  ctn_page_hand_weight(page);
  ctn_page_step_body(page, "weights");
}

static bool has_output(const struct page *page) {
  return has(page, "output");
}

static void write_output(struct page *page) {
  ctn_page_message(page, "", MSG_PAGE_TEXT_OUTPUT);
  ctn_page_step_head(page, "output");
  if (has(page, "weights")) ctn_page_hand_output(page);
  ctn_page_step_body(page, "output");
  ctn_page_step(page, "projected");
}

static bool has_masked(const struct page *page) {
  return has(page, "masked_scores") || has(page, "weights_masked");
}

static void write_masked(struct page *page) {
  ctn_page_message(page, "", MSG_PAGE_TEXT_MASKED);
  ctn_page_step(page, "masked_scores");
  ctn_page_step(page, "weights_masked");
  ctn_page_step(page, "output_masked");
  ctn_page_step(page, "projected_masked");
}

static bool has_compared(const struct page *page) {
  return ctn_pictures_find(page->pictures, "weights_compared") != NULL;
}

static void write_compared(struct page *page) {
  ctn_page_message(page, "", MSG_PAGE_TEXT_COMPARED);
  if (has_padding(page)) ctn_page_message(page, "", MSG_PAGE_TEXT_PADDING_ROWS);
  ctn_page_picture(page, "weights_compared");
  if (has_padding(page)) ctn_page_padding(page);
}

static bool has_heads(const struct page *page) {
  return ctn_pictures_find(page->pictures, "heads") != NULL;
}

static void write_heads(struct page *page) {
  ctn_page_message(page, "", MSG_PAGE_TEXT_HEADS);
  ctn_page_picture(page, "heads");
}

static bool always(const struct page *page) {
  (void)page;
  return true;
}

static const struct section {
  enum message title;
  bool (*present)(const struct page *page);
  void (*write)(struct page *page);
} sections[] = {
    {MSG_TITLE_INPUT, has_tokens, write_tokens},
    {MSG_TITLE_VECTORS, has_x, write_x},
    {MSG_TITLE_EMBEDDING, has_embedding, write_embedding},
    {MSG_TITLE_POSITION, has_position, write_position},
    {MSG_TITLE_PROJECTIONS, has_projections, write_projections},
    {MSG_TITLE_SCORES, has_scores, write_scores},
    {MSG_TITLE_WEIGHTS, has_weights, write_weights},
    {MSG_TITLE_OUTPUT, has_output, write_output},
    {MSG_TITLE_PADDING_MASK, has_mask, write_mask},
    {MSG_TITLE_MASKED, has_masked, write_masked},
    {MSG_PAGE_COMPARED, has_compared, write_compared},
    {MSG_PAGE_HEADS, has_heads, write_heads},
    {MSG_TITLE_SHAPES, always, ctn_page_shapes},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

/* A section's title; that of the masks says which there are. */
static enum message title_of(const struct page *page, int section) {
  const enum message title = sections[section].title;
  if (!page->view->walk->causal) return title;
  if (title == MSG_TITLE_PADDING_MASK) return MSG_TITLE_MASKS;
  if (title != MSG_TITLE_MASKED) return title;
  return has_padding(page) ? MSG_TITLE_MASKED_BOTH : MSG_TITLE_MASKED_CAUSAL;
}

/* ------------------------------------------------------------------------------------------------------------------ document
 */

static void write_entry(struct page *page, enum message label, void (*describe)(struct text *, const struct walk *)) {
  struct text text = {0};
  describe(&text, page->view->walk);
  ctn_text_printf(page->html, "<dt>%s</dt><dd>", ctn_message(label));
  for (const char *at = text.data ? text.data : ""; *at;) {
    const size_t length = strcspn(at, "\n");
    char line[2048];
    snprintf(line, sizeof line, "%.*s", (int)length, at);
    ctn_page_escaped(page->html, line);
    at += length + (at[length] ? 1 : 0);
    if (*at) ctn_text_printf(page->html, "<br>");
  }
  ctn_text_printf(page->html, "</dd>\n");
  page->html->failed = page->html->failed || text.failed;
  ctn_text_free(&text);
}

static void write_head(struct page *page) {
  struct text *html = page->html;
  ctn_text_printf(
      html,
      "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>%s: %s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
      ctn_language_name(ctn_language()), ctn_message(MSG_PAGE_TITLE), ctn_message(page->view->example->summary),
      ctn_page_style);
  ctn_text_printf(html, "<header>\n<h1>%s</h1>\n<p class=\"summary\">%s</p>\n", ctn_message(MSG_PAGE_TITLE),
                  ctn_message(page->view->example->summary));
  ctn_page_message(page, "", MSG_PAGE_LEAD);
  if (page->pictures->cut) ctn_page_message(page, "", MSG_PAGE_CUT, page->view->walk->cells);
  ctn_page_message(page, "", MSG_PAGE_WHOLE);
  ctn_text_printf(html, "<p class=\"formula\">Attention(" VAR("Q") ", " VAR("K") ", " VAR("V") ") = softmax<span class=\"big\">(</span>"
                        "<span class=\"frac\"><span>" VAR("Q") " " VAR("K") "<sup>T</sup></span><span>&radic;" VAR("d") "</span></span>%s"
                        "<span class=\"big\">)</span> " VAR("V") "</p>\n<dl class=\"run\">\n",
                  has_masked(page) ? " + mask" : "");
  write_entry(page, MSG_DEVICE, ctn_walk_describe_device);
  write_entry(page, MSG_PATH, ctn_walk_describe_paths);
  if (page->view->walk->own || page->view->walk->heads > 1 || page->view->walk->causal) {
    write_entry(page, MSG_MODEL, ctn_walk_describe_model);
  }
  write_entry(page, MSG_CHECK, ctn_walk_describe_checks);
  ctn_text_printf(html, "</dl>\n</header>\n");
}

static void write_contents(struct page *page) {
  ctn_text_printf(page->html, "<nav><h2>%s</h2><ol>\n", ctn_message(MSG_PAGE_CONTENTS));
  for (int i = 0; i < SECTIONS; i++) {
    if (!sections[i].present(page)) continue;
    ctn_text_printf(page->html, "<li><a href=\"#s%d\">", i + 1);
    ctn_page_escaped(page->html, ctn_message(title_of(page, i)));
    ctn_text_printf(page->html, "</a></li>\n");
  }
  ctn_text_printf(page->html, "</ol></nav>\n");
}

static void write_closing(struct page *page) {
  struct text closing = {0};
  const bool agrees = ctn_walk_describe_closing(&closing, page->view->walk);
  ctn_text_printf(page->html, "<p class=\"closing%s\">%s</p>\n", agrees ? "" : " far", closing.data ? closing.data : "");
  page->html->failed = page->html->failed || closing.failed;
  ctn_text_free(&closing);
}

clattn_status ctn_page_write(struct text *html, const struct walk_view *view, const struct walk_pictures *pictures,
                             clattn_error *error) {
  struct page page = {html, view, pictures};
  write_head(&page);
  write_contents(&page);
  ctn_text_printf(html, "<main>\n");
  int number = 0;
  for (int i = 0; i < SECTIONS; i++) {
    if (!sections[i].present(&page)) continue;
    ctn_text_printf(html, "<section id=\"s%d\"><h2>%d. ", i + 1, ++number);
    ctn_page_escaped(html, ctn_message(title_of(&page, i)));
    ctn_text_printf(html, "</h2>\n");
    sections[i].write(&page);
    ctn_text_printf(html, "</section>\n");
  }
  write_closing(&page);
  ctn_text_printf(html, "</main>\n<footer>");
  ctn_text_printf(html, ctn_message(MSG_PAGE_FOOT), clattn_version_string());
  ctn_text_printf(html, "</footer>\n</body>\n</html>\n");
  return html->failed ? ctn_fail(error, CLATTN_OUT_OF_MEMORY, "index.html: no memory for the page") : CLATTN_OK;
}
