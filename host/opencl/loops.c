/* Measuring after how many turns a device ends a work-item's loops. */
#include "loops.h"

#include "checked.h"
#include "disk_cache.h"
#include "launch.h"
#include "program.h"
#include "source.h"
#include "text.h"

static const char file[] = "loops.cl";
/* Turns that are tried: as one loop, and as loops in a loop. */
enum { OUTER = 1024, INNER = 1024, TURNS = OUTER * INNER };

/* How many of outer * inner turns are made. */
static clattn_status count(cl_command_queue queue, cl_kernel kernel, cl_mem ones, cl_mem turns, int outer, int inner,
                           int32_t *made, clattn_error *error) {
  static const size_t one[1] = {1};
  struct arguments arguments;
  struct chain chain;
  ctn_arguments_begin(&arguments, kernel, "loops");
  ctn_argument(&arguments, &ones, sizeof(cl_mem));
  ctn_argument(&arguments, &turns, sizeof(cl_mem));
  ctn_argument_int(&arguments, outer);
  ctn_argument_int(&arguments, inner);
  clattn_status status = ctn_arguments_end(&arguments, error);
  if (status == CLATTN_OK) status = ctn_chain_begin(&chain, queue, 0, NULL, NULL, error);
  if (status != CLATTN_OK) return status;
  status = ctn_chain_kernel(&chain, kernel, "loops", 1, one, one, true, error);
  ctn_chain_end(&chain);
  if (status != CLATTN_OK) return status;
  const cl_int code = clEnqueueReadBuffer(queue, turns, CL_TRUE, 0, sizeof *made, made, 0, NULL, NULL);
  return code == CL_SUCCESS ? CLATTN_OK : ctn_fail_cl(error, code, "clEnqueueReadBuffer", "turns of a loop");
}

/* On a queue of its own: the caller's may hold work that waits for the caller. */
static clattn_status measure(struct runtime *runtime, int64_t *limit, clattn_error *error) {
  cl_int data[2] = {1, 1}, code = CL_SUCCESS;
  int32_t made[2] = {0, 0};
  cl_command_queue queue = NULL;
  cl_kernel kernel = NULL;
  cl_mem ones = NULL, turns = NULL;
  struct sha256 *trace = ctn_program_trace(NULL); /* no family is made from this */
  clattn_status status = ctn_kernel_create(&kernel, runtime, file, "loops", NULL, error);
  ctn_program_trace(trace);
  if (status != CLATTN_OK) goto cleanup;
  queue = clCreateCommandQueue(runtime->context, runtime->device.id, 0, &code);
  if (code == CL_SUCCESS) {
    ones = clCreateBuffer(runtime->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof data, data, &code);
  }
  if (code == CL_SUCCESS) turns = clCreateBuffer(runtime->context, CL_MEM_READ_WRITE, sizeof *made, NULL, &code);
  if (code != CL_SUCCESS) {
    status = ctn_fail_cl(error, code, "clCreateCommandQueue or clCreateBuffer", "counting turns of loops");
    goto cleanup;
  }
  status = count(queue, kernel, ones, turns, 1, TURNS, &made[0], error);
  if (status == CLATTN_OK) status = count(queue, kernel, ones, turns, OUTER, INNER, &made[1], error);
  const int64_t fewer = ctn_min(made[0], made[1]);
  if (status == CLATTN_OK) *limit = fewer < TURNS ? ctn_max(fewer, 1) : INT64_MAX;
cleanup:
  if (turns != NULL) clReleaseMemObject(turns);
  if (ones != NULL) clReleaseMemObject(ones);
  if (queue != NULL) clReleaseCommandQueue(queue);
  if (kernel != NULL) clReleaseKernel(kernel);
  return status;
}

/* Under which a device without a limit is remembered. False where the kernel cannot be found. */
static bool make_key(uint8_t key[32], const struct runtime *runtime) {
  struct text source = {0};
  const bool found = ctn_source_splice(&source, runtime->kernel_dir, file, NULL) == CLATTN_OK;
  if (found) ctn_cache_key(key, runtime, source.data, source.length, "loop limit");
  ctn_text_free(&source);
  return found;
}

int64_t ctn_loop_limit(struct runtime *runtime, int64_t turns) {
  clattn_error error = CLATTN_ERROR_INIT;
  uint8_t key[32];
  int64_t limit = atomic_load(&runtime->loop_limit);
  if (limit != 0) return limit;
  if (turns <= LOOPS_UNASKED) return LOOPS_UNASKED;
  const bool keyed = make_key(key, runtime);
  if (keyed && ctn_cache_has_passed(runtime, key)) {
    limit = INT64_MAX;
  } else if (measure(runtime, &limit, &error) != CLATTN_OK) {
    limit = LOOPS_UNASKED;
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "how long loops may be on %s is unknown, long ones are avoided: %s",
                    runtime->device.info.name, error.text);
  } else if (limit < INT64_MAX) {
    ctn_runtime_log(runtime, CLATTN_LOG_INFO, "%s ends a work-item's loops after %lld turns", runtime->device.info.name,
                    (long long)limit);
  } else if (keyed) {
    ctn_cache_store_passed(runtime, key);
  }
  atomic_store(&runtime->loop_limit, limit);
  return limit;
}
