/* clattn bench at sizes that take no time: its rows, its JSON, a wrong kernel, an interrupt. How fast anything is, is not
 * asserted. What is made of a run is tested in bench_outputs.c and bench_compare.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <cmocka.h>

#include "tool.h"

static const char *const keys[] = {"work",     "path",   "device", "dtype",        "batch",      "q_heads",
                                   "kv_heads", "q_len",  "kv_len", "head_dim",     "head_dim_v", "min_s",
                                   "median_s", "gflops", "gb_s",   "share_of_peak"};
enum { KEYS = sizeof keys / sizeof *keys };

/* The rows of a file, each with all keys and its runs' times. */
static json_t *read_rows(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (!root) fail_msg("%s: %s", path, error.text);
  json_t *rows = json_incref(json_object_get(root, "results"));
  assert_true(json_is_array(rows));
  json_decref(root);
  size_t index;
  json_t *row;
  json_array_foreach(rows, index, row) {
    for (size_t k = 0; k < KEYS; k++)
      assert_non_null(json_object_get(row, keys[k]));
    if (json_is_number(json_object_get(row, "median_s"))) assert_true(json_array_size(json_object_get(row, "samples_s")) > 0);
  }
  return rows;
}

/* How many rows there are of a work on a path; each took some time. */
static int count_rows(const json_t *rows, const char *work, const char *path) {
  int count = 0;
  size_t index;
  json_t *row;
  json_array_foreach(rows, index, row) {
    if (strcmp(json_string_value(json_object_get(row, "work")), work) != 0) continue;
    if (strcmp(json_string_value(json_object_get(row, "path")), path) != 0) continue;
    const double least = json_number_value(json_object_get(row, "min_s"));
    assert_true(least > 0 && least <= json_number_value(json_object_get(row, "median_s")));
    count++;
  }
  return count;
}

static void test_all_works(void **state) {
  (void)state;
  char *folder = make_folder(), *path = join_path(folder, "bench.json");
  struct tool_result result =
      tool_run((const char *const[]){"bench", "--seq", "33", "--heads", "2", "--repeats", "1", "--json", path, NULL}, NULL);
  if (result.code != 0) fail_msg("%s%s", result.out, result.err);
  assert_string_equal(result.err, ""); /* the bar is for terminals */
  json_t *rows = read_rows(path);
  static const struct {
    const char *work, *path;
    int count;
  } wanted[] = {{"peak", "native", 1},       {"memory", "native", 1}, {"prefill", "cpu", 6}, {"causal", "cpu", 1},
                {"causal-full", "cpu", 1},   {"window", "cpu", 1},    {"short", "cpu", 2},   {"project", "cpu", 1},
                {"window-causal", "cpu", 1}, {"decode", "cpu", 2}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_int_equal(count_rows(rows, wanted[i].work, wanted[i].path), wanted[i].count);
  if (count_rows(rows, "peak", "opencl")) {
    assert_int_equal(count_rows(rows, "prefill", "fused"), 6);
    assert_int_equal(count_rows(rows, "prefill", "staged"), 6);
    assert_int_equal(count_rows(rows, "overhead-empty", "opencl"), 1);
    assert_int_equal(count_rows(rows, "overhead", "fused"), 1);
    assert_int_equal(count_rows(rows, "project", "fused"), 1);
    assert_int_equal(count_rows(rows, "decode", "fused"), 2);
    assert_int_equal(count_rows(rows, "memory", "opencl"), 1);
    assert_int_equal(count_rows(rows, "product-own", "staged"), 2);
  }
  /* A table for terminals of 100 columns. */
  for (const char *line = result.out; *line; line = strchr(line, '\n') + 1)
    assert_true(strcspn(line, "\n") <= 110);
  assert_non_null(strstr(result.out, "causal / causal-full"));
  json_decref(rows);
  tool_free(&result);
  free(path);
  remove_folder(folder);
}

/* What is counted can be checked by hand: 33 queries attend 1 to 33 keys, or 4 at most. */
static void test_counts(void **state) {
  (void)state;
  static const struct {
    const char *work;
    double pairs;
  } wanted[] = {{"causal-full", 33 * 33}, {"causal", 33 * 34 / 2}, {"window-causal", 33 * 34 / 2}, {"window", 6 + 4 * 30}};
  char *folder = make_folder(), *path = join_path(folder, "bench.json");
  struct tool_result result =
      tool_run((const char *const[]){"bench", "causal",     "window", "--path",     "cpu", "--seq",    "33", "--heads",
                                     "4",     "--kv-heads", "2",      "--head-dim", "24",  "--window", "4",  "--batch",
                                     "3",     "--repeats",  "1",      "--json",     path,  NULL},
               NULL);
  if (result.code != 0) fail_msg("%s%s", result.out, result.err);
  json_t *rows = read_rows(path);
  assert_int_equal(json_array_size(rows), 4);
  size_t index;
  json_t *row;
  json_array_foreach(rows, index, row) {
    const char *work = json_string_value(json_object_get(row, "work"));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      if (strcmp(work, wanted[i].work) != 0) continue;
      const double flop =
          1e9 * json_number_value(json_object_get(row, "gflops")) * json_number_value(json_object_get(row, "median_s"));
      const double want = 4 * 24 * wanted[i].pairs * 4 * 3;
      assert_true(flop > 0.999 * want && flop < 1.001 * want);
    }
    assert_int_equal(json_integer_value(json_object_get(row, "kv_heads")), 2);
  }
  json_decref(rows);
  tool_free(&result);
  free(path);
  remove_folder(folder);
}

