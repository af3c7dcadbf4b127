/* Listing and choosing devices; the loader's answers are replaced where a machine cannot be made to give them. */
#include "opencl_support.h"

#include <stdlib.h>
#include <string.h>

#include "devices.h"

/* What the wrapped loader does; the real one answers where nothing is set. */
static cl_int platforms_code;
static int platforms_broken; /* clGetDeviceIDs fails for each platform */
static int platforms_empty;  /* ... or says that there are no devices */
static int devices_silent;   /* clGetDeviceInfo fails */

cl_int __real_clGetPlatformIDs(cl_uint count, cl_platform_id *platforms, cl_uint *found);
cl_int __wrap_clGetPlatformIDs(cl_uint count, cl_platform_id *platforms, cl_uint *found);
cl_int __real_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
                             cl_uint *found);
cl_int __wrap_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
                             cl_uint *found);
cl_int __real_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed);

cl_int __wrap_clGetPlatformIDs(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
  return platforms_code != CL_SUCCESS ? platforms_code : __real_clGetPlatformIDs(count, platforms, found);
}

cl_int __wrap_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
                             cl_uint *found) {
  if (platforms_broken) return CL_OUT_OF_RESOURCES;
  if (platforms_empty) return CL_DEVICE_NOT_FOUND;
  return __real_clGetDeviceIDs(platform, type, count, devices, found);
}

cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed) {
  return devices_silent ? CL_INVALID_VALUE : __real_clGetDeviceInfo(device, what, size, value, needed);
}

static int reset(void **state) {
  (void)state;
  platforms_code = CL_SUCCESS;
  platforms_broken = platforms_empty = devices_silent = 0;
  return 0;
}

static void expect_empty_list(void) {
  clattn_device_list *list = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(clattn_device_list_create(&list, &error), CLATTN_OK);
  assert_non_null(list);
  assert_int_equal(clattn_device_list_count(list), 0);
  assert_null(clattn_device_list_get(list, 0));
  assert_string_equal(error.text, "");
  clattn_device_list_destroy(list);
}

static void no_driver_at_all_is_an_empty_list(void **state) {
  (void)state;
  platforms_code = -1001;
  expect_empty_list();
}

static void platforms_without_devices_add_none(void **state) {
  (void)state;
  platforms_empty = 1;
  expect_empty_list();
}

static void what_does_not_answer_is_left_out(void **state) {
  (void)state;
  platforms_broken = 1;
  expect_empty_list();
  platforms_broken = 0;
  devices_silent = 1;
  expect_empty_list();
}

