/* The work `split` of clattn bench: a problem over two parts of a device, and over several devices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

#include "tool.h"

static const char pocl[] = "Portable Computing Language";

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_of(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

/* The only row of a work on a device, among those with a result or those without; NULL: there is none. */
static json_t *find(const json_t *root, const char *rows, const char *work, const char *device) {
  size_t i;
  json_t *row, *found = NULL;
  json_array_foreach(json_object_get(root, rows), i, row) {
    if (strcmp(text_of(row, "work"), work) != 0 || strcmp(text_of(row, "device"), device) != 0) continue;
    assert_null(found);
    found = row;
  }
  return found;
}

/* The device of PoCL, or else the first; NULL: there is none. */
static json_t *device_of(const json_t *root) {
  size_t i;
  json_t *device, *devices = json_object_get(root, "devices");
  json_array_foreach(devices, i, device) {
    if (strcmp(text_of(device, "platform"), pocl) == 0) return device;
  }
  return json_array_get(devices, 1);
}

/* What `clattn bench split` with these arguments writes as JSON, and prints; the caller frees both. */
static json_t *measure(const char *const *more, const char *variable, int code, char **out) {
  char *folder = make_folder(), *path = join_path(folder, "bench.json");
  const char *argv[16] = {"bench", "split", "--repeats", "1", "--json", path};
  const struct tool_options options = {.environment = (const char *const[]){variable, NULL}};
  for (int n = 6; *more && n < 15; more++)
    argv[n++] = *more;
  struct tool_result result = tool_run(argv, variable ? &options : NULL);
  if (result.code != code) fail_msg("%d: %s%s", result.code, result.out, result.err);
  json_t *root = json_load_file(path, 0, NULL);
  assert_non_null(root);
  *out = strdup(result.out);
  assert_non_null(*out);
  tool_free(&result);
  free(path);
  remove_folder(folder);
  return root;
}

static void check_shares(const json_t *row) {
  const json_t *shares = json_object_get(row, "shares"), *share;
  double sum = 0;
  size_t i;
  assert_int_equal(json_array_size(shares), 2);
  json_array_foreach(shares, i, share) {
    assert_true(number_of(share, "share") > 0);
    assert_true(*text_of(share, "device") != '\0');
    sum += number_of(share, "share");
  }
  assert_true(fabs(sum - 1) < 1e-6);
}

/* row's time over base's, as the row tells it. */
static void check_ratio(const json_t *row, const json_t *base) {
  const double ratio = number_of(row, "median_s") / number_of(base, "median_s");
  assert_string_equal(text_of(row, "compared_with"), text_of(base, "work"));
  assert_true(fabs(number_of(row, "ratio") / ratio - 1) < 1e-6);
}

static void test_parts(void **state) {
  (void)state;
  char *out, part[300], both[300], on[32];
  const char *name;
  json_t *root = measure((const char *const[]){"--seq", "64", "--heads", "8", NULL}, NULL, 0, &out);
  json_t *device = device_of(root);
  if (!device || number_of(device, "compute_units") < 2) skip();
  name = text_of(device, "name");
  snprintf(part, sizeof part, "part 1 of 2 of %s", name);
  snprintf(both, sizeof both, "2 parts of %s", name);
  snprintf(on, sizeof on, "%d", (int)number_of(device, "index"));
  json_t *split = find(root, "results", "split-parts", both), *whole = find(root, "results", "split-whole", name),
         *one = find(root, "results", "split-part", part);
  if (!split || !whole || !one) fail_msg("%s", out);
  check_shares(split);
  check_ratio(whole, split);
  check_ratio(one, split);
  assert_string_equal(text_of(split, "on"), on);
  assert_string_equal(text_of(one, "on"), on);
  assert_int_equal(number_of(split, "q_len"), 64);
  assert_int_equal(number_of(split, "q_heads"), 8);
  assert_non_null(strstr(out, "split-part / split-parts"));
  assert_non_null(strstr(out, "part 2 of 2 of "));
  json_decref(root);
  free(out);
}

static void expect_reason(const json_t *root, const char *work, const char *device, const char *fragment, const char *out) {
  const json_t *row = find(root, "left_out", work, device);
  if (!row || !strstr(text_of(row, "reason"), fragment)) fail_msg("%s: %s", work, out);
}

/* One pair of a batch and a head cannot be shared out, and then nothing is held against it. */
static void test_one_pair(void **state) {
  (void)state;
  char *out, both[300];
  json_t *root = measure((const char *const[]){"--seq", "16", "--heads", "1", NULL}, NULL, 0, &out);
  json_t *device = device_of(root);
  if (!device || number_of(device, "compute_units") < 2) skip();
  snprintf(both, sizeof both, "2 parts of %s", text_of(device, "name"));
  expect_reason(root, "split-parts", both, "would compute all of it", out);
  expect_reason(root, "split-whole", text_of(device, "name"), "no split-parts", out);
  assert_null(strstr(out, "shared out"));
  json_decref(root);
  free(out);
}

