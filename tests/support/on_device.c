/* The device under test, and problems on it. */
#include "on_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static clattn_context *device_context;

clattn_context *support_device(void) {
  const char *wanted = getenv("CLATTN_TEST_DEVICE");
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  if (device_context != NULL) return device_context;
  options.kernel_dir = getenv("CLATTN_TEST_KERNEL_DIR");
  /* Kernels from there may be wrong on purpose. */
  options.no_selftest = options.kernel_dir != NULL || getenv("CLATTN_TEST_NO_SELFTEST") != NULL;
  options.device_name = wanted != NULL ? wanted : "Portable Computing Language";
  if (clattn_context_create(&device_context, &options, &error) != CLATTN_OK) {
    if (getenv("CLATTN_TEST_REQUIRE_DEVICES") != NULL) fail_msg("%s", error.text);
    print_message("%s\n", error.text);
    skip();
  }
  return device_context;
}

int support_close_device(void **state) {
  (void)state;
  clattn_context_destroy(device_context);
  device_context = NULL;
  return 0;
}

bool support_on_oclgrind(void) {
  return strstr(clattn_context_device(support_device())->platform_name, "Oclgrind") != NULL;
}

uint64_t support_environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

clattn_plan *support_attention_plan(clattn_context *context, const clattn_problem *problem,
                                    const clattn_plan_options *options) {
  clattn_plan *plan = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_plan_create(&plan, context, problem, options, &error) != CLATTN_OK) fail_msg("no plan: %s", error.text);
  return plan;
}

void support_execute(clattn_plan *plan, struct setup *setup, const char *what) {
  clattn_error error = CLATTN_ERROR_INIT;
  support_poison(setup);
  if (clattn_plan_execute(plan, &setup->arrays, &error) != CLATTN_OK) fail_msg("%s: %s", what, error.text);
}

/* A tensor on the device: its buffer, and where in it the tensor begins. */
struct placed {
  cl_mem memory;
  size_t offset, bytes, whole;
};

static cl_mem new_buffer(cl_context context, size_t bytes) {
  cl_int code = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (code != CL_SUCCESS) fail_msg("clCreateBuffer of %zu bytes: %d", bytes, (int)code);
  return memory;
}

static void write_buffer(cl_command_queue queue, cl_mem memory, size_t offset, size_t bytes, const void *data) {
  assert_int_equal(clEnqueueWriteBuffer(queue, memory, CL_TRUE, offset, bytes, data, 0, NULL, NULL), CL_SUCCESS);
}

static void poison_buffer(cl_command_queue queue, const struct placed *p, int byte) {
  unsigned char *poison = malloc(p->whole);
  assert_non_null(poison);
  memset(poison, byte, p->whole);
  write_buffer(queue, p->memory, 0, p->whole, poison);
  free(poison);
}

static struct placed place_tensor(clattn_context *context, const struct setup *s, enum tensor tensor, const void *data) {
  const struct tensor_info *info = &s->problem.tensor[tensor];
  const size_t margin = support_on_oclgrind() ? 0 : 192 + 3 * info->element;
  cl_command_queue queue = clattn_context_cl_queue(context);
  struct placed p = {NULL, margin, (size_t)info->extent * info->element, 0};
  p.whole = margin + p.bytes + margin;
  p.memory = new_buffer(clattn_context_cl_context(context), p.whole);
  if (margin > 0) poison_buffer(queue, &p, info->result ? RESULT_POISON : INPUT_POISON);
  if (!info->result) write_buffer(queue, p.memory, p.offset, p.bytes, data);
  return p;
}

/* Results into the setup's memory, once it is sure that the margins are as they were. */
static void fetch(clattn_context *context, const struct placed *p, void *to, const char *name, const char *what) {
  unsigned char *whole = malloc(p->whole);
  assert_non_null(whole);
  cl_command_queue queue = clattn_context_cl_queue(context);
  assert_int_equal(clEnqueueReadBuffer(queue, p->memory, CL_TRUE, 0, p->whole, whole, 0, NULL, NULL), CL_SUCCESS);
  for (size_t n = 0; n < p->whole; n++) {
    const bool outside = n < p->offset || n >= p->offset + p->bytes;
    if (outside && whole[n] != RESULT_POISON) {
      fail_msg("%s: %s: byte %lld from its first was written, it has %zu", what, name, (long long)n - (long long)p->offset,
               p->bytes);
    }
  }
  memcpy(to, whole + p->offset, p->bytes);
  free(whole);
}

