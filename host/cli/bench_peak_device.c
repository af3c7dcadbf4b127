/* Bursts of peak work on an OpenCL device: kernels that multiply and add, and kernels that read. */
#include <stdio.h>
#include <stdlib.h>

#include "bench_peak.h"
#include "embedded.h"

/* bench_peak.cl, put inside the tool by the build. */
extern const struct embedded_file ctn_embedded_bench[];

/* A loop has at most so many turns, which the slowest drivers still count right; longer bursts are more launches. */
enum { MOST_TURNS = 32768, FIRST_STEPS = 500, ITEMS_A_UNIT = 16 };
static const double most_read = 256.0 * 1024 * 1024, shortest_read = 0.002, longest_read = 0.2;

struct peak_device {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel multiply, read;
  cl_mem out, data;
  size_t items, local;
  int vector;          /* floats in the kernel's vectors */
  cl_int steps, turns; /* of one work-item, in a launch that multiplies and in one that reads */
  int launches, read_launches;
  double rate; /* FLOP/s, about */
  uint64_t memory;
  char name[32];
};

/* seconds of `launches` launches of a kernel; 0 where one failed. */
static double launch(struct peak_device *device, cl_kernel kernel, int launches) {
  const double start = ctn_seconds();
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < launches && code == CL_SUCCESS; i++)
    code = clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &device->items, &device->local, 0, NULL, NULL);
  const cl_int finished = clFinish(device->queue);
  return code == CL_SUCCESS && finished == CL_SUCCESS ? ctn_seconds() - start : 0;
}

struct burst ctn_peak_device_multiply(struct peak_device *device) {
  if (!device->multiply) return (struct burst){0, 0};
  if (clSetKernelArg(device->multiply, 3, sizeof device->steps, &device->steps) != CL_SUCCESS) return (struct burst){0, 0};
  const double seconds = launch(device, device->multiply, device->launches);
  return (struct burst){
      seconds, 2.0 * PEAK_SUMS * device->vector * (double)device->steps * (double)device->items * (double)device->launches};
}

/* The data, as much as caches do not hold, and how often it is read in a burst. */
static bool make_data(struct peak_device *device) {
  const float value = 0.5f;
  const size_t row = sizeof(float) * (size_t)device->vector * 4 * device->items;
  const double room = (double)device->memory < most_read ? (double)device->memory : most_read;
  size_t turns = (size_t)(room / (double)row);
  if (turns < 1) turns = 1;
  if (turns > MOST_TURNS) turns = MOST_TURNS;
  cl_int code = CL_SUCCESS;
  device->turns = (cl_int)turns;
  device->data = clCreateBuffer(device->context, CL_MEM_READ_WRITE, turns * row, NULL, &code);
  if (code == CL_SUCCESS) {
    code = clEnqueueFillBuffer(device->queue, device->data, &value, sizeof value, 0, turns * row, 0, NULL, NULL);
  }
  if (code == CL_SUCCESS) code = clSetKernelArg(device->read, 1, sizeof device->data, &device->data);
  if (code == CL_SUCCESS) code = clSetKernelArg(device->read, 2, sizeof device->turns, &device->turns);
  if (code != CL_SUCCESS) return false;
  launch(device, device->read, 1);
  double seconds = launch(device, device->read, 1);
  if (seconds > longest_read && turns > 8) {
    /* A slow device reads less of it. */
    const cl_int fewer = (cl_int)((double)turns * longest_read / seconds);
    device->turns = fewer > 8 ? fewer : 8;
    if (clSetKernelArg(device->read, 2, sizeof device->turns, &device->turns) != CL_SUCCESS) return false;
    seconds = launch(device, device->read, 1);
  }
  if (seconds > 0) device->read_launches = seconds < shortest_read ? (int)(shortest_read / seconds) + 1 : 1;
  return seconds > 0;
}

struct burst ctn_peak_device_read(struct peak_device *device) {
  if (!device->read || (!device->data && !make_data(device))) return (struct burst){0, 0};
  const double seconds = device->read_launches ? launch(device, device->read, device->read_launches) : 0;
  return (struct burst){seconds, sizeof(float) * 4.0 * device->vector * (double)device->turns * (double)device->items *
                                     (double)device->read_launches};
}

static void drop(struct peak_device *device) {
  if (device->out) clReleaseMemObject(device->out);
  if (device->multiply) clReleaseKernel(device->multiply);
  if (device->read) clReleaseKernel(device->read);
  if (device->program) clReleaseProgram(device->program);
  device->out = NULL;
  device->multiply = device->read = NULL;
  device->program = NULL;
}

