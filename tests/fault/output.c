/* Outputs that cannot be written, devices that are not there: an error before or after the work, and nothing left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool.h"

#define INPUT TEST_CASES "/extended/plain_edges.safetensors"

static void expect(const char *output, const struct tool_options *options, const char *message) {
  const char *run[] = {"run", INPUT, "-o", output, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, options);
  tool_assert_error(&result, 1, "run", message);
  tool_free(&result);
}

static void places_that_take_no_file(void **state) {
  (void)state;
  char *folder = make_folder(), *missing = join_path(folder, "missing/out.safetensors"), *pipe = join_path(folder, "pipe");
  expect(missing, NULL, "cannot be written: No such file");
  expect(folder, NULL, "is a folder");
  assert_int_equal(count_files(folder), 0);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  expect(pipe, NULL, "not a place for a file");
  expect("/dev/full", NULL, "not a place for a file");
  expect("/dev/null/x", NULL, "cannot be written: Not a directory");
  assert_int_equal(count_files(folder), 1);
  struct stat about;
  assert_int_equal(stat("/dev/null", &about), 0);
  assert_true(S_ISCHR(about.st_mode));
  free(missing);
  free(pipe);
  remove_folder(folder);
}

static void read_only_folder(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root may write everywhere */
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  assert_int_equal(chmod(folder, 0500), 0);
  expect(output, NULL, "cannot be written: Permission denied");
  assert_int_equal(chmod(folder, 0700), 0);
  free(output);
  remove_folder(folder);
}

/* The file system is full in the middle of writing: the old file stays as it was. */
static void a_failed_write_keeps_the_old_file(void **state) {
  (void)state;
  const struct tool_options options = {.file_limit = 4096};
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  expect(output, &options, "cannot be written: File too large");
  assert_int_equal(count_files(folder), 0);
  write_file(output, "old", 3);
  expect(output, &options, "cannot be written: File too large");
  size_t length;
  char *bytes = read_whole(output, &length);
  assert_string_equal(bytes, "old");
  assert_int_equal(count_files(folder), 1);
  free(bytes);
  free(output);
  remove_folder(folder);
}

/* A link stays a link, to the new file; the input may be the output. */
static void links_are_followed(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors"), *link = join_path(folder, "link");
  size_t length;
  char *bytes = read_whole(INPUT, &length);
  write_file(output, bytes, length);
  assert_int_equal(symlink("out.safetensors", link), 0);
  const char *run[] = {"run", output, "-o", link, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  assert_int_equal(result.code, 0);
  tool_free(&result);
  struct stat about;
  assert_int_equal(lstat(link, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  char *now = read_whole(output, NULL);
  assert_null(strstr(now + 8, "\"q\""));
  assert_non_null(strstr(now + 8, "\"out\""));
  free(now);
  free(bytes);
  free(link);
  free(output);
  remove_folder(folder);
}

static void a_missing_device_is_an_error(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  static const char *const devices[] = {"9999", "no such device", "2147483647"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    const char *run[] = {"run", INPUT, "-o", output, "--device", devices[i], NULL};
    struct tool_result result = tool_run(run, NULL);
    tool_assert_error(&result, 1, "run", NULL);
    tool_free(&result);
    const char *verify[] = {"verify", INPUT, "--device", devices[i], NULL};
    result = tool_run(verify, NULL);
    tool_assert_error(&result, 1, "verify", NULL);
    assert_string_equal(result.out, "");
    tool_free(&result);
    const char *list[] = {"devices", "--device", devices[i], NULL};
    result = tool_run(list, NULL);
    tool_assert_error(&result, 1, "devices", NULL);
    tool_free(&result);
  }
  const char *const environment[] = {"CLATTN_DEVICE=no such device", NULL};
  const struct tool_options options = {.environment = environment};
  const char *run[] = {"run", INPUT, "-o", output, NULL};
  struct tool_result result = tool_run(run, &options);
  tool_assert_error(&result, 1, "run", "no such device");
  tool_free(&result);
  assert_int_equal(count_files(folder), 0);
  free(output);
  remove_folder(folder);
}

static void a_full_or_closed_standard_output_is_an_error(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  const char *const run[] = {"run", INPUT, "-o", output, "--path", "reference", NULL};
  const char *const verify[] = {"verify", INPUT, "--path", "reference", NULL};
  const char *const json[] = {"verify", INPUT, "--path", "reference", "--json", NULL};
  const char *const help[] = {"help", NULL};
  const char *const version[] = {"--version", NULL};
  const char *const *const commands[] = {run, verify, json, help, version};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const struct tool_options full = {.stdout_path = "/dev/full"}, closed = {.stdout_path = ""};
    struct tool_result result = tool_run(commands[i], &full);
    tool_assert_error(&result, 1, i < 3 ? commands[i][0] : NULL, "standard output");
    tool_free(&result);
    result = tool_run(commands[i], &closed);
    tool_assert_error(&result, 1, i < 3 ? commands[i][0] : NULL, "standard output");
    tool_free(&result);
  }
  /* With the number 1 free, no file of the tool's own may have taken what was printed. */
  char *bytes = read_whole(output, NULL);
  assert_null(strstr(bytes + 8, "written to"));
  free(bytes);
  free(output);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_that_take_no_file),          cmocka_unit_test(read_only_folder),
      cmocka_unit_test(a_failed_write_keeps_the_old_file), cmocka_unit_test(links_are_followed),
      cmocka_unit_test(a_missing_device_is_an_error),      cmocka_unit_test(a_full_or_closed_standard_output_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
