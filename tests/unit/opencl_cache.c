/* The disk cache: a warm start compiles nothing, and no damaged entry ever reaches the driver. */
#include "opencl_support.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"
#include "program.h"

/* Calls of the driver that take a binary, seen through the linker's --wrap. */
static int binaries_given;
static int refuse_binaries;

cl_program __real_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes,
                                            const unsigned char **binaries, cl_int *status, cl_int *code);
cl_program __wrap_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes,
                                            const unsigned char **binaries, cl_int *status, cl_int *code);

cl_program __wrap_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *sizes,
                                            const unsigned char **binaries, cl_int *status, cl_int *code) {
  binaries_given++;
  if (refuse_binaries) {
    *code = CL_INVALID_BINARY;
    return NULL;
  }
  return __real_clCreateProgramWithBinary(context, count, devices, sizes, binaries, status, code);
}

static struct {
  char folder[PATH_SIZE], kernels[PATH_SIZE], cache[PATH_SIZE];
  struct support_log log;
} scratch;

static int begin(void **state) {
  (void)state;
  memset(&scratch.log, 0, sizeof scratch.log);
  binaries_given = 0;
  refuse_binaries = 0;
  support_make_folder(scratch.folder);
  support_path(scratch.kernels, scratch.folder, "kernels");
  support_path(scratch.cache, scratch.folder, "a/b/cache");
  assert_int_equal(mkdir(scratch.kernels, 0700), 0);
  support_write(scratch.kernels, "factor.clh", "#define TIMES(x) ((x) * FACTOR)\n");
  support_write(scratch.kernels, "scale.cl",
                "#include \"factor.clh\"\n"
                "kernel void scale(global float *x, long first) {\n"
                "  x[first + get_global_id(0)] = TIMES((float)get_global_id(0));\n"
                "}\n");
  return 0;
}

static int end(void **state) {
  (void)state;
  support_remove_folder(scratch.folder);
  return 0;
}

/* Runs scale with the given factor in a runtime of its own and checks its results and how its program came to be. */
static void run(const char *cache, long factor, uint64_t compiled_expected, uint64_t loaded_expected) {
  enum { COUNT = 64 };
  float host[COUNT];
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  struct specialisation spec = {0};
  struct arguments arguments;
  struct chain chain;
  cl_kernel kernel = NULL;
  cl_int code = CL_SUCCESS;
  uint64_t compiled = 9, loaded = 9;
  const size_t global = COUNT;
  options.kernel_dir = scratch.kernels;
  options.cache_dir = cache;
  options.no_cache = cache == NULL;
  options.log = support_log;
  options.log_user = &scratch.log;
  struct runtime *runtime = support_open(&options);
  ctn_define(&spec, "FACTOR", factor);
  if (ctn_kernel_create(&kernel, runtime, "scale.cl", "scale", &spec, &error) != CLATTN_OK) fail_msg("%s", error.text);
  struct slice slice = {clCreateBuffer(runtime->context, CL_MEM_READ_WRITE, sizeof host, NULL, &code), 0};
  assert_int_equal(code, CL_SUCCESS);
  ctn_arguments_begin(&arguments, kernel, "scale");
  ctn_argument_slice(&arguments, slice, sizeof(float));
  assert_int_equal(ctn_arguments_end(&arguments, &error), CLATTN_OK);
  assert_int_equal(ctn_chain_begin(&chain, runtime->queue, 0, NULL, NULL, &error), CLATTN_OK);
  assert_int_equal(ctn_chain_kernel(&chain, kernel, "scale", 1, &global, NULL, true, &error), CLATTN_OK);
  ctn_chain_end(&chain);
  assert_int_equal(clEnqueueReadBuffer(runtime->queue, slice.memory, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), CL_SUCCESS);
  for (int i = 0; i < COUNT; i++)
    assert_true(host[i] == (float)(i * factor));
  ctn_program_counts(runtime, &compiled, &loaded);
  clReleaseMemObject(slice.memory);
  clReleaseKernel(kernel);
  ctn_specialisation_free(&spec);
  ctn_runtime_close(runtime);
  assert_int_equal(compiled, compiled_expected);
  assert_int_equal(loaded, loaded_expected);
}

