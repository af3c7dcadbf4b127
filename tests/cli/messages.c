/* The walkthrough's languages: every message in both, how the language is chosen, tables that stay aligned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "messages.h"
#include "print.h"
#include "tool.h"

enum { WIDTH = 100, CONVERSIONS = 64 };

/* The conversions of a format one after another, "%%" left out. */
static void conversions(const char *format, char text[CONVERSIONS]) {
  size_t length = 0;
  for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
    const size_t part = at[1] == '%' ? 2 : strcspn(at + 1, "diuxsefgc") + 2;
    if (at[1] != '%') {
      assert_true(length + part < CONVERSIONS);
      memcpy(text + length, at, part);
      length += part;
    }
    at += part;
  }
  text[length] = '\0';
}

static void every_message_is_in_both_languages(void **state) {
  (void)state;
  int korean = 0;
  for (int i = 0; i < MESSAGES; i++) {
    const char *first = ctn_message_in(LANGUAGE_ENGLISH, (enum message)i);
    const char *second = ctn_message_in(LANGUAGE_KOREAN, (enum message)i);
    char wanted[CONVERSIONS], got[CONVERSIONS];
    assert_true(first && *first && second && *second);
    conversions(first, wanted);
    conversions(second, got);
    if (strcmp(wanted, got) != 0) fail_msg("\"%s\" takes %s, \"%s\" %s", first, wanted, second, got);
    for (const char *at = first; *at; at++)
      assert_true((unsigned char)*at < 0x80);
    /* Hangul takes two columns and three bytes. */
    korean += ctn_display_width(second) < (int)strlen(second) ? 1 : 0;
    if (strchr(first, ' ') && strstr(first, "%s: %s") != first && ctn_display_width(second) == (int)strlen(second)) {
      fail_msg("not in Korean: \"%s\"", second);
    }
  }
  assert_true(korean > MESSAGES * 9 / 10);
}

static void names_find_languages(void **state) {
  (void)state;
  enum language language = LANGUAGE_ENGLISH;
  assert_true(ctn_language_find("ko", &language) && language == LANGUAGE_KOREAN);
  assert_true(ctn_language_find("en", &language) && language == LANGUAGE_ENGLISH);
  assert_false(ctn_language_find("kor", &language) || ctn_language_find("", &language));
}

/* Whether a run in these surroundings is told in Korean. */
static bool told_in_korean(const char *const *environment, const char *option) {
  const struct tool_options options = {.environment = environment};
  const char *argv[] = {"walkthrough", "--example", "words", "--path", "cpu", option ? "--lang" : NULL, option, NULL};
  struct tool_result result = tool_run(argv, &options);
  assert_int_equal(result.code, 0);
  const bool korean = strstr(result.out, "\xec\x9e\xa5\xec\xb9\x98") != NULL; /* "device" in Korean */
  assert_true(korean != (strstr(result.out, "\n  device   ") != NULL));
  tool_free(&result);
  return korean;
}

static void the_locale_decides_where_no_option_does(void **state) {
  (void)state;
  static const struct {
    const char *environment[4];
    const char *option;
    bool korean;
  } rows[] = {
      {{NULL}, NULL, false},
      {{"LANG=ko_KR.UTF-8", NULL}, NULL, true},
      {{"LANG=ko", NULL}, NULL, true},
      {{"LANG=kok_IN", NULL}, NULL, false},
      {{"LANG=C.UTF-8", NULL}, NULL, false},
      {{"LC_ALL=C", "LANG=ko_KR.UTF-8", NULL}, NULL, false},
      {{"LC_ALL=", "LC_MESSAGES=ko_KR", "LANG=en_US.UTF-8", NULL}, NULL, true},
      {{"LC_ALL=ko_KR.UTF-8", "LC_MESSAGES=en_US", NULL}, NULL, true},
      {{"LC_ALL=ko_KR.UTF-8", NULL}, "en", false},
      {{"LC_ALL=C", NULL}, "ko", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (told_in_korean(rows[i].environment, rows[i].option) != rows[i].korean) fail_msg("row %zu", i);
  }
}

/* The column where text has one of the characters, or -1. */
static int column_of(const char *line, const char *characters) {
  char before[1024];
  const size_t length = strcspn(line, characters);
  if (!line[length]) return -1;
  assert_true(length < sizeof before);
  memcpy(before, line, length);
  before[length] = '\0';
  return ctn_display_width(before);
}

/* A rule is made of dashes and pluses alone; the lines above and below it, up to an empty one, are its table. */
static bool is_rule(const char *line) {
  return strstr(line, "-+-") && strspn(line, " -+") == strlen(line);
}

/* Every line of a table has the width of its rule and its bar below the rule's plus. Gives the number of tables. */
static int check_tables(char *text) {
  int tables = 0, width = -1, bar = -1;
  char *rest = NULL, *previous = NULL;
  /* Empty lines are kept apart by a space, for strtok_r passes over them. */
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    const int columns = ctn_display_width(line);
    if (columns > WIDTH) fail_msg("wider than %d columns: %s", WIDTH, line);
    if (is_rule(line)) {
      if (!previous || !strstr(previous, " |")) fail_msg("a rule below no table's line: %s", line);
      tables += width < 0 ? 1 : 0;
      width = columns;
      bar = column_of(line, "+");
      if (ctn_display_width(previous) != width || column_of(previous, "|") != bar) {
        fail_msg("not aligned: \"%s\" above a rule of %d columns", previous, width);
      }
    } else if (width >= 0 && strstr(line, " |")) {
      const bool ends_with_next_head = rest && is_rule(rest);
      if (!ends_with_next_head && (columns != width || column_of(line, "|") != bar)) {
        fail_msg("not aligned: \"%s\" in a table of %d columns", line, width);
      }
    } else {
      width = -1;
    }
    previous = line;
  }
  return tables;
}