static void give(clattn_buffers *buffers, enum tensor tensor, const struct placed *p) {
  clattn_buffer *const fields[TENSOR_COUNT] = {
      [T_Q] = &buffers->q,
      [T_K] = &buffers->k,
      [T_V] = &buffers->v,
      [T_MASK] = &buffers->mask,
      [T_KV_LEN] = &buffers->kv_len,
      [T_QUERY_OFFSET] = &buffers->query_offset,
      [T_CU_Q] = &buffers->cu_seqlens_q,
      [T_CU_KV] = &buffers->cu_seqlens_kv,
      [T_SINKS] = &buffers->sinks,
      [T_ALIBI] = &buffers->alibi_slopes,
      [T_TOKENS] = &buffers->tokens,
      [T_TABLE] = &buffers->table,
      [T_X] = &buffers->x,
      [T_WEIGHT] = &buffers->weight,
      [T_BIAS] = &buffers->bias,
      [T_PART_OUT] = &buffers->part_out,
      [T_PART_LSE] = &buffers->part_lse,
      [T_OUT] = &buffers->out,
      [T_LSE] = &buffers->lse,
      [T_SCORES_RAW] = &buffers->scores_raw,
      [T_SCORES_SOFTCAPPED] = &buffers->scores_softcapped,
      [T_SCORES_MASKED] = &buffers->scores_masked,
      [T_WEIGHTS] = &buffers->weights,
  };
  *fields[tensor] = (clattn_buffer){p->memory, p->offset};
}

/* q, k and v that share host memory share their buffer too: k and v begin where they begin in q's. */
static void share_buffer(clattn_context *context, const struct setup *s, struct placed placed[TENSOR_COUNT]) {
  const char *q = s->arrays.q, *k = s->arrays.k, *v = s->arrays.v;
  struct placed *p = &placed[T_Q];
  const size_t bytes = (size_t)(v - q) + (size_t)s->problem.tensor[T_V].extent * s->problem.tensor[T_V].element;
  p->memory = new_buffer(clattn_context_cl_context(context), bytes);
  p->whole = bytes;
  p->offset = 0;
  write_buffer(clattn_context_cl_queue(context), p->memory, 0, bytes, q);
  placed[T_K] = placed[T_V] = *p;
  placed[T_K].offset = (size_t)(k - q);
  placed[T_V].offset = (size_t)(v - q);
}

void support_enqueue(clattn_context *context, clattn_plan *plan, struct setup *s, const char *what) {
  cl_command_queue queue = clattn_context_cl_queue(context);
  struct placed placed[TENSOR_COUNT] = {{NULL, 0, 0, 0}}, workspace = {NULL, 0, 0, 0};
  void *table[TENSOR_COUNT];
  clattn_buffers buffers;
  clattn_error error = CLATTN_ERROR_INIT;
  const bool shared = s->problem.tensor[T_K].used && s->memory[T_K] == NULL;
  CLATTN_BUFFERS_INIT(buffers);
  ctn_arrays_table(&s->arrays, table);
  if (shared) share_buffer(context, s, placed);
  for (int t = 0; t < TENSOR_COUNT; t++) {
    if (!s->problem.tensor[t].used) continue;
    if (placed[t].memory == NULL) placed[t] = place_tensor(context, s, (enum tensor)t, table[t]);
    give(&buffers, (enum tensor)t, &placed[t]);
  }
  if (clattn_plan_workspace_size(plan) > 0) {
    workspace.offset = support_on_oclgrind() ? 0 : 128;
    workspace.bytes = clattn_plan_workspace_size(plan);
    workspace.whole = workspace.bytes + 2 * workspace.offset;
    workspace.memory = new_buffer(clattn_context_cl_context(context), workspace.whole);
    if (!support_on_oclgrind()) poison_buffer(queue, &workspace, INPUT_POISON);
    buffers.workspace = (clattn_buffer){workspace.memory, workspace.offset};
  }
  buffers.dropout_seed = s->arrays.dropout_seed;
  buffers.dropout_offset = s->arrays.dropout_offset;
  if (clattn_plan_enqueue(plan, queue, &buffers, 0, NULL, NULL, &error) != CLATTN_OK) fail_msg("%s: %s", what, error.text);
  assert_int_equal(clFinish(queue), CL_SUCCESS);
  for (int t = 0; t < TENSOR_COUNT; t++) {
    if (!s->problem.tensor[t].used) continue;
    if (t >= T_OUT) fetch(context, &placed[t], table[t], ctn_tensor_name((enum tensor)t), what);
    if (!shared || (t != T_K && t != T_V)) clReleaseMemObject(placed[t].memory);
  }
  if (workspace.memory != NULL) clReleaseMemObject(workspace.memory);
}
