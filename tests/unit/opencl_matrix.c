/* Whether a matrix engine is to be trusted: told by capabilities, tried with a small kernel, remembered; wrong ones are found
 * out. */
#include "opencl_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "program.h"

static uint64_t programs(struct runtime *runtime) {
  uint64_t compiled = 0, loaded = 0;
  ctn_program_counts(runtime, &compiled, &loaded);
  return compiled + loaded;
}

static void expect_refusal(struct runtime *runtime, clattn_dtype dtype, const char *saying) {
  struct text reason = {0};
  assert_true(ctn_matrix_refused(runtime, dtype, &reason));
  if (strstr(reason.data, saying) == NULL) fail_msg("not \"%s\": %s", saying, reason.data);
  ctn_text_free(&reason);
}

static void expect_trust(struct runtime *runtime, clattn_dtype dtype) {
  struct text reason = {0};
  if (ctn_matrix_refused(runtime, dtype, &reason)) fail_msg("%s", reason.data);
  assert_int_equal(reason.length, 0);
}

/* The kernels' own engine is NVIDIA's: nothing is compiled for other devices. */
static void test_capabilities(void **state) {
  (void)state;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.no_cache = 1;
  struct runtime *runtime = support_open(&options);
  assert_int_equal(runtime->device.ptx, 0);
  for (int turn = 0; turn < 2; turn++) {
    expect_refusal(runtime, CLATTN_F16, "no matrix engine that the kernels know");
    expect_refusal(runtime, CLATTN_BF16, "no matrix engine that the kernels know");
  }
  assert_int_equal(programs(runtime), 0);
  ctn_runtime_close(runtime);
  runtime = support_open(&options);
  runtime->device.ptx = 75;
  expect_refusal(runtime, CLATTN_F16, "needs NVIDIA's compute capability 8.0, the device has 7.5");
  assert_int_equal(programs(runtime), 0);
  ctn_runtime_close(runtime);
}

/* With the engine of tests/emulated, changed by a sed command; the caller closes. */
static struct runtime *open_emulated(char folder[PATH_SIZE], const char *change, struct support_log *log) {
  char command[8 * PATH_SIZE];
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  static char kernels[PATH_SIZE + 16], cache[PATH_SIZE + 16];
  support_make_folder(folder);
  snprintf(kernels, sizeof kernels, "%s/kernels", folder);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  snprintf(command, sizeof command, "cp -R '%s' '%s' && cp -R '%s/.' '%s' && sed -i '%s' '%s/common/mma.clh'", CLATTN_KERNELS,
           kernels, CLATTN_EMULATED, kernels, change, kernels);
  assert_int_equal(system(command), 0);
  memset(log, 0, sizeof *log);
  options.kernel_dir = kernels;
  options.cache_dir = cache;
  options.log = support_log;
  options.log_user = log;
  return support_open(&options);
}

static void test_trusted(void **state) {
  (void)state;
  char folder[PATH_SIZE];
  struct support_log log;
  struct runtime *runtime = open_emulated(folder, "", &log);
  for (int turn = 0; turn < 2; turn++) {
    expect_trust(runtime, CLATTN_F16);
    expect_trust(runtime, CLATTN_BF16);
  }
  assert_int_equal(programs(runtime), 2);
  assert_int_equal(log.count[CLATTN_LOG_WARNING], 0);
  /* Another context takes the verdict from disk. */
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.kernel_dir = runtime->kernel_dir;
  options.cache_dir = runtime->cache_dir;
  struct runtime *other = support_open(&options);
  expect_trust(other, CLATTN_F16);
  assert_int_equal(programs(other), 0);
  ctn_runtime_close(other);
  ctn_runtime_close(runtime);
  support_remove_folder(folder);
}

/* One wrong thing at a time: each function of the engine is looked at. */
static void test_wrong(void **state) {
  static const struct {
    const char *change, *saying;
  } wrong[] = {
      {"s|term >= 8 ? 2 : 0|term >= 8 ? 1 : 0|", "the matrix engine's probe failed: its scores are wrong"},
      {"s|row + n / 2 \\* 8|row|", "its scores are wrong"},
      {"s|(WARP - 1)) ^ mask|(WARP - 1)) ^ 1|", "its maxima of rows are wrong"},
      {"s|mma_number_at(tile, places\\[8 \\* m + row + 1\\], n)|mma_number_at(tile, places[8 * m + row], n + 1)|",
       "its values are wrong"},
      {"s|2 \\* n < bytes|true|", "its scores are wrong"},
      {"s|mma_narrow(high) << 16|mma_narrow(low) << 16|", "its values are wrong"},
      {"s|return bits;|return 0;|", "its values are wrong"},
      {"s|mma_product(own|mma_nothing(own|", "kernels/matrix_probe.cl: does not compile"},
  };
  (void)state;
  for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
    char folder[PATH_SIZE];
    struct support_log log;
    struct runtime *runtime = open_emulated(folder, wrong[n].change, &log);
    for (int turn = 0; turn < 2; turn++) {
      expect_refusal(runtime, CLATTN_F16, wrong[n].saying);
    }
    assert_int_equal(log.count[CLATTN_LOG_WARNING], 1);
    ctn_runtime_close(runtime);
    support_remove_folder(folder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_capabilities), cmocka_unit_test(test_trusted),
                                     cmocka_unit_test(test_wrong)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
