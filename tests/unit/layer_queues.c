/* The layer on a device: queues of both kinds, the caller's buffers and workspace, wrong ones, where the steps run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clattn/clattn_opencl.h>

#include "context.h"
#include "layer_support.h"
#include "on_device.h"

static const struct layer_case self = {.name = "self",
                                       .dtype = CLATTN_F32,
                                       .batch = 2,
                                       .q_len = 9,
                                       .q_heads = 4,
                                       .kv_heads = 2,
                                       .d_model = 24,
                                       .biases = BIAS_ALL,
                                       .causal = true,
                                       .weights = true};
static const struct layer_case cross = {.name = "cross",
                                        .dtype = CLATTN_F16,
                                        .inputs = CLATTN_LAYER_SEPARATE,
                                        .batch = 2,
                                        .q_len = 9,
                                        .kv_len = 14,
                                        .q_heads = 4,
                                        .d_model = 24,
                                        .k_features = 10,
                                        .v_features = 7,
                                        .head_dim_v = 3,
                                        .out_features = 5,
                                        .biases = BIAS_Q | BIAS_OUT,
                                        .kv_lens = true,
                                        .offsets = true,
                                        .mask = FLOAT_MASK,
                                        .causal = true,
                                        .weights = true,
                                        .apart = true};

static clattn_layer *create(clattn_context *context, const struct layer_data *d, const clattn_plan_options *options) {
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_layer_create(&layer, context, &d->problem, &d->weights, options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return layer;
}

/* Everything that a layer's cl_mem call needs. */
struct on_queue {
  cl_context context;
  cl_command_queue queue;
  clattn_layer_buffers buffers;
  cl_mem memory[16];
  int count;
  cl_event written[16];
};

static clattn_buffer upload(struct on_queue *q, const void *data, size_t bytes, size_t offset) {
  cl_int code = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(q->context, CL_MEM_READ_WRITE, bytes + offset, NULL, &code);
  assert_int_equal(code, CL_SUCCESS);
  code = clEnqueueWriteBuffer(q->queue, memory, CL_FALSE, offset, bytes, data, 0, NULL, &q->written[q->count]);
  assert_int_equal(code, CL_SUCCESS);
  q->memory[q->count++] = memory;
  return (clattn_buffer){memory, offset};
}

/* Inputs at odd places in their buffers; all writes are waited for by the layer alone. */
static void upload_all(struct on_queue *q, struct layer_data *d, clattn_layer *layer, bool user_workspace) {
  const struct layer_case *c = &d->c;
  const size_t element = ctn_dtype_size(c->dtype), scores = (size_t)(c->batch * c->q_heads * c->q_len * c->kv_len);
  CLATTN_LAYER_BUFFERS_INIT(q->buffers);
  q->buffers.query = upload(q, d->input[0], layer_data_input_bytes(d, 0), 3 * element);
  if (d->input[1] != NULL) q->buffers.key = upload(q, d->input[1], layer_data_input_bytes(d, 1), 5 * element);
  if (d->input[2] != NULL) q->buffers.value = upload(q, d->input[2], layer_data_input_bytes(d, 2), element);
  if (d->float_mask != NULL) {
    q->buffers.mask = upload(q, d->float_mask, (size_t)(c->q_len * c->kv_len) * sizeof(float), 4);
  }
  if (d->kv_len != NULL) q->buffers.kv_len = upload(q, d->kv_len, (size_t)c->batch * 8, 16);
  if (d->query_offset != NULL) q->buffers.query_offset = upload(q, d->query_offset, (size_t)c->batch * 8, 8);
  layer_data_poison(d);
  q->buffers.out = upload(q, d->out, layer_data_out_bytes(d), 7 * element);
  if (c->weights) q->buffers.weights = upload(q, d->softmax, scores * sizeof(float), 12);
  if (!user_workspace) return;
  const size_t bytes = clattn_layer_workspace_size(layer);
  char *poison = malloc(bytes);
  assert_non_null(poison);
  memset(poison, INPUT_POISON, bytes);
  q->buffers.workspace = upload(q, poison, bytes, 256);
  assert_int_equal(clFinish(q->queue), CL_SUCCESS);
  free(poison);
}

static void release_all(struct on_queue *q) {
  for (int i = 0; i < q->count; i++) {
    clReleaseEvent(q->written[i]);
    clReleaseMemObject(q->memory[i]);
  }
}

