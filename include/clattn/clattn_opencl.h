/*
 * clattn for callers who bring their own OpenCL objects: a context on their device and queue, and plans enqueued on their
 * buffers. Everything borrowed here is retained as long as it is needed.
 */
#ifndef CLATTN_CLATTN_OPENCL_H
#define CLATTN_CLATTN_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#include <string.h>

#include <clattn/clattn.h>
#include <clattn/clattn_layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A context on the caller's cl_context and one of its devices. queue may be NULL: then the library makes its own for
 * clattn_plan_execute. The device fields of options are not used. Errors: as clattn_context_create; INVALID_ARGUMENT where the
 * device is not in the context or the queue not on the device.
 */
CLATTN_API clattn_status clattn_context_adopt(clattn_context **context, cl_context cl_ctx, cl_device_id device,
                                              cl_command_queue queue, const clattn_context_options *options,
                                              clattn_error *error);

/* What the context runs on, borrowed; NULL where it runs on the host alone. Make buffers for clattn_plan_enqueue with these. */
CLATTN_API cl_context clattn_context_cl_context(const clattn_context *context);
CLATTN_API cl_device_id clattn_context_cl_device(const clattn_context *context);
CLATTN_API cl_command_queue clattn_context_cl_queue(const clattn_context *context);

/* A tensor inside a buffer: its first element lies offset bytes in. offset is a multiple of the element's size. */
typedef struct clattn_buffer {
  cl_mem memory;
  size_t offset;
} clattn_buffer;

/* As clattn_arrays, with buffers. Inputs may share a buffer (packed q, k, v); a result may not overlap another tensor, except
 * that position's out may be its x. */
typedef struct clattn_buffers {
  size_t struct_size;
  clattn_buffer q, k, v, mask, kv_len, query_offset, cu_seqlens_q, cu_seqlens_kv, sinks, alibi_slopes;
  clattn_buffer tokens, table, x, weight, bias;
  clattn_buffer out, lse, scores_raw, scores_softcapped, scores_masked, weights;
  uint64_t dropout_seed;
  uint64_t dropout_offset;
  clattn_buffer workspace; /* for plans made with user_workspace: clattn_plan_workspace_size bytes; offset a multiple of 128 */
  clattn_buffer part_out, part_lse;
} clattn_buffers;

/* Zero every field of a clattn_buffers and set its struct_size. */
#define CLATTN_BUFFERS_INIT(b)                \
  do {                                        \
    memset(&(b), 0, sizeof(clattn_buffers));  \
    (b).struct_size = sizeof(clattn_buffers); \
  } while (0)

/*
 * Enqueues the plan on the caller's queue and returns without waiting: nothing is allocated, compiled or read back. The queue
 * may be in order or out of order. The work starts after the wait_count events of wait_list; event, if not NULL, receives an
 * event of the caller's that completes with the last kernel. Two enqueues of one plan share its workspace, so order them (an
 * in-order queue does). The buffers' contents are not checked: lengths and offsets outside their tensors are clamped, an
 * embedding's token outside the table gives a row of NaN. A plan that runs on the host is refused (UNSUPPORTED): use
 * clattn_plan_execute.
 */
CLATTN_API clattn_status clattn_plan_enqueue(clattn_plan *plan, cl_command_queue queue, const clattn_buffers *buffers,
                                             cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                             clattn_error *error);

/* As clattn_layer_arrays, with buffers. */
typedef struct clattn_layer_buffers {
  size_t struct_size;
  clattn_buffer query, key, value, mask, kv_len, query_offset, sinks, alibi_slopes;
  clattn_buffer out, lse, scores_raw, scores_softcapped, scores_masked, weights;
  uint64_t dropout_seed;
  uint64_t dropout_offset;
  clattn_buffer
      workspace; /* for layers made with user_workspace: clattn_layer_workspace_size bytes; offset a multiple of 128 */
} clattn_layer_buffers;

/* Zero every field of a clattn_layer_buffers and set its struct_size. */
#define CLATTN_LAYER_BUFFERS_INIT(b)                \
  do {                                              \
    memset(&(b), 0, sizeof(clattn_layer_buffers));  \
    (b).struct_size = sizeof(clattn_layer_buffers); \
  } while (0)

/* Enqueues all steps of the layer as clattn_plan_enqueue does those of a plan; the same rules hold. */
CLATTN_API clattn_status clattn_layer_enqueue(clattn_layer *layer, cl_command_queue queue, const clattn_layer_buffers *buffers,
                                              cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                              clattn_error *error);

#ifdef __cplusplus
}
#endif

#endif
