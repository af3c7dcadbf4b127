/* clattn: the fused path on buffers of an OpenCL device, or (WORD cpu) the CPU path. */
#include <stdio.h>
#include <string.h>

#include <clattn/clattn_opencl.h>

#include "peer.h"

static clattn_context *context;
static clattn_plan *plan;
static clattn_arrays arrays = CLATTN_ARRAYS_INIT;
static clattn_buffers buffers;
static cl_command_queue queue; /* NULL: the CPU path */
static clattn_error error = CLATTN_ERROR_INIT;
static size_t out_bytes;
static float *out;

static int buffer(clattn_buffer *made, void *data, long rows, const struct peer_problem *p) {
  const size_t bytes = (size_t)(p->batch * p->heads * rows * p->head_dim) * sizeof(float);
  cl_int code = CL_SUCCESS;
  made->memory =
      clCreateBuffer(clattn_context_cl_context(context), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, &code);
  return code == CL_SUCCESS;
}

const char *peer_prepare(struct peer_problem *p) {
  static char name[256];
  const int cpu = strcmp(p->word, "cpu") == 0;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  if (cpu) options.device_type = CLATTN_DEVICE_HOST;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.batch = p->batch;
  problem.q_heads = problem.kv_heads = p->heads;
  problem.q_len = p->q_len;
  problem.kv_len = p->kv_len;
  problem.head_dim = problem.head_dim_v = p->head_dim;
  problem.causal = p->causal;
  clattn_plan_options how = CLATTN_PLAN_OPTIONS_INIT;
  how.path = cpu ? CLATTN_PATH_CPU : CLATTN_PATH_FUSED;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK ||
      clattn_plan_create(&plan, context, &problem, &how, &error) != CLATTN_OK) {
    printf("unable %s\n", error.text);
    return NULL;
  }
  arrays.q = p->q;
  arrays.k = p->k;
  arrays.v = p->v;
  arrays.out = out = p->out;
  out_bytes = (size_t)(p->batch * p->heads * p->q_len * p->head_dim) * sizeof(float);
  if (!cpu) {
    CLATTN_BUFFERS_INIT(buffers);
    queue = clattn_context_cl_queue(context);
    if (!buffer(&buffers.q, p->q, p->q_len, p) || !buffer(&buffers.k, p->k, p->kv_len, p) ||
        !buffer(&buffers.v, p->v, p->kv_len, p) || !buffer(&buffers.out, p->out, p->q_len, p)) {
      puts("unable no memory on the device");
      return NULL;
    }
  }
  const clattn_device_info *device = clattn_context_device(context);
  snprintf(name, sizeof name, "clattn %s, %s on %s", clattn_version_string(), clattn_plan_family(plan),
           device ? device->name : "the host");
  return name;
}

int peer_run(void) {
  if (queue == NULL) return clattn_plan_execute(plan, &arrays, &error) == CLATTN_OK;
  return clattn_plan_enqueue(plan, queue, &buffers, 0, NULL, NULL, &error) == CLATTN_OK && clFinish(queue) == CL_SUCCESS;
}

int peer_fetch(void) {
  return queue == NULL ||
         clEnqueueReadBuffer(queue, buffers.out.memory, CL_TRUE, 0, out_bytes, out, 0, NULL, NULL) == CL_SUCCESS;
}
