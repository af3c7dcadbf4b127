/*
 * clattn: transformer attention on any OpenCL device, with a CPU path when there is none.
 *
 * One way through the library:
 *
 *     describe a problem  ->  plan it  ->  execute the plan  ->  read the results
 *
 *     clattn_context *context = NULL;
 *     clattn_plan *plan = NULL;
 *     clattn_error error = CLATTN_ERROR_INIT;
 *     clattn_problem problem = CLATTN_PROBLEM_INIT;
 *     problem.batch = 1; problem.q_heads = problem.kv_heads = 8;
 *     problem.q_len = problem.kv_len = 512; problem.head_dim = problem.head_dim_v = 64;
 *     problem.causal = 1;
 *     clattn_context_create(&context, NULL, &error);
 *     clattn_plan_create(&plan, context, &problem, NULL, &error);
 *     clattn_arrays arrays = CLATTN_ARRAYS_INIT;
 *     arrays.q = q; arrays.k = k; arrays.v = v; arrays.out = out;
 *     clattn_plan_execute(plan, &arrays, &error);
 *     clattn_plan_destroy(plan); clattn_context_destroy(context);
 *
 * This header names no OpenCL type. Callers that have their own cl_context, queue and cl_mem objects include
 * <clattn/clattn_opencl.h> as well.
 *
 * Rules that hold for every call
 *   errors     A call that can fail returns a clattn_status. Its last parameter is a clattn_error of the caller's, which may be
 *              NULL; on failure its text says what was wrong with which argument, on success it is cleared.
 *   ownership  What comes back through the first parameter is the caller's and goes back through the matching _destroy, which
 *              accepts NULL. A create that fails leaves NULL there. All other pointers are borrowed for the call alone, except
 *              that a plan keeps its context alive.
 *   structs    Descriptors start with struct_size; initialise them with their _INIT macro, which fills in the defaults. A field
 *              added later has a default that keeps old callers right.
 *   threads    A context may be shared by threads. A plan belongs to one thread at a time.
 *   quiet      The library never prints, exits, or reads the environment, except XDG_CACHE_HOME, XDG_CONFIG_HOME and HOME for
 *              the default cache folder and tuning file. Compiler logs and warnings go to the log callback.
 */
#ifndef CLATTN_CLATTN_H
#define CLATTN_CLATTN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLATTN_VERSION_MAJOR 0
#define CLATTN_VERSION_MINOR 1
#define CLATTN_VERSION_PATCH 0

#ifndef CLATTN_API
#if defined(__GNUC__) || defined(__clang__)
#define CLATTN_API __attribute__((visibility("default")))
#else
#define CLATTN_API
#endif
#endif

/* The version of the library that is linked, for example "0.1.0". Never NULL. */
CLATTN_API const char *clattn_version_string(void);

/* ------------------------------------------------------------------------------------------------------------------ errors */

/* Values are fixed for ever: new ones are added at the end. */
typedef enum clattn_status {
  CLATTN_OK = 0,
  CLATTN_INVALID_ARGUMENT = 1, /* an argument breaks this header's rules */
  CLATTN_UNSUPPORTED = 2,      /* legal, but no kernel family takes it; the text holds every family's reason */
  CLATTN_OUT_OF_MEMORY = 3,    /* host or device memory ran out */
  CLATTN_TOO_LARGE = 4,        /* a size overflows, or passes a limit of the device; the text holds both numbers */
  CLATTN_NO_DEVICE = 5,        /* no device fits what was asked for */
  CLATTN_OPENCL_FAILED = 6,    /* an OpenCL call failed: see cl_code */
  CLATTN_BUILD_FAILED = 7,     /* a kernel did not compile; the log went to the log callback, its start is in the text */
  CLATTN_IO_FAILED = 8,        /* a kernel folder could not be read */
  CLATTN_INTERNAL = 9          /* a fault of the library's own */
} clattn_status;

/* "invalid argument" for CLATTN_INVALID_ARGUMENT and so on; "unknown status" for any other value. Never NULL. */
CLATTN_API const char *clattn_status_name(clattn_status status);

typedef struct clattn_error {
  clattn_status status;
  int cl_code;     /* the OpenCL error behind it, or 0 */
  char text[1024]; /* one line: what, where, what to do; always terminated */
} clattn_error;