static void enqueue_once(clattn_context *context, cl_command_queue queue, const struct layer_case *c, clattn_path path,
                         clattn_product product, bool user_workspace) {
  struct layer_data d;
  struct on_queue q = {.context = clattn_context_cl_context(context), .queue = queue};
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  cl_event done = NULL, read[2] = {NULL, NULL};
  options.path = path;
  options.product = product;
  options.user_workspace = user_workspace;
  layer_data_make(&d, c);
  clattn_layer *layer = create(context, &d, &options);
  upload_all(&q, &d, layer, user_workspace);
  for (int round = 0; round < 2; round++) {
    const clattn_status status = clattn_layer_enqueue(layer, queue, &q.buffers, (cl_uint)q.count, q.written, &done, &error);
    if (status != CLATTN_OK) fail_msg("%s: %s", c->name, error.text);
    assert_non_null(done);
    if (round == 0) {
      clWaitForEvents(1, &done);
      clReleaseEvent(done);
    }
  }
  const size_t scores = (size_t)(d.c.batch * d.c.q_heads * d.c.q_len * d.c.kv_len) * sizeof(float);
  assert_int_equal(clEnqueueReadBuffer(queue, q.buffers.out.memory, CL_FALSE, q.buffers.out.offset, layer_data_out_bytes(&d),
                                       d.out, 1, &done, &read[0]),
                   CL_SUCCESS);
  assert_int_equal(clEnqueueReadBuffer(queue, q.buffers.weights.memory, CL_FALSE, q.buffers.weights.offset, scores, d.softmax,
                                       1, &done, &read[1]),
                   CL_SUCCESS);
  assert_int_equal(clWaitForEvents(2, read), CL_SUCCESS);
  layer_data_compare(&d, c->name);
  clReleaseEvent(done);
  clReleaseEvent(read[0]);
  clReleaseEvent(read[1]);
  layer_data_free(&d);
  release_all(&q);
  if (user_workspace) { /* clattn_layer_execute brings its own */
    layer_data_make(&d, c);
    layer_data_execute(layer, &d, "user_workspace, executed");
    layer_data_free(&d);
  }
  clattn_layer_destroy(layer);
}

static void enqueue_all(cl_command_queue_properties properties) {
  clattn_context *context = support_device();
  cl_int code = CL_SUCCESS;
  cl_command_queue queue =
      clCreateCommandQueue(clattn_context_cl_context(context), clattn_context_cl_device(context), properties, &code);
  if (code != CL_SUCCESS) skip(); /* a device without queues out of order */
  static const clattn_path paths[] = {CLATTN_PATH_STAGED, CLATTN_PATH_AUTO};
  for (int i = 0; i < 8; i++)
    enqueue_once(context, queue, i & 1 ? &cross : &self, paths[i >> 1 & 1], CLATTN_PRODUCT_AUTO, (i & 4) != 0);
  clReleaseCommandQueue(queue);
}

static void enqueues_in_order(void **state) {
  (void)state;
  enqueue_all(0);
}

