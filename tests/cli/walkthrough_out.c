/* `clattn walkthrough --out DIR`: the files it writes, what they hold, and that a failure leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "markup.h"
#include "tool.h"

enum { NAME = 64 };

static struct tool_result run_with(const char *example, const char *language, const char *folder,
                                   const struct tool_options *options) {
  return tool_run((const char *const[]){"walkthrough", "--device", "host", "--path", "cpu", "--example", example, "--lang",
                                        language, "--out", folder, NULL},
                  options);
}

#if CLATTN_PICTURES

struct example {
  const char *name;
  const char *pictures[20];
  const char *titles[2][20]; /* English, Korean, in this order on the page */
};

static const struct example examples[] = {
    {"sentences",
     {"embedded", "positional_encoding", "embedded_plus_position", "query", "key", "value", "raw_scores", "scaled_scores",
      "weights", "output", "masked_scores", "weights_masked", "output_masked", "weights_compared"},
     {{"1. Input: ", "2. Embedding: ", "3. Positional encoding: ", "4. Query, key and value: ", "Queries, Q", "Keys, K",
       "Values, V", "5. Scores: ", "Raw scores", "Scaled scores", "6. Weights: ", "Attention weights",
       "7. Output: ", "8. Padding mask: ", "9. Attention with the padding mask", "Masked scores", "Output with the mask",
       "10. Without and with the mask", "11. Shapes"},
      {"1. 입력", "2. 임베딩", "3. 위치 인코딩", "4. 쿼리, 키, 값", "5. 점수", "6. 가중치", "7. 출력", "8. 패딩 마스크",
       "9. 패딩 마스크를 적용한 어텐션", "11. 형상"}}},
    {"words",
     {"query", "key", "value", "scores", "scaled_scores", "weights", "output"},
     {{"1. X: ", "2. Query, key and value", "3. Scores: ", "4. Weights: ", "5. Output: ", "6. Shapes"},
      {"1. X: ", "2. 쿼리, 키, 값", "3. 점수", "4. 가중치", "5. 출력", "6. 형상"}}},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static char *read_in(const char *folder, const char *name, const char *ending, size_t *length) {
  char file[NAME];
  snprintf(file, sizeof file, "%s.%s", name, ending);
  char *path = join_path(folder, file), *bytes = read_whole(path, length);
  free(path);
  return bytes;
}

static unsigned big_endian(const unsigned char *bytes) {
  return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 | (unsigned)bytes[3];
}

/* The PNG has two pixels for each of the SVG's. */
static void check_picture(const char *folder, const char *name) {
  size_t length = 0;
  int width = 0, height = 0;
  char *svg = read_in(folder, name, "svg", NULL);
  assert_well_formed(name, svg, 0);
  const char *size = strstr(svg, "width=\"");
  assert_non_null(size);
  assert_int_equal(sscanf(size, "width=\"%dpx\" height=\"%dpx\"", &width, &height), 2);
  assert_true(width >= 300 && width <= 2000 && height >= 150 && height <= 2000);
  char *png = read_in(folder, name, "png", &length);
  assert_true(length > 1000);
  assert_memory_equal(png, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  assert_int_equal(big_endian((const unsigned char *)png + 16), 2 * width);
  assert_int_equal(big_endian((const unsigned char *)png + 20), 2 * height);
  assert_memory_equal(png + length - 8, "IEND\xae\x42\x60\x82", 8);
  free(svg);
  free(png);
}

static void check_page(const char *folder, const char *language, const char *const *titles) {
  char *html = read_in(folder, "index", "html", NULL);
  char expected[NAME];
  assert_well_formed("index.html", html, 1);
  assert_memory_equal(html, "<!DOCTYPE html>", 15);
  snprintf(expected, sizeof expected, "<html lang=\"%s\">", language);
  assert_non_null(strstr(html, expected));
  assert_non_null(strstr(html, "name=\"viewport\""));
  assert_non_null(strstr(html, "prefers-color-scheme: dark"));
  assert_null(strstr(html, "<script"));
  assert_null(strstr(html, "http"));
  assert_null(strstr(html, "url("));
  for (const char *source = strstr(html, "src"); source; source = strstr(source + 3, "src")) {
    if (strncmp(source, "src=\"", 5) == 0) assert_memory_equal(source, "src=\"data:image/svg+xml;base64,", 31);
    if (strncmp(source, "srcset=\"", 8) == 0) assert_memory_equal(source, "srcset=\"data:image/svg+xml;base64,", 34);
  }
  const char *at = strstr(html, "<main>");
  for (const char *const *title = titles; *title; title++) {
    const char *found = strstr(at, *title);
    if (!found) fail_msg("no \"%s\" where it should stand", *title);
    at = found;
  }
  assert_null(strstr(html, "class=\"check far\""));
  assert_non_null(strstr(html, "class=\"closing\""));
  free(html);
}

static void check_example(const struct example *example, const char *language, const char *const *titles) {
  char *base = make_folder(), *folder = join_path(base, "new");
  struct tool_result result = run_with(example->name, language, folder, NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  size_t pictures = 0;
  for (; example->pictures[pictures]; pictures++)
    check_picture(folder, example->pictures[pictures]);
  assert_int_equal(count_files(folder), 2 * pictures + 1);
  check_page(folder, language, titles);
  /* The last line says where to look. */
  const char *line = strstr(result.out, folder);
  assert_non_null(line);
  assert_non_null(strstr(line, "index.html"));
  tool_free(&result);
  free(folder);
  remove_folder(base);
}

static void test_files(void **state) {
  (void)state;
  for (size_t i = 0; i < EXAMPLES; i++) {
    check_example(&examples[i], "en", examples[i].titles[0]);
    check_example(&examples[i], "ko", examples[i].titles[1]);
  }
}

/* The page says what ran, and how well it agreed. */
static void test_honest(void **state) {
  (void)state;
  char *folder = make_folder();
  struct tool_result result =
      tool_run((const char *const[]){"walkthrough", "--path", "reference", "--example", "words", "--out", folder, NULL}, NULL);
  assert_int_equal(result.code, 0);
  char *html = read_in(folder, "index", "html", NULL);
  assert_non_null(strstr(html, "none: the host's own processor"));
  assert_non_null(strstr(html, "reference: float64"));
  assert_non_null(strstr(html, "only the stored values check it"));
  assert_non_null(strstr(html, "<code>weights</code>: largest difference: reference "));
  free(html);
  tool_free(&result);
  remove_folder(folder);
}

/* Files of an earlier run are replaced, and others left alone. */
static void test_again(void **state) {
  (void)state;
  char *folder = make_folder(), *other = join_path(folder, "notes.txt"), *page = join_path(folder, "index.html");
  write_file(other, "mine", 4);
  write_file(page, "old", 3);
  for (int turn = 0; turn < 2; turn++) {
    struct tool_result result = run_with("words", "en", folder, NULL);
    assert_int_equal(result.code, 0);
    tool_free(&result);
  }
  assert_int_equal(count_files(folder), 2 * 7 + 1 + 1);
  char *bytes = read_whole(page, NULL), *notes = read_whole(other, NULL);
  assert_memory_equal(bytes, "<!DOCTYPE", 9);
  assert_string_equal(notes, "mine");
  free(bytes);
  free(notes);
  free(other);
  free(page);
  remove_folder(folder);
}

/* The JSON stays JSON. */
static void test_json(void **state) {
  (void)state;
  char *folder = make_folder();
  struct tool_result result = tool_run(
      (const char *const[]){"walkthrough", "--path", "cpu", "--example", "words", "--json", "--out", folder, NULL}, NULL);
  assert_int_equal(result.code, 0);
  assert_int_equal(result.out[0], '{');
  assert_string_equal(result.out + strlen(result.out) - 2, "}\n");
  assert_null(strstr(result.out, "index.html"));
  assert_int_equal(count_files(folder), 2 * 7 + 1);
  tool_free(&result);
  remove_folder(folder);
}

/* One's own sentences, written with what HTML reads otherwise, in several heads: a strip of these, and nothing left open. */
static void test_own_sentences(void **state) {
  (void)state;
  static const char tokens[] = "[PAD] <b> a&b \xea\xb0\x84\xeb\x8b\xa4\n<b> a&b \xea\xb0\x84\xeb\x8b\xa4\na&b <b>\n";
  char *base = make_folder(), *file = join_path(base, "tokens.txt"), *folder = join_path(base, "out");
  write_file(file, tokens, strlen(tokens));
  struct tool_result result = tool_run((const char *const[]){"walkthrough", "--path", "cpu", "--tokens", file, "--heads", "3",
                                                             "--causal", "--out", folder, NULL},
                                       NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  check_picture(folder, "heads");
  check_picture(folder, "weights_compared");
  assert_int_equal(count_files(folder), 2 * 15 + 1);
  check_page(folder, "en", (const char *const[]){"All heads", NULL});
  char *html = read_in(folder, "index", "html", NULL);
  assert_non_null(strstr(html, "&lt;b&gt;"));
  assert_non_null(strstr(html, "a&amp;b"));
  assert_null(strstr(html, "<td><b>"));
  free(html);
  tool_free(&result);
  free(file);
  free(folder);
  remove_folder(base);
}

static void check_refused(const char *folder, const struct tool_options *options, const char *fragment) {
  struct tool_result result = run_with("words", "en", folder, options);
  tool_assert_error(&result, 1, "walkthrough", fragment);
  assert_string_equal(result.out, "");
  tool_free(&result);
}

static void test_bad_folders(void **state) {
  (void)state;
  char *base = make_folder(), *file = join_path(base, "file"), *inside = join_path(file, "below");
  char *missing = join_path(base, "not/there");
  write_file(file, "x", 1);
  check_refused(file, NULL, "is a file, not a folder");
  check_refused(inside, NULL, "cannot be made");
  check_refused(missing, NULL, "cannot be made");
  check_refused("", NULL, "an empty name");
  /* Where nobody can make a file, not even root. */
  check_refused("/proc/self", NULL, "no file can be made in this folder");
  check_refused("/proc/clattn-out", NULL, "cannot be made");
  assert_int_equal(count_files(base), 1);
  char *content = read_whole(file, NULL);
  assert_string_equal(content, "x");
  free(content);
  free(file);
  free(inside);
  free(missing);
  remove_folder(base);
}

/* A disk that fills up: what was there stays, and nothing half-written with it. */
static void test_failing_writes(void **state) {
  (void)state;
  char *base = make_folder(), *fresh = join_path(base, "fresh"), *page = join_path(base, "index.html");
  const struct tool_options options = {.file_limit = 40000};
  check_refused(fresh, &options, "cannot be written");
  assert_false(file_exists(fresh));
  write_file(page, "old", 3);
  check_refused(base, &options, "cannot be written");
  assert_int_equal(count_files(base), 1);
  char *content = read_whole(page, NULL);
  assert_string_equal(content, "old");
  free(content);
  free(fresh);
  free(page);
  remove_folder(base);
}

/* A folder in the place of one of the files is left alone, and so is everything else. */
static void test_folder_in_the_way(void **state) {
  (void)state;
  char *base = make_folder(), *page = join_path(base, "index.html");
  assert_int_equal(mkdir(page, 0777), 0);
  check_refused(base, NULL, "index.html: is a folder");
  assert_int_equal(count_files(base), 1);
  free(page);
  remove_folder(base);
}

/* A job that is refused makes no folder. */
static void test_refused_job(void **state) {
  (void)state;
  char *base = make_folder(), *folder = join_path(base, "new");
  struct tool_result result =
      tool_run((const char *const[]){"walkthrough", "--device", "no such device", "--out", folder, NULL}, NULL);
  assert_int_equal(result.code, 1);
  assert_false(file_exists(folder));
  tool_free(&result);
  free(folder);
  remove_folder(base);
}

/* Letters that no font has are drawn as boxes, and told of. */
static void test_no_font(void **state) {
  (void)state;
  static const char fonts[] = "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig></fontconfig>";
  char *base = make_folder(), *folder = join_path(base, "out"), *settings = join_path(base, "fonts.conf");
  char variable[1024];
  write_file(settings, fonts, strlen(fonts));
  snprintf(variable, sizeof variable, "FONTCONFIG_FILE=%s", settings);
  const struct tool_options options = {.environment = (const char *const[]){variable, NULL}};
  struct tool_result result = run_with("words", "en", folder, &options);
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.err, "clattn walkthrough: note: no installed font has"));
  assert_int_equal(count_files(folder), 2 * 7 + 1);
  tool_free(&result);
  free(folder);
  free(settings);
  remove_folder(base);
}

#else

static void test_without_pictures(void **state) {
  (void)state;
  char *base = make_folder(), *folder = join_path(base, "new");
  struct tool_result result = run_with("words", "en", folder, NULL);
  tool_assert_error(&result, 1, "walkthrough", "built without pictures");
  assert_string_equal(result.out, "");
  assert_false(file_exists(folder));
  tool_free(&result);
  free(folder);
  remove_folder(base);
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#if CLATTN_PICTURES
    cmocka_unit_test(test_files),
    cmocka_unit_test(test_honest),
    cmocka_unit_test(test_again),
    cmocka_unit_test(test_json),
    cmocka_unit_test(test_bad_folders),
    cmocka_unit_test(test_failing_writes),
    cmocka_unit_test(test_folder_in_the_way),
    cmocka_unit_test(test_refused_job),
    cmocka_unit_test(test_no_font),
    cmocka_unit_test(test_own_sentences),
#else
    cmocka_unit_test(test_without_pictures),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
