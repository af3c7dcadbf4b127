/* What clattn bench makes of a run: CSV, plots, page; measured, or read from the JSON of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

#include "markup.h"
#include "tool.h"

struct files {
  char *folder, *json, *csv, *plot, *svg, *png, *page;
};

static int set_up(void **state) {
  static struct files files;
  files.folder = make_folder();
  char **const paths[] = {&files.json, &files.csv, &files.plot, &files.svg, &files.png, &files.page};
  static const char *const names[] = {"run.json", "run.csv", "sweep.svg", "roofline.svg", "roofline.png", "run.html"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    *paths[i] = join_path(files.folder, names[i]);
  *state = &files;
  return 0;
}

static int tear_down(void **state) {
  struct files *files = *state;
  char *const paths[] = {files->json, files->csv, files->plot, files->svg, files->png, files->page};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    free(paths[i]);
  remove_folder(files->folder);
  return 0;
}

static void run_well(const char *const *argv) {
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("%d: %s%s", result.code, result.out, result.err);
  tool_free(&result);
}

/* A small sweep on the host alone, so that the rows are known. */
static void measure(const struct files *files) {
  run_well((const char *const[]){"bench", "prefill", "decode", "--path", "cpu", "--sweep", "seq=16,24,32", "--head-dim", "8",
                                 "--repeats", "2", "--json", files->json, "--csv", files->csv, NULL});
}

static void test_sweep_rows(void **state) {
  const struct files *files = *state;
  measure(files);
  json_t *root = json_load_file(files->json, 0, NULL), *rows = json_object_get(root, "results");
  assert_string_equal(json_string_value(json_object_get(root, "sweep")), "seq");
  assert_int_equal(json_array_size(rows), 6);
  for (size_t i = 0; i < 6; i++) {
    const json_t *row = json_array_get(rows, i);
    const json_int_t length = 16 + 8 * (json_int_t)(i % 3);
    const bool decode = strcmp(json_string_value(json_object_get(row, "work")), "decode") == 0;
    assert_int_equal(json_integer_value(json_object_get(row, "swept")), length);
    assert_int_equal(json_integer_value(json_object_get(row, "kv_len")), length);
    assert_int_equal(json_integer_value(json_object_get(row, "q_len")), decode ? 1 : length);
    assert_int_equal(json_integer_value(json_object_get(row, "head_dim")), 8);
  }
  const json_t *devices = json_object_get(root, "devices");
  assert_int_equal(json_array_size(devices), 1);
  assert_true(json_number_value(json_object_get(json_array_get(devices, 0), "read_gb_s")) > 0);
  assert_true(json_number_value(json_object_get(json_array_get(devices, 0), "peak_gflops")) > 0);
  json_decref(root);
}

static int fields_in(const char *line) {
  int fields = 1;
  bool quoted = false;
  for (; *line && (quoted || *line != '\r'); line++) {
    quoted = quoted != (*line == '"');
    fields += *line == ',' && !quoted;
  }
  return fields;
}

static void test_csv(void **state) {
  const struct files *files = *state;
  measure(files);
  char *text = read_whole(files->csv, NULL), *line = text;
  static const char head[] = "work,path,device,dtype,batch,q_heads,kv_heads,q_len,kv_len,head_dim,head_dim_v,";
  assert_memory_equal(text, head, strlen(head));
  const int fields = fields_in(text);
  int lines = 0;
  for (; *line; line = strstr(line, "\r\n") + 2, lines++)
    assert_int_equal(fields_in(line), fields);
  assert_int_equal(lines, 7);
  assert_non_null(strstr(text, "\r\ndecode,cpu,host,f32,1,8,8,1,32,8,8,false,,32,ok,"));
  free(text);
}

/* Every name that a page refers to inside itself is there once. */
static void assert_names_unique(const char *text) {
  for (const char *at = strstr(text, " id=\""); at; at = strstr(at + 1, " id=\"")) {
    char name[128];
    const size_t length = strcspn(at + 5, "\"") + 6;
    assert_true(length < sizeof name);
    memcpy(name, at, length);
    name[length] = '\0';
    if (strstr(at + 1, name)) fail_msg("twice: %s", name);
  }
}

