/* The device family of projection: the own product kernels, or CLBlast between a float32 copy and a finishing kernel. */
#include <stdlib.h>

#include "checked.h"
#include "gemm.h"
#include "parameters.h"
#include "product.h"
#include "tuned_sizes.h"

/*
 * VECTOR_ROWS and VECTOR_FEATURES: ROWS, and PANELS * COLUMNS, of kernels/projection_vector.cl. There a work-group has fewer
 * rows where more would leave a compute unit with less than SHARE work-groups; ROW_STEP is a multiple of its ROW_BLOCK.
 */
enum { SEGMENT_ALIGNMENT = 128, VECTOR_ROWS = 384, VECTOR_FEATURES = 32, ROW_STEP = 24, SHARE = 4 };

struct projecting {
  const struct problem *problem;
  struct runtime *runtime;
  struct product product;
  cl_kernel kernel;                         /* own product */
  cl_kernel widen, finish;                  /* CLBlast */
  size_t x, weight, products, flags, total; /* segments of CLBlast's workspace, in bytes */
};

static int64_t features(const struct projection *p) {
  return p->heads * p->head_dim;
}

static struct gemm shape(const struct projection *p) {
  return (struct gemm){
      .transpose_b = true,
      .m = p->batch * p->length,
      .n = features(p),
      .k = p->in_features,
      .alpha = 1.0f,
      .a_row = p->in_features,
      .b_row = p->in_features,
      .c_row = features(p),
      .batch = 1,
  };
}

static bool refuse_clblast(const struct request *request, struct text *reason) {
  const struct projection *p = &request->problem->as.projection;
  const int64_t sizes[3][3] = {
      {p->batch, p->length, p->in_features}, {1, features(p), p->in_features}, {p->batch, p->length, features(p)}};
  for (int i = 0; i < 3; i++) {
    int64_t elements = 0;
    if (!ctn_product(sizes[i], 3, &elements) || elements > INT32_MAX / 8) {
      ctn_text_printf(reason, "a float32 copy of x, weight or out passes the int of CLBlast's kernels");
      return true;
    }
  }
  const struct gemm gemm = shape(p);
  const char *refusal = ctn_gemm_refusal(&gemm);
  if (refusal != NULL) ctn_text_printf(reason, "%s", refusal);
  return refusal != NULL;
}

static bool refuse(const struct request *request, struct text *reason) {
  const struct projection *p = &request->problem->as.projection;
  if (ctn_refuse_without_device(request, reason) || ctn_refuse_sizes(request, reason)) return true;
  if (request->options.product == CLATTN_PRODUCT_CLBLAST && refuse_clblast(request, reason)) return true;
  if (ctn_refuse_vectors(request, reason)) return true;
  const struct product product = ctn_product_choose(request, ctn_product_possible(request, refuse_clblast));
  /* CLBlast: the loop of widen.cl. */
  const int64_t turns = product.kind == PRODUCT_CLBLAST ? p->in_features + 1 : ctn_product_turns(&product, p->in_features);
  return ctn_refuse_loops(request, turns, reason);
}

static double cost(const struct request *request) {
  const struct projection *p = &request->problem->as.projection;
  return (double)p->batch * (double)p->length * (double)p->in_features * (double)features(p);
}

static void release(void *state) {
  struct projecting *s = state;
  if (s == NULL) return;
  if (s->kernel != NULL) clReleaseKernel(s->kernel);
  if (s->widen != NULL) clReleaseKernel(s->widen);
  if (s->finish != NULL) clReleaseKernel(s->finish);
  free(s);
}

static size_t add_segment(struct projecting *s, int64_t elements) {
  const size_t start = s->total;
  s->total += ((size_t)elements * sizeof(float) + SEGMENT_ALIGNMENT - 1) / SEGMENT_ALIGNMENT * SEGMENT_ALIGNMENT;
  return start;
}

static void size_segments(struct projecting *s) {
  const struct projection *p = &s->problem->as.projection;
  s->x = add_segment(s, p->batch * p->length * p->in_features);
  s->weight = add_segment(s, features(p) * p->in_features);
  s->products = add_segment(s, p->batch * p->length * features(p));
  s->flags = add_segment(s, 1);
}

/* most: macro ROWS. */
static int64_t choose_rows(const struct request *request, int64_t most) {
  const struct projection *p = &request->problem->as.projection;
  const int64_t groups = ctn_max(ctn_ceil_div(features(p), VECTOR_FEATURES) * p->batch, 1);
  const int64_t wanted = ctn_ceil_div(SHARE * (int64_t)request->runtime->device.info.compute_units, groups);
  const int64_t parts = ctn_max(wanted, ctn_ceil_div(p->length, most));
  return ctn_min(ctn_ceil_div(ctn_ceil_div(p->length, parts), ROW_STEP) * ROW_STEP, most);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct projecting *s = calloc(1, sizeof *s);
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "projection: no memory for a plan");
  s->problem = request->problem;
  s->runtime = request->runtime;
  s->product = ctn_product_choose(request, ctn_product_possible(request, refuse_clblast));
  struct specialisation spec = {0};
  clattn_status status = CLATTN_OK;
  if (s->product.kind == PRODUCT_CLBLAST) {
    ctn_gemm_tune(s->runtime);
    size_segments(s);
    ctn_define(&spec, "DTYPE", ctn_dtype_macro(s->problem->as.projection.dtype));
    status = ctn_kernel_create(&s->widen, s->runtime, "widen.cl", "widen", &spec, error);
    if (status == CLATTN_OK) {
      status = ctn_kernel_create(&s->finish, s->runtime, "projection_finish.cl", "finish", &spec, error);
    }
  } else {
    const char *file = s->product.kind == PRODUCT_VECTOR ? "projection_vector.cl" : "projection_tile.cl";
    if (s->product.kind == PRODUCT_VECTOR) {
      s->product.rows = choose_rows(request, ctn_tuning_value(s->product.tuned, "ROWS", VECTOR_ROWS));
      s->product.columns = VECTOR_FEATURES;
    }
    ctn_product_define(&s->product, s->problem->as.projection.dtype, &spec);
    status = ctn_kernel_create(&s->kernel, s->runtime, file, "projection", &spec, error);
  }
  ctn_specialisation_free(&spec);
  if (status != CLATTN_OK) {
    release(s);
    return status;
  }
  *state = s;
  return CLATTN_OK;
}