/* The path of the only entry in the cache. */
static void only_entry(char path[PATH_SIZE]) {
  int found = 0;
  DIR *folder = opendir(scratch.cache);
  assert_non_null(folder);
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    found++;
    support_path(path, scratch.cache, entry->d_name);
  }
  closedir(folder);
  assert_int_equal(found, 1);
}

static long file_size(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (long)info.st_size;
}

static void flip(const char *path, long at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  int byte = fgetc(file);
  assert_true(byte != EOF);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_true(fputc(byte ^ 0x10, file) != EOF);
  assert_int_equal(fclose(file), 0);
}

/* Damage was done to the entry: it is compiled anew without a word to the driver, once. */
static void expect_rebuilt(void) {
  int warnings = scratch.log.count[CLATTN_LOG_WARNING];
  binaries_given = 0;
  run(scratch.cache, 3, 1, 0);
  assert_int_equal(binaries_given, 0);
  assert_true(scratch.log.count[CLATTN_LOG_WARNING] > warnings);
  run(scratch.cache, 3, 0, 1);
  assert_int_equal(binaries_given, 1);
}

static void cold_then_warm(void **state) {
  char path[PATH_SIZE];
  struct stat info;
  (void)state;
  run(scratch.cache, 3, 1, 0);
  run(scratch.cache, 3, 0, 1);
  only_entry(path);
  assert_int_equal(stat(scratch.cache, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0077, 0);
  assert_int_equal(scratch.log.count[CLATTN_LOG_WARNING], 0);
}

static void other_options_and_sources_are_other_entries(void **state) {
  (void)state;
  run(scratch.cache, 3, 1, 0);
  run(scratch.cache, 5, 1, 0);
  support_write(scratch.kernels, "factor.clh", "#define TIMES(x) (FACTOR * (x))\n");
  run(scratch.cache, 3, 1, 0);
}

static void no_cache_touches_no_disk(void **state) {
  struct stat info;
  (void)state;
  run(NULL, 3, 1, 0);
  run(NULL, 3, 1, 0);
  assert_int_not_equal(stat(scratch.cache, &info), 0);
  assert_int_equal(binaries_given, 0);
}

static void flipped_bytes_in_every_region(void **state) {
  char path[PATH_SIZE];
  (void)state;
  run(scratch.cache, 3, 1, 0);
  only_entry(path);
  /* magic, key, length (low and high byte), hash, payload: first, middle, last */
  const long places[] = {0, 7, 8, 39, 40, 47, 48, 79, 80, 81 + (file_size(path) - 81) / 2, -1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    only_entry(path);
    flip(path, places[i] >= 0 ? places[i] : file_size(path) - 1);
    expect_rebuilt();
  }
}

static void wrong_lengths(void **state) {
  char path[PATH_SIZE];
  (void)state;
  run(scratch.cache, 3, 1, 0);
  only_entry(path);
  const long lengths[] = {0, 1, 79, 80, file_size(path) / 2, file_size(path) - 1, file_size(path) + 1};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    only_entry(path);
    assert_int_equal(truncate(path, lengths[i]), 0);
    expect_rebuilt();
  }
}

static void foreign_entry_under_our_name(void **state) {
  char ours[PATH_SIZE], foreign[PATH_SIZE];
  (void)state;
  run(scratch.cache, 3, 1, 0);
  only_entry(ours);
  assert_int_equal(unlink(ours), 0);
  run(scratch.cache, 5, 1, 0);
  only_entry(foreign);
  assert_int_equal(rename(foreign, ours), 0);
  expect_rebuilt();
}

static void entry_that_is_no_file(void **state) {
  char path[PATH_SIZE];
  (void)state;
  run(scratch.cache, 3, 1, 0);
  only_entry(path);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_rebuilt();
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  run(scratch.cache, 3, 1, 0); /* nothing can be renamed over a folder */
  run(scratch.cache, 3, 1, 0);
  only_entry(path); /* and no temporary file stays behind */
}

static void entry_of_another_user(void **state) {
  char path[PATH_SIZE];
  (void)state;
  if (geteuid() != 0) skip();
  run(scratch.cache, 3, 1, 0);
  only_entry(path);
  assert_int_equal(chown(path, 65534, 65534), 0);
  expect_rebuilt();
}