static void test_pictures(void **state) {
  const struct files *files = *state;
  if (!CLATTN_PICTURES) skip();
  measure(files);
  run_well((const char *const[]){"bench", "--with", files->json, "--plot", files->plot, "--roofline", files->svg, "--report",
                                 files->page, NULL});
  run_well((const char *const[]){"bench", "--with", files->json, "--roofline", files->png, NULL});
  char *plot = read_whole(files->plot, NULL), *roofline = read_whole(files->svg, NULL), *page = read_whole(files->page, NULL);
  assert_well_formed("the sweep's plot", plot, 0);
  assert_well_formed("the roofline", roofline, 0);
  assert_well_formed("the page", page, 1);
  assert_names_unique(page);
  char *png = read_whole(files->png, NULL);
  assert_memory_equal(png, "\x89PNG\r\n", 6);
  /* The page holds both pictures, and asks for nothing from elsewhere. */
  const char *first = strstr(page, "<svg");
  assert_non_null(first);
  assert_non_null(strstr(first + 1, "<svg"));
  assert_null(strstr(page, " src="));
  assert_null(strstr(page, "<link"));
  assert_non_null(strstr(page, "bench prefill decode --path cpu"));
  assert_non_null(strstr(page, "1 x 32"));
  free(png);
  free(plot);
  free(roofline);
  free(page);
}

static void expect_error(const char *const *argv, int code, const char *fragment) {
  struct tool_result result = tool_run(argv, NULL);
  tool_assert_error(&result, code, "bench", fragment);
  tool_free(&result);
}

/* Told before anything is measured. */
static void test_refused(void **state) {
  const struct files *files = *state;
  const char *fragment = CLATTN_PICTURES ? "must end in .png or .svg" : "without pictures";
  expect_error((const char *const[]){"bench", "peak", "--roofline", "roof.gif", NULL}, 1, fragment);
  expect_error((const char *const[]){"bench", "peak", "--csv", "/nowhere/x.csv", NULL}, 1, "/nowhere/x.csv: ");
  if (!CLATTN_PICTURES) return;
  expect_error((const char *const[]){"bench", "peak", "--report", "/nowhere/x.html", NULL}, 1, "/nowhere/x.html: ");
  run_well(
      (const char *const[]){"bench", "short", "--path", "cpu", "--seq", "8", "--repeats", "1", "--json", files->json, NULL});
  expect_error((const char *const[]){"bench", "--with", files->json, "--plot", files->plot, NULL}, 1, "draws a sweep, and ");
}

/* A row that would take longer than allowed is left out by name; the others stay. */
static void test_budget(void **state) {
  const struct files *files = *state;
  run_well((const char *const[]){"bench", "prefill", "--path", "cpu", "--sweep", "seq=16,65536", "--heads", "1", "--repeats",
                                 "1", "--budget", "0.2", "--json", files->json, NULL});
  json_t *root = json_load_file(files->json, 0, NULL), *left_out = json_object_get(root, "left_out");
  assert_int_equal(json_array_size(json_object_get(root, "results")), 1);
  assert_int_equal(json_array_size(left_out), 1);
  const json_t *row = json_array_get(left_out, 0);
  assert_int_equal(json_integer_value(json_object_get(row, "swept")), 65536);
  assert_string_equal(json_string_value(json_object_get(row, "state")), "left out");
  assert_non_null(strstr(json_string_value(json_object_get(row, "reason")), "--budget allows 0.2 s"));
  json_decref(root);
}

/* A standard work on a slow path becomes smaller, and says so. */
static void test_made_smaller(void **state) {
  const struct files *files = *state;
  struct tool_result result = tool_run((const char *const[]){"bench", "causal", "--path", "reference", "--repeats", "1",
                                                             "--budget", "0.5", "--json", files->json, NULL},
                                       NULL);
  if (result.code != 0) fail_msg("%d: %s%s", result.code, result.out, result.err);
  assert_non_null(strstr(result.out, "instead of 4096 rows"));
  json_t *root = json_load_file(files->json, 0, NULL), *rows = json_object_get(root, "results");
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    assert_int_equal(json_integer_value(json_object_get(row, "whole_len")), 4096);
    assert_true(json_integer_value(json_object_get(row, "q_len")) < 4096);
  }
  json_decref(root);
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_sweep_rows, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_csv, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_pictures, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_made_smaller, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