static void expect_error(const char *const *argv, int code, const char *fragment) {
  struct tool_result result = tool_run(argv, NULL);
  tool_assert_error(&result, code, "bench", fragment);
  tool_free(&result);
}

static void test_usage(void **state) {
  (void)state;
  expect_error((const char *const[]){"bench", "no-work", NULL}, 2, "no-work: no such work");
  expect_error((const char *const[]){"bench", "--repeats", "0", NULL}, 2, "--repeats: 0");
  expect_error((const char *const[]){"bench", "--seq", "-5", NULL}, 2, "--seq: -5");
  expect_error((const char *const[]){"bench", "--dtype", "f8", NULL}, 2, "--dtype: f8");
  expect_error((const char *const[]){"bench", "--heads", "6", "--kv-heads", "4", NULL}, 2, "--kv-heads: 6");
  expect_error((const char *const[]){"bench", "--budget", "-3", NULL}, 2, "--budget: -3");
  expect_error((const char *const[]){"bench", "--sizes", "huge", NULL}, 2, "--sizes: huge");
  expect_error((const char *const[]){"bench", "--threshold", "x%", NULL}, 2, "--threshold: x%");
  expect_error((const char *const[]){"bench", "--sweep", "depth=1:4", NULL}, 2, "--sweep: depth=1:4");
  expect_error((const char *const[]){"bench", "--sweep", "seq=8:4", NULL}, 2, "--sweep: 8:4");
  expect_error((const char *const[]){"bench", "overhead", "--sweep", "seq=4:8", NULL}, 2, "overhead: has no size to sweep");
  expect_error((const char *const[]){"bench", "--plot", "x.png", NULL}, 2, "--plot: draws a sweep");
  expect_error((const char *const[]){"bench", "--with", "x.json", "peak", NULL}, 2, "--with: ");
  expect_error((const char *const[]){"bench", "--with", "/nowhere/x.json", NULL}, 1, "/nowhere/x.json: ");
  expect_error((const char *const[]){"bench", "peak", "--json", "/nowhere/bench.json", NULL}, 1, "/nowhere/bench.json: ");
  expect_error((const char *const[]){"bench", "--device", "host", "--path", "fused", NULL}, 1, "no OpenCL device");
}

