/* Kernels, arguments and chains: what fails says where, and queues in and out of order give the same results. */
#include "opencl_support.h"

#include <stdio.h>
#include <string.h>

#include "launch.h"
#include "program.h"

static char folder[PATH_SIZE];
static struct support_log messages;
static struct runtime *runtime;

static int begin(void **state) {
  (void)state;
  memset(&messages, 0, sizeof messages);
  runtime = NULL;
  support_make_folder(folder);
  support_write(folder, "broken.clh", "\nint wrong(void) { return undeclared_name; }\n");
  support_write(folder, "broken.cl", "#include \"broken.clh\"\nkernel void broken(global int *x) { x[0] = wrong(); }\n");
  support_write(folder, "steps.cl",
                "kernel void triple(global int *x, long first) { x[first + get_global_id(0)] *= 3; }\n"
                "kernel void increase(global int *x, long first, int amount, float unused) {\n"
                "  x[first + get_global_id(0)] += amount;\n"
                "}\n");
  return 0;
}

static int end(void **state) {
  (void)state;
  ctn_runtime_close(runtime);
  runtime = NULL;
  support_remove_folder(folder);
  return 0;
}

static void open_runtime(void) {
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  options.kernel_dir = folder;
  options.no_cache = 1;
  options.log = support_log;
  options.log_user = &messages;
  runtime = support_open(&options);
}

static bool is_oclgrind(void) {
  return strstr(runtime->device.info.platform_name, "Oclgrind") != NULL;
}

static cl_kernel create(const char *name) {
  cl_kernel kernel = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_kernel_create(&kernel, runtime, "steps.cl", name, NULL, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return kernel;
}

static void compile_error_names_file_and_line(void **state) {
  cl_kernel kernel = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  uint64_t compiled = 9;
  (void)state;
  open_runtime();
  for (int i = 0; i < 2; i++) { /* a failure is not kept */
    assert_int_equal(ctn_kernel_create(&kernel, runtime, "broken.cl", "broken", NULL, &error), CLATTN_BUILD_FAILED);
    assert_null(kernel);
    assert_true(error.cl_code < 0);
    assert_non_null(strstr(error.text, "kernels/broken.cl"));
    assert_null(strchr(error.text, '\n'));
    assert_true(strlen(error.text) > 60);
    assert_int_equal(messages.count[CLATTN_LOG_ERROR], i + 1);
    /* Oclgrind's compiler messages count the lines of the spliced text. */
    if (!is_oclgrind() && strstr(messages.last, "kernels/broken.clh:2") == NULL) fail_msg("%s", messages.last);
    assert_non_null(strstr(messages.last, "undeclared_name"));
  }
  ctn_program_counts(runtime, &compiled, NULL);
  assert_int_equal(compiled, 0);
}

static void unknown_kernels_and_files(void **state) {
  cl_kernel kernel = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  (void)state;
  open_runtime();
  assert_int_equal(ctn_kernel_create(&kernel, runtime, "steps.cl", "absent", NULL, &error), CLATTN_OPENCL_FAILED);
  assert_non_null(strstr(error.text, "clCreateKernel: CL_INVALID_KERNEL_NAME (-46): kernel absent of kernels/steps.cl"));
  assert_int_equal(ctn_kernel_create(&kernel, runtime, "none.cl", "none", NULL, &error), CLATTN_IO_FAILED);
  assert_null(kernel);
}

static void argument_errors_name_the_first(void **state) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct arguments arguments;
  const struct slice nothing = {NULL, 0}, odd = {NULL, 3};
  (void)state;
  open_runtime();
  cl_kernel kernel = create("increase");
  ctn_arguments_begin(&arguments, kernel, "increase");
  ctn_argument_slice(&arguments, nothing, sizeof(cl_int));
  for (int i = 0; i < 4; i++)
    ctn_argument_int(&arguments, 0); /* two too many */
  assert_int_equal(ctn_arguments_end(&arguments, &error), CLATTN_OPENCL_FAILED);
  assert_non_null(strstr(error.text, "clSetKernelArg: CL_INVALID_ARG_INDEX (-49): argument 4 of kernel increase"));
  ctn_arguments_begin(&arguments, kernel, "increase");
  ctn_argument_slice(&arguments, odd, sizeof(cl_int));
  assert_int_equal(ctn_arguments_end(&arguments, &error), CLATTN_OPENCL_FAILED);
  assert_non_null(strstr(error.text, "argument 0 of kernel increase"));
  clReleaseKernel(kernel);
}

static void launch_error_names_kernel_and_sizes(void **state) {
  clattn_error error = CLATTN_ERROR_INIT;
  struct arguments arguments;
  struct chain chain;
  cl_event event = NULL;
  size_t group = 0;
  const struct slice nothing = {NULL, 0};
  (void)state;
  open_runtime();
  cl_kernel kernel = create("triple");
  assert_int_equal(ctn_kernel_work_group(runtime, kernel, "triple", &group, &error), CLATTN_OK);
  assert_true(group >= 1);
  ctn_arguments_begin(&arguments, kernel, "triple");
  ctn_argument_slice(&arguments, nothing, sizeof(cl_int));
  assert_int_equal(ctn_arguments_end(&arguments, &error), CLATTN_OK);
  const size_t global = 1u << 24, local = 1u << 24;
  assert_int_equal(ctn_chain_begin(&chain, runtime->queue, 0, NULL, &event, &error), CLATTN_OK);
  assert_int_equal(ctn_chain_kernel(&chain, kernel, "triple", 1, &global, &local, true, &error), CLATTN_OPENCL_FAILED);
  ctn_chain_end(&chain);
  assert_null(event);
  assert_non_null(strstr(error.text, "clEnqueueNDRangeKernel: CL_INVALID_WORK_"));
  assert_non_null(strstr(error.text, "kernel triple, global 16777216x1x1, local 16777216x1x1"));
  clReleaseKernel(kernel);
}

