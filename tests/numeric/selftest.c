/* The self-test at a family's first use: kernels made wrong on purpose are refused and said to be, right ones are remembered.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "on_device.h"

static char folder[] = "/tmp/clattn-selftest-XXXXXX";
static char kernels[64], cache[64];

/* What the log callback was told. */
struct told {
  atomic_int warnings, tests;
  char text[600]; /* the last warning */
};

static void listen(void *user, clattn_log_level level, const char *text) {
  struct told *told = user;
  if (level == CLATTN_LOG_WARNING) {
    atomic_fetch_add(&told->warnings, 1);
    snprintf(told->text, sizeof told->text, "%s", text);
  }
  if (strncmp(text, "self-test: ", 11) == 0) atomic_fetch_add(&told->tests, 1);
}

static void run(const char *format, const char *a, const char *b) {
  char command[512];
  snprintf(command, sizeof command, format, a, b);
  assert_int_equal(system(command), 0);
}

static int begin(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(kernels, sizeof kernels, "%s/kernels", folder);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  run("cp -R '%s' '%s'", CLATTN_KERNELS, kernels);
  return 0;
}

static int end(void **state) {
  run("rm -rf '%s'%s", folder, "");
  return support_close_device(state);
}

/* The fused kernels' last division goes wrong; or the kernels are as they were. */
static void make_wrong(bool wrong) {
  run("cp '%s/common/online.clh' '%s/common/online.clh'", CLATTN_KERNELS, kernels);
  if (wrong) run("sed -i 's|seen ? shrink / sum|seen ? 0.75f * shrink / sum|' '%s/common/online.clh'%s", kernels, "");
}

static clattn_context *open_context(struct told *told, int no_selftest, bool use_cache) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  memset(told, 0, sizeof *told);
  options.device_name = clattn_context_device(support_device())->name;
  options.kernel_dir = kernels;
  options.cache_dir = cache;
  options.no_cache = !use_cache;
  options.log = listen;
  options.log_user = told;
  options.no_selftest = no_selftest;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

static clattn_status plan(clattn_plan **made, clattn_context *context, clattn_path path, clattn_error *error) {
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.path = path;
  problem.q_len = 4;
  problem.kv_len = 8;
  problem.head_dim = problem.head_dim_v = 16;
  return clattn_plan_create(made, context, &problem, &options, error);
}

/* auto goes to the next family and says why; the second plan is not tested again. */
static void test_next_family(void **state) {
  (void)state;
  struct told told;
  clattn_plan *first = NULL, *second = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  make_wrong(true);
  clattn_context *context = open_context(&told, 0, false);
  assert_int_equal(plan(&first, context, CLATTN_PATH_AUTO, &error), CLATTN_OK);
  assert_string_equal(clattn_plan_family(first), "staged");
  assert_non_null(strstr(clattn_plan_describe(first), "failed its self-test on this device: out is wrong"));
  assert_non_null(strstr(clattn_plan_describe(first), "self-test: passed"));
  assert_true(atomic_load(&told.warnings) >= 1);
  assert_non_null(strstr(told.text, "is out of service: out is wrong"));
  const int tests = atomic_load(&told.tests);
  assert_int_equal(plan(&second, context, CLATTN_PATH_AUTO, &error), CLATTN_OK);
  assert_string_equal(clattn_plan_family(second), "staged");
  assert_int_equal(atomic_load(&told.tests), tests);
  clattn_plan_destroy(second);
  clattn_plan_destroy(first);
  clattn_context_destroy(context);
}

static void test_forced_family(void **state) {
  (void)state;
  struct told told;
  clattn_plan *made = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  make_wrong(true);
  clattn_context *context = open_context(&told, 0, false);
  for (int turn = 0; turn < 2; turn++) {
    assert_int_equal(plan(&made, context, CLATTN_PATH_FUSED, &error), CLATTN_UNSUPPORTED);
    assert_null(made);
    assert_non_null(strstr(error.text, "failed its self-test on this device"));
  }
  clattn_context_destroy(context);
}

static void test_without(void **state) {
  (void)state;
  struct told told;
  clattn_plan *made = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  make_wrong(true);
  clattn_context *context = open_context(&told, 1, false);
  assert_int_equal(plan(&made, context, CLATTN_PATH_FUSED, &error), CLATTN_OK);
  assert_non_null(strstr(clattn_plan_describe(made), "self-test: not run"));
  assert_int_equal(atomic_load(&told.tests), 0);
  clattn_plan_destroy(made);
  clattn_context_destroy(context);
}

/* Spoils what is kept of the tests: the family's, and that the device ends no loops. How many there are. */
static int damage_verdicts(void) {
  DIR *listing = opendir(cache);
  int count = 0;
  assert_non_null(listing);
  for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    char path[400];
    const char *dot = strrchr(entry->d_name, '.');
    if (dot == NULL || strcmp(dot, ".verdict") != 0) continue;
    snprintf(path, sizeof path, "%s/%.200s", cache, entry->d_name);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_not_equal(fputc('x', file), EOF);
    assert_int_equal(fclose(file), 0);
    count++;
  }
  closedir(listing);
  return count;
}