/* The kernels with one of them wrong: rows without a time, and no success. */
static void test_wrong_kernel(void **state) {
  (void)state;
  char *folder = make_folder(), *kernels = join_path(folder, "kernels"), *json = join_path(folder, "bench.json");
  char *path = join_path(kernels, "common/online.clh"), command[2048], variable[1024];
  snprintf(command, sizeof command, "cp -R '%s' '%s'", CLATTN_KERNELS, kernels);
  assert_int_equal(system(command), 0);
  char *source = read_whole(path, NULL);
  char *factor = strstr(source, "#define LOG2E 1.4426");
  assert_non_null(factor);
  memcpy(factor, "#define LOG2E 1.4626", strlen("#define LOG2E 1.4626"));
  write_file(path, source, strlen(source));
  snprintf(variable, sizeof variable, "CLATTN_KERNEL_DIR=%s", kernels);
  /* Told by the library's own test of the family, or else by bench's look at the result. */
  static const struct {
    const char *environment, *text;
  } ways[] = {{"CLATTN_NO_SELFTEST=", "failed its self-test"}, {"CLATTN_NO_SELFTEST=1", "wrong: differs from the reference"}};
  for (size_t way = 0; way < 2; way++) {
    const struct tool_options options = {.environment = (const char *const[]){variable, ways[way].environment, NULL}};
    struct tool_result result = tool_run(
        (const char *const[]){"bench", "causal", "--path", "fused", "--seq", "64", "--repeats", "1", "--json", json, NULL},
        &options);
    if (result.code == 1 && strstr(result.err, "no OpenCL device")) skip();
    if (result.code != 1 || !strstr(result.err, "2 of 2 rows failed") || !strstr(result.out, ways[way].text)) {
      fail_msg("%d: %s%s", result.code, result.out, result.err);
    }
    json_t *rows = read_rows(json);
    assert_int_equal(json_array_size(rows), 2);
    for (size_t i = 0; i < 2; i++)
      assert_true(json_is_null(json_object_get(json_array_get(rows, i), "median_s")));
    json_decref(rows);
    tool_free(&result);
  }
  remove_folder(folder);
  free(source);
  free(path);
  free(json);
  free(kernels);
}

static void wait_seconds(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&time, NULL);
}

/* Started with more rounds than anybody waits for, and interrupted after so many seconds: the rows that it kept. */
static size_t interrupt_after(double seconds, const char *folder, const char *json) {
  char *out = join_path(folder, "out"), *csv = join_path(folder, "bench.csv");
  remove(json);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (!freopen(out, "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
    execl(CLATTN_TOOL, CLATTN_TOOL, "bench", "prefill", "--path", "cpu", "--seq", "32", "--repeats", "10000", "--json", json,
          "--csv", csv, (char *)NULL);
    _exit(127);
  }
  for (int i = 0; i < 600 && !file_exists(json); i++)
    wait_seconds(0.1);
  wait_seconds(seconds);
  int status = 0;
  kill(child, SIGINT);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 1);
  json_t *rows = read_rows(json);
  const size_t count = json_array_size(rows);
  json_decref(rows);
  char *text = read_whole(out, NULL), *lines = read_whole(csv, NULL);
  assert_non_null(strstr(text, "interrupted: "));
  size_t finished = 0;
  for (const char *line = strstr(lines, ",ok,"); line; line = strstr(line + 1, ",ok,"))
    finished++;
  assert_int_equal(finished, count);
  free(lines);
  free(csv);
  free(text);
  free(out);
  return count;
}

static void test_interrupt(void **state) {
  (void)state;
  char *folder = make_folder(), *json = join_path(folder, "bench.json");
  double seconds = 0;
  /* Longer where the machine is slow. */
  while (interrupt_after(seconds, folder, json) == 0 && seconds < 60)
    seconds = seconds > 0 ? 2 * seconds : 0.5;
  assert_true(seconds < 60);
  free(json);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_works), cmocka_unit_test(test_counts),
                                     cmocka_unit_test(test_usage), cmocka_unit_test(test_wrong_kernel),
                                     cmocka_unit_test(test_interrupt)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
