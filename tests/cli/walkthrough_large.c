/* `clattn walkthrough --out` on input of one's own that is large or has heads: what pictures and page leave out, and that they
 * say so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "markup.h"
#include "own.h"

enum { OPTIONS = 16 };

static char *read_in(const char *folder, const char *name, size_t *length) {
  char *path = join_path(folder, name), *bytes = read_whole(path, length);
  free(path);
  return bytes;
}

/* The same run on the CPU path with these options, ended by NULL, into a folder of the place's; what it says. */
static struct tool_result run(const struct place *place, const char *folder, const char *const *options) {
  const char *argv[OPTIONS] = {"walkthrough", "--path", "cpu", "--tokens", place->tokens, "--out", folder};
  for (int i = 0; options[i]; i++)
    argv[7 + i] = options[i];
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  return result;
}

/* Thirty sentences of fifty words. */
static struct place large_place(void) {
  enum { SENTENCES = 30, WORDS = 50, WORD = 4 };
  char *text = calloc((SENTENCES + 1) * WORDS * WORD + 1, 1);
  assert_non_null(text);
  for (int i = 0; i < (SENTENCES + 1) * WORDS; i++)
    snprintf(text + (size_t)i * WORD, WORD + 1, "%03d%c", i * (1 + i / WORDS) % WORDS, i % WORDS == WORDS - 1 ? '\n' : ' ');
  struct place place = own_place(text);
  free(text);
  return place;
}

/* What is left out is said at the end of the run and at the start of the page; pictures and page stay small. */
static void a_large_run_is_small_on_disk(void **state) {
  (void)state;
  struct place place = large_place();
  char *folder = join_path(place.folder, "out");
  struct tool_result result = run(&place, folder, (const char *const[]){"--d-model", "32", "--heads", "4", NULL});
  assert_non_null(strstr(result.out, "the pictures show the first 640 numbers at most"));
  size_t length = 0;
  char *html = read_in(folder, "index.html", &length);
  assert_well_formed("index.html", html, 1);
  assert_non_null(strstr(html, "the pictures show the first 640 numbers at most"));
  assert_non_null(strstr(html, "... 26 more rows"));
  assert_true(length < 12000000);
  free(html);
  tool_free(&result);
  free(folder);
  own_leave(&place);
}

enum { PICTURES = 2 };
static const char *const pictures[PICTURES] = {"weights.svg", "heads.svg"};

/* The pictures' bytes. */
static void measure(const struct place *place, const char *cells, size_t sizes[PICTURES]) {
  char *folder = join_path(place->folder, cells);
  struct tool_result result = run(place, folder, (const char *const[]){"--heads", "2", "--cells", cells, NULL});
  const bool cut = strstr(result.out, "numbers at most") != NULL;
  assert_int_equal(cut, strcmp(cells, "65536") != 0);
  for (int i = 0; i < PICTURES; i++) {
    char *svg = read_in(folder, pictures[i], &sizes[i]);
    assert_well_formed(pictures[i], svg, 0);
    free(svg);
  }
  tool_free(&result);
  remove_folder(folder);
}

/* --cells decides how much is drawn, of a tensor and of the strip of heads; enough of them draw all, and nothing is said. */
static void cells_decide_what_is_drawn(void **state) {
  (void)state;
  char text[256] = "a b c d\n";
  for (int i = 0; i < 2 * 16; i++)
    strcat(text, i % 16 == 15 ? "d\n" : i % 3 ? "a " : "b ");
  struct place place = own_place(text);
  size_t few[PICTURES], more[PICTURES], all[PICTURES];
  measure(&place, "32", few);
  measure(&place, "128", more);
  measure(&place, "65536", all);
  for (int i = 0; i < PICTURES; i++) {
    if (few[i] >= more[i] || more[i] >= all[i]) fail_msg("%s: %zu, %zu, %zu bytes", pictures[i], few[i], more[i], all[i]);
  }
  own_leave(&place);
}

/* What a query spends on [PAD] in one head, from the run's own weights. */
static double spent(const json_t *root, const char *name, int sentence, int head, int query) {
  const json_t *values = json_object_get(own_step(root, name), "values");
  double sum = 0;
  for (int key = 0; key < S; key++) {
    const size_t at = (size_t)(((sentence * H + head) * S + query) * S + key);
    if (own_ids[sentence * S + key] == 0) sum += json_number_value(json_array_get(values, at));
  }
  return sum;
}

/* The page has what [PAD] gets for each side, with a column for each head. */
static void padding_is_compared_in_every_head(void **state) {
  (void)state;
  struct place place = own_place(own_sentences);
  char *folder = join_path(place.folder, "out");
  const char *const options[] = {"--d-model", "4", "--heads", "2", "--seed", "3", NULL};
  struct tool_result result = run(&place, folder, options);
  json_t *root = own_json(
      (const char *const[]){"--tokens", place.tokens, "--path", "cpu", "--d-model", "4", "--heads", "2", "--seed", "3", NULL});
  char *html = read_in(folder, "index.html", NULL);
  static const char *const captions[2] = {"<caption>without mask", "<caption>with mask"};
  static const char *const names[2] = {"weights", "weights_masked"};
  const char *at = strstr(html, "How much of its weight each query spends");
  for (int side = 0; side < 2; side++) {
    at = at ? strstr(at, captions[side]) : NULL;
    at = at ? strstr(at, "<th>head 1</th><th>head 2</th></tr>") : NULL;
    for (int row = 0; row < ROWS; row++) {
      at = at ? strstr(at, "<th scope=\"row\">") : NULL;
      for (int head = 0; head < H; head++) {
        at = at ? strstr(at, "<td>") : NULL;
        if (!at) fail_msg("side %d: no row %d of head %d", side, row, head);
        at += strlen("<td>");
        assert_true(fabs(strtod(at, NULL) - spent(root, names[side], row / S, head, row % S)) <= 6e-5);
      }
    }
  }
  assert_true(spent(root, "weights", 1, 1, 0) > 0.01);
  json_decref(root);
  free(html);
  tool_free(&result);
  free(folder);
  own_leave(&place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_large_run_is_small_on_disk),
      cmocka_unit_test(cells_decide_what_is_drawn),
      cmocka_unit_test(padding_is_compared_in_every_head),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
