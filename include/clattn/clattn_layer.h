/*
 * clattn's multi-head attention layer: projections of queries, keys and values, attention, and the projection of its result.
 *
 *     q = query Wq^T + bq;  k = key Wk^T + bk;  v = value Wv^T + bv      split into heads
 *     heads = attention(q, k, v)                                          see clattn_problem
 *     out = heads Wo^T + bo                                               heads merged
 *
 * Heads are split and merged by layouts, never by a copy. Projections that read the same input are one matrix product. What
 * lies between the four steps is stored in the layer's dtype and stays on the device.
 *
 *     clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
 *     problem.q_len = 512; problem.q_heads = 8; problem.d_model = 512; problem.causal = 1;
 *     clattn_layer_weights weights = CLATTN_LAYER_WEIGHTS_INIT;
 *     weights.in_weight = w; weights.in_bias = b; weights.out_weight = wo; weights.out_bias = bo;
 *     clattn_layer_create(&layer, context, &problem, &weights, NULL, &error);
 *     clattn_layer_arrays arrays = CLATTN_LAYER_ARRAYS_INIT;
 *     arrays.query = x; arrays.out = y;
 *     clattn_layer_execute(layer, &arrays, &error);
 *     clattn_layer_destroy(layer);
 *
 * or, with the weights of a checkpoint, clattn_layer_load in place of clattn_layer_create. The rules of <clattn/clattn.h> hold
 * here too; a layer belongs to one thread at a time and keeps its context alive. clattn_layer_enqueue, for cl_mem objects, is
 * in <clattn/clattn_opencl.h>. Rotary embedding is not in this version, so a model that rotates its queries and keys computes
 * something else than its layer here.
 */
#ifndef CLATTN_CLATTN_LAYER_H
#define CLATTN_CLATTN_LAYER_H

#include <clattn/clattn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which sequences there are. */
typedef enum clattn_layer_inputs {
  CLATTN_LAYER_SELF = 0,    /* query alone: keys and values come from it */
  CLATTN_LAYER_CROSS = 1,   /* query and key: values come from key */
  CLATTN_LAYER_SEPARATE = 2 /* query, key and value; key and value have one length */
} clattn_layer_inputs;

/*
 * One layer, but for its weights and data. A size that is 0 takes its default; for clattn_layer_load, what the file's shapes
 * say goes before the default. Fields that clattn_problem has too mean what they mean there.
 */
typedef struct clattn_layer_problem {
  size_t struct_size;
  clattn_dtype
      dtype; /* of inputs, weights, biases and out. CLATTN_NONE: F32, or as clattn_layer_load's file stores its weights */
  clattn_layer_inputs inputs;
  int64_t batch;
  int64_t q_len;
  int64_t kv_len;       /* 0: q_len, which it has to be for CLATTN_LAYER_SELF */
  int64_t q_heads;      /* has no default */
  int64_t kv_heads;     /* 0: q_heads */
  int64_t head_dim;     /* 0: d_model / q_heads */
  int64_t head_dim_v;   /* 0: head_dim */
  int64_t d_model;      /* features of query; has no default but in clattn_layer_load */
  int64_t k_features;   /* features of key; 0: d_model */
  int64_t v_features;   /* features of value; 0: k_features */
  int64_t out_features; /* 0: d_model */
  clattn_layout query;  /* [batch, q_len, d_model]; head_stride is not used, in any of the four; all zero: dense */
  clattn_layout key;    /* [batch, kv_len, k_features] */
  clattn_layout value;  /* [batch, kv_len, v_features] */
  clattn_layout out;    /* [batch, q_len, out_features] */
  int scale_given;
  float scale;
  float softcap;
  clattn_mask mask;
  int causal;
  int64_t window_left;
  int64_t window_right;
  int has_kv_len;
  int has_query_offset;
  int has_sinks;
  int has_alibi;
  float dropout;
  uint32_t outputs; /* CLATTN_OUTPUT_OUT (the layer's out) and, beside it, any of attention's other tensors */
} clattn_layer_problem;

#define CLATTN_LAYER_PROBLEM_INIT                                                                                        \
  {                                                                                                                      \
    sizeof(clattn_layer_problem), CLATTN_NONE, CLATTN_LAYER_SELF, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, {0, 0, 0}, \
        {0, 0, 0}, {0, 0, 0}, 0, 0.0f, 0.0f, {CLATTN_NONE, 0, {0, 0, 0, 0}, {0, 0, 0, 0}}, 0, -1, -1, 0, 0, 0, 0, 0.0f,  \
        CLATTN_OUTPUT_OUT                                                                                                \
  }

/*
 * The weights, dense, in the layer's dtype, rows = outputs ([out, in], as PyTorch's Linear stores them). With Nq = q_heads *
 * head_dim, Nk = kv_heads * head_dim, Nv = kv_heads * head_dim_v: either in_weight, whose rows are those of q, k and v one
 * after another (then query, key and value have one number of features), or q_weight, k_weight and v_weight. Likewise the
 * biases: in_bias, or any of q_bias, k_bias and v_bias, whatever form the weights have. A bias that is NULL is not added.
 */
