/* The page's recomputed cells: the numbers of one sum spelled out, so that a table can be followed by hand. */
#include <math.h>

#include "walkthrough_page.h"

/* count values, stride apart. */
struct factors {
  const float *values;
  int64_t stride;
};

static void begin(struct page *page) {
  ctn_text_printf(page->html, "<p class=\"hand\"><b>%s</b>", ctn_message(MSG_BY_HAND));
}

static void append_factor(struct text *html, double value) {
  ctn_text_printf(html, value < 0 ? "(%.4f)" : "%.4f", value);
}

/* " + ... (3 more terms)" */
static void append_more_terms(struct page *page, int count) {
  if (count <= WALK_SHOWN_TERMS) return;
  ctn_text_printf(page->html, " + ");
  ctn_text_printf(page->html, ctn_message(MSG_MORE_TERMS), count - WALK_SHOWN_TERMS);
}

/* A message that names a word, and a number where it has one. */
static void append_about(struct page *page, enum message id, int word, double number) {
  struct text text = {0};
  ctn_text_printf(&text, ctn_message(id), page->view->words[word], number);
  ctn_page_escaped(page->html, text.data ? text.data : "");
  page->html->failed = page->html->failed || text.failed;
  ctn_text_free(&text);
}

/* " = a0 x b0 + a1 x b1 ... + bias = SUM", from the full values; bias may be NULL. */
static void append_sum(struct page *page, struct factors a, struct factors b, int count, const float *bias) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    const double x = (double)a.values[i * a.stride], y = (double)b.values[i * b.stride];
    sum += x * y;
    if (i >= WALK_SHOWN_TERMS) continue;
    ctn_text_printf(page->html, " %s <span>", i == 0 ? "=" : "+");
    append_factor(page->html, x);
    ctn_text_printf(page->html, " &times; ");
    append_factor(page->html, y);
    ctn_text_printf(page->html, "</span>");
  }
  append_more_terms(page, count);
  if (bias) {
    ctn_text_printf(page->html, " + ");
    append_factor(page->html, (double)*bias);
    sum += (double)*bias;
  }
  ctn_text_printf(page->html, " = <strong>%.4f</strong></p>\n", sum);
}

static void append_word(struct page *page, const char *before, int word, const char *after) {
  ctn_text_printf(page->html, "%s", before);
  ctn_page_escaped(page->html, page->view->words[word]);
  ctn_text_printf(page->html, "%s", after);
}

static const float *values_of(const struct page *page, const char *name) {
  const struct walk_step *step = ctn_view_find(page->view, name);
  return step ? step->values : NULL;
}

static int columns_of(const struct page *page, const char *name) {
  return ctn_view_shape(ctn_view_find(page->view, name)).columns;
}

void ctn_page_hand_embedding(struct page *page) {
  const struct st_tensor *tokens = ctn_st_find(&page->view->walk->file, "tokens");
  const struct st_tensor *table = ctn_st_find(&page->view->walk->file, "embedding_table");
  if (!tokens || !table || !values_of(page, "embedded")) return;
  const int width = columns_of(page, "embedded");
  const long long id = (long long)ctn_st_i64(tokens, 0);
  const double entry = ctn_st_f64(table, id * width), root = sqrt((double)width);
  begin(page);
  append_word(page, "embedded(", 0, "), d0");
  ctn_text_printf(page->html, " = <var>E</var>[%lld, 0] &middot; &radic;%d = <span>", id, width);
  append_factor(page->html, entry);
  ctn_text_printf(page->html, " &times; %.4f</span> = <strong>%.4f</strong></p>\n", root, entry * root);
}

void ctn_page_hand_position(struct page *page) {
  if (!values_of(page, "positional_encoding")) return;
  begin(page);
  ctn_text_printf(page->html,
                  "<var>PE</var>[1, 0] = sin(1 / 10000<sup>0</sup>) = sin(1) = <strong>%.4f</strong>, <var>PE</var>[1, 1] = "
                  "cos(1) = <strong>%.4f</strong></p>\n",
                  sin(1.0), cos(1.0));
}

void ctn_page_hand_query(struct page *page) {
  const struct st_tensor *weight = ctn_st_find(&page->view->walk->file, "weight_q");
  const struct st_tensor *x = ctn_st_find(&page->view->walk->file, "x");
  const float *input = values_of(page, "embedded_plus_position");
  if (!input && x && x->dtype == ST_F32) input = x->data;
  if (!input || !weight || weight->dtype != ST_F32 || weight->rank != 2) return;
  begin(page);
  append_word(page, "<var>Q</var>(", 0, "), d0");
  const struct st_tensor *bias = ctn_st_find(&page->view->walk->file, "bias_q");
  append_sum(page, (struct factors){input, 1}, (struct factors){weight->data, 1}, (int)weight->shape[1],
             bias ? bias->data : NULL);
}

void ctn_page_hand_score(struct page *page) {
  const float *query = values_of(page, "query"), *key = values_of(page, "key");
  if (!query || !key || page->view->length < 2) return;
  const int width = columns_of(page, "query");
  begin(page);
  append_word(page, "<var>q</var>(", 0, ") &middot; ");
  append_word(page, "<var>k</var>(", 1, ")");
  append_sum(page, (struct factors){query, 1}, (struct factors){key + width, 1}, width / page->view->walk->heads, NULL);
}

void ctn_page_hand_scaled(struct page *page) {
  const float *raw = values_of(page, "raw_scores"), *scaled = values_of(page, "scaled_scores");
  if (!raw) raw = values_of(page, "scores");
  if (!raw || !scaled || page->view->length < 2) return;
  begin(page);
  append_word(page, "scaled(", 0, ", ");
  append_word(page, "", 1, ") = ");
  ctn_text_printf(page->html, "%.4f / &radic;%d = <strong>%.4f</strong></p>\n", (double)raw[1],
                  columns_of(page, "query") / page->view->walk->heads, (double)scaled[1]);
}

void ctn_page_hand_weight(struct page *page) {
  const float *row = values_of(page, "scaled_scores");
  if (!row || page->view->length < 2) return;
  const int count = page->view->length;
  double highest = (double)row[0], sum = 0;
  for (int j = 1; j < count; j++)
    highest = fmax(highest, (double)row[j]);
  begin(page);
  append_about(page, MSG_HAND_MAXIMUM, 0, highest);
  for (int j = 0; j < count; j++) {
    if (j < WALK_SHOWN_TERMS) ctn_text_printf(page->html, "%s%.4f", j == 0 ? " " : ", ", exp((double)row[j] - highest));
    sum += exp((double)row[j] - highest);
  }
  if (count > WALK_SHOWN_TERMS) {
    ctn_text_printf(page->html, ", ");
    ctn_text_printf(page->html, ctn_message(MSG_MORE_TERMS), count - WALK_SHOWN_TERMS);
  }
  ctn_text_printf(page->html, "; ");
  ctn_text_printf(page->html, ctn_message(MSG_HAND_SUM), 4, sum);
  ctn_text_printf(page->html, " ");
  append_about(page, MSG_HAND_WEIGHT, 1, 0);
  ctn_text_printf(page->html, " %.4f / %.4f = <strong>%.4f</strong></p>\n", exp((double)row[1] - highest), sum,
                  exp((double)row[1] - highest) / sum);
}

void ctn_page_hand_output(struct page *page) {
  const float *weights = values_of(page, "weights"), *value = values_of(page, "value");
  if (!weights || !value) return;
  begin(page);
  append_word(page, "output(", 0, "), d0");
  append_sum(page, (struct factors){weights, 1}, (struct factors){value, columns_of(page, "value")}, page->view->length, NULL);
}
