/* Splicing kernel files: each include once but templates at each place, line numbers kept, nothing outside the folder. */
#include "opencl_support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "embedded.h"
#include "source.h"

static char folder[PATH_SIZE];

static int begin(void **state) {
  char path[PATH_SIZE];
  (void)state;
  support_make_folder(folder);
  support_path(path, folder, "common");
  return mkdir(path, 0700);
}

static int end(void **state) {
  (void)state;
  support_remove_folder(folder);
  return 0;
}

static void expect(const char *file, const char *expected) {
  struct text text = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_source_splice(&text, folder, file, &error) != CLATTN_OK) fail_msg("%s", error.text);
  assert_string_equal(text.data, expected);
  assert_int_equal(text.length, strlen(expected));
  ctn_text_free(&text);
}

/* Splicing fails with a text that holds both parts. */
static void expect_failure(const char *from, const char *file, const char *part, const char *other) {
  struct text text = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(ctn_source_splice(&text, from, file, &error), CLATTN_IO_FAILED);
  assert_int_equal(error.status, CLATTN_IO_FAILED);
  assert_null(strchr(error.text, '\n'));
  if (strstr(error.text, part) == NULL || strstr(error.text, other) == NULL) fail_msg("%s", error.text);
  ctn_text_free(&text);
}

static void plain_file(void **state) {
  (void)state;
  support_write(folder, "a.cl", "one\ntwo");
  expect("a.cl", "#line 1 \"kernels/a.cl\"\none\ntwo\n");
  support_write(folder, "empty.cl", "");
  expect("empty.cl", "#line 1 \"kernels/empty.cl\"\n");
}

static void nested_includes_once_each(void **state) {
  (void)state;
  support_write(folder, "common/x.clh", "x1\n#include \"common/y.clh\"\nx3\n");
  support_write(folder, "common/y.clh", "y1\n");
  support_write(folder, "a.cl",
                "a1\n#include \"common/x.clh\"\n  #  include\t\"common/y.clh\" // again\n#include \"a.cl\"\na5\n");
  expect("a.cl",
         "#line 1 \"kernels/a.cl\"\na1\n"
         "#line 1 \"kernels/common/x.clh\"\nx1\n"
         "#line 1 \"kernels/common/y.clh\"\ny1\n"
         "#line 3 \"kernels/common/x.clh\"\nx3\n"
         "#line 3 \"kernels/a.cl\"\n"
         "\n\na5\n");
}

static void templates_each_time(void **state) {
  (void)state;
  support_write(folder, "common/t.inc", "t W\n");
  support_write(folder, "a.cl", "#define W 1\n#include \"common/t.inc\"\n#define W 2\n#include \"common/t.inc\"\n");
  expect("a.cl",
         "#line 1 \"kernels/a.cl\"\n#define W 1\n"
         "#line 1 \"kernels/common/t.inc\"\nt W\n"
         "#line 3 \"kernels/a.cl\"\n#define W 2\n"
         "#line 1 \"kernels/common/t.inc\"\nt W\n"
         "#line 5 \"kernels/a.cl\"\n");
  support_write(folder, "common/t.inc", "#include \"common/t.inc\"\n");
  expect_failure(folder, "a.cl", "common/t.inc", "nested too deeply");
}

static void includes_in_a_circle_end(void **state) {
  (void)state;
  support_write(folder, "common/x.clh", "#include \"common/y.clh\"\nx\n");
  support_write(folder, "common/y.clh", "#include \"common/x.clh\"\ny\n");
  support_write(folder, "a.cl", "#include \"common/x.clh\"\n");
  expect("a.cl",
         "#line 1 \"kernels/a.cl\"\n#line 1 \"kernels/common/x.clh\"\n#line 1 \"kernels/common/y.clh\"\n\ny\n"
         "#line 2 \"kernels/common/x.clh\"\nx\n#line 2 \"kernels/a.cl\"\n");
}

static void other_lines_are_left_to_the_compiler(void **state) {
  (void)state;
  support_write(folder, "a.cl", "#include <x.h>\n#include \"\"\n#include \"open\n#includes\n// #include \"x.clh\"\n#");
  expect("a.cl",
         "#line 1 \"kernels/a.cl\"\n#include <x.h>\n#include \"\"\n#include \"open\n#includes\n// #include \"x.clh\"\n#\n");
}

static void missing_files_are_named(void **state) {
  (void)state;
  support_write(folder, "a.cl", "a1\na2\n#include \"common/none.clh\"\n");
  expect_failure(folder, "a.cl", "kernels/common/none.clh", "kernels/a.cl:3");
  expect_failure(folder, "none.cl", "kernels/none.cl", folder);
  expect_failure(folder, "common", "kernels/common", "directory");
  expect_failure(NULL, "none.cl", "kernels/none.cl", "embedded");
}

static void names_stay_in_the_folder(void **state) {
  static const char *const names[] = {"../secret.clh", "/etc/hostname", "common/../../secret.clh",
                                      "./x.clh",       "common//x.clh", ".."};
  char text[256];
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(text, sizeof text, "#include \"%s\"\n", names[i]);
    support_write(folder, "a.cl", text);
    expect_failure(folder, "a.cl", names[i], "outside");
  }
  expect_failure(NULL, "../a.cl", "../a.cl", "outside");
  expect_failure(folder, "", "kernels/", "outside");
}

static void every_embedded_kernel_splices(void **state) {
  (void)state;
  for (const struct embedded_file *file = ctn_embedded_kernels; file->name != NULL; file++) {
    struct text text = {0};
    clattn_error error = CLATTN_ERROR_INIT;
    if (ctn_source_splice(&text, NULL, file->name, &error) != CLATTN_OK) fail_msg("%s", error.text);
    assert_true(text.length >= file->size);
    ctn_text_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plain_file, begin, end),
      cmocka_unit_test_setup_teardown(nested_includes_once_each, begin, end),
      cmocka_unit_test_setup_teardown(templates_each_time, begin, end),
      cmocka_unit_test_setup_teardown(includes_in_a_circle_end, begin, end),
      cmocka_unit_test_setup_teardown(other_lines_are_left_to_the_compiler, begin, end),
      cmocka_unit_test_setup_teardown(missing_files_are_named, begin, end),
      cmocka_unit_test_setup_teardown(names_stay_in_the_folder, begin, end),
      cmocka_unit_test(every_embedded_kernel_splices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