static size_t workspace(const void *state) {
  return ((const struct projecting *)state)->total;
}

static void describe(const void *state, struct text *text) {
  const struct projecting *s = state;
  ctn_text_printf(text, "product: ");
  ctn_product_describe(&s->product, text);
  ctn_text_printf(text, "\n");
  ctn_tuned_describe(s->product.tuned, text);
  if (s->product.kind == PRODUCT_CLBLAST) ctn_gemm_describe_tuning(s->runtime, text);
}

static clattn_status enqueue_own(struct projecting *s, const struct call *call, clattn_error *error) {
  const struct projection *p = &s->problem->as.projection;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->kernel, "projection");
  ctn_argument_tensor(&arguments, call, s->problem, T_X, T_X);
  ctn_argument(&arguments, &p->x, sizeof p->x);
  ctn_argument_tensor(&arguments, call, s->problem, T_WEIGHT, T_X);
  ctn_argument_tensor(&arguments, call, s->problem, T_BIAS, T_X);
  ctn_argument_int(&arguments, p->has_bias);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_X);
  ctn_argument(&arguments, &call->out, sizeof call->out);
  ctn_argument_long(&arguments, p->length);
  ctn_argument_long(&arguments, p->in_features);
  ctn_argument_long(&arguments, p->heads);
  ctn_argument_long(&arguments, p->head_dim);
  if (s->product.kind == PRODUCT_VECTOR) ctn_argument_long(&arguments, s->product.rows);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)ctn_ceil_div(features(p), s->product.columns) * s->product.local[0],
                            (size_t)ctn_ceil_div(p->length, s->product.rows) * s->product.local[1], (size_t)p->batch};
  return ctn_chain_kernel(call->chain, s->kernel, "projection", 3, global, s->product.local, true, error);
}

static struct slice segment(const struct call *call, size_t start) {
  return (struct slice){call->workspace.memory, call->workspace.offset + start};
}

static clattn_status widen(struct projecting *s, const struct call *call, enum tensor tensor, struct layout layout,
                           int64_t batch, int64_t rows, size_t to, clattn_error *error) {
  const struct projection *p = &s->problem->as.projection;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->widen, "widen");
  ctn_argument_tensor(&arguments, call, s->problem, tensor, T_X);
  ctn_argument(&arguments, &layout, sizeof layout);
  ctn_argument_long(&arguments, 1);
  ctn_argument_long(&arguments, rows);
  ctn_argument_long(&arguments, p->in_features);
  ctn_argument_long(&arguments, p->in_features);
  ctn_argument_slice(&arguments, segment(call, to), sizeof(float));
  ctn_argument_slice(&arguments, segment(call, s->flags), sizeof(int32_t));
  ctn_argument_int(&arguments, 0);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[2] = {(size_t)rows, (size_t)batch};
  return ctn_chain_kernel(call->chain, s->widen, "widen", 2, global, NULL, false, error);
}

static clattn_status enqueue_finish(struct projecting *s, const struct call *call, clattn_error *error) {
  const struct projection *p = &s->problem->as.projection;
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->finish, "finish");
  ctn_argument_slice(&arguments, segment(call, s->products), sizeof(float));
  ctn_argument_tensor(&arguments, call, s->problem, T_BIAS, T_X);
  ctn_argument_int(&arguments, p->has_bias);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_X);
  ctn_argument(&arguments, &call->out, sizeof call->out);
  ctn_argument_long(&arguments, p->head_dim);
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t global[3] = {(size_t)features(p), (size_t)p->length, (size_t)p->batch};
  return ctn_chain_kernel(call->chain, s->finish, "finish", 3, global, NULL, true, error);
}

static clattn_status enqueue_clblast(struct projecting *s, const struct call *call, clattn_error *error) {
  const struct projection *p = &s->problem->as.projection;
  const struct layout dense = {0, 0, p->in_features};
  clattn_status status = widen(s, call, T_X, p->x, p->batch, p->length, s->x, error);
  if (status == CLATTN_OK) status = widen(s, call, T_WEIGHT, dense, 1, features(p), s->weight, error);
  if (status != CLATTN_OK) return status;
  struct gemm gemm = shape(p);
  gemm.a = segment(call, s->x);
  gemm.b = segment(call, s->weight);
  gemm.c = segment(call, s->products);
  status = ctn_gemm_enqueue(s->runtime, call->chain, &gemm, false, error);
  return status == CLATTN_OK ? enqueue_finish(s, call, error) : status;
}

static clattn_status enqueue(void *state, const struct call *call, clattn_error *error) {
  struct projecting *s = state;
  return s->product.kind == PRODUCT_CLBLAST ? enqueue_clblast(s, call, error) : enqueue_own(s, call, error);
}

const struct family ctn_family_projection = {
    .name = "projection",
    .summary = "matrix product with bias, heads split by layout",
    .operation = OP_PROJECTION,
    .path = CLATTN_PATH_STAGED,
    .tuning = {"projection_vector", "product_tile", "clblast_routine", "clblast_xgemm", "clblast_xgemm_direct", NULL},
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = workspace,
    .describe = describe,
    .enqueue = enqueue,
    .release = release,
};
