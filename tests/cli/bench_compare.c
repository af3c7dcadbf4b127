/* clattn bench --compare OLD --with NEW on files made here: what is noise, what is the machine, what is a slowdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

#include "tool.h"

enum { WORKS = 12, ROUNDS = 15 };
static const char *const names[WORKS] = {"prefill", "causal", "window", "short", "decode", "project",
                                         "w6",      "w7",     "w8",     "w9",    "w10",    "w11"};

struct plan {
  unsigned seed;
  double noise;
  double speed;         /* of the machine, in all that it does */
  int slow_work;        /* -1: none */
  double slowdown;      /* of that work */
  int works;            /* how many there are */
  int failed_work;      /* -1: none */
  bool without_samples; /* as files of other versions */
  bool by_reading;      /* memory is the limit, and alone has the machine's speed */
};
static const struct plan plain = {
    .seed = 1, .noise = 0.02, .speed = 1, .slow_work = -1, .slowdown = 1, .works = WORKS, .failed_work = -1};

static unsigned generator;

static double noisy(double noise) {
  generator = generator * 1664525u + 1013904223u;
  const double share = (double)(generator >> 8) * 0x1p-24;
  return 1 + noise * share + (share > 0.97 ? 0.3 : 0);
}

static json_t *make_row(const struct plan *plan, int work) {
  const double seconds = 0.001 * (work + 1) * (work == plan->slow_work ? plan->slowdown : 1) / plan->speed;
  json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b}", "work", names[work], "path", "fused",
                          "device", "toaster", "dtype", "f32", "batch", 1, "q_heads", 8, "kv_heads", 8, "q_len", 128, "kv_len",
                          128, "head_dim", 64, "head_dim_v", 64, "causal", 0);
  json_t *samples = json_array(), *rates = json_array();
  assert_non_null(row);
  for (int i = 0; i < 2 * ROUNDS; i++)
    json_array_append_new(samples, json_real(seconds * noisy(plan->noise)));
  for (int i = 0; i < ROUNDS; i++)
    json_array_append_new(rates, json_real(100 * plan->speed / noisy(plan->noise / 2)));
  if (work == plan->failed_work) {
    json_object_set_new(row, "state", json_string("failed"));
    json_object_set_new(row, "median_s", json_null());
    json_decref(samples);
    json_decref(rates);
    return row;
  }
  json_object_set_new(row, "state", json_string("ok"));
  json_object_set_new(row, "median_s", json_real(seconds));
  json_object_set_new(row, "peak_gflops", json_real(plan->by_reading ? 100 : 100 * plan->speed));
  if (plan->by_reading) json_object_set_new(row, "bound", json_string("memory"));
  if (!plan->without_samples) {
    json_object_set_new(row, "runs_per_round", json_integer(2));
    json_object_set(row, "samples_s", samples);
    json_object_set(row, plan->by_reading ? "round_read_gb_s" : "round_peak_gflops", rates);
  }
  json_decref(samples);
  json_decref(rates);
  return row;
}

static void write_run(const char *path, const struct plan *plan) {
  json_t *rows = json_array(), *root = json_pack("{s:o}", "results", rows);
  generator = plan->seed;
  for (int work = 0; work < plan->works; work++)
    json_array_append_new(rows, make_row(plan, work));
  assert_int_equal(json_dump_file(root, path, 0), 0);
  json_decref(root);
}

struct files {
  char *folder, *before, *after;
};

static int set_up(void **state) {
  static struct files files;
  files.folder = make_folder();
  files.before = join_path(files.folder, "before.json");
  files.after = join_path(files.folder, "after.json");
  *state = &files;
  return 0;
}

static int tear_down(void **state) {
  struct files *files = *state;
  free(files->before);
  free(files->after);
  remove_folder(files->folder);
  return 0;
}

/* Compares two runs; threshold may be NULL. */
static struct tool_result compare(const struct files *files, const struct plan *before, const struct plan *after,
                                  const char *threshold) {
  write_run(files->before, before);
  write_run(files->after, after);
  return tool_run((const char *const[]){"bench", "--compare", files->before, "--with", files->after,
                                        threshold ? "--threshold" : NULL, threshold, NULL},
                  NULL);
}

static int count_text(const char *text, const char *word) {
  int count = 0;
  for (text = strstr(text, word); text; text = strstr(text + 1, word))
    count++;
  return count;
}

/* The exit code, and how many rows have the verdict. */
static void expect(struct tool_result result, int code, const char *verdict, int rows) {
  const char *table = strstr(result.out, "compared with the run of ");
  char end_of_line[32];
  snprintf(end_of_line, sizeof end_of_line, "  %s\n", verdict);
  if (result.code != code || !table || count_text(table, end_of_line) != rows) {
    fail_msg("exit code %d (not %d), or not %d rows %s: %s%s", result.code, code, rows, verdict, table ? table : result.out,
             result.err);
  }
  tool_free(&result);
}