static void enqueues_out_of_order(void **state) {
  (void)state;
  enqueue_all(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* CLBlast keeps float32 copies in the workspace, which the steps share. */
static void multiplies_with_clblast(void **state) {
  (void)state;
  clattn_context *context = support_device();
  clattn_plan *plan = NULL;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  const clattn_projection one = CLATTN_PROJECTION_INIT;
  options.path = CLATTN_PATH_STAGED;
  options.product = CLATTN_PRODUCT_CLBLAST;
  if (clattn_projection_plan_create(&plan, context, &one, &options, NULL) != CLATTN_OK) skip(); /* built without it */
  clattn_plan_destroy(plan);
  for (int own = 0; own < 2; own++) {
    enqueue_once(context, clattn_context_cl_queue(context), &self, options.path, options.product, own);
    enqueue_once(context, clattn_context_cl_queue(context), &cross, options.path, options.product, own);
  }
}

static void executes_on_an_adopted_queue_out_of_order(void **state) {
  (void)state;
  clattn_context *device = support_device(), *context = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  cl_int code = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(clattn_context_cl_context(device), clattn_context_cl_device(device),
                                                CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
  if (code != CL_SUCCESS) skip();
  if (clattn_context_adopt(&context, clattn_context_cl_context(device), clattn_context_cl_device(device), queue, NULL,
                           &error) != CLATTN_OK) {
    fail_msg("%s", error.text);
  }
  clReleaseCommandQueue(queue);
  const struct layer_case *const both[] = {&self, &cross};
  for (int i = 0; i < 2; i++) {
    struct layer_data d;
    layer_data_make(&d, both[i]);
    clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
    options.no_host = 1;
    clattn_layer *layer = create(context, &d, &options);
    for (int round = 0; round < 3; round++)
      layer_data_execute(layer, &d, "out of order");
    clattn_layer_destroy(layer);
    layer_data_free(&d);
  }
  clattn_context_destroy(context);
}

static void wrong_buffers(void **state) {
  (void)state;
  clattn_context *context = support_device();
  cl_command_queue queue = clattn_context_cl_queue(context);
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  struct layer_data d;
  layer_data_make(&d, &self);
  for (int own = 0; own < 2; own++) {
    struct on_queue q = {.context = clattn_context_cl_context(context), .queue = queue};
    options.user_workspace = own;
    options.no_host = 1;
    clattn_layer *layer = create(context, &d, &options);
    upload_all(&q, &d, layer, own);
#define WRONG_BUFFERS(change, says)                                                                             \
  do {                                                                                                          \
    clattn_layer_buffers b = q.buffers;                                                                         \
    cl_event event = (cl_event)(void *)&q;                                                                      \
    change;                                                                                                     \
    assert_int_equal(clattn_layer_enqueue(layer, queue, &b, 0, NULL, &event, &error), CLATTN_INVALID_ARGUMENT); \
    assert_null(event);                                                                                         \
    if (strstr(error.text, says) == NULL) fail_msg("'%s' does not say '%s'", error.text, says);                 \
  } while (0)
    WRONG_BUFFERS(b.struct_size = 5, "struct_size");
    WRONG_BUFFERS(b.query.memory = NULL, "query");
    WRONG_BUFFERS(b.key = b.query, "key");
    WRONG_BUFFERS(b.out.offset += 4, "out: needs");
    WRONG_BUFFERS(b.weights.offset += 2, "weights: offset");
    WRONG_BUFFERS(b.weights.memory = NULL, "weights");
    if (own) {
      WRONG_BUFFERS(b.workspace.memory = NULL, "workspace");
      WRONG_BUFFERS(b.workspace.offset += 4, "workspace: offset");
      WRONG_BUFFERS(b.workspace.offset += 128, "workspace: needs");
    } else {
      WRONG_BUFFERS(b.workspace = b.query, "workspace");
    }
    assert_int_equal(clattn_layer_enqueue(layer, NULL, &q.buffers, 0, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
    assert_int_equal(clattn_layer_enqueue(NULL, queue, &q.buffers, 0, NULL, NULL, &error), CLATTN_INVALID_ARGUMENT);
    clFinish(queue);
    release_all(&q);
    clattn_layer_destroy(layer);
  }
  layer_data_free(&d);
}

/* Where the device cannot hold one tensor, auto takes all steps to the host, and no_host refuses. */
static void stays_together(void **state) {
  (void)state;
  clattn_context *context = support_device();
  clattn_device_info *info = &context->runtime->device.info;
  const uint64_t limit = info->max_allocation;
  const struct layer_case c = {
      .name = "large weights", .dtype = CLATTN_F32, .batch = 1, .q_len = 64, .q_heads = 8, .d_model = 16, .weights = true};
  struct layer_data d;
  clattn_layer *refused_layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  layer_data_make(&d, &c);
  info->max_allocation = 100000; /* the softmax has 131072 bytes, everything else far less */
  clattn_layer *layer = create(context, &d, NULL);
  options.no_host = 1;
  const clattn_status status = clattn_layer_create(&refused_layer, context, &d.problem, &d.weights, &options, &error);
  info->max_allocation = limit;
  assert_int_equal(status, CLATTN_UNSUPPORTED);
  assert_string_equal(clattn_layer_family(layer), "cpu");
  assert_non_null(strstr(clattn_layer_describe(layer), "all steps on the host"));
  layer_data_execute(layer, &d, "gathered");
  clattn_layer_destroy(layer);
  layer_data_free(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(enqueues_in_order),       cmocka_unit_test(enqueues_out_of_order),
      cmocka_unit_test(multiplies_with_clblast), cmocka_unit_test(executes_on_an_adopted_queue_out_of_order),
      cmocka_unit_test(wrong_buffers),           cmocka_unit_test(stays_together),
  };
  return cmocka_run_group_tests(tests, NULL, support_close_device);
}