#define CLATTN_ERROR_INIT \
  {                       \
    CLATTN_OK, 0, {       \
      0                   \
    }                     \
  }

/* ----------------------------------------------------------------------------------------------------------------- devices */

typedef enum clattn_device_type {
  CLATTN_DEVICE_ANY = 0, /* first a GPU, then an accelerator, then a CPU device, then the host alone */
  CLATTN_DEVICE_GPU = 1,
  CLATTN_DEVICE_ACCELERATOR = 2,
  CLATTN_DEVICE_CPU = 3,
  CLATTN_DEVICE_HOST = 4 /* no OpenCL at all: the CPU path and the reference */
} clattn_device_type;

/* What one OpenCL device says of itself. Strings live as long as the list or context that the struct came from. */
typedef struct clattn_device_info {
  size_t struct_size;
  const char *platform_name;
  const char *platform_version;
  const char *name;
  const char *vendor;
  const char *device_version;
  const char *driver_version;
  clattn_device_type type;
  uint32_t compute_units;
  uint32_t max_clock_mhz;
  uint32_t native_float_width; /* lanes of a native float vector */
  uint32_t max_work_group;
  uint64_t global_memory;  /* bytes */
  uint64_t max_allocation; /* bytes: the largest single buffer */
  uint64_t local_memory;   /* bytes a work-group may use */
  int local_is_global;     /* local memory is carved from global memory (Mali, most CPU devices) */
  int has_fp16;            /* cl_khr_fp16 */
  int has_fp64;            /* cl_khr_fp64 */
  int has_sub_groups;      /* cl_khr_subgroups or cl_intel_subgroups */
  int unified_memory;      /* device and host share memory */
} clattn_device_info;

typedef struct clattn_device_list clattn_device_list;

/*
 * All devices of all platforms, in the loader's order; a platform without devices adds none, and a machine without any OpenCL
 * gives an empty list, not an error. The index in this list is what clattn_context_options.device_index takes.
 */
CLATTN_API clattn_status clattn_device_list_create(clattn_device_list **list, clattn_error *error);
CLATTN_API size_t clattn_device_list_count(const clattn_device_list *list);
/* NULL where index is not below the count. */
CLATTN_API const clattn_device_info *clattn_device_list_get(const clattn_device_list *list, size_t index);
CLATTN_API void clattn_device_list_destroy(clattn_device_list *list);

/* ----------------------------------------------------------------------------------------------------------------- context */

typedef struct clattn_context clattn_context;

typedef enum clattn_log_level { CLATTN_LOG_INFO = 0, CLATTN_LOG_WARNING = 1, CLATTN_LOG_ERROR = 2 } clattn_log_level;

/* text is one message, perhaps of several lines (a compiler's log); it is valid during the call alone. May be called from any
 * thread that uses the context. */
typedef void (*clattn_log_callback)(void *user, clattn_log_level level, const char *text);

typedef struct clattn_context_options {
  size_t struct_size;
  int device_index;               /* index in clattn_device_list, or -1 to choose by what follows */
  const char *device_name;        /* part of the device's or platform's name, letter case ignored; or NULL */
  clattn_device_type device_type; /* narrows the choice */
  const char *kernel_dir;         /* a folder that replaces the embedded kernels (its layout is that of kernels/), or NULL */
  const char *cache_dir;          /* where compiled programs are kept; NULL: $XDG_CACHE_HOME/clattn or $HOME/.cache/clattn */
  int no_cache;                   /* 1: neither read nor write compiled programs on disk */
  int threads;                    /* threads of the CPU path; 0: one a processor */
  clattn_log_callback log;        /* or NULL */
  void *log_user;
  int no_selftest; /* 1: trust kernels without the self-test at their first use (for working on kernels) */
  const char
      *tuning_file; /* what `clattn tune` found: sizes of kernels for each device, used before those that come with the
                       library; NULL: $XDG_CONFIG_HOME/clattn/tuning or $HOME/.config/clattn/tuning. None need be there. */
  int no_tuning;    /* 1: no tuning table at all, only the sizes built into the kernel families */
} clattn_context_options;

#define CLATTN_CONTEXT_OPTIONS_INIT \
  { sizeof(clattn_context_options), -1, NULL, CLATTN_DEVICE_ANY, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, 0 }