static void test_identical(void **state) {
  expect(compare(*state, &plain, &plain, NULL), 0, "same", WORKS);
  expect(compare(*state, &plain, &plain, "0"), 0, "same", WORKS);
}

static void test_noise(void **state) {
  struct plan again = plain;
  for (unsigned seed = 2; seed < 12; seed++) {
    again.seed = seed;
    expect(compare(*state, &plain, &again, NULL), 0, "SLOWER", 0);
  }
}

static void test_planted(void **state) {
  struct plan slow = plain;
  slow.slow_work = 3;
  slow.slowdown = 1.1;
  for (unsigned seed = 2; seed < 8; seed++) {
    slow.seed = seed;
    struct tool_result result = compare(*state, &plain, &slow, NULL);
    assert_non_null(strstr(result.err, "1 row is slower than before"));
    expect(result, 1, "SLOWER", 1);
    expect(compare(*state, &plain, &slow, "5%"), 1, "SLOWER", 1);
    expect(compare(*state, &plain, &slow, "15"), 0, "SLOWER", 0);
    expect(compare(*state, &slow, &plain, NULL), 0, "faster", 1);
  }
}

/* Everything takes 1.3 times as long, multiply-adds or reading too: no program became slower. */
static void test_slower_machine(void **state) {
  for (int by_reading = 0; by_reading < 2; by_reading++) {
    struct plan before = plain, after = plain;
    before.by_reading = after.by_reading = by_reading != 0;
    after.seed = 5;
    after.speed = 1 / 1.3;
    expect(compare(*state, &before, &after, NULL), 0, "same", WORKS);
    after.slow_work = 0;
    after.slowdown = 1.1;
    expect(compare(*state, &before, &after, NULL), 1, "SLOWER", 1);
  }
}

/* Much noise: a tenth more is not told from it, and said to be unsure rather than the same, or not seen. */
static void test_much_noise(void **state) {
  struct plan before = plain, after = plain;
  before.noise = after.noise = 0.8;
  after.seed = 77;
  expect(compare(*state, &before, &after, NULL), 0, "SLOWER", 0);
}

static void test_missing_rows(void **state) {
  struct plan fewer = plain, none = plain;
  fewer.works = 5;
  none.works = 0;
  struct tool_result result = compare(*state, &plain, &fewer, NULL);
  assert_non_null(strstr(result.out, "7 rows are of the earlier run not in this one"));
  expect(result, 0, "same", 5);
  result = compare(*state, &fewer, &plain, NULL);
  assert_non_null(strstr(result.out, "7 rows are of this run not in the earlier one"));
  expect(result, 0, "same", 5);
  result = compare(*state, &none, &plain, NULL);
  tool_assert_error(&result, 1, "bench", "nothing to compare");
  tool_free(&result);
}

static void test_failures(void **state) {
  struct plan failed = plain;
  failed.failed_work = 2;
  expect(compare(*state, &plain, &failed, NULL), 1, "FAILS NOW", 1);
  expect(compare(*state, &failed, &plain, NULL), 0, "works now", 1);
}

/* Medians alone are no ground for an alarm. */
static void test_without_samples(void **state) {
  struct plan before = plain, after = plain;
  before.without_samples = after.without_samples = true;
  after.slow_work = 1;
  after.slowdown = 1.5;
  struct tool_result result = compare(*state, &before, &after, NULL);
  assert_non_null(strstr(result.out, "too few runs"));
  expect(result, 0, "unsure", 1);
}

static void test_no_run(void **state) {
  const struct files *files = *state;
  static const struct {
    const char *text, *fragment;
  } wrong[] = {{"{\"results\": [", "before.json: line 1"},
               {"{\"a\": 1}", "has no \"results\""},
               {"[]", "has no \"results\""},
               {"", "before.json: line 1"}};
  write_run(files->after, &plain);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    write_file(files->before, wrong[i].text, strlen(wrong[i].text));
    struct tool_result result =
        tool_run((const char *const[]){"bench", "--compare", files->before, "--with", files->after, NULL}, NULL);
    tool_assert_error(&result, 1, "bench", wrong[i].fragment);
    tool_free(&result);
  }
}

/* A run that was just measured against itself, and against a file that it replaces. */
static void test_measured(void **state) {
  const struct files *files = *state;
  const char *const first[] = {"bench",     "short", "--path", "cpu",         "--seq", "16",
                               "--repeats", "3",     "--json", files->before, NULL};
  struct tool_result result = tool_run(first, NULL);
  assert_int_equal(result.code, 0);
  tool_free(&result);
  result = tool_run((const char *const[]){"bench", "--compare", files->before, "--with", files->before, NULL}, NULL);
  expect(result, 0, "same", 2);
  result = tool_run((const char *const[]){"bench", "short", "--path", "cpu", "--seq", "16", "--repeats", "3", "--compare",
                                          files->before, "--json", files->before, "--threshold", "900", NULL},
                    NULL);
  expect(result, 0, "SLOWER", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_identical, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_planted, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_slower_machine, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_much_noise, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_missing_rows, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_without_samples, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_no_run, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_measured, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
