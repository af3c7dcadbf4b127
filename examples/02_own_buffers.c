/* A caller's own OpenCL context, queue and buffers: clattn enqueues on them and returns without waiting. */
#include <stdio.h>

#include <clattn/clattn_opencl.h>

enum { ROWS = 2, DIM = 2, BYTES = ROWS * DIM * sizeof(float) };

int main(void) {
  float q[ROWS * DIM] = {1, 0, 0, 1}, k[ROWS * DIM] = {1, 0, 0, 1}, v[ROWS * DIM] = {1, 2, 3, 4}, out[ROWS * DIM];
  cl_platform_id platform = NULL;
  cl_device_id device = NULL;
  cl_int code = clGetPlatformIDs(1, &platform, NULL);
  if (code == CL_SUCCESS) code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  if (code != CL_SUCCESS) {
    printf("no OpenCL device\n");
    return 0;
  }
  cl_context mine = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_command_queue queue = clCreateCommandQueue(mine, device, 0, &code);
  cl_mem q_memory = clCreateBuffer(mine, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, q, &code);
  cl_mem k_memory = clCreateBuffer(mine, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, k, &code);
  cl_mem v_memory = clCreateBuffer(mine, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, v, &code);
  cl_mem out_memory = clCreateBuffer(mine, CL_MEM_WRITE_ONLY, BYTES, NULL, &code);

  clattn_context *context = NULL;
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.q_len = problem.kv_len = ROWS;
  problem.head_dim = problem.head_dim_v = DIM;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  options.no_host = 1; /* buffers need a path on the device */
  clattn_buffers buffers;
  CLATTN_BUFFERS_INIT(buffers);
  buffers.q.memory = q_memory, buffers.k.memory = k_memory, buffers.v.memory = v_memory, buffers.out.memory = out_memory;
  cl_event done = NULL;

  if (clattn_context_adopt(&context, mine, device, queue, NULL, &error) == CLATTN_OK &&
      clattn_plan_create(&plan, context, &problem, &options, &error) == CLATTN_OK &&
      clattn_plan_enqueue(plan, queue, &buffers, 0, NULL, &done, &error) == CLATTN_OK) {
    /* The event orders what follows, on any queue. */
    code = clEnqueueReadBuffer(queue, out_memory, CL_TRUE, 0, BYTES, out, 1, &done, NULL);
    for (int row = 0; row < ROWS; row++)
      printf("row %d: %.4f %.4f\n", row, out[2 * row], out[2 * row + 1]);
    clReleaseEvent(done);
  } else {
    fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  }
  clattn_plan_destroy(plan);
  clattn_context_destroy(context);
  clReleaseMemObject(out_memory);
  clReleaseMemObject(v_memory);
  clReleaseMemObject(k_memory);
  clReleaseMemObject(q_memory);
  clReleaseCommandQueue(queue);
  clReleaseContext(mine);
  return error.status == CLATTN_OK && code == CL_SUCCESS ? 0 : 1;
}
