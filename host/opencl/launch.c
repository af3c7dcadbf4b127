/* Setting kernel arguments and enqueueing chains of kernels. */
#include "launch.h"

void ctn_arguments_begin(struct arguments *arguments, cl_kernel kernel, const char *name) {
  arguments->kernel = kernel;
  arguments->name = name;
  arguments->index = 0;
  arguments->code = CL_SUCCESS;
  arguments->failed = 0;
}

void ctn_argument(struct arguments *arguments, const void *value, size_t size) {
  if (arguments->code != CL_SUCCESS) return;
  arguments->code = clSetKernelArg(arguments->kernel, arguments->index, size, value);
  arguments->failed = arguments->index;
  arguments->index++;
}

void ctn_argument_slice(struct arguments *arguments, struct slice slice, size_t element) {
  if (arguments->code == CL_SUCCESS && (element == 0 || slice.offset % element != 0)) {
    arguments->code = CL_INVALID_ARG_VALUE;
    arguments->failed = arguments->index;
    return;
  }
  ctn_argument(arguments, &slice.memory, sizeof slice.memory);
  ctn_argument_long(arguments, slice.memory != NULL ? (int64_t)(slice.offset / element) : 0);
}

void ctn_argument_long(struct arguments *arguments, int64_t value) {
  cl_long argument = value;
  ctn_argument(arguments, &argument, sizeof argument);
}

void ctn_argument_int(struct arguments *arguments, int32_t value) {
  cl_int argument = value;
  ctn_argument(arguments, &argument, sizeof argument);
}

void ctn_argument_float(struct arguments *arguments, float value) {
  cl_float argument = value;
  ctn_argument(arguments, &argument, sizeof argument);
}

clattn_status ctn_arguments_end(struct arguments *arguments, clattn_error *error) {
  if (arguments->code == CL_SUCCESS) return CLATTN_OK;
  return ctn_fail_cl(error, arguments->code, "clSetKernelArg", "argument %u of kernel %s", (unsigned)arguments->failed,
                     arguments->name);
}

clattn_status ctn_chain_begin(struct chain *chain, cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
                              cl_event *event, clattn_error *error) {
  cl_command_queue_properties properties = 0;
  *chain = (struct chain){queue, true, wait_count, wait_count > 0 ? wait_list : NULL, NULL, event};
  if (event != NULL) *event = NULL;
  cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetCommandQueueInfo", "properties of the queue given");
  chain->in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  return CLATTN_OK;
}

clattn_status ctn_chain_kernel(struct chain *chain, cl_kernel kernel, const char *name, cl_uint dimensions,
                               const size_t *global, const size_t *local, bool last_kernel, clattn_error *error) {
  cl_event done = NULL;
  bool final = last_kernel && chain->final != NULL;
  bool chained = !chain->in_order && chain->last != NULL;
  cl_event *wanted = final ? chain->final : !chain->in_order && !last_kernel ? &done : NULL;
  cl_int code = clEnqueueNDRangeKernel(chain->queue, kernel, dimensions, NULL, global, local, chained ? 1 : chain->wait_count,
                                       chained ? &chain->last : chain->wait_list, wanted);
  if (code != CL_SUCCESS) {
    const size_t g[3] = {global[0], dimensions > 1 ? global[1] : 1, dimensions > 2 ? global[2] : 1};
    const size_t l[3] = {local != NULL ? local[0] : 0, local != NULL && dimensions > 1 ? local[1] : 1,
                         local != NULL && dimensions > 2 ? local[2] : 1};
    return ctn_fail_cl(error, code, "clEnqueueNDRangeKernel", "kernel %s, global %zux%zux%zu, local %zux%zux%zu", name, g[0],
                       g[1], g[2], l[0], l[1], l[2]);
  }
  if (chain->last != NULL) clReleaseEvent(chain->last);
  chain->last = done;
  /* In order, what follows waits for the first anyway. */
  chain->wait_count = 0;
  chain->wait_list = NULL;
  return CLATTN_OK;
}

void ctn_chain_end(struct chain *chain) {
  if (chain->last != NULL) clReleaseEvent(chain->last);
  chain->last = NULL;
}

clattn_status ctn_kernel_work_group(struct runtime *runtime, cl_kernel kernel, const char *name, size_t *size,
                                    clattn_error *error) {
  cl_int code = clGetKernelWorkGroupInfo(kernel, runtime->device.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof *size, size, NULL);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clGetKernelWorkGroupInfo", "work-group size of kernel %s", name);
  return CLATTN_OK;
}
