/* clattn_plan_enqueue on objects of the caller's: context, queues in and out of order, buffers with offsets, events, threads,
 * garbage. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "on_device.h"

/* The caller's own context on the device under test, adopted; queues[1] is out of order. */
static struct {
  cl_context context;
  cl_device_id device;
  cl_command_queue queues[2];
  clattn_context *clattn;
} own;

static const struct attention_case a_case = {.batch = 2,
                                             .q_heads = 4,
                                             .kv_heads = 2,
                                             .q_len = 21,
                                             .kv_len = 37,
                                             .head_dim = 18,
                                             .head_dim_v = 10,
                                             .causal = true,
                                             .offset = BOTTOM_RIGHT,
                                             .kv_lens = true,
                                             .seed = 11};
enum { USUAL_OUTPUTS = CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE, FRONT = 132 };

static void need_device(void) {
  clattn_error error = CLATTN_ERROR_INIT;
  cl_int code = CL_SUCCESS;
  cl_command_queue_properties properties = 0;
  own.device = clattn_context_cl_device(support_device());
  if (own.clattn != NULL) return;
  own.context = clCreateContext(NULL, 1, &own.device, NULL, NULL, &code);
  assert_int_equal(code, CL_SUCCESS);
  own.queues[0] = clCreateCommandQueue(own.context, own.device, 0, &code);
  assert_int_equal(code, CL_SUCCESS);
  clGetDeviceInfo(own.device, CL_DEVICE_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
    own.queues[1] = clCreateCommandQueue(own.context, own.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    assert_int_equal(code, CL_SUCCESS);
  }
  if (clattn_context_adopt(&own.clattn, own.context, own.device, own.queues[0], NULL, &error) != CLATTN_OK) {
    fail_msg("%s", error.text);
  }
}

static int close_all(void **state) {
  clattn_context_destroy(own.clattn);
  if (own.queues[0] != NULL) clReleaseCommandQueue(own.queues[0]);
  if (own.queues[1] != NULL) clReleaseCommandQueue(own.queues[1]);
  if (own.context != NULL) clReleaseContext(own.context);
  return support_close_device(state);
}

/* A problem with its plan, its buffers and the reference's results. */
struct job {
  struct attention_case c;
  struct setup got, want;
  double largest;
  clattn_plan *plan;
  clattn_buffers buffers;
};

static clattn_buffer make_buffer(const struct setup *s, enum tensor tensor) {
  const struct tensor_info *info = &s->problem.tensor[tensor];
  const size_t bytes = (size_t)info->extent * info->element;
  cl_int code = CL_SUCCESS;
  void *table[TENSOR_COUNT];
  clattn_buffer buffer = {clCreateBuffer(own.context, CL_MEM_READ_WRITE, FRONT * info->element + bytes, NULL, &code),
                          FRONT * info->element};
  assert_int_equal(code, CL_SUCCESS);
  ctn_arrays_table(&s->arrays, table);
  assert_int_equal(
      clEnqueueWriteBuffer(own.queues[0], buffer.memory, CL_TRUE, buffer.offset, bytes, table[tensor], 0, NULL, NULL),
      CL_SUCCESS);
  return buffer;
}

static void make_buffers(struct job *job) {
  const struct setup *s = &job->got;
  CLATTN_BUFFERS_INIT(job->buffers);
  job->buffers.q = make_buffer(s, T_Q);
  job->buffers.k = make_buffer(s, T_K);
  job->buffers.v = make_buffer(s, T_V);
  job->buffers.kv_len = make_buffer(s, T_KV_LEN);
  job->buffers.query_offset = make_buffer(s, T_QUERY_OFFSET);
  job->buffers.out = make_buffer(s, T_OUT);
  job->buffers.lse = make_buffer(s, T_LSE);
}

static void start_job(struct job *job, uint64_t seed, clattn_product product, bool user_workspace) {
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  job->c = a_case;
  job->c.seed = seed;
  job->c.q_len += (int64_t)seed % 5;
  clattn_problem problem = support_case_problem(&job->c, ALL_OUTPUTS);
  support_case(&job->want, &job->c, ALL_OUTPUTS);
  options.path = CLATTN_PATH_REFERENCE;
  clattn_plan *reference = support_attention_plan(support_device(), &problem, &options);
  support_execute(reference, &job->want, "reference");
  clattn_plan_destroy(reference);
  job->largest = support_largest_score(&job->want);
  problem.outputs = USUAL_OUTPUTS;
  options.path = CLATTN_PATH_STAGED;
  options.product = product;
  options.user_workspace = user_workspace;
  job->plan = support_attention_plan(own.clattn, &problem, &options);
  support_case(&job->got, &job->c, USUAL_OUTPUTS);
  make_buffers(job);
}

static void read_results(struct job *job) {
  const struct tensor_info *info = job->got.problem.tensor;
  const clattn_buffer *out = &job->buffers.out, *lse = &job->buffers.lse;
  assert_int_equal(clEnqueueReadBuffer(own.queues[0], out->memory, CL_TRUE, out->offset, (size_t)info[T_OUT].extent * 4,
                                       job->got.arrays.out, 0, NULL, NULL),
                   CL_SUCCESS);
  assert_int_equal(clEnqueueReadBuffer(own.queues[0], lse->memory, CL_TRUE, lse->offset, (size_t)info[T_LSE].extent * 4,
                                       job->got.arrays.lse, 0, NULL, NULL),
                   CL_SUCCESS);
}

static void check_results(struct job *job, const char *what) {
  read_results(job);
  support_compare(&job->got, &job->want, job->largest, what);
}

static void end_job(struct job *job) {
  const cl_mem memory[] = {job->buffers.q.memory,           job->buffers.k.memory,   job->buffers.v.memory,
                           job->buffers.kv_len.memory,      job->buffers.out.memory, job->buffers.lse.memory,
                           job->buffers.query_offset.memory};
  for (size_t n = 0; n < sizeof memory / sizeof memory[0]; n++) {
    clReleaseMemObject(memory[n]);
  }
  clattn_plan_destroy(job->plan);
  support_free(&job->got);
  support_free(&job->want);
}

static void enqueue(struct job *job, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_plan_enqueue(job->plan, queue, &job->buffers, count, list, event, &error) != CLATTN_OK) {
    fail_msg("%s", error.text);
  }
}