/*
 * Opens a device (or none: CLATTN_DEVICE_HOST) and what belongs to it: command queue, program cache, thread pool. options may
 * be NULL for the defaults. The first plan that would use a kernel family on the device runs it on a few small problems and
 * compares with the reference: drivers miscompile kernels. A family that fails is out of service for this context, which the
 * log callback is told as a WARNING and clattn_plan_describe tells; one that passes is remembered beside its compiled programs.
 *
 * Errors: INVALID_ARGUMENT, NO_DEVICE (the text lists the devices there are), OPENCL_FAILED,
 * OUT_OF_MEMORY, IO_FAILED (the kernel folder).
 */
CLATTN_API clattn_status clattn_context_create(clattn_context **context, const clattn_context_options *options,
                                               clattn_error *error);

/* The device that the context runs on, or NULL where it runs on the host alone. Owned by the context. */
CLATTN_API const clattn_device_info *clattn_context_device(const clattn_context *context);

/* How often this context has compiled a program from source and loaded one from the disk cache. Either pointer may be NULL. */
CLATTN_API void clattn_context_program_counts(clattn_context *context, uint64_t *compiled, uint64_t *loaded);

/* Plans keep their context alive, so the order of destruction does not matter. */
CLATTN_API void clattn_context_destroy(clattn_context *context);

/* ---------------------------------------------------------------------------------------------------------------- problems */

/* Storage types. Sums are always accumulated in float32. F16 and BF16 need no support from the device. */
typedef enum clattn_dtype {
  CLATTN_NONE = 0,
  CLATTN_F32 = 1,
  CLATTN_F16 = 2,
  CLATTN_BF16 = 3,
  CLATTN_BOOL = 4, /* one byte; 0 is false, anything else true */
  CLATTN_I32 = 5,
  CLATTN_I64 = 6
} clattn_dtype;

/*
 * Where the elements of a tensor with a batch, a head and a row dimension lie: strides in elements; within a row the elements
 * are contiguous. All three zero means the dense default given with each tensor. A stride of 0 in one of them repeats the data
 * along that dimension (inputs only). Strides are never negative. Results may not overlap themselves.
 */
typedef struct clattn_layout {
  int64_t batch_stride;
  int64_t head_stride;
  int64_t row_stride;
} clattn_layout;

/* The tensors that attention can be asked for; combine with |. Stage tensors and lse are dense float32. */
enum {
  CLATTN_OUTPUT_OUT = 1,               /* out    [batch, q_heads, q_len, head_dim_v], in the storage type */
  CLATTN_OUTPUT_LSE = 2,               /* lse    [batch, q_heads, q_len]: log of the softmax denominator, -inf for a dead row */
  CLATTN_OUTPUT_SCORES_RAW = 4,        /* scale * q k^T             [batch, q_heads, q_len, kv_len], excluded keys too */
  CLATTN_OUTPUT_SCORES_SOFTCAPPED = 8, /* c * tanh(raw / c)         likewise */
  CLATTN_OUTPUT_SCORES_MASKED = 16,    /* with biases added         likewise, -inf where a key is excluded */
  CLATTN_OUTPUT_WEIGHTS = 32           /* softmax, before dropout   likewise, 0 where a key is excluded */
};

/*
 * An additive or boolean mask that broadcasts from the right to [batch, q_heads, q_len, kv_len]: each dimension is 1 or the
 * full size. The last one may also be shorter than kv_len: keys past its end are excluded. CLATTN_BOOL: true attends, false
 * excludes. Floating point (F32, F16, BF16): added to the scores; -inf excludes.
 */
typedef struct clattn_mask {
  clattn_dtype dtype; /* CLATTN_NONE: no mask */
  int rank;           /* 1 to 4 */
  int64_t shape[4];   /* the first rank entries */
  int64_t stride[4];  /* in elements; all zero: dense */
} clattn_mask;

