/* Growing strings, error texts, status names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "status.h"
#include "text.h"

static void test_text_grows(void **state) {
  (void)state;
  struct text text = {0};
  assert_null(text.data);
  ctn_text_append(&text, "", 0);
  assert_string_equal(text.data, "");
  for (int i = 0; i < 1000; i++) {
    ctn_text_printf(&text, "%03d", i);
    assert_int_equal(text.length, 3 * (i + 1));
    assert_int_equal(text.data[text.length], '\0');
  }
  assert_memory_equal(text.data, "000001002", 9);
  assert_string_equal(text.data + 2997, "999");
  ctn_text_append(&text, "a\0b", 3);
  assert_memory_equal(text.data + 3000, "a\0b", 4);
  assert_false(text.failed);
  ctn_text_free(&text);
  assert_null(text.data);
  ctn_text_free(&text);
}

static void test_text_fails_once(void **state) {
  (void)state;
  struct text text = {0};
  ctn_text_printf(&text, "kept");
  ctn_text_append(&text, "x", SIZE_MAX / 2); /* refused before a byte is read */
  assert_true(text.failed);
  ctn_text_printf(&text, "ignored");
  assert_string_equal(text.data, "kept");
  ctn_text_free(&text);
}

static void test_fail(void **state) {
  (void)state;
  clattn_error error = CLATTN_ERROR_INIT;
  error.cl_code = -5;
  assert_int_equal(ctn_fail(&error, CLATTN_TOO_LARGE, "k: %d of %s", 3, "them"), CLATTN_TOO_LARGE);
  assert_int_equal(error.status, CLATTN_TOO_LARGE);
  assert_int_equal(error.cl_code, 0);
  assert_string_equal(error.text, "k: 3 of them");
  assert_int_equal(ctn_fail(NULL, CLATTN_INTERNAL, "nobody listens"), CLATTN_INTERNAL);
  ctn_clear(&error);
  assert_int_equal(error.status, CLATTN_OK);
  assert_string_equal(error.text, "");
  ctn_clear(NULL);
}

static void test_long_texts_are_cut(void **state) {
  (void)state;
  clattn_error error = CLATTN_ERROR_INIT;
  char letters[3000];
  memset(letters, 'x', sizeof letters - 1);
  letters[sizeof letters - 1] = '\0';
  ctn_fail(&error, CLATTN_INTERNAL, "%s", letters);
  assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void test_status_names(void **state) {
  (void)state;
  assert_string_equal(clattn_status_name(CLATTN_OK), "ok");
  assert_string_equal(clattn_status_name(CLATTN_INVALID_ARGUMENT), "invalid argument");
  for (int status = CLATTN_OK; status <= CLATTN_INTERNAL; status++) {
    assert_non_null(clattn_status_name((clattn_status)status));
    assert_string_not_equal(clattn_status_name((clattn_status)status), "unknown status");
  }
  assert_string_equal(clattn_status_name((clattn_status)(CLATTN_INTERNAL + 1)), "unknown status");
  assert_string_equal(clattn_status_name((clattn_status)-1), "unknown status");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_grows),         cmocka_unit_test(test_text_fails_once), cmocka_unit_test(test_fail),
      cmocka_unit_test(test_long_texts_are_cut), cmocka_unit_test(test_status_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
