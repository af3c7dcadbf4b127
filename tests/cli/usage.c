/* The command line: help, version, options, exit codes. Nothing here needs an OpenCL device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool.h"

#define INPUT TEST_CASES "/extended/one_key.safetensors"

static const char *const commands[] = {"walkthrough", "run", "verify", "devices"};

enum { COMMANDS = sizeof commands / sizeof *commands };

static struct tool_result run_ok(const char *const *argv) {
  struct tool_result result = tool_run(argv, NULL);
  assert_int_equal(result.code, 0);
  assert_string_equal(result.err, "");
  assert_true(result.out[0] != '\0');
  return result;
}

static void usage_names_every_command(void **state) {
  (void)state;
  const char *const alone[] = {NULL}, *const help[] = {"help", NULL}, *const option[] = {"--help", NULL};
  const char *const *const lines[] = {alone, help, option};
  for (size_t i = 0; i < 3; i++) {
    struct tool_result result = run_ok(lines[i]);
    for (int c = 0; c < COMMANDS; c++)
      assert_non_null(strstr(result.out, commands[c]));
    tool_free(&result);
  }
}

static void each_command_has_help_with_an_example(void **state) {
  (void)state;
  for (int c = 0; c < COMMANDS; c++) {
    const char *const by_help[] = {"help", commands[c], NULL}, *const by_option[] = {commands[c], "--help", NULL};
    struct tool_result first = run_ok(by_help), second = run_ok(by_option);
    assert_string_equal(first.out, second.out);
    const char *example = strstr(first.out, "Example:\n  clattn ");
    assert_non_null(example);
    assert_memory_equal(example + strlen("Example:\n  clattn "), commands[c], strlen(commands[c]));
    assert_non_null(strstr(first.out, "--device"));
    tool_free(&first);
    tool_free(&second);
  }
}

static void version_is_one_line(void **state) {
  (void)state;
  const char *const argv[] = {"--version", NULL};
  struct tool_result result = run_ok(argv);
  assert_string_equal(result.out, "clattn " TOOL_VERSION "\n");
  tool_free(&result);
}

static void wrong_usage_exits_with_2(void **state) {
  (void)state;
  static const struct {
    const char *argv[8];
    const char *command, *message;
  } rows[] = {
      {{"explode"}, NULL, "explode: no such command"},
      {{"--explode"}, NULL, "--explode: no such option"},
      {{"help", "explode"}, NULL, "explode: no such command"},
      {{"help", "run", "verify"}, NULL, "help"},
      {{"run"}, "run", "takes one input file, not 0"},
      {{"run", INPUT}, "run", "-o: no output file"},
      {{"run", INPUT, "-o"}, "run", "-o"},
      {{"run", INPUT, "-o", ""}, "run", "-o: no output file"},
      {{"run", INPUT, INPUT, "-o", "/nowhere/out"}, "run", "takes one input file, not 2"},
      {{"run", INPUT, "-o", "/nowhere/out", "--outputs", "out,all"}, "run", "'all' is none of out, lse"},
      {{"run", INPUT, "-o", "/nowhere/out", "--outputs", ""}, "run", "'' is none of out, lse"},
      {{"run", INPUT, "-o", "/nowhere/out", "--outputs", "out,"}, "run", "'' is none of out, lse"},
      {{"run", INPUT, "-o", "/nowhere/out", "--path", "quick"}, "run", "--path: quick is none of"},
      {{"run", INPUT, "-o", "/nowhere/out", "--product", "mine"}, "run", "--product: mine is none of"},
      {{"run", INPUT, "-o", "/nowhere/out", "--vector-width", "4"}, "run", "--vector-width: 4 is none of 0, 8, 16"},
      {{"run", INPUT, "-o", "/nowhere/out", "--threads", "many"}, "run", "--threads: many is no number"},
      {{"run", INPUT, "-o", "/nowhere/out", "--threads", "-1"}, "run", "--threads: -1 is no number"},
      {{"run", INPUT, "-o", "/nowhere/out", "--device", ""}, "run", "--device: empty"},
      {{"run", INPUT, "-o", "/nowhere/out", "--device", "99999999999"}, "run", "no index of a device"},
      {{"run", INPUT, "--strict"}, "run", "--strict"},
      {{"verify"}, "verify", "no file or folder given"},
      {{"verify", "--stritc", INPUT}, "verify", "--stritc"},
      {{"devices", "0"}, "devices", "takes no file or name"},
      {{"devices", "--path", "cpu"}, "devices", "--path"},
      {{"walkthrough", "--example", "poems"}, "walkthrough", "poems"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tool_result result = tool_run(rows[i].argv, NULL);
    tool_assert_error(&result, 2, rows[i].command, rows[i].message);
    assert_string_equal(result.out, "");
    tool_free(&result);
  }
}

static void a_path_not_built_yet_is_refused_by_name(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  const char *const run[] = {"run", INPUT, "-o", output, "--path", "fused", "--device", "host", NULL};
  const char *const verify[] = {"verify", INPUT, "--path", "fused", "--device", "host", NULL};
  struct tool_result result = tool_run(run, NULL);
  tool_assert_error(&result, 1, "run", "fused");
  tool_free(&result);
  result = tool_run(verify, NULL);
  tool_assert_error(&result, 1, "verify", "fused");
  tool_free(&result);
  assert_int_equal(count_files(folder), 0);
  free(output);
  remove_folder(folder);
}

static void staged_without_a_device_is_refused_by_name(void **state) {
  (void)state;
  const char *const verify[] = {"verify", INPUT, "--path", "staged", "--device", "host", NULL};
  struct tool_result result = tool_run(verify, NULL);
  tool_assert_error(&result, 1, "verify", "staged");
  tool_free(&result);
  const char *const no_host[] = {"verify", INPUT, "--no-host", "--device", "host", NULL};
  result = tool_run(no_host, NULL);
  tool_assert_error(&result, 1, "verify", NULL);
  tool_free(&result);
}

/* No OpenCL library finds a device here: the two host paths do not ask for one. */
static void host_paths_need_no_opencl(void **state) {
  (void)state;
  const char *const environment[] = {"OCL_ICD_VENDORS=/nowhere", "OCL_ICD_FILENAMES=", "CLATTN_DEVICE=some GPU", NULL};
  const struct tool_options options = {.environment = environment};
  static const char *const paths[] = {"cpu", "reference"};
  for (size_t i = 0; i < 2; i++) {
    const char *const verify[] = {"verify", INPUT, "--path", paths[i], NULL};
    struct tool_result result = tool_run(verify, &options);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 0);
    tool_free(&result);
  }
  const char *const bare[] = {"OCL_ICD_VENDORS=/nowhere", "OCL_ICD_FILENAMES=", NULL};
  const struct tool_options no_device = {.environment = bare};
  const char *const verify[] = {"verify", INPUT, NULL};
  struct tool_result result = tool_run(verify, &no_device);
  assert_string_equal(result.err, "");
  assert_int_equal(result.code, 0);
  tool_free(&result);
  const char *const devices[] = {"devices", NULL};
  result = tool_run(devices, &no_device);
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "no OpenCL device found"));
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(usage_names_every_command),
      cmocka_unit_test(each_command_has_help_with_an_example),
      cmocka_unit_test(version_is_one_line),
      cmocka_unit_test(wrong_usage_exits_with_2),
      cmocka_unit_test(a_path_not_built_yet_is_refused_by_name),
      cmocka_unit_test(staged_without_a_device_is_refused_by_name),
      cmocka_unit_test(host_paths_need_no_opencl),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
