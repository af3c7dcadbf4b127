/* clattn_plan_execute: a plan on host arrays, by way of device buffers where it runs on a device. */
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "descriptor.h"
#include "plan.h"

/* The strided result of the operations that have one. */
struct rows {
  struct layout layout, dense;
  int64_t batch, heads, rows, columns;
  bool gaps; /* the layout leaves elements between its rows untouched */
};

static struct rows result_rows(const struct problem *problem) {
  struct rows r = {.batch = 1, .heads = 1, .rows = 1, .columns = problem->tensor[T_OUT].extent};
  if (problem->operation == OP_ATTENTION) {
    const struct attention *a = &problem->as.attention;
    r = (struct rows){a->out,        {0, 0, 0}, a->packed ? 1 : a->batch, a->q_heads, a->packed ? a->total_q : a->q_len,
                      a->head_dim_v, false};
  } else if (problem->operation == OP_PROJECTION) {
    const struct projection *p = &problem->as.projection;
    r = (struct rows){p->out, {0, 0, 0}, p->batch, p->heads, p->length, p->head_dim, false};
  }
  r.gaps = problem->tensor[T_OUT].used && problem->tensor[T_OUT].extent != r.batch * r.heads * r.rows * r.columns;
  /* One batch alone, which all sequences of a packed problem are, has no stride: kernels count sequences as batches. */
  const int64_t image = r.batch > 1 ? r.heads * r.rows * r.columns : 0;
  r.dense = r.gaps ? (struct layout){image, r.rows * r.columns, r.columns} : r.layout;
  return r;
}

/* Bytes of a tensor on the device: a result with gaps is dense there. */
static size_t device_bytes(const struct problem *problem, enum tensor tensor, const struct rows *rows) {
  const struct tensor_info *info = &problem->tensor[tensor];
  const int64_t elements =
      tensor == T_OUT && rows->gaps ? rows->batch * rows->heads * rows->rows * rows->columns : info->extent;
  return (size_t)elements * info->element;
}

static clattn_status make_buffers(clattn_plan *plan, const struct rows *rows, clattn_error *error) {
  for (int i = 0; i < TENSOR_COUNT; i++) {
    if (!plan->problem.tensor[i].used || plan->buffers[i] != NULL) continue;
    const size_t bytes = device_bytes(&plan->problem, (enum tensor)i, rows);
    const cl_mem_flags flags = plan->problem.tensor[i].result ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
    cl_int code = CL_SUCCESS;
    plan->buffers[i] = clCreateBuffer(plan->context->runtime->context, flags, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
      plan->buffers[i] = NULL;
      return ctn_fail_cl(error, code, "clCreateBuffer", "%s, %zu bytes", ctn_tensor_name((enum tensor)i), bytes);
    }
  }
  if (rows->gaps && plan->dense_out == NULL) {
    plan->dense_out = malloc(device_bytes(&plan->problem, T_OUT, rows));
    if (plan->dense_out == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "out: no memory for a dense copy");
  }
  return ctn_plan_allocate_workspace(plan, error);
}

static clattn_status write_inputs(clattn_plan *plan, void *const table[TENSOR_COUNT], clattn_error *error) {
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &plan->problem.tensor[i];
    if (!info->used || info->result) continue;
    const size_t bytes = (size_t)info->extent * info->element;
    const cl_int code = clEnqueueWriteBuffer(plan->queue, plan->buffers[i], CL_FALSE, 0, bytes, table[i], 0, NULL, NULL);
    if (code != CL_SUCCESS) {
      return ctn_fail_cl(error, code, "clEnqueueWriteBuffer", "%s, %zu bytes", ctn_tensor_name((enum tensor)i), bytes);
    }
  }
  return CLATTN_OK;
}