static void a_failing_loader_is_an_error(void **state) {
  clattn_device_list *list = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  (void)state;
  platforms_code = CL_INVALID_VALUE;
  assert_int_equal(clattn_device_list_create(&list, &error), CLATTN_OPENCL_FAILED);
  assert_null(list);
  assert_int_equal(error.cl_code, CL_INVALID_VALUE);
  assert_non_null(strstr(error.text, "clGetPlatformIDs: CL_INVALID_VALUE (-30)"));
  platforms_code = CL_OUT_OF_HOST_MEMORY;
  assert_int_equal(clattn_device_list_create(&list, NULL), CLATTN_OUT_OF_MEMORY);
  assert_int_equal(clattn_device_list_create(NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(clattn_device_list_count(NULL), 0);
  assert_null(clattn_device_list_get(NULL, 0));
  clattn_device_list_destroy(NULL);
}

static void the_device_of_this_machine(void **state) {
  (void)state;
  struct runtime *runtime = support_open(NULL);
  const clattn_device_info *info = &runtime->device.info;
  assert_int_equal(info->struct_size, sizeof *info);
  assert_true(strlen(info->name) > 0 && strlen(info->platform_name) > 0 && strlen(info->driver_version) > 0);
  assert_int_equal(strncmp(info->platform_version, "OpenCL ", 7), 0);
  assert_int_equal(strncmp(info->device_version, "OpenCL ", 7), 0);
  assert_true(info->compute_units >= 1 && info->max_work_group >= 1 && info->native_float_width >= 1);
  assert_true(info->global_memory >= info->max_allocation && info->max_allocation >= (1u << 20));
  assert_true(info->local_memory >= 1024);
  assert_true(runtime->device.usable);
  ctn_runtime_close(runtime);
}

/* Made-up devices: choosing looks at nothing but the structs. */
static void make(struct device devices[5]) {
  static const struct {
    const char *name, *platform;
    cl_device_type types;
    clattn_device_type type;
    bool usable;
  } rows[5] = {
      {"Slow CPU", "One Platform", CL_DEVICE_TYPE_CPU, CLATTN_DEVICE_CPU, true},
      {"Card Alpha", "Two Platform", CL_DEVICE_TYPE_GPU, CLATTN_DEVICE_GPU, false},
      {"Board", "Two Platform", CL_DEVICE_TYPE_ACCELERATOR, CLATTN_DEVICE_ACCELERATOR, true},
      {"Card Beta", "Two Platform", CL_DEVICE_TYPE_GPU, CLATTN_DEVICE_GPU, true},
      {"Simulator", "Three", CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_CPU, CLATTN_DEVICE_GPU, true},
  };
  for (size_t i = 0; i < 5; i++) {
    memset(&devices[i], 0, sizeof devices[i]);
    devices[i].info.name = rows[i].name;
    devices[i].info.platform_name = rows[i].platform;
    devices[i].types = rows[i].types;
    devices[i].info.type = rows[i].type;
    devices[i].usable = rows[i].usable;
  }
}

static void choosing(void **state) {
  static const struct {
    size_t count;
    int index;
    const char *name;
    clattn_device_type type;
    clattn_status status;
    int chosen;
    const char *text; /* a part of the error's */
  } rows[] = {
      {5, -1, NULL, CLATTN_DEVICE_ANY, CLATTN_OK, 3, ""},
      {3, -1, NULL, CLATTN_DEVICE_ANY, CLATTN_OK, 2, ""},
      {2, -1, NULL, CLATTN_DEVICE_ANY, CLATTN_OK, 0, ""},
      {0, -1, NULL, CLATTN_DEVICE_ANY, CLATTN_OK, -1, ""},
      {5, -1, NULL, CLATTN_DEVICE_CPU, CLATTN_OK, 0, ""},
      {5, -1, NULL, CLATTN_DEVICE_ACCELERATOR, CLATTN_OK, 2, ""},
      {5, -1, NULL, CLATTN_DEVICE_HOST, CLATTN_OK, -1, ""},
      {5, 1, NULL, CLATTN_DEVICE_ANY, CLATTN_OK, 1, ""},
      {5, 4, "ignored", CLATTN_DEVICE_CPU, CLATTN_OK, 4, ""},
      {5, -1, "beta", CLATTN_DEVICE_ANY, CLATTN_OK, 3, ""},
      {5, -1, "one plat", CLATTN_DEVICE_ANY, CLATTN_OK, 0, ""},
      {5, -1, "TWO", CLATTN_DEVICE_ACCELERATOR, CLATTN_OK, 2, ""},
      {5, -1, "simulator", CLATTN_DEVICE_CPU, CLATTN_OK, 4, ""},
      {5, -1, "", CLATTN_DEVICE_ANY, CLATTN_OK, 3, ""},
      {5, 5, NULL, CLATTN_DEVICE_ANY, CLATTN_NO_DEVICE, -1, "no device 5; there are 0: Slow CPU (One Platform), 1: Card Alpha"},
      {5, -1, "gamma", CLATTN_DEVICE_ANY, CLATTN_NO_DEVICE, -1, "no device has \"gamma\" in its name"},
      {5, -1, "slow", CLATTN_DEVICE_GPU, CLATTN_NO_DEVICE, -1, "no GPU device has \"slow\""},
      {5, -1, "alpha", CLATTN_DEVICE_ANY, CLATTN_NO_DEVICE, -1, "alpha"},
      {1, -1, NULL, CLATTN_DEVICE_GPU, CLATTN_NO_DEVICE, -1, "there is no GPU device; there are 0: Slow CPU"},
      {0, -1, NULL, CLATTN_DEVICE_CPU, CLATTN_NO_DEVICE, -1, "install a driver"},
      {5, -2, NULL, CLATTN_DEVICE_ANY, CLATTN_INVALID_ARGUMENT, -1, "device_index"},
      {5, -1, NULL, (clattn_device_type)9, CLATTN_INVALID_ARGUMENT, -1, "device_type"},
  };
  struct device devices[5];
  (void)state;
  make(devices);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int chosen = 99;
    clattn_error error = CLATTN_ERROR_INIT;
    clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
    options.device_index = rows[i].index;
    options.device_name = rows[i].name;
    options.device_type = rows[i].type;
    clattn_status status = ctn_device_choose(devices, rows[i].count, &options, &chosen, &error);
    if (status != rows[i].status || chosen != rows[i].chosen || strstr(error.text, rows[i].text) == NULL) {
      fail_msg("row %zu: status %d, chosen %d, %s", i, (int)status, chosen, error.text);
    }
  }
}

static void opening_fails_cleanly(void **state) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  struct device device = {0};
  struct runtime *runtime = NULL;
  (void)state;
  options.kernel_dir = "/nowhere/kernels";
  assert_int_equal(ctn_runtime_open(&runtime, &device, &options, &error), CLATTN_IO_FAILED);
  assert_null(runtime);
  assert_non_null(strstr(error.text, "/nowhere/kernels"));
}

static void adopting(void **state) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct runtime *adopted = NULL;
  cl_int code = CL_SUCCESS;
  (void)state;
  struct runtime *runtime = support_open(NULL);
  cl_context context = runtime->context;
  cl_device_id device = runtime->device.id;
  assert_int_equal(ctn_runtime_adopt(&adopted, NULL, device, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_int_equal(ctn_runtime_adopt(&adopted, context, NULL, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
  cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  assert_int_equal(code, CL_SUCCESS);
  assert_int_equal(ctn_runtime_adopt(&adopted, other, device, runtime->queue, NULL, &error), CLATTN_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "queue"));
  assert_null(adopted);
  assert_int_equal(ctn_runtime_adopt(&adopted, other, device, NULL, NULL, &error), CLATTN_OK);
  assert_int_equal(clReleaseContext(other), CL_SUCCESS); /* the runtime has its own reference */
  assert_non_null(adopted->queue);
  assert_string_equal(adopted->device.info.name, runtime->device.info.name);
  assert_int_equal(clFinish(adopted->queue), CL_SUCCESS);
  ctn_runtime_close(adopted);
  assert_int_equal(ctn_runtime_adopt(&adopted, context, device, runtime->queue, NULL, &error), CLATTN_OK);
  ctn_runtime_close(runtime);
  assert_int_equal(clFinish(adopted->queue), CL_SUCCESS);
  ctn_runtime_close(adopted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(no_driver_at_all_is_an_empty_list, reset),
      cmocka_unit_test_setup(platforms_without_devices_add_none, reset),
      cmocka_unit_test_setup(what_does_not_answer_is_left_out, reset),
      cmocka_unit_test_setup(a_failing_loader_is_an_error, reset),
      cmocka_unit_test_setup(the_device_of_this_machine, reset),
      cmocka_unit_test_setup(choosing, reset),
      cmocka_unit_test_setup(opening_fails_cleanly, reset),
      cmocka_unit_test_setup(adopting, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
