/* After how many turns a device ends a work-item's loops: measured, remembered, and careful where it cannot be measured. */
#include "opencl_support.h"

#include <stdio.h>
#include <string.h>

#include "loops.h"
#include "program.h"

enum { MANY = 1 << 30 };

static bool ends_loops(const struct runtime *runtime) {
  return strstr(runtime->device.info.name, "llvmpipe") != NULL;
}

static uint64_t programs(struct runtime *runtime) {
  uint64_t compiled = 0, loaded = 0;
  ctn_program_counts(runtime, &compiled, &loaded);
  return compiled + loaded;
}

static void test_measured(void **state) {
  (void)state;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.no_cache = 1;
  struct runtime *runtime = support_open(&options);
  /* Few turns are no question. */
  assert_true(ctn_loop_limit(runtime, LOOPS_UNASKED) >= LOOPS_UNASKED);
  assert_int_equal(programs(runtime), 0);
  const int64_t limit = ctn_loop_limit(runtime, MANY);
  if (ends_loops(runtime)) {
    assert_in_range(limit, 65000, 65535);
  } else {
    assert_true(limit == INT64_MAX);
  }
  assert_int_equal(programs(runtime), 1);
  assert_true(ctn_loop_limit(runtime, 1) == limit);
  assert_true(ctn_loop_limit(runtime, MANY) == limit);
  assert_int_equal(programs(runtime), 1);
  ctn_runtime_close(runtime);
}

/* Another runtime needs not even the program, where there is no limit. */
static void test_remembered(void **state) {
  (void)state;
  char folder[PATH_SIZE];
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  support_make_folder(folder);
  options.cache_dir = folder;
  for (int turn = 0; turn < 2; turn++) {
    struct runtime *runtime = support_open(&options);
    const int64_t limit = ctn_loop_limit(runtime, MANY);
    assert_true(ends_loops(runtime) ? limit < 65536 : limit == INT64_MAX);
    assert_int_equal(programs(runtime), turn == 0 || ends_loops(runtime));
    ctn_runtime_close(runtime);
  }
  support_remove_folder(folder);
}

/* With this kernel in place of the real one. */
static int64_t limit_with(const char *source, struct support_log *log) {
  char folder[PATH_SIZE];
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  support_make_folder(folder);
  if (source != NULL) support_write(folder, "loops.cl", source);
  memset(log, 0, sizeof *log);
  options.kernel_dir = folder;
  options.no_cache = 1;
  options.log = support_log;
  options.log_user = log;
  struct runtime *runtime = support_open(&options);
  const int64_t limit = ctn_loop_limit(runtime, MANY);
  ctn_runtime_close(runtime);
  support_remove_folder(folder);
  return limit;
}

#define KERNEL(made)                                                                                                        \
  "__kernel void loops(const __global int *ones, __global int *turns, const int outer, const int inner) { turns[0] = " made \
  "; }\n"

static void test_limits(void **state) {
  (void)state;
  struct support_log log;
  assert_true(limit_with(KERNEL("outer * inner"), &log) == INT64_MAX);
  assert_int_equal(limit_with(KERNEL("min(outer * inner, 5000)"), &log), 5000);
  assert_non_null(strstr(log.last, "ends a work-item's loops after 5000 turns"));
  /* Loops in loops, or single ones alone. */
  assert_int_equal(limit_with(KERNEL("outer > 1 ? 4000 : inner"), &log), 4000);
  assert_int_equal(limit_with(KERNEL("outer > 1 ? outer * inner : 3000"), &log), 3000);
  assert_int_equal(limit_with(KERNEL("0"), &log), 1);
}

static void test_unknown(void **state) {
  (void)state;
  struct support_log log;
  assert_int_equal(limit_with("#error \"broken\"\n", &log), LOOPS_UNASKED);
  assert_int_equal(log.count[CLATTN_LOG_WARNING], 1);
  assert_non_null(strstr(log.last, "long ones are avoided: "));
  assert_int_equal(limit_with(NULL, &log), LOOPS_UNASKED);
  assert_int_equal(log.count[CLATTN_LOG_WARNING], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_measured), cmocka_unit_test(test_remembered),
                                     cmocka_unit_test(test_limits), cmocka_unit_test(test_unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
