/* clattn tune at sizes that take no time, with kernels whose speed is made up: the built-in sizes slow, the first candidate
 * fast and wrong. How much faster anything is, is not asserted. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool.h"

static void replace_text(const char *path, const char *from, const char *to) {
  char *source = read_whole(path, NULL), *at = strstr(source, from);
  assert_non_null(at);
  const size_t room = strlen(source) + strlen(to) + 1;
  char *made = malloc(room);
  assert_non_null(made);
  snprintf(made, room, "%.*s%s%s", (int)(at - source), source, to, at + strlen(from));
  write_file(path, made, strlen(made));
  free(made);
  free(source);
}

/* The kernels in folder/kernels, as "CLATTN_KERNEL_DIR=...". */
static char *make_kernels(const char *folder) {
  char command[2048], *kernels = join_path(folder, "kernels"), *path = join_path(kernels, "projection_vector.cl");
  snprintf(command, sizeof command, "cp -R '%s' '%s'", CLATTN_KERNELS, kernels);
  assert_int_equal(system(command), 0);
  replace_text(path, "  for (int n = 0; n < PANELS; n++) clear_sums(",
               "#if DEPTH == 128\n#define TIMES 0\n#elif DEPTH == 256\n#define TIMES 6\n#else\n#define TIMES 1\n#endif\n"
               "  for (int again = 0; again < TIMES; again++) {\n  for (int n = 0; n < PANELS; n++) clear_sums(");
  replace_text(path, "  for (int n = 0; n * COLUMNS < features; n++) {\n    store_panel(",
               "  }\n  for (int n = 0; n * COLUMNS < features; n++) {\n    store_panel(");
  char *variable = malloc(strlen(kernels) + 32);
  assert_non_null(variable);
  sprintf(variable, "CLATTN_KERNEL_DIR=%s", kernels);
  free(path);
  free(kernels);
  return variable;
}

/* Whether the text has a depth that is both right and not slow. Noise decides which, and what else comes with it. */
static bool has_winner(const char *text) {
  return (strstr(text, "DEPTH=192") || strstr(text, "DEPTH=64")) && !strstr(text, "DEPTH=128");
}

/* What the file has to hold after a search. */
static void check_table(const char *table) {
  char *text = read_whole(table, NULL);
  if (strncmp(text, "clattn tuning 1\n", 16) != 0 || !strstr(text, " family=projection_vector dtype=f32 : ") ||
      !has_winner(text)) {
    fail_msg("%s", text);
  }
  free(text);
}