/* ((x + 5) * 3 + 5) * 3 ... : wrong in any other order. */
static void chain_of_kernels(cl_command_queue_properties properties, bool with_events) {
  enum { COUNT = 1000, FIRST = 24, STEPS = 6 };
  static cl_int host[FIRST + COUNT];
  clattn_error error = CLATTN_ERROR_INIT;
  struct chain chain;
  cl_int code = CL_SUCCESS, state = CL_COMPLETE, expected = 1;
  cl_event gate = NULL, done = NULL;
  const size_t global = COUNT;
  open_runtime();
  cl_command_queue queue = clCreateCommandQueue(runtime->context, runtime->device.id, properties, &code);
  if (code == CL_INVALID_QUEUE_PROPERTIES) skip(); /* Rusticl has no such queues */
  assert_int_equal(code, CL_SUCCESS);
  cl_kernel kernels[2] = {create("increase"), create("triple")};
  for (size_t i = 0; i < FIRST + COUNT; i++)
    host[i] = 1;
  struct slice slice = {clCreateBuffer(runtime->context, CL_MEM_COPY_HOST_PTR, sizeof host, host, &code),
                        FIRST * sizeof(cl_int)};
  assert_int_equal(code, CL_SUCCESS);
  for (int i = 0; i < 2; i++) {
    struct arguments arguments;
    ctn_arguments_begin(&arguments, kernels[i], "step");
    ctn_argument_slice(&arguments, slice, sizeof(cl_int));
    if (i == 0) ctn_argument_int(&arguments, 5);
    if (i == 0) ctn_argument_float(&arguments, 0.0f);
    assert_int_equal(ctn_arguments_end(&arguments, &error), CLATTN_OK);
  }
  if (with_events) gate = clCreateUserEvent(runtime->context, &code);
  assert_int_equal(code, CL_SUCCESS);
  assert_int_equal(ctn_chain_begin(&chain, queue, with_events ? 1 : 0, &gate, with_events ? &done : NULL, &error), CLATTN_OK);
  assert_int_equal(chain.in_order, properties == 0);
  for (int i = 0; i < STEPS; i++) {
    clattn_status status = ctn_chain_kernel(&chain, kernels[i % 2], "step", 1, &global, NULL, i == STEPS - 1, &error);
    if (status != CLATTN_OK) fail_msg("%s", error.text);
    expected = i % 2 == 0 ? expected + 5 : expected * 3;
  }
  ctn_chain_end(&chain);
  if (with_events) {
    /* Oclgrind runs kernels in the calls that wait for them: it would wait here for ever. */
    if (!is_oclgrind()) {
      assert_int_equal(clFlush(queue), CL_SUCCESS);
      assert_int_equal(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), CL_SUCCESS);
      assert_int_not_equal(state, CL_COMPLETE); /* the gate is still closed */
    }
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
  }
  assert_int_equal(clFinish(queue), CL_SUCCESS);
  assert_int_equal(clEnqueueReadBuffer(queue, slice.memory, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), CL_SUCCESS);
  for (size_t i = 0; i < FIRST + COUNT; i++)
    assert_int_equal(host[i], i < FIRST ? 1 : expected);
  clReleaseMemObject(slice.memory);
  clReleaseKernel(kernels[0]);
  clReleaseKernel(kernels[1]);
  clReleaseCommandQueue(queue);
}

static void chain_in_order(void **state) {
  (void)state;
  chain_of_kernels(0, true);
}

static void chain_in_order_without_events(void **state) {
  (void)state;
  chain_of_kernels(0, false);
}

static void chain_out_of_order(void **state) {
  (void)state;
  chain_of_kernels(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true);
}

static void chain_out_of_order_without_events(void **state) {
  (void)state;
  chain_of_kernels(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, false);
}

static void names_of_errors(void **state) {
  (void)state;
  assert_string_equal(ctn_cl_name(CL_INVALID_VALUE), "CL_INVALID_VALUE");
  assert_string_equal(ctn_cl_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  assert_string_equal(ctn_cl_name(-123456), "unknown OpenCL error");
  clattn_error error = CLATTN_ERROR_INIT;
  assert_int_equal(ctn_fail_cl(&error, CL_OUT_OF_RESOURCES, "clCreateBuffer", "scores, %d bytes", 1024), CLATTN_OPENCL_FAILED);
  assert_string_equal(error.text, "clCreateBuffer: CL_OUT_OF_RESOURCES (-5): scores, 1024 bytes");
  assert_int_equal(error.cl_code, -5);
  assert_int_equal(ctn_fail_cl(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer", "x"), CLATTN_OUT_OF_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(compile_error_names_file_and_line, begin, end),
      cmocka_unit_test_setup_teardown(unknown_kernels_and_files, begin, end),
      cmocka_unit_test_setup_teardown(argument_errors_name_the_first, begin, end),
      cmocka_unit_test_setup_teardown(launch_error_names_kernel_and_sizes, begin, end),
      cmocka_unit_test_setup_teardown(chain_in_order, begin, end),
      cmocka_unit_test_setup_teardown(chain_in_order_without_events, begin, end),
      cmocka_unit_test_setup_teardown(chain_out_of_order, begin, end),
      cmocka_unit_test_setup_teardown(chain_out_of_order_without_events, begin, end),
      cmocka_unit_test(names_of_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
