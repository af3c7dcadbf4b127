/* The file of `walkthrough --tokens` by itself: what is read, and what every mistake is told as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokens_file.h"
#include "tool.h"

static void parse(struct tokens_file *file, const char *text) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_tokens_parse(file, "file", text, strlen(text), &error) != CLATTN_OK) fail_msg("%s", error.text);
}

static void check_ids(const struct tokens_file *file, int batch, int length, const int32_t *ids) {
  assert_int_equal(file->batch, batch);
  assert_int_equal(file->length, length);
  for (int i = 0; i < batch * length; i++)
    assert_int_equal(file->ids[i], ids[i]);
}

static void padding_comes_first_where_it_is_missing(void **state) {
  (void)state;
  struct tokens_file file;
  parse(&file, "a bb c\nbb a\nc\na bb c\n");
  assert_int_equal(file.word_count, 4);
  assert_int_equal(file.padding_id, 0);
  assert_string_equal(file.words[0], "[PAD]");
  assert_string_equal(file.words[2], "bb");
  check_ids(&file, 3, 3, (const int32_t[]){2, 1, 0, 3, 0, 0, 1, 2, 3});
  ctn_tokens_clear(&file);
}

static void padding_stays_where_the_vocabulary_has_it(void **state) {
  (void)state;
  struct tokens_file file;
  parse(&file, "a [PAD] b\na\nb [PAD] a");
  assert_int_equal(file.word_count, 3);
  assert_int_equal(file.padding_id, 1);
  assert_string_equal(file.words[0], "a");
  check_ids(&file, 2, 3, (const int32_t[]){0, 1, 1, 2, 1, 0});
  ctn_tokens_clear(&file);
}

/* Byte order mark, CRLF, blanks of every kind around words, empty lines, no line break at the end. */
static void what_editors_leave_behind_is_read(void **state) {
  (void)state;
  struct tokens_file file;
  parse(&file,
        "\xef\xbb\xbf"
        "\xeb\x82\x98\xeb\x8a\x94\t\xea\xb0\x84\xeb\x8b\xa4 \r\n"
        "\r\n"
        " \xea\xb0\x84\xeb\x8b\xa4\xe3\x80\x80\xeb\x82\x98\xeb\x8a\x94\xc2\xa0\r\n"
        "\n"
        "\xeb\x82\x98\xeb\x8a\x94");
  assert_int_equal(file.word_count, 3);
  assert_string_equal(file.words[2], "\xea\xb0\x84\xeb\x8b\xa4");
  check_ids(&file, 2, 2, (const int32_t[]){2, 1, 1, 0});
  ctn_tokens_clear(&file);
}

static void mistakes_are_told_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *fragments[3];
  } rows[] = {
      {"", {"file: ", "empty"}},
      {"\xef\xbb\xbf", {"file: ", "empty"}},
      {"\na b\n", {"line 1", "no words", "vocabulary"}},
      {" \t\r\na\n", {"line 1", "no words"}},
      {"a b c\n", {"no sentence"}},
      {"a b c\n\n \n\r\n", {"no sentence"}},
      {"a b\na b\n\na  d b\n", {"line 4, column 4", "\"d\"", "vocabulary"}},
      /* Columns count characters, not bytes. */
      {"\xeb\x82\x98 b\nb \xeb\x82\x98 \xeb\x82\x98\xeb\x82\x98\n", {"line 2, column 5", "not in the vocabulary"}},
      {"a b a\na\n", {"line 1", "\"a\" twice"}},
      {"[PAD] [PAD]\n[PAD]\n", {"line 1", "\"[PAD]\" twice"}},
      {"a b\na \xff\n", {"line 2, column 3", "0xff", "UTF-8"}},
      {"\xff\xfe"
       "a",
       {"line 1, column 1", "0xff", "UTF-8"}},
      {"a \xc0\xaf\na\n", {"line 1, column 3", "0xc0"}},     /* an overlong slash */
      {"a \xe0\x80\xaf\na\n", {"line 1, column 3", "0xe0"}}, /* another */
      {"a \xed\xa0\x80\na\n", {"line 1, column 3", "0xed"}}, /* a surrogate */
      {"a \xf4\x90\x80\x80\na\n", {"line 1, column 3"}},     /* past U+10FFFF */
      {"a\na \xeb\x82", {"line 2, column 3", "0xeb"}},       /* cut off */
      {"a b\na \x1b[31m b\n", {"line 2, column 3", "U+001B"}},
      {"a b\na\x7f\n", {"line 2, column 2", "U+007F"}},
      {"a b\na\rb\n", {"line 2, column 2", "U+000D"}},
      {"a\n0123456789012345678901234567890123456789012345678901234567890123456789\n", {"line 2, column 1", "70 bytes", "64"}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tokens_file file;
    clattn_error error = CLATTN_ERROR_INIT;
    assert_int_not_equal(ctn_tokens_parse(&file, "file", rows[i].text, strlen(rows[i].text), &error), CLATTN_OK);
    assert_null(file.words);
    for (int j = 0; j < 3 && rows[i].fragments[j]; j++) {
      if (!strstr(error.text, rows[i].fragments[j])) fail_msg("row %zu: no '%s' in: %s", i, rows[i].fragments[j], error.text);
    }
  }
}