typedef struct clattn_layer_weights {
  size_t struct_size;
  const void *in_weight;  /* [Nq + Nk + Nv, d_model] */
  const void *in_bias;    /* [Nq + Nk + Nv] */
  const void *q_weight;   /* [Nq, d_model] */
  const void *q_bias;     /* [Nq] */
  const void *k_weight;   /* [Nk, k_features] */
  const void *k_bias;     /* [Nk] */
  const void *v_weight;   /* [Nv, v_features] */
  const void *v_bias;     /* [Nv] */
  const void *out_weight; /* [out_features, q_heads * head_dim_v] */
  const void *out_bias;   /* [out_features] */
} clattn_layer_weights;

#define CLATTN_LAYER_WEIGHTS_INIT \
  { sizeof(clattn_layer_weights), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

typedef struct clattn_layer clattn_layer;

/*
 * Plans the layer's steps and copies the weights to where they run, the device's memory or the library's own: the caller's can
 * go. options may be NULL. Their path is that of the attention; the projections run on the same side of the bus, and where auto
 * would part them, all run on the host. With user_workspace, the workspace (of clattn_layer_workspace_size) comes with each
 * clattn_layer_enqueue. Errors: as clattn_plan_create.
 */
CLATTN_API clattn_status clattn_layer_create(clattn_layer **layer, clattn_context *context, const clattn_layer_problem *problem,
                                             const clattn_layer_weights *weights, const clattn_plan_options *options,
                                             clattn_error *error);

/*
 * The same with the weights of a .safetensors file (F32, F16 or BF16; converted where the problem's dtype is another). prefix
 * is what comes before the layer's own part of the tensors' names, "model.layers.0.self_attn." say, its last dot optional; NULL
 * or "" for none. The names that are looked for after the prefix, in rows of one framework each; every weight may have a bias
 * (".bias" for ".weight", "in_proj_bias"):
 *
 *   in_proj_weight | q_proj_weight, k_proj_weight, v_proj_weight    out_proj.weight
 *   q_proj.weight, k_proj.weight, v_proj.weight                     o_proj | out_proj | dense
 *   attention.self.query.weight, .key, .value                       attention.output.dense
 *   self.query.weight, .key, .value; attention.query.weight, ...    output.dense
 *   query.weight, key.weight, value.weight                          output.dense | out
 *   q_lin.weight, k_lin.weight, v_lin.weight                        out_lin
 *   to_q.weight, to_k.weight, to_v.weight | to_qkv.weight           to_out.0 | to_out
 *   wq.weight, wk.weight, wv.weight                                 wo
 *   q.weight, k.weight, v.weight                                    o
 *   qkv_proj.weight                                                 o_proj | out_proj
 *   qkv.weight                                                      proj | out_proj
 *   Wqkv.weight                                                     out_proj | Wo
 *   c_attn.weight, stored as [in, out]                              c_proj, stored as [in, out]
 *
 * q_heads has to be given. Other sizes that are 0 follow from the shapes; where q, k and v are packed in one tensor and
 * kv_heads and head_dim are both 0, head_dim is taken to be head_dim_v. Errors: as clattn_layer_create; IO_FAILED;
 * INVALID_ARGUMENT where a tensor is missing, there under two names, or of another shape than the problem says; UNSUPPORTED
 * where the layer has tensors that this one cannot use (bias_k, q_norm.weight), and in a library that was built without
 * CLATTN_FILES.
 */
CLATTN_API clattn_status clattn_layer_load(clattn_layer **layer, clattn_context *context, const clattn_layer_problem *problem,
                                           const char *path, const char *prefix, const clattn_plan_options *options,
                                           clattn_error *error);

/* The layer's problem with every size and the dtype filled in. Owned by the layer. */
CLATTN_API const clattn_layer_problem *clattn_layer_get_problem(const clattn_layer *layer);

/* Bytes of device memory (of host memory on a host path) that the layer needs beside weights, inputs and results. */
CLATTN_API size_t clattn_layer_workspace_size(const clattn_layer *layer);

/* The description of every plan inside, in the order in which they run. Several lines, owned by the layer. */
CLATTN_API const char *clattn_layer_describe(const clattn_layer *layer);

/* The family of the attention: "fused_vector", "staged", "cpu" and so on. Owned by the library. */
CLATTN_API const char *clattn_layer_family(const clattn_layer *layer);

CLATTN_API void clattn_layer_destroy(clattn_layer *layer);

/* The data of one execution, as clattn_arrays: a pointer is given exactly for each tensor that the problem names. */
typedef struct clattn_layer_arrays {
  size_t struct_size;
  const void *query;
  const void *key;   /* not for CLATTN_LAYER_SELF */
  const void *value; /* for CLATTN_LAYER_SEPARATE alone */
  const void *mask;
  const int64_t *kv_len;
  const int64_t *query_offset;
  const float *sinks;
  const float *alibi_slopes;
  void *out;
  float *lse;
  float *scores_raw;
  float *scores_softcapped;
  float *scores_masked;
  float *weights; /* the attention's softmax, [batch, q_heads, q_len, kv_len] */
  uint64_t dropout_seed;
  uint64_t dropout_offset;
} clattn_layer_arrays;

#define CLATTN_LAYER_ARRAYS_INIT \
  { sizeof(clattn_layer_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/*
 * Runs the layer on host arrays and waits for the results. On a device the inputs are uploaded once, all steps enqueued, and
 * the results read once. out may not overlap an input. On error the results hold anything.
 */
CLATTN_API clattn_status clattn_layer_execute(clattn_layer *layer, const clattn_layer_arrays *arrays, clattn_error *error);

#ifdef __cplusplus
}
#endif

#endif