/* What a run prints, its empty lines marked so that they end a table. */
static char *print_run(const char *const *argv) {
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
  const size_t length = strlen(result.out);
  char *text = calloc(2 * length + 1, 1), *to = text;
  assert_non_null(text);
  for (const char *at = result.out; *at; at++) {
    if (*at == '\n' && (at == result.out || at[-1] == '\n')) *to++ = '.';
    *to++ = *at;
  }
  tool_free(&result);
  return text;
}

static void tables_are_aligned_in_both_languages(void **state) {
  (void)state;
  static const char *const runs[][4] = {
      {"--example", "words", NULL}, {"--example", "sentences", NULL}, {"--heads", "3", "--causal", NULL}};
  static const int tables[] = {8, 20, 40};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    for (int language = 0; language < LANGUAGES; language++) {
      const char *argv[] = {"walkthrough", "--path", "cpu", "--lang", ctn_language_name((enum language)language),
                            NULL,          NULL,     NULL,  NULL};
      for (int j = 0; j < 4 && runs[i][j]; j++)
        argv[5 + j] = runs[i][j];
      char *text = print_run(argv);
      const int found = check_tables(text);
      if (found < tables[i]) fail_msg("run %zu: only %d tables", i, found);
      free(text);
    }
  }
}

/* Runs of spaces become one: columns are as wide as their names. */
static void collapse(char *text) {
  char *to = text;
  for (const char *from = text; *from; from++) {
    if (*from != ' ' || to == text || to[-1] != ' ') *to++ = *from;
  }
  *to = '\0';
}

/* Titles and explanations change, figures do not. */
static void figures_are_the_same_in_both_languages(void **state) {
  (void)state;
  char *texts[LANGUAGES];
  for (int language = 0; language < LANGUAGES; language++) {
    texts[language] = print_run(
        (const char *const[]){"walkthrough", "--path", "cpu", "--lang", ctn_language_name((enum language)language), NULL});
    collapse(texts[language]);
  }
  const char *at = texts[LANGUAGE_KOREAN];
  int rows = 0;
  size_t length = 0;
  for (const char *bar = strstr(texts[LANGUAGE_ENGLISH], " | "); bar; bar = strstr(bar + length, " | ")) {
    char row[256];
    length = strcspn(bar, "\n");
    assert_true(length < sizeof row);
    memcpy(row, bar, length);
    row[length] = '\0';
    /* Of figures with decimals alone. */
    if (strspn(row + 2, " |-+.e0123456789") != length - 2 || !strchr(row, '.')) continue;
    at = strstr(at, row);
    if (!at) fail_msg("not in the Korean text, where it should stand: %s", row);
    at += length;
    rows++;
  }
  assert_true(rows > 150);
  for (int language = 0; language < LANGUAGES; language++)
    free(texts[language]);
}

static void an_unknown_language_is_refused(void **state) {
  (void)state;
  struct tool_result result = tool_run((const char *const[]){"walkthrough", "--lang", "fr", NULL}, NULL);
  tool_assert_error(&result, 2, "walkthrough", "--lang: fr is neither en nor ko");
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_message_is_in_both_languages),      cmocka_unit_test(names_find_languages),
      cmocka_unit_test(the_locale_decides_where_no_option_does), cmocka_unit_test(tables_are_aligned_in_both_languages),
      cmocka_unit_test(figures_are_the_same_in_both_languages),  cmocka_unit_test(an_unknown_language_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
