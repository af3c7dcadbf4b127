/* The staged family: scores, softmax and values as separate kernels over chunks of rows. What it refuses, needs and says. */
#include "staged.h"

#include <stdlib.h>

#include "checked.h"
#include "tuned_sizes.h"

/* A chunk's scores are kept under this, so that a long sequence does not claim a buffer of its square. */
#define PANEL_LIMIT ((int64_t)256 << 20)
enum { SEGMENT_ALIGNMENT = 128, SOFTMAX_ITEMS = 64 };

/* Bytes that one row of scores takes, and the most that a panel may take on this device. */
static int64_t row_bytes(const struct attention *a) {
  return a->kv_len * (int64_t)sizeof(float);
}

static int64_t panel_limit(const struct request *request) {
  const int64_t device = (int64_t)request->runtime->device.info.max_allocation;
  return ctn_min(PANEL_LIMIT, device);
}

/* kernels/softmax.cl. */
static const char *softmax_fault(const struct tuning_entry *entry, const struct request *request) {
  const long items = ctn_tuning_value(entry, "ITEMS", 1);
  if (items < 1 || (items & (items - 1)) != 0) return "ITEMS is a power of two";
  const uint32_t most = request->runtime->device.info.max_work_group;
  return (uint64_t)items > most || items > 1024 ? "ITEMS is more than 1024, or than the device's work-groups have" : NULL;
}

/* Work-items a row. A device with wide native vectors runs one: work-item loops and barriers would only cost it. */
static size_t softmax_items(const struct request *request, const struct tuning_entry **tuned) {
  const clattn_device_info *info = &request->runtime->device.info;
  *tuned = ctn_tuned(request, "softmax", softmax_fault);
  size_t items = (size_t)ctn_tuning_value(*tuned, "ITEMS", info->native_float_width >= 8 ? 1 : SOFTMAX_ITEMS);
  while (items > info->max_work_group)
    items /= 2;
  return items;
}

/* Turns that the loops of softmax.cl make at most: three passes, in the last the rounds of Philox; two reductions. */
static int64_t softmax_turns(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const struct tuning_entry *tuned = NULL;
  const int64_t each = a->dropout > 0 ? 3 + 11 : 3;
  return ctn_ceil_div(a->kv_len, (int64_t)softmax_items(request, &tuned)) * each + 64;
}

static bool refuse_loops(const struct request *request, struct text *reason) {
  const struct attention *a = &request->problem->as.attention;
  const struct product product = ctn_product_choose(request, ctn_product_possible(request, ctn_staged_clblast_refuse));
  int64_t turns = ctn_max(softmax_turns(request), ctn_product_turns(&product, a->head_dim));
  if (a->outputs & CLATTN_OUTPUT_OUT) turns = ctn_max(turns, ctn_product_turns(&product, a->kv_len));
  /* widen.cl and values_finish.cl. */
  if (product.kind == PRODUCT_CLBLAST) turns = ctn_max(turns, ctn_max(ctn_max(a->head_dim, a->head_dim_v), a->kv_len) + 1);
  return ctn_refuse_loops(request, turns, reason);
}

static bool refuse(const struct request *request, struct text *reason) {
  const struct attention *a = &request->problem->as.attention;
  if (ctn_refuse_without_device(request, reason) || ctn_refuse_sizes(request, reason)) return true;
  if (row_bytes(a) > panel_limit(request)) {
    ctn_text_printf(reason, "one row of scores needs %lld bytes, the device's largest buffer is %llu", (long long)row_bytes(a),
                    (unsigned long long)request->runtime->device.info.max_allocation);
    return true;
  }
  if (request->options.product == CLATTN_PRODUCT_CLBLAST && ctn_staged_clblast_refuse(request, reason)) return true;
  return ctn_refuse_vectors(request, reason) || refuse_loops(request, reason);
}

static double cost(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  return (double)a->batch * (double)a->q_heads * (double)a->q_len * (double)a->kv_len * (double)(a->head_dim + a->head_dim_v);
}

/* Heads and rows of a chunk, and the segments of the workspace. False where the sum of segments overflows. */
static bool size_workspace(struct staged *s, int64_t limit) {
  const struct attention *a = &s->problem->as.attention;
  const int64_t rows = limit / row_bytes(a);
  if (rows >= a->q_len) {
    s->chunk_rows = a->q_len;
    s->chunk_heads = ctn_min(rows / a->q_len, a->batch * a->q_heads);
  } else {
    s->chunk_rows = rows;
    s->chunk_heads = 1;
  }
  const int64_t panel = s->chunk_heads * s->chunk_rows * row_bytes(a);
  s->workspace.total = (size_t)(panel + SEGMENT_ALIGNMENT - 1) / SEGMENT_ALIGNMENT * SEGMENT_ALIGNMENT;
  return s->product.kind != PRODUCT_CLBLAST || ctn_staged_clblast_size(s);
}