static void folders_that_cannot_be_used(void **state) {
  char path[PATH_SIZE];
  (void)state;
  support_write(scratch.folder, "file", "text");
  support_path(path, scratch.folder, "file");
  run(path, 3, 1, 0);
  support_path(path, scratch.folder, "file/below");
  run(path, 3, 1, 0);
  assert_true(scratch.log.count[CLATTN_LOG_WARNING] >= 2);
  run("/proc/clattn/cache", 3, 1, 0);
  support_path(path, scratch.folder, "closed");
  assert_int_equal(mkdir(path, 0500), 0);
  run(path, 3, 1, 0); /* root may write there all the same */
}

static void driver_refuses_a_sound_binary(void **state) {
  (void)state;
  run(scratch.cache, 3, 1, 0);
  refuse_binaries = 1;
  run(scratch.cache, 3, 1, 0);
  assert_int_equal(binaries_given, 1);
  assert_int_equal(scratch.log.count[CLATTN_LOG_WARNING], 1);
  assert_non_null(strstr(scratch.log.last, "CL_INVALID_BINARY"));
}

static void *create_in_thread(void *user) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct specialisation spec = {0};
  cl_kernel kernel = NULL;
  ctn_define(&spec, "FACTOR", 7);
  clattn_status status = ctn_kernel_create(&kernel, user, "scale.cl", "scale", &spec, &error);
  if (kernel != NULL) clReleaseKernel(kernel);
  ctn_specialisation_free(&spec);
  return status == CLATTN_OK ? user : NULL;
}

static void threads_share_one_program(void **state) {
  enum { THREADS = 6 };
  pthread_t threads[THREADS];
  uint64_t compiled = 0, loaded = 0;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  (void)state;
  options.kernel_dir = scratch.kernels;
  options.no_cache = 1;
  struct runtime *runtime = support_open(&options);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, create_in_thread, runtime), 0);
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_ptr_equal(result, runtime);
  }
  ctn_program_counts(runtime, &compiled, &loaded);
  ctn_runtime_close(runtime);
  assert_int_equal(compiled, 1);
  assert_int_equal(loaded, 0);
}

static void default_folder_comes_from_the_environment(void **state) {
  char path[PATH_SIZE], expected[PATH_SIZE];
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  (void)state;
  const char *xdg = getenv("XDG_CACHE_HOME");
  char *kept = xdg != NULL ? strdup(xdg) : NULL;
  support_path(path, scratch.folder, "xdg");
  support_path(expected, scratch.folder, "xdg/clattn");
  setenv("XDG_CACHE_HOME", path, 1);
  struct runtime *runtime = support_open(&options);
  assert_string_equal(runtime->cache_dir, expected);
  ctn_runtime_close(runtime);
  options.no_cache = 1;
  runtime = support_open(&options);
  assert_null(runtime->cache_dir);
  ctn_runtime_close(runtime);
  if (kept != NULL) {
    setenv("XDG_CACHE_HOME", kept, 1);
  } else {
    unsetenv("XDG_CACHE_HOME");
  }
  free(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(cold_then_warm, begin, end),
      cmocka_unit_test_setup_teardown(other_options_and_sources_are_other_entries, begin, end),
      cmocka_unit_test_setup_teardown(no_cache_touches_no_disk, begin, end),
      cmocka_unit_test_setup_teardown(flipped_bytes_in_every_region, begin, end),
      cmocka_unit_test_setup_teardown(wrong_lengths, begin, end),
      cmocka_unit_test_setup_teardown(foreign_entry_under_our_name, begin, end),
      cmocka_unit_test_setup_teardown(entry_that_is_no_file, begin, end),
      cmocka_unit_test_setup_teardown(entry_of_another_user, begin, end),
      cmocka_unit_test_setup_teardown(folders_that_cannot_be_used, begin, end),
      cmocka_unit_test_setup_teardown(driver_refuses_a_sound_binary, begin, end),
      cmocka_unit_test_setup_teardown(threads_share_one_program, begin, end),
      cmocka_unit_test_setup_teardown(default_folder_comes_from_the_environment, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