/*
 * One attention problem: everything about it but the data. What each field does to the result:
 *
 *   s = scale * dot(q_i, k_j);  s = softcap * tanh(s / softcap);  s += mask + alibi;  weights = softmax over attended keys;
 *   dropout;  out_i = sum_j weights_ij * v_j
 *
 * Query head h reads key/value head h / (q_heads / kv_heads). With p = i + query_offset[b], key j is excluded where
 * j >= kv_len[b]; or causal and j > p; or window_left >= 0 and j < p - window_left; or window_right >= 0 and j > p +
 * window_right; or the mask excludes it. A row without attended keys gives out 0, weights 0, lse -inf (with a sink: lse =
 * sink). An excluded key never reaches a result, whatever bits it holds.
 *
 * Packed sequences: with packed = 1 the batch counts sequences of different lengths laid end to end. q is [total_q, q_heads,
 * head_dim], k and v are [total_kv, kv_heads, ...], out follows q, lse is [q_heads, total_q]; batch strides do not count.
 * cu_seqlens_q and cu_seqlens_kv (batch + 1 ascending values from 0 to the totals) say where each begins; q_len and kv_len are
 * the longest lengths, and masks, dropout and stage tensors have the shape of the padded problem [batch, q_heads, q_len,
 * kv_len], whose entries outside a sequence are 0 (-inf in scores_masked).
 */
typedef struct clattn_problem {
  size_t struct_size;
  clattn_dtype dtype; /* storage of q, k, v and out: F32, F16 or BF16 */
  int64_t batch;
  int64_t q_heads;
  int64_t kv_heads; /* divides q_heads */
  int64_t q_len;
  int64_t kv_len;
  int64_t head_dim;   /* of q and k */
  int64_t head_dim_v; /* of v and out */
  clattn_layout q;    /* dense default: [batch, q_heads, q_len, head_dim]; packed: [total_q, q_heads, head_dim] */
  clattn_layout k;
  clattn_layout v;
  clattn_layout out;
  int packed;
  int64_t total_q;
  int64_t total_kv;
  int scale_given; /* 0: scale is 1 / sqrt(head_dim) */
  float scale;
  float softcap; /* 0: none */
  clattn_mask mask;
  int causal;
  int64_t window_left;  /* -1: open */
  int64_t window_right; /* -1: open */
  int has_kv_len;       /* int64 kv_len[batch], 0 to kv_len */
  int has_query_offset; /* int64 query_offset[batch], any value; without it 0 (top-left alignment) */
  int has_sinks;        /* float sinks[q_heads]: exp(sink) joins the denominator */
  int has_alibi;        /* float alibi_slopes[q_heads]: -slope * |p - j| is added */
  float dropout;        /* probability that a weight is dropped, in [0, 1); Philox4x32-10, see clattn_arrays */
  uint32_t outputs;     /* CLATTN_OUTPUT_... */
} clattn_problem;

#define CLATTN_PROBLEM_INIT                                                                                                \
  {                                                                                                                        \
    sizeof(clattn_problem), CLATTN_F32, 1, 1, 1, 1, 1, 1, 1, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0.0f, \
        0.0f, {CLATTN_NONE, 0, {0, 0, 0, 0}, {0, 0, 0, 0}}, 0, -1, -1, 0, 0, 0, 0, 0.0f, CLATTN_OUTPUT_OUT                 \
  }

/* Rows of an embedding table: out[n] = table[tokens[n]] * scale; a token equal to padding_id gives zeros. */
typedef struct clattn_embedding {
  size_t struct_size;
  clattn_dtype dtype;       /* of table and out */
  clattn_dtype token_dtype; /* I32 or I64 */
  int64_t vocabulary;       /* rows of the table */
  int64_t dim;              /* d_model */
  int64_t count;            /* tokens */
  int64_t padding_id;       /* -1: none */
  int scale_given;          /* 0: scale is sqrt(dim) */
  float scale;
} clattn_embedding;

#define CLATTN_EMBEDDING_INIT \
  { sizeof(clattn_embedding), CLATTN_F32, CLATTN_I32, 1, 1, 1, -1, 0, 0.0f }

/*
 * Sinusoidal position: pe[pos, 2i] = sin(pos * base^(-2i/dim)), pe[pos, 2i+1] = cos(the same); odd dim keeps the last sine.
 * out[b, s] = x[b, s] + pe[start + s] for dense [batch, length, dim] tensors; without x, out = pe. x and out may be one array.
 * Accurate to 1e-6 at position 1,000,000.
 */
typedef struct clattn_position {
  size_t struct_size;
  clattn_dtype dtype; /* of x and out */
  int64_t batch;
  int64_t length;
  int64_t dim;
  int64_t start; /* position of the first row, 0 or more, less than 2^40 */
  int has_x;
  double base;
} clattn_position;