static cl_int set_arguments(struct peak_device *device) {
  const float factor = PEAK_FACTOR, summand = PEAK_SUMMAND;
  cl_int code = clSetKernelArg(device->multiply, 0, sizeof device->out, &device->out);
  if (code == CL_SUCCESS) code = clSetKernelArg(device->multiply, 1, sizeof factor, &factor);
  if (code == CL_SUCCESS) code = clSetKernelArg(device->multiply, 2, sizeof summand, &summand);
  if (code == CL_SUCCESS) code = clSetKernelArg(device->read, 0, sizeof device->out, &device->out);
  return code;
}

static bool build(struct peak_device *device, clattn_context *context, int vector) {
  const clattn_device_info *info = clattn_context_device(context);
  cl_device_id id = clattn_context_cl_device(context);
  const char *source = (const char *)ctn_embedded_bench[0].bytes;
  char options[32];
  cl_int code = CL_SUCCESS;
  device->vector = vector;
  device->local = vector >= 8 ? 1 : info->max_work_group < 128 ? info->max_work_group : 128;
  device->items = (size_t)info->compute_units * ITEMS_A_UNIT * device->local;
  device->steps = FIRST_STEPS;
  device->launches = 1;
  snprintf(options, sizeof options, "-DVEC=%d", vector);
  device->program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
  if (code == CL_SUCCESS) code = clBuildProgram(device->program, 1, &id, options, NULL, NULL);
  if (code == CL_SUCCESS) device->multiply = clCreateKernel(device->program, "multiply_add", &code);
  if (code == CL_SUCCESS) device->read = clCreateKernel(device->program, "read", &code);
  if (code == CL_SUCCESS) device->out = clCreateBuffer(device->context, CL_MEM_WRITE_ONLY, 4 * device->items, NULL, &code);
  if (code == CL_SUCCESS) code = set_arguments(device);
  if (code != CL_SUCCESS) drop(device);
  return code == CL_SUCCESS;
}

/* The better of some bursts: first short ones, then long enough that starting them does not count. */
static void find_rate(struct peak_device *device) {
  device->rate = 0;
  for (int i = 0; i < 4; i++) {
    const struct burst one = ctn_peak_device_multiply(device);
    if (one.seconds > 0 && one.amount / one.seconds > device->rate) device->rate = one.amount / one.seconds;
    if (i == 1) ctn_peak_device_length(device, 0.01);
  }
}

/* The widest vectors are not the fastest everywhere: the processor's registers may be half as wide as the device says. */
static void choose_kernels(struct peak_device *device, clattn_context *context) {
  const bool wide = clattn_context_device(context)->native_float_width >= 8;
  const int vectors[2] = {wide ? 8 : 1, wide ? 16 : 4};
  double rates[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    if (build(device, context, vectors[i])) find_rate(device);
    rates[i] = device->rate;
    drop(device);
  }
  const int best = rates[1] > rates[0];
  if (!build(device, context, vectors[best])) return;
  device->rate = rates[best];
  snprintf(device->name, sizeof device->name, "float%.0d", device->vector > 1 ? device->vector : 0);
}

struct peak_device *ctn_peak_device_create(clattn_context *context) {
  struct peak_device *device = calloc(1, sizeof *device);
  if (!device) return NULL;
  const clattn_device_info *info = clattn_context_device(context);
  device->context = clattn_context_cl_context(context);
  device->queue = clattn_context_cl_queue(context);
  device->memory = info->max_allocation < info->global_memory / 8 ? info->max_allocation : info->global_memory / 8;
  choose_kernels(device, context);
  ctn_peak_device_length(device, 0.025);
  return device;
}

void ctn_peak_device_length(struct peak_device *device, double seconds) {
  const double steps = seconds * device->rate / (2.0 * PEAK_SUMS * device->vector * (double)device->items);
  device->launches = steps > MOST_TURNS ? (int)(steps / MOST_TURNS) + 1 : 1;
  device->steps = !(steps > 10) ? 10 : (cl_int)(steps / device->launches);
}

void ctn_peak_device_destroy(struct peak_device *device) {
  if (!device) return;
  if (device->data) clReleaseMemObject(device->data);
  drop(device);
  free(device);
}

const char *ctn_peak_device_name(const struct peak_device *device) {
  return device->name;
}

cl_kernel ctn_peak_device_empty(const struct peak_device *device) {
  if (!device->program) return NULL;
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(device->program, "empty", &code);
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 0, sizeof device->out, &device->out);
  if (code == CL_SUCCESS) return kernel;
  if (kernel) clReleaseKernel(kernel);
  return NULL;
}