static clattn_status make_softmax(struct staged *s, const struct request *request, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  s->softmax_items = softmax_items(request, &s->softmax_tuned);
  struct specialisation spec = {0};
  ctn_define(&spec, "MASK", ctn_dtype_macro(a->mask_dtype));
  ctn_define(&spec, "ITEMS", (long)s->softmax_items);
  const clattn_status status = ctn_kernel_create(&s->softmax, s->runtime, "softmax.cl", "softmax", &spec, error);
  ctn_specialisation_free(&spec);
  return status;
}

static clattn_status make_products(struct staged *s, clattn_error *error) {
  if (s->product.kind == PRODUCT_CLBLAST) return ctn_staged_clblast_prepare(s, error);
  const bool vector = s->product.kind == PRODUCT_VECTOR;
  struct specialisation spec = {0};
  ctn_product_define(&s->product, s->problem->as.attention.dtype, &spec);
  clattn_status status =
      ctn_kernel_create(&s->scores, s->runtime, vector ? "scores_vector.cl" : "scores_tile.cl", "scores", &spec, error);
  if (status == CLATTN_OK) {
    status = ctn_kernel_create(&s->values, s->runtime, vector ? "values_vector.cl" : "values_tile.cl", "values", &spec, error);
  }
  ctn_specialisation_free(&spec);
  return status;
}

static void release(void *state) {
  struct staged *s = state;
  if (s == NULL) return;
  cl_kernel kernels[] = {s->scores, s->softmax, s->values, s->widen, s->finish};
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (kernels[i] != NULL) clReleaseKernel(kernels[i]);
  }
  free(s);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct staged *s = calloc(1, sizeof *s);
  clattn_status status = CLATTN_OK;
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "staged: no memory for a plan");
  s->problem = request->problem;
  s->runtime = request->runtime;
  s->product = ctn_product_choose(request, ctn_product_possible(request, ctn_staged_clblast_refuse));
  if (!size_workspace(s, panel_limit(request))) {
    status = ctn_fail(error, CLATTN_TOO_LARGE, "staged: the size of the workspace overflows");
  } else if (s->workspace.total > request->runtime->device.info.max_allocation) {
    status = ctn_fail(error, CLATTN_TOO_LARGE, "staged: the workspace needs %zu bytes, the device's largest buffer is %llu",
                      s->workspace.total, (unsigned long long)request->runtime->device.info.max_allocation);
  }
  if (status == CLATTN_OK) status = make_softmax(s, request, error);
  if (status == CLATTN_OK) status = make_products(s, error);
  if (status != CLATTN_OK) {
    release(s);
    return status;
  }
  *state = s;
  return CLATTN_OK;
}

static size_t workspace(const void *state) {
  return ((const struct staged *)state)->workspace.total;
}

static void describe(const void *state, struct text *text) {
  const struct staged *s = state;
  const struct attention *a = &s->problem->as.attention;
  ctn_text_printf(text, "products: ");
  ctn_product_describe(&s->product, text);
  ctn_text_printf(text, "\nsoftmax: %zu work-item%s a row\n", s->softmax_items, s->softmax_items == 1 ? "" : "s");
  ctn_tuned_describe(s->product.tuned, text);
  ctn_tuned_describe(s->softmax_tuned, text);
  if (s->product.kind == PRODUCT_CLBLAST) ctn_gemm_describe_tuning(s->runtime, text);
  ctn_text_printf(text, "chunks: %lld head%s x %lld rows of %lld x %lld\n", (long long)s->chunk_heads,
                  s->chunk_heads == 1 ? "" : "s", (long long)s->chunk_rows, (long long)(a->batch * a->q_heads),
                  (long long)a->q_len);
}

const struct family ctn_family_staged = {
    .name = "staged",
    .summary = "scores, softmax and values as separate kernels; every stage readable",
    .operation = OP_ATTENTION,
    .path = CLATTN_PATH_STAGED,
    .tuning = {"product_vector", "product_tile", "softmax", "clblast_routine", "clblast_xgemm", "clblast_xgemm_direct", NULL},
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = workspace,
    .describe = describe,
    .enqueue = ctn_staged_enqueue,
    .release = release,
};