#define CLATTN_POSITION_INIT \
  { sizeof(clattn_position), CLATTN_F32, 1, 1, 1, 0, 1, 10000.0 }

/*
 * y = x W^T + bias, W [heads * head_dim, in_features], bias [heads * head_dim]. x is [batch, length, in_features] with its own
 * strides (head_stride is not used; dense default). out[b, h, s, d] takes feature h * head_dim + d; its dense default is
 * [batch, length, heads * head_dim], and any other layout, [batch, heads, length, head_dim] say, splits the heads without a
 * copy. To merge heads, give x the layout [batch, length, in_features] of attention's out.
 */
typedef struct clattn_projection {
  size_t struct_size;
  clattn_dtype dtype; /* of x, weight, bias and out */
  int64_t batch;
  int64_t length;
  int64_t in_features;
  int64_t heads;
  int64_t head_dim;
  int has_bias;
  clattn_layout x;
  clattn_layout out;
} clattn_projection;

#define CLATTN_PROJECTION_INIT                                            \
  {                                                                       \
    sizeof(clattn_projection), CLATTN_F32, 1, 1, 1, 1, 1, 0, {0, 0, 0}, { \
      0, 0, 0                                                             \
    }                                                                     \
  }

/*
 * Partial results merged into the whole: parts attended disjoint keys for the same queries, each with its out and lse, and
 *
 *   lse = log sum_n exp(part_lse_n),  out = sum_n exp(part_lse_n - lse) * part_out_n
 *
 * are what attention over all their keys gives. All tensors are dense: part_out [parts, batch, heads, rows, head_dim_v] and
 * part_lse [parts, batch, heads, rows]; out [batch, heads, rows, head_dim_v] and lse [batch, heads, rows] lack the first
 * dimension. A part that attends nothing in a row (part_lse -inf) gives nothing, whatever its part_out holds; where all do, out
 * is 0 and lse -inf. NaN and +inf spread as in attention. A sink belongs in one of the parts. Parts may be stored in F32,
 * though out is not.
 */
typedef struct clattn_merge {
  size_t struct_size;
  clattn_dtype dtype;      /* of out */
  clattn_dtype part_dtype; /* of part_out; CLATTN_NONE: dtype */
  int64_t parts;
  int64_t batch;
  int64_t heads;
  int64_t rows;
  int64_t head_dim_v;
  uint32_t outputs; /* CLATTN_OUTPUT_OUT, CLATTN_OUTPUT_LSE, or both */
} clattn_merge;

#define CLATTN_MERGE_INIT \
  { sizeof(clattn_merge), CLATTN_F32, CLATTN_NONE, 2, 1, 1, 1, 1, CLATTN_OUTPUT_OUT }

/* ------------------------------------------------------------------------------------------------------------------- plans */

typedef struct clattn_plan clattn_plan;

typedef enum clattn_path {
  CLATTN_PATH_AUTO = 0,
  CLATTN_PATH_FUSED = 1,    /* one pass with an online softmax, no S x S memory; has no stage tensors */
  CLATTN_PATH_STAGED = 2,   /* scores, softmax and values as separate kernels, every stage readable */
  CLATTN_PATH_CPU = 3,      /* threads and vectors of the host, float32, no OpenCL */
  CLATTN_PATH_REFERENCE = 4 /* float64 oracle on the host: slow, and the measure of all others */
} clattn_path;

typedef enum clattn_product {
  CLATTN_PRODUCT_AUTO = 0, /* CLBlast on GPUs, the own kernel on CPU devices */
  CLATTN_PRODUCT_OWN = 1,
  CLATTN_PRODUCT_CLBLAST = 2
} clattn_product;

typedef struct clattn_plan_options {
  size_t struct_size;
  clattn_path path;
  int no_host;            /* 1: never fall back to the host; a problem that no device family takes is UNSUPPORTED */
  clattn_product product; /* who multiplies matrices on the device */
  int vector_width;       /* of CPU devices' kernels: 8 or 16 lanes; 0: as the device reports */
  int user_workspace;     /* 1: the workspace comes with each clattn_plan_enqueue instead of being allocated here */
} clattn_plan_options;

#define CLATTN_PLAN_OPTIONS_INIT \
  { sizeof(clattn_plan_options), CLATTN_PATH_AUTO, 0, CLATTN_PRODUCT_AUTO, 0, 0 }