/* Neither queue starts before the wait list's user event; the event comes with the results. q becomes right only just before.
 */
static void check_events(cl_command_queue queue, clattn_product product) {
  struct job job;
  cl_event events[2] = {NULL, NULL}, done = NULL;
  cl_int code = CL_SUCCESS, status = CL_COMPLETE;
  start_job(&job, 21, product, false);
  const size_t bytes = (size_t)job.got.problem.tensor[T_Q].extent * 4;
  void *wrong = calloc(1, bytes);
  assert_non_null(wrong);
  assert_int_equal(
      clEnqueueWriteBuffer(own.queues[0], job.buffers.q.memory, CL_TRUE, job.buffers.q.offset, bytes, wrong, 0, NULL, NULL),
      CL_SUCCESS);
  events[0] = clCreateUserEvent(own.context, &code);
  assert_int_equal(code, CL_SUCCESS);
  events[1] = clCreateUserEvent(own.context, &code);
  assert_int_equal(code, CL_SUCCESS);
  assert_int_equal(clSetUserEventStatus(events[0], CL_COMPLETE), CL_SUCCESS);
  enqueue(&job, queue, 2, events, &done);
  assert_non_null(done);
  clFlush(queue);
  assert_int_equal(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), CL_SUCCESS);
  assert_int_not_equal(status, CL_COMPLETE);
  /* On a queue of its own: an in-order one would put the copy behind the kernels. */
  cl_command_queue other = clCreateCommandQueue(own.context, own.device, 0, &code);
  assert_int_equal(
      clEnqueueWriteBuffer(other, job.buffers.q.memory, CL_TRUE, job.buffers.q.offset, bytes, job.got.arrays.q, 0, NULL, NULL),
      CL_SUCCESS);
  assert_int_equal(clSetUserEventStatus(events[1], CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
  check_results(&job, "after the event");
  clReleaseEvent(done);
  clReleaseEvent(events[0]);
  clReleaseEvent(events[1]);
  clReleaseCommandQueue(other);
  free(wrong);
  end_job(&job);
}

static void test_events(void **state) {
  (void)state;
  need_device();
  for (int q = 0; q < 2 && own.queues[q] != NULL; q++) {
    check_events(own.queues[q], CLATTN_PRODUCT_OWN);
    check_events(own.queues[q], CLATTN_PRODUCT_CLBLAST);
  }
}

/* On a queue out of order, many times: steps that do not wait for one another would show. */
static void test_order(void **state) {
  (void)state;
  need_device();
  if (own.queues[1] == NULL) skip();
  struct job job;
  start_job(&job, 3, CLATTN_PRODUCT_OWN, false);
  for (int n = 0; n < 20; n++) {
    cl_event done = NULL;
    enqueue(&job, own.queues[1], 0, NULL, &done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    check_results(&job, "out of order");
  }
  end_job(&job);
}

/* Several plans at once, each with a workspace of the caller's, no waiting between. */
static void test_in_flight(void **state) {
  (void)state;
  need_device();
  enum { JOBS = 4 };
  struct job jobs[JOBS];
  for (int n = 0; n < JOBS; n++) {
    cl_int code = CL_SUCCESS;
    start_job(&jobs[n], 30 + (uint64_t)n, n % 2 ? CLATTN_PRODUCT_CLBLAST : CLATTN_PRODUCT_OWN, true);
    const size_t bytes = clattn_plan_workspace_size(jobs[n].plan) + 128;
    jobs[n].buffers.workspace = (clattn_buffer){clCreateBuffer(own.context, CL_MEM_READ_WRITE, bytes, NULL, &code), 128};
    assert_int_equal(code, CL_SUCCESS);
  }
  for (int n = 0; n < JOBS; n++) {
    enqueue(&jobs[n], own.queues[n % 2 != 0 && own.queues[1] != NULL], 0, NULL, NULL);
  }
  for (int q = 0; q < 2 && own.queues[q] != NULL; q++) {
    assert_int_equal(clFinish(own.queues[q]), CL_SUCCESS);
  }
  for (int n = 0; n < JOBS; n++) {
    check_results(&jobs[n], "in flight");
    clReleaseMemObject(jobs[n].buffers.workspace.memory);
    end_job(&jobs[n]);
  }
}

/* A thread's plan and its problem; asserts may fail only in the main thread. */
struct worker {
  struct job job;
  clattn_problem problem;
  clattn_status status;
};

static void *work(void *argument) {
  struct worker *w = argument;
  for (int n = 0; n < 10 && w->status == CLATTN_OK; n++) {
    clattn_plan *plan = NULL;
    clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
    options.path = CLATTN_PATH_STAGED;
    options.product = CLATTN_PRODUCT_OWN;
    w->status = clattn_plan_create(&plan, own.clattn, &w->problem, &options, NULL);
    if (w->status == CLATTN_OK) w->status = clattn_plan_execute(plan, &w->job.got.arrays, NULL);
    if (w->status == CLATTN_OK) w->status = clattn_plan_execute(w->job.plan, &w->job.got.arrays, NULL);
    clattn_plan_destroy(plan);
  }
  return NULL;
}

/* Two threads that share a context, each with its plans. */
static void test_threads(void **state) {
  (void)state;
  need_device();
  struct worker workers[2];
  pthread_t threads[2];
  for (int n = 0; n < 2; n++) {
    workers[n].status = CLATTN_OK;
    start_job(&workers[n].job, 40 + (uint64_t)n, CLATTN_PRODUCT_OWN, false);
    workers[n].problem = support_case_problem(&workers[n].job.c, USUAL_OUTPUTS);
  }
  for (int n = 0; n < 2; n++) {
    assert_int_equal(pthread_create(&threads[n], NULL, work, &workers[n]), 0);
  }
  for (int n = 0; n < 2; n++) {
    assert_int_equal(pthread_join(threads[n], NULL), 0);
  }
  for (int n = 0; n < 2; n++) {
    assert_int_equal(workers[n].status, CLATTN_OK);
    support_compare(&workers[n].job.got, &workers[n].job.want, workers[n].job.largest, "two threads");
    end_job(&workers[n].job);
  }
}

/* The enqueue is refused, with the words in its text. */
static void refused(struct job *job, cl_command_queue queue, clattn_status status, const char *words) {
  clattn_error error = CLATTN_ERROR_INIT;
  cl_event event = NULL;
  const clattn_status got = clattn_plan_enqueue(job->plan, queue, &job->buffers, 0, NULL, &event, &error);
  if (got != status || strstr(error.text, words) == NULL)
    fail_msg("status %d, \"%s\" is not about: %s", (int)got, error.text, words);
  assert_int_equal(error.status, status);
  assert_null(event);
}

static void test_refusals(void **state) {
  (void)state;
  need_device();
  struct job job;
  cl_int code = CL_SUCCESS;
  start_job(&job, 50, CLATTN_PRODUCT_OWN, false);
  const clattn_buffers good = job.buffers;
  cl_mem foreign = clCreateBuffer(clattn_context_cl_context(support_device()), CL_MEM_READ_WRITE, 1 << 20, NULL, &code);
  cl_command_queue queue = own.queues[0];
  job.buffers.k = (clattn_buffer){foreign, 0};
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "k: its buffer belongs to another cl_context");
  job.buffers = good;
  job.buffers.v.offset += 4;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "v: needs ");
  job.buffers.v.offset = SIZE_MAX - 3;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "v: needs ");
  job.buffers = good;
  job.buffers.q.offset += 1;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "q: offset 529 is not a multiple of 4");
  job.buffers = good;
  job.buffers.lse.memory = NULL;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "lse: no buffer");
  job.buffers = good;
  job.buffers.weights = good.lse;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "weights: given, but");
  job.buffers = good;
  job.buffers.workspace = good.lse;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "workspace: given, but");
  job.buffers = good;
  job.buffers.struct_size += 8;
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "buffers: struct_size");
  job.buffers = good;
  refused(&job, clattn_context_cl_queue(support_device()), CLATTN_INVALID_ARGUMENT, "queue: belongs to another context");
  refused(&job, NULL, CLATTN_INVALID_ARGUMENT, "queue: NULL");
  clReleaseMemObject(foreign);

  const clattn_problem problem = support_case_problem(&job.c, USUAL_OUTPUTS);
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_plan *staged = job.plan;
  options.path = CLATTN_PATH_CPU;
  job.plan = support_attention_plan(own.clattn, &problem, &options);
  refused(&job, queue, CLATTN_UNSUPPORTED, "the plan runs on the host (cpu)");
  clattn_plan_destroy(job.plan);
  options.path = CLATTN_PATH_STAGED;
  options.user_workspace = 1;
  job.plan = support_attention_plan(own.clattn, &problem, &options);
  refused(&job, queue, CLATTN_INVALID_ARGUMENT, "workspace: no buffer");
  clattn_plan_destroy(job.plan);
  job.plan = staged;
  enqueue(&job, queue, 0, NULL, NULL);
  check_results(&job, "after the refusals");
  end_job(&job);
}

/* A plan keeps what it needs: its context, on which the caller has let go of everything. */
static void test_outlives(void **state) {
  (void)state;
  need_device();
  struct job job;
  clattn_context *kept = own.clattn;
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_context_adopt(&own.clattn, own.context, own.device, NULL, NULL, &error) != CLATTN_OK) fail_msg("%s", error.text);
  start_job(&job, 60, CLATTN_PRODUCT_OWN, false);
  clattn_context_destroy(own.clattn);
  own.clattn = kept;
  enqueue(&job, own.queues[0], 0, NULL, NULL);
  check_results(&job, "after the context's handle");
  support_execute(job.plan, &job.got, "after the context's handle");
  support_compare(&job.got, &job.want, job.largest, "after the context's handle, executed");
  end_job(&job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events),  cmocka_unit_test(test_order),    cmocka_unit_test(test_in_flight),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_refusals), cmocka_unit_test(test_outlives),
  };
  return cmocka_run_group_tests(tests, NULL, close_all);
}