static void test_usage(void **state) {
  (void)state;
  static const struct {
    const char *const argv[6];
    const char *fragment;
  } rows[] = {{{"tune", "everything", NULL}, "everything: is none of prefill"},
              {{"tune", "--budget", "0", NULL}, "--budget"},
              {{"tune", "--dtype", "f64", NULL}, "f64 is none of"},
              {{"tune", "--device", "host", NULL}, "the host's own path is not tuned"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tool_result result = tool_run(rows[i].argv, NULL);
    tool_assert_error(&result, 2, "tune", rows[i].fragment);
    tool_free(&result);
  }
}

/* A wrong candidate does not win, however fast; a right one does, and is kept. */
static void test_winner(void **state) {
  (void)state;
  char *folder = make_folder(), *table = join_path(folder, "new/folder/tuning"), *kernels = make_kernels(folder),
       variable[1024];
  snprintf(variable, sizeof variable, "CLATTN_TUNING_FILE=%s", table);
  const struct tool_options options = {.environment = (const char *const[]){kernels, variable, NULL}};
  struct tool_result result = tool_run(
      (const char *const[]){"tune", "projection", "--small", "--device", "Portable", "--budget", "200", "--verbose", NULL},
      &options);
  if (result.code == 1 && strstr(result.err, "no device")) skip();
  if (result.code != 0 || !strstr(result.out, "kept in ") || !has_winner(result.out) ||
      !strstr(result.err, "trying DEPTH=128") || !strstr(result.err, "it fails its self-test")) {
    fail_msg("%d: %s%s", result.code, result.out, result.err);
  }
  check_table(table);
  tool_free(&result);
  /* A dry run writes nothing. */
  char *none = join_path(folder, "none");
  result = tool_run((const char *const[]){"tune", "projection", "--small", "--device", "Portable", "--dry-run", "--budget",
                                          "20", "--output", none, NULL},
                    &options);
  assert_int_equal(result.code, 0);
  assert_null(strstr(result.out, "kept in"));
  tool_free(&result);
  assert_int_equal(count_files(folder), 2); /* kernels, and the table's folder */
  free(none);
  remove_folder(folder);
  free(kernels);
  free(table);
}

/* The explanation of a run with an environment. */
static char *explain(const char *folder, const char *const *environment) {
  const struct tool_options options = {.environment = environment};
  char *out = join_path(folder, "out.safetensors");
  struct tool_result result = tool_run((const char *const[]){"run", TEST_CASES "/extended/gqa_causal.safetensors", "-o", out,
                                                             "--device", "Portable", "--path", "staged", "--explain", NULL},
                                       &options);
  if (result.code == 1 && strstr(result.err, "no device")) skip();
  if (result.code != 0) fail_msg("%s", result.err);
  char *text = strdup(result.out);
  assert_non_null(text);
  tool_free(&result);
  free(out);
  return text;
}

/* A table in its usual place is read at start, one that is named comes instead, and an empty name is none. */
static void test_read_at_start(void **state) {
  (void)state;
  static const char usual_text[] = "clattn tuning 1\ndevice=* family=softmax : ITEMS=2\n",
                    named_text[] = "clattn tuning 1\n\ndevice=* family=softmax : ITEMS=4\n";
  char *folder = make_folder(), *usual = join_path(folder, "clattn"), *named = join_path(folder, "named");
  char config[1024], variable[1024];
  snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s", folder);
  snprintf(variable, sizeof variable, "CLATTN_TUNING_FILE=%s", named);
  assert_int_equal(mkdir(usual, 0700), 0);
  char *path = join_path(usual, "tuning");
  write_file(path, usual_text, strlen(usual_text));
  write_file(named, named_text, strlen(named_text));
  char *texts[3] = {explain(folder, (const char *const[]){config, NULL}),
                    explain(folder, (const char *const[]){config, variable, NULL}),
                    explain(folder, (const char *const[]){config, "CLATTN_TUNING_FILE=", NULL})};
  if (!strstr(texts[0], "softmax: 2 work-items a row\n") || !strstr(texts[0], "tuned: softmax ITEMS=2 (") ||
      !strstr(texts[0], "/clattn/tuning:2)\n")) {
    fail_msg("%s", texts[0]);
  }
  if (!strstr(texts[1], "tuned: softmax ITEMS=4 (") || !strstr(texts[1], "/named:3)\n")) fail_msg("%s", texts[1]);
  if (strstr(texts[2], "tuned: ")) fail_msg("%s", texts[2]);
  for (int i = 0; i < 3; i++)
    free(texts[i]);
  remove_folder(folder);
  free(usual);
  free(named);
  free(path);
}

/* Whether the file holds the text by now. */
static bool holds(const char *path, const char *text) {
  if (!file_exists(path)) return false;
  char *now = read_whole(path, NULL);
  const bool has = strstr(now, text) != NULL;
  free(now);
  return has;
}

/* Interrupted in the middle, it keeps what it found. */
static void test_interrupt(void **state) {
  (void)state;
  char *folder = make_folder(), *table = join_path(folder, "tuning"), *log = join_path(folder, "log");
  char *kernels = make_kernels(folder);
  const struct timespec pause = {0, 50000000};
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (!freopen(log, "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(99);
    setenv("CLATTN_KERNEL_DIR", strchr(kernels, '=') + 1, 1);
    execl(CLATTN_TOOL, CLATTN_TOOL, "tune", "projection", "staged", "--small", "--device", "Portable", "--budget", "400",
          "--output", table, "--verbose", (char *)NULL);
    _exit(98);
  }
  for (int i = 0; i < 4000 && !holds(log, "better: DEPTH=192") && waitpid(child, &status, WNOHANG) == 0; i++)
    nanosleep(&pause, NULL);
  if (holds(log, "no device")) skip();
  assert_true(holds(log, "better: DEPTH=192"));
  kill(child, SIGINT);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 1);
  assert_true(holds(log, "clattn tune: interrupted"));
  check_table(table);
  remove_folder(folder);
  free(kernels);
  free(table);
  free(log);
}

/* A table that is no table is left alone. */
static void test_foreign_file(void **state) {
  (void)state;
  char *folder = make_folder(), *table = join_path(folder, "tuning"), *kernels = make_kernels(folder);
  write_file(table, "precious\n", 9);
  const struct tool_options options = {.environment = (const char *const[]){kernels, NULL}};
  struct tool_result result = tool_run((const char *const[]){"tune", "projection", "--small", "--device", "Portable",
                                                             "--budget", "200", "--output", table, NULL},
                                       &options);
  if (result.code == 1 && strstr(result.err, "no device")) skip();
  tool_assert_error(&result, 1, "tune", "is no tuning table");
  char *text = read_whole(table, NULL);
  assert_string_equal(text, "precious\n");
  free(text);
  tool_free(&result);
  remove_folder(folder);
  free(kernels);
  free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_usage), cmocka_unit_test(test_winner),
                                     cmocka_unit_test(test_read_at_start), cmocka_unit_test(test_interrupt),
                                     cmocka_unit_test(test_foreign_file)};
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