/* PoCL with one thread is a device of one unit. */
static void test_one_unit(void **state) {
  (void)state;
  char *out, both[300];
  json_t *root = measure((const char *const[]){"--seq", "16", NULL}, "POCL_MAX_PTHREAD_COUNT=1", 0, &out);
  json_t *device = device_of(root);
  if (!device || number_of(device, "compute_units") != 1) skip();
  snprintf(both, sizeof both, "2 parts of %s", text_of(device, "name"));
  expect_reason(root, "split-parts", both, "fewer than 2 parts", out);
  assert_null(find(root, "results", "split-whole", text_of(device, "name")));
  json_decref(root);
  free(out);
}

/* The parts' results are looked at like any row's. */
static void test_wrong_kernel(void **state) {
  (void)state;
  char *folder = make_folder(), *kernels = join_path(folder, "kernels"), *path = join_path(kernels, "common/online.clh");
  char command[2048], both[300];
  snprintf(command, sizeof command, "cp -R '%s' '%s'", CLATTN_KERNELS, kernels);
  assert_int_equal(system(command), 0);
  char *source = read_whole(path, NULL), *factor = strstr(source, "#define LOG2E 1.4426");
  assert_non_null(factor);
  memcpy(factor, "#define LOG2E 1.4626", strlen("#define LOG2E 1.4626"));
  write_file(path, source, strlen(source));
  snprintf(command, sizeof command, "CLATTN_KERNEL_DIR=%s", kernels);
  const struct tool_options options = {.environment = (const char *const[]){command, "CLATTN_NO_SELFTEST=1", NULL}};
  char *json = join_path(folder, "bench.json");
  struct tool_result result = tool_run(
      (const char *const[]){"bench", "split", "--path", "fused", "--seq", "64", "--repeats", "1", "--json", json, NULL},
      &options);
  if (strstr(result.err, "no OpenCL device")) skip();
  json_t *root = json_load_file(json, 0, NULL), *device = device_of(root);
  assert_non_null(root);
  if (number_of(device, "compute_units") < 2) skip();
  snprintf(both, sizeof both, "2 parts of %s", text_of(device, "name"));
  json_t *row = find(root, "results", "split-parts", both);
  if (result.code != 1 || !row || strcmp(text_of(row, "state"), "failed") != 0 ||
      !strstr(text_of(row, "reason"), "wrong: differs from the reference")) {
    fail_msg("%d: %s%s", result.code, result.out, result.err);
  }
  assert_true(json_is_null(json_object_get(row, "median_s")));
  json_decref(root);
  tool_free(&result);
  remove_folder(folder);
  free(json);
  free(source);
  free(path);
  free(kernels);
}

/* Two platforms at once. Rusticl on a CPU is hundreds of times slower than PoCL: of so many heads it gets a few. */
static void test_two_devices(void **state) {
  (void)state;
  char *out, both[700];
  json_t *root = measure((const char *const[]){"--path", "staged", "--seq", "8", "--heads", "2000", "--head-dim", "8", NULL},
                         "RUSTICL_ENABLE=llvmpipe", 0, &out);
  json_t *devices = json_object_get(root, "devices"), *first = json_array_get(devices, 1), *second = json_array_get(devices, 2);
  if (!second && !getenv("CLATTN_TEST_REQUIRE_DEVICES")) skip();
  assert_non_null(second);
  snprintf(both, sizeof both, "%s and %s", text_of(first, "name"), text_of(second, "name"));
  json_t *split = find(root, "results", "split-all", both),
         *here = find(root, "results", "split-alone", text_of(first, "name")),
         *there = find(root, "results", "split-alone", text_of(second, "name"));
  if (!split || !here || !there) fail_msg("%s", out);
  check_shares(split);
  check_ratio(here, split);
  check_ratio(there, split);
  assert_string_equal(text_of(split, "on"), "0+1");
  /* Its driver has no sub-devices. */
  const bool rusticl = strcmp(text_of(second, "platform"), "rusticl") == 0;
  snprintf(both, sizeof both, "2 parts of %s", text_of(rusticl ? second : first, "name"));
  expect_reason(root, "split-parts", both, "cannot be divided into 2 parts", out);
  json_decref(root);
  free(out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_one_pair),
                                     cmocka_unit_test(test_one_unit), cmocka_unit_test(test_wrong_kernel),
                                     cmocka_unit_test(test_two_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