/*
 * Validates the problem, chooses the cheapest kernel family that takes it, compiles what it needs (or loads it from the cache)
 * and allocates its workspace, so that clattn_plan_enqueue allocates and compiles nothing; the first clattn_plan_execute adds
 * device buffers for the host arrays, which the plan keeps. options may be NULL. Errors: INVALID_ARGUMENT, TOO_LARGE,
 * UNSUPPORTED (with every family's reason), BUILD_FAILED, OPENCL_FAILED, OUT_OF_MEMORY.
 */
CLATTN_API clattn_status clattn_plan_create(clattn_plan **plan, clattn_context *context, const clattn_problem *problem,
                                            const clattn_plan_options *options, clattn_error *error);
CLATTN_API clattn_status clattn_embedding_plan_create(clattn_plan **plan, clattn_context *context,
                                                      const clattn_embedding *problem, const clattn_plan_options *options,
                                                      clattn_error *error);
CLATTN_API clattn_status clattn_position_plan_create(clattn_plan **plan, clattn_context *context,
                                                     const clattn_position *problem, const clattn_plan_options *options,
                                                     clattn_error *error);
CLATTN_API clattn_status clattn_projection_plan_create(clattn_plan **plan, clattn_context *context,
                                                       const clattn_projection *problem, const clattn_plan_options *options,
                                                       clattn_error *error);
CLATTN_API clattn_status clattn_merge_plan_create(clattn_plan **plan, clattn_context *context, const clattn_merge *problem,
                                                  const clattn_plan_options *options, clattn_error *error);

/* Bytes of device memory (of host memory on a host path) that the plan needs beside inputs and results. */
CLATTN_API size_t clattn_plan_workspace_size(const clattn_plan *plan);

/* Which family runs, its parameters and workspace, and a line for each family that was refused, with the reason, or that cost
 * more. Several lines, owned by the plan. */
CLATTN_API const char *clattn_plan_describe(const clattn_plan *plan);

/* The name of the family that runs: "fused_vector", "staged", "cpu", "reference" and so on. Owned by the library. */
CLATTN_API const char *clattn_plan_family(const clattn_plan *plan);

CLATTN_API void clattn_plan_destroy(clattn_plan *plan);

/* --------------------------------------------------------------------------------------------------------------- execution */

/*
 * The data of one execution, in host memory. A pointer is given exactly for each tensor that the plan's problem names; all
 * others stay NULL. Shapes and types are those of the problem.
 */
typedef struct clattn_arrays {
  size_t struct_size;
  /* attention, in */
  const void *q;
  const void *k;
  const void *v;
  const void *mask;
  const int64_t *kv_len;
  const int64_t *query_offset;
  const int64_t *cu_seqlens_q;
  const int64_t *cu_seqlens_kv;
  const float *sinks;
  const float *alibi_slopes;
  /* embedding, position, projection, in */
  const void *tokens;
  const void *table;
  const void *x;
  const void *weight;
  const void *bias;
  /* results */
  void *out;
  float *lse;
  float *scores_raw;
  float *scores_softcapped;
  float *scores_masked;
  float *weights;
  /* dropout: element n = ((b * q_heads + h) * q_len + i) * kv_len + j takes word n & 3 of the Philox4x32-10 block with counter
   * (n >> 2, offset) and key seed; kept when (word >> 8) * 2^-24 >= dropout, then scaled by 1 / (1 - dropout). The caller
   * advances the offset between calls. */
  uint64_t dropout_seed;
  uint64_t dropout_offset;
  /* merge, in */
  const void *part_out;
  const float *part_lse;
} clattn_arrays;

#define CLATTN_ARRAYS_INIT                                                                                                 \
  {                                                                                                                        \
    sizeof(clattn_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL                                                                     \
  }

/*
 * Runs the plan on host arrays and waits for the results. The values of kv_len, cu_seqlens and token ids are checked first: an
 * id outside the table is an error that names it and its place. Gaps between the rows of a strided out are left as they are. On
 * error the results hold anything.
 */
CLATTN_API clattn_status clattn_plan_execute(clattn_plan *plan, const clattn_arrays *arrays, clattn_error *error);

#ifdef __cplusplus
}
#endif

#endif