/* Rows of the dense copy to their places, leaving what lies between them alone. */
static void scatter(const struct rows *r, size_t element, const void *dense, void *out) {
  const size_t bytes = (size_t)r->columns * element;
  const char *from = dense;
  for (int64_t b = 0; b < r->batch; b++) {
    for (int64_t h = 0; h < r->heads; h++) {
      for (int64_t i = 0; i < r->rows; i++, from += bytes) {
        const int64_t place = b * r->layout.batch + h * r->layout.head + i * r->layout.row;
        memcpy((char *)out + (size_t)place * element, from, bytes);
      }
    }
  }
}

static clattn_status read_results(clattn_plan *plan, const struct rows *rows, void *const table[TENSOR_COUNT],
                                  clattn_error *error) {
  for (int i = 0; i < TENSOR_COUNT; i++) {
    const struct tensor_info *info = &plan->problem.tensor[i];
    if (!info->used || !info->result) continue;
    const bool dense = i == T_OUT && rows->gaps;
    const size_t bytes = device_bytes(&plan->problem, (enum tensor)i, rows);
    const cl_int code = clEnqueueReadBuffer(plan->queue, plan->buffers[i], CL_TRUE, 0, bytes,
                                            dense ? plan->dense_out : table[i], 0, NULL, NULL);
    if (code != CL_SUCCESS) {
      return ctn_fail_cl(error, code, "clEnqueueReadBuffer", "%s, %zu bytes", ctn_tensor_name((enum tensor)i), bytes);
    }
    if (dense) scatter(rows, info->element, plan->dense_out, table[i]);
  }
  return CLATTN_OK;
}

/* An adopted queue may be out of order: what follows waits for all that came before. */
static clattn_status order(const struct chain *chain, clattn_error *error) {
  if (chain->in_order) return CLATTN_OK;
  const cl_int code = clEnqueueBarrierWithWaitList(chain->queue, 0, NULL, NULL);
  return code == CL_SUCCESS ? CLATTN_OK
                            : ctn_fail_cl(error, code, "clEnqueueBarrierWithWaitList", "between copies and kernels");
}

static clattn_status run_on_device(clattn_plan *plan, const clattn_arrays *arrays, clattn_error *error) {
  const struct rows rows = result_rows(&plan->problem);
  struct chain chain = {0};
  struct call call = {
      .out = rows.dense, .dropout_seed = arrays->dropout_seed, .dropout_offset = arrays->dropout_offset, .chain = &chain};
  void *table[TENSOR_COUNT];
  ctn_arrays_table(arrays, table);
  clattn_status status = make_buffers(plan, &rows, error);
  if (status != CLATTN_OK) return status;
  for (int i = 0; i < TENSOR_COUNT; i++)
    call.tensor[i] = (struct slice){plan->buffers[i], 0};
  call.workspace = (struct slice){plan->workspace, 0};
  status = write_inputs(plan, table, error);
  if (status == CLATTN_OK) status = ctn_chain_begin(&chain, plan->queue, 0, NULL, NULL, error);
  if (status == CLATTN_OK) {
    status = order(&chain, error);
    if (status == CLATTN_OK) status = plan->family->enqueue(plan->state, &call, error);
    if (status == CLATTN_OK) status = order(&chain, error);
    ctn_chain_end(&chain);
  }
  if (status == CLATTN_OK) status = read_results(plan, &rows, table, error);
  /* After a failure the device may still read the caller's arrays. */
  if (status != CLATTN_OK) clFinish(plan->queue);
  return status;
}

clattn_status clattn_plan_execute(clattn_plan *plan, const clattn_arrays *in, clattn_error *error) {
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  ctn_clear(error);
  if (plan == NULL) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "plan: NULL");
  clattn_status status = ctn_descriptor_read(&arrays, sizeof arrays, in, "arrays", error);
  if (status == CLATTN_OK) status = ctn_arrays_check(&plan->problem, &arrays, error);
  if (status != CLATTN_OK) return status;
  if (!plan->family->on_host) return run_on_device(plan, &arrays, error);
  plan->family->run(plan->state, &arrays, plan->host_workspace);
  return CLATTN_OK;
}