/* A plan in a context of its own: how many tests ran, how many warnings came. */
static void plan_apart(int *tests, int *warnings, char text[600]) {
  struct told told;
  clattn_plan *made = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = open_context(&told, 0, true);
  if (plan(&made, context, CLATTN_PATH_FUSED, &error) != CLATTN_OK) fail_msg("%s", error.text);
  clattn_plan_destroy(made);
  clattn_context_destroy(context);
  *tests = atomic_load(&told.tests);
  *warnings = atomic_load(&told.warnings);
  memcpy(text, told.text, sizeof told.text);
}

/* Passed once, the test is not run again, unless what is kept of it is damaged. */
static void test_remembered(void **state) {
  (void)state;
  char text[600];
  int tests = 0, warnings = 0;
  make_wrong(false);
  plan_apart(&tests, &warnings, text);
  assert_int_equal(tests, 1);
  assert_int_equal(warnings, 0);
  plan_apart(&tests, &warnings, text);
  assert_int_equal(tests, 0);
  const int damaged = damage_verdicts();
  assert_in_range(damaged, 1, 2);
  plan_apart(&tests, &warnings, text);
  assert_int_equal(tests, 1);
  assert_int_equal(warnings, damaged);
  assert_non_null(strstr(text, "is damaged; testing instead"));
  plan_apart(&tests, &warnings, text);
  assert_int_equal(tests + warnings, 0);
  /* Another kernel source is another matter. */
  make_wrong(true);
  struct told told;
  clattn_plan *made = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = open_context(&told, 0, true);
  assert_int_equal(plan(&made, context, CLATTN_PATH_FUSED, &error), CLATTN_UNSUPPORTED);
  clattn_context_destroy(context);
}

static void *plan_in_thread(void *argument) {
  clattn_plan *made = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  const clattn_status status = plan(&made, argument, CLATTN_PATH_FUSED, &error);
  clattn_plan_destroy(made);
  return status == CLATTN_OK ? NULL : argument;
}

/* Threads that share a context share its one test. */
static void test_threads(void **state) {
  enum { THREADS = 4 };
  (void)state;
  struct told told;
  pthread_t threads[THREADS];
  make_wrong(false);
  clattn_context *context = open_context(&told, 0, false);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, plan_in_thread, context), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed = NULL;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&told.tests), 1);
  clattn_context_destroy(context);
}

/* Every operation, type and mask of the device's kernels passes; which also says that their tests are right. */
static void test_every_operation(void **state) {
  static const clattn_dtype types[] = {CLATTN_F32, CLATTN_F16, CLATTN_BF16}, masks[] = {CLATTN_NONE, CLATTN_BOOL, CLATTN_F16};
  (void)state;
  struct told told;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  make_wrong(false);
  clattn_context *context = open_context(&told, 0, false);
  options.path = CLATTN_PATH_STAGED;
  for (int t = 0; t < 3; t++) {
    clattn_plan *plans[5] = {NULL};
    clattn_problem attention = CLATTN_PROBLEM_INIT;
    clattn_embedding embedding = CLATTN_EMBEDDING_INIT;
    clattn_position position = CLATTN_POSITION_INIT;
    clattn_projection projection = CLATTN_PROJECTION_INIT;
    clattn_merge merge = CLATTN_MERGE_INIT;
    attention.dtype = embedding.dtype = position.dtype = projection.dtype = merge.dtype = types[t];
    attention.outputs = 63;
    attention.mask.dtype = masks[t];
    attention.mask.rank = 1;
    attention.mask.shape[0] = 1;
    embedding.token_dtype = t == 1 ? CLATTN_I64 : CLATTN_I32;
    projection.has_bias = t > 0;
    merge.part_dtype = CLATTN_F32;
    merge.outputs = t == 0 ? CLATTN_OUTPUT_LSE : CLATTN_OUTPUT_OUT;
    if (clattn_plan_create(&plans[0], context, &attention, &options, &error) != CLATTN_OK ||
        clattn_embedding_plan_create(&plans[1], context, &embedding, &options, &error) != CLATTN_OK ||
        clattn_position_plan_create(&plans[2], context, &position, &options, &error) != CLATTN_OK ||
        clattn_projection_plan_create(&plans[3], context, &projection, &options, &error) != CLATTN_OK ||
        clattn_merge_plan_create(&plans[4], context, &merge, &options, &error) != CLATTN_OK) {
      fail_msg("%s", error.text);
    }
    for (int i = 0; i < 5; i++) {
      clattn_plan_destroy(plans[i]);
    }
  }
  assert_int_equal(atomic_load(&told.warnings), 0);
  assert_int_equal(atomic_load(&told.tests), 15);
  clattn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_next_family), cmocka_unit_test(test_forced_family), cmocka_unit_test(test_without),
      cmocka_unit_test(test_remembered),  cmocka_unit_test(test_threads),       cmocka_unit_test(test_every_operation),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