/* A NUL is a control character, too, and ends nothing. */
static void a_zero_byte_is_refused(void **state) {
  (void)state;
  struct tokens_file file;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_not_equal(ctn_tokens_parse(&file, "file", "a b\na\0b\n", 8, &error), CLATTN_OK);
  assert_non_null(strstr(error.text, "line 2, column 2"));
}

/* count times text, behind a first line. */
static char *repeated(const char *first, const char *text, size_t count) {
  const size_t length = strlen(text);
  char *made = malloc(strlen(first) + count * length + 1), *to = made;
  assert_non_null(made);
  to += sprintf(to, "%s", first);
  for (size_t i = 0; i < count; i++, to += length)
    memcpy(to, text, length);
  *to = '\0';
  return made;
}

static void refuse(char *text, const char *fragment) {
  struct tokens_file file;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_not_equal(ctn_tokens_parse(&file, "file", text, strlen(text), &error), CLATTN_OK);
  if (!strstr(error.text, fragment)) fail_msg("no '%s' in: %s", fragment, error.text);
  free(text);
}

static void limits_hold(void **state) {
  (void)state;
  struct tokens_file file;
  char *text = repeated("a\n", "a ", TOKENS_MAX_LENGTH);
  parse(&file, text);
  assert_int_equal(file.length, TOKENS_MAX_LENGTH);
  ctn_tokens_clear(&file);
  free(text);
  refuse(repeated("a\n", "a ", TOKENS_MAX_LENGTH + 1), "line 2, column 2049: the sentence has more than 1024 words");
  refuse(repeated("a\n", "a\n", TOKENS_MAX_SENTENCES + 1), "line 4098: more than 4096 sentences");
  refuse(repeated("a\n", "  ", TOKENS_MAX_LINE / 2 + 1), "line 2: 1048578 bytes");
  refuse(repeated("", "a ", TOKENS_MAX_LINE / 2 + 1), "line 1: 1048578 bytes");
  refuse(repeated("", "a ", TOKENS_MAX_VOCABULARY + 1), "vocabulary has more than 65536 words");
}

static void files_that_cannot_be_read_are_named(void **state) {
  (void)state;
  char *folder = make_folder(), *missing = join_path(folder, "missing"), *large = join_path(folder, "large");
  char *text = repeated("a\n", "a\n", TOKENS_MAX_FILE / 2);
  struct tokens_file file;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_not_equal(ctn_tokens_read(&file, missing, &error), CLATTN_OK);
  assert_non_null(strstr(error.text, missing));
  assert_int_not_equal(ctn_tokens_read(&file, folder, &error), CLATTN_OK);
  assert_non_null(strstr(error.text, folder));
  write_file(large, text, strlen(text));
  assert_int_not_equal(ctn_tokens_read(&file, large, &error), CLATTN_OK);
  assert_non_null(strstr(error.text, "bytes"));
  free(text);
  free(missing);
  free(large);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(padding_comes_first_where_it_is_missing),
      cmocka_unit_test(padding_stays_where_the_vocabulary_has_it),
      cmocka_unit_test(what_editors_leave_behind_is_read),
      cmocka_unit_test(mistakes_are_told_with_their_place),
      cmocka_unit_test(a_zero_byte_is_refused),
      cmocka_unit_test(limits_hold),
      cmocka_unit_test(files_that_cannot_be_read_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
