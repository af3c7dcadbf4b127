/* The layer behind clattn_layer: projections around an attention, all of them plans, and the memory between them. */
#ifndef CTN_LAYER_H
#define CTN_LAYER_H

#include <clattn/clattn_layer.h>
#include <clattn/clattn_opencl.h>

#include "plan.h"

/* The layer's tensors by role, inputs first. */
enum layer_tensor {
  L_QUERY,
  L_KEY,
  L_VALUE,
  L_MASK,
  L_KV_LEN,
  L_QUERY_OFFSET,
  L_SINKS,
  L_ALIBI,
  L_OUT,
  L_LSE,
  L_SCORES_RAW,
  L_SCORES_SOFTCAPPED,
  L_SCORES_MASKED,
  L_WEIGHTS,
  LAYER_TENSOR_COUNT
};

struct layer_tensor_info {
  bool used;
  size_t element, bytes; /* of one element; from the first to the last */
};

/* The parts of what the input projections compute. */
enum part { PART_Q, PART_K, PART_V, PART_COUNT };

/* Weights where they run. One of the two is set. */
struct store {
  cl_mem memory;
  void *host;
};

/* One projection: the input ones compute one part or several that read the same input, the last one the layer's out. */
struct linear {
  const char *name;        /* "projection of query, key and value" */
  enum layer_tensor input; /* of an input projection */
  int64_t length, in_features, features;
  bool has_bias;
  clattn_plan *plan;
  struct store weight, bias; /* [features, in_features], [features] */
};

/* Where a part lies: in the result of linear `linear`, from column `column` on. */
struct place {
  int linear;
  int64_t rows, column;
};

enum { MOST_INPUTS = 3, SEGMENT_HEADS = MOST_INPUTS, SEGMENT_WORKSPACE, SEGMENT_COUNT };

struct clattn_layer {
  clattn_context *context; /* retained */
  clattn_layer_problem problem;
  clattn_plan_options options;
  bool on_host;
  bool gathered; /* on the host because auto would have parted the steps */
  size_t element;
  struct linear input[MOST_INPUTS];
  int inputs;
  struct place part[PART_COUNT];
  struct linear output;
  clattn_plan *attention;
  struct layer_tensor_info tensor[LAYER_TENSOR_COUNT];
  /* Results of the input projections, of the attention, and what plans on a device share as their workspace. */
  size_t segment[SEGMENT_COUNT]; /* bytes; multiples of WORKSPACE_ALIGNMENT */
  size_t workspace_size;
  cl_mem memory[SEGMENT_COUNT];
  void *host[SEGMENT_COUNT];
  cl_mem buffers[LAYER_TENSOR_COUNT]; /* device copies of the host arrays: made by the first clattn_layer_execute */
  void *gaps;                         /* where an out with gaps is read to before its rows are put in place */
  struct text description;
};

/* Reads the descriptor, fills in the defaults, checks the sizes; sets problem, element and the places of the parts. */
clattn_status ctn_layer_resolve(clattn_layer *layer, const clattn_layer_problem *in, clattn_error *error);
/* Makes the plans, and from them tensor[], segment[] and the description. */
clattn_status ctn_layer_plan(clattn_layer *layer, const clattn_plan_options *options, const bool has_bias[PART_COUNT],
                             bool has_out_bias, clattn_error *error);
void ctn_layer_drop_plans(clattn_layer *layer);
/* The weights checked against the descriptor's rules; has_bias of each part. */
clattn_status ctn_layer_read_weights(const clattn_layer *layer, clattn_layer_weights *weights, const clattn_layer_weights *in,
                                     bool has_bias[PART_COUNT], clattn_error *error);
/* Copies them to where the plans run. */
clattn_status ctn_layer_store_weights(clattn_layer *layer, const clattn_layer_weights *weights, clattn_error *error);
/* Segments on the device, where they are missing. */
clattn_status ctn_layer_allocate(clattn_layer *layer, clattn_error *error);

/* The public fields' names, and their places in clattn_layer_arrays and clattn_layer_buffers. */
const char *ctn_layer_tensor_name(enum layer_tensor tensor);
void ctn_layer_arrays_table(const clattn_layer_arrays *arrays, void *table[LAYER_TENSOR_COUNT]);
void ctn_layer_buffers_table(const clattn_layer_buffers *buffers, clattn_buffer table[LAYER_TENSOR_COUNT]);

/* Everything enqueued; the buffers are known to fit. */
struct layer_call {
  clattn_buffer tensor[LAYER_TENSOR_COUNT];
  clattn_buffer segment[SEGMENT_COUNT];
  uint64_t dropout_seed, dropout_offset;
};
clattn_status ctn_layer_enqueue_steps(clattn_layer *layer, cl_command_queue queue, const struct layer_call *call,
                                      cl_uint wait_count, const cl_event *wait_list, cl_event *event, clattn_error *error);
/* The layer's own segments. */
void ctn_layer_own_segments(const clattn_layer *layer, struct layer_call *call);

/* status, with "step: " in front of the error's text. */
clattn_status ctn_layer_in(const char *step, clattn_status status, clattn_error *error);

#endif
