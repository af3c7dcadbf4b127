/* The page's pieces: paragraphs, headings with formulas, pictures, checks. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walkthrough_page.h"

enum { MESSAGE_SIZE = 2048 };

void ctn_page_escaped(struct text *html, const char *text) {
  for (; *text; text++) {
    const char *written = *text == '<'   ? "&lt;"
                          : *text == '>' ? "&gt;"
                          : *text == '&' ? "&amp;"
                          : *text == '"' ? "&quot;"
                                         : NULL;
    ctn_text_append(html, written ? written : text, written ? strlen(written) : 1);
  }
}

/* A message's text: "sqrt(D)" becomes a root sign before D, and "^T" a raised T. */
static void append_prose(struct text *html, char *text) {
  static const char root[] = "sqrt(", transposed[] = "^T";
  for (char *at = text; *at;) {
    char *next = strpbrk(at + 1, "s^");
    char *end = strncmp(at, root, strlen(root)) == 0 ? strchr(at, ')') : NULL;
    if (end) {
      *end = '\0';
      ctn_text_printf(html, "&radic;");
      ctn_page_escaped(html, at + strlen(root));
      next = end + 1;
    } else if (strncmp(at, transposed, strlen(transposed)) == 0) {
      ctn_text_printf(html, "<sup>T</sup>");
      next = at + strlen(transposed);
    } else {
      const char kept = next ? *next : '\0';
      if (next) *next = '\0';
      ctn_page_escaped(html, at);
      if (next) *next = kept;
    }
    at = next ? next : at + strlen(at);
  }
}

void ctn_page_message(struct page *page, const char *kind, enum message id, ...) {
  char text[MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, id);
  vsnprintf(text, sizeof text, ctn_message(id), arguments);
  va_end(arguments);
  ctn_text_printf(page->html, *kind ? "<p class=\"%s\">" : "<p>%s", kind);
  append_prose(page->html, text);
  ctn_text_printf(page->html, "</p>\n");
}

/* ------------------------------------------------------------------------------------------------------------------ pictures
 */

static void append_base64(struct text *html, const struct text *bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *data = (const unsigned char *)bytes->data;
  for (size_t i = 0; i < bytes->length; i += 3) {
    const size_t left = bytes->length - i;
    const unsigned group =
        (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? (unsigned)data[i + 2] : 0);
    const char four[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                          left > 2 ? digits[group & 63] : '='};
    ctn_text_append(html, four, sizeof four);
  }
}

static void append_source(struct text *html, const char *attribute, const struct plot_image *image) {
  ctn_text_printf(html, "%s=\"data:image/svg+xml;base64,", attribute);
  append_base64(html, &image->bytes);
  ctn_text_printf(html, "\"");
}

/* The SVG for a light page and for a dark one; a browser takes the one that it is in. Narrow screens scroll a wide picture
 * rather than shrink its letters away. */
void ctn_page_picture(struct page *page, const char *name) {
  const struct walk_picture *picture = ctn_pictures_find(page->pictures, name);
  if (!picture) return;
  struct text *html = page->html;
  const struct plot_image *light = &picture->svg[PLOT_LIGHT];
  char alternative[MESSAGE_SIZE];
  snprintf(alternative, sizeof alternative, ctn_message(MSG_PAGE_IMAGE), picture->title);
  ctn_text_printf(html, "<figure class=\"wide\"><picture><source media=\"(prefers-color-scheme: dark)\" ");
  append_source(html, "srcset", &picture->svg[PLOT_DARK]);
  ctn_text_printf(html, "><img width=\"%d\" height=\"%d\" ", light->width, light->height);
  ctn_text_printf(html, "style=\"--width:%dpx\" alt=\"", light->width);
  ctn_page_escaped(html, alternative);
  ctn_text_printf(html, "\" ");
  append_source(html, "src", light);
  ctn_text_printf(html, "></picture></figure>\n");
}

/* --------------------------------------------------------------------------------------------------------------------- steps
 */

/* "[B, S, D] = [4, 4, 6]" */
static void append_shape(struct page *page, const struct walk_step *step) {
  static const char *const vectors[] = {"", "[D]", "[S, D]", "[B, S, D]", "[B, H, S, d]"};
  static const char *const squares[] = {"", "[S]", "[S, S]", "[B, S, S]", "[B, H, S, S]"};
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  const bool square = tensor && (tensor->kind == VIEW_SCORES || tensor->kind == VIEW_WEIGHTS);
  const int rank = step->rank;
  char shape[MESSAGE_SIZE];
  ctn_walk_format_shape(shape, sizeof shape, step->rank, step->shape);
  ctn_text_printf(page->html, "<p class=\"shape\">%s <code>%s</code>, %s ", ctn_message(MSG_PAGE_TENSOR), step->name,
                  ctn_message(MSG_PAGE_SHAPE));
  if (rank > 0 && rank <= 4 && !(tensor && tensor->kind == VIEW_POSITIONS)) {
    ctn_text_printf(page->html, "%s = ", square ? squares[rank] : vectors[rank]);
  }
  ctn_text_printf(page->html, "%s</p>\n", shape);
}

void ctn_page_step_head(struct page *page, const char *name) {
  const struct walk_step *step = ctn_view_find(page->view, name);
  const struct view_tensor *tensor = ctn_view_tensor(name);
  if (!step) return;
  ctn_text_printf(page->html, "<h3>");
  ctn_page_escaped(page->html, ctn_view_title(step));
  ctn_text_printf(page->html, "</h3>\n");
  if (tensor && tensor->formula) ctn_text_printf(page->html, "<p class=\"formula\">%s</p>\n", tensor->formula);
  append_shape(page, step);
}

void ctn_page_step_body(struct page *page, const char *name) {
  const struct walk_step *step = ctn_view_find(page->view, name);
  if (!step) return;
  ctn_page_picture(page, name);
  ctn_page_step_table(page, step);
  struct text check = {0};
  const bool agrees = ctn_walk_describe_check(&check, step);
  ctn_text_printf(page->html, "<p class=\"check%s\">%s %s <code>%s</code>: ", agrees ? "" : " far",
                  agrees ? "&#10003;" : "&#10007;", ctn_message(MSG_CHECK), step->name);
  ctn_page_escaped(page->html, check.data ? check.data : "");
  page->html->failed = page->html->failed || check.failed;
  ctn_text_printf(page->html, "</p>\n");
  ctn_text_free(&check);
}

void ctn_page_step(struct page *page, const char *name) {
  ctn_page_step_head(page, name);
  ctn_page_step_body(page, name);
}
