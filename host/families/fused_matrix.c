/* The fused family for matrix engines: kernels/fused_matrix.cl. */

#include "checked.h"
#include "fused.h"
#include "matrix.h"

/* kernels/fused_matrix.cl and common/matrix.clh. Rows of k and of v are longer by PADS together. */
enum {
  ROWS = 64,
  WORK_ITEMS = 128,
  PADS = 16,
  RESERVE = 4096,
  MOST_KEYS = 64,
  FEWER_KEYS = 32,
  LARGEST_DIM = 256,
  LARGEST_CHUNK = 128
};

/* Terms of a score, in steps of 32 or 64, and value columns of a work-group, so that few programs are made. */
static int64_t dim_of(const struct attention *a) {
  const int64_t step = a->head_dim <= 128 ? 32 : 64;
  return ctn_ceil_div(a->head_dim, step) * step;
}

static int64_t chunk_of(const struct attention *a) {
  return ctn_min(ctn_ceil_div(a->head_dim_v, 32) * 32, LARGEST_CHUNK);
}

/* With some for flags, what passes between lanes, and what drivers keep. */
static size_t local_bytes(const struct attention *a, int64_t keys) {
  return (size_t)(keys * (dim_of(a) + chunk_of(a) + PADS)) * sizeof(uint16_t) + RESERVE;
}

/* Of a block: as many as the device's local memory holds. */
static int64_t keys_of(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const bool fits = request->runtime->device.info.local_memory >= local_bytes(a, MOST_KEYS);
  return fits && dim_of(a) <= 192 ? MOST_KEYS : FEWER_KEYS;
}

/* Turns of a work-item's loops at most, as they are written, with an instruction's few. Once more where NaN is kept apart. */
static int64_t turns_of(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const int64_t keys = keys_of(request), dim = dim_of(a), chunk = chunk_of(a);
  const int64_t copies = (keys * (dim + chunk) / 8 / WORK_ITEMS + 2) * 10;
  const int64_t scores = dim / 16 * (keys / 16 * 14 + 2);
  const int64_t softmax = 8 * (keys / 8 * 6 + 1) + (a->dropout > 0 ? keys / 2 * 12 : 0);
  const int64_t careful = keys / 16 * (16 * (chunk / 8 * 4 + 2) + 12);
  const int64_t values = chunk / 16 * (keys / 16 * 26 + 24) + chunk / 8 * 6 + careful;
  const int64_t blocks = ctn_ceil_div(a->kv_len, keys) + 1;
  return 2 * (blocks * (1 + copies + scores + softmax + values) + chunk * 2) + dim + chunk * 2 + 20;
}

static bool refuse(const struct request *request, struct text *reason) {
  if (ctn_fused_refuse(request, reason)) return true;
  const struct attention *a = &request->problem->as.attention;
  const clattn_device_info *info = &request->runtime->device.info;
  if (a->dtype != CLATTN_F16 && a->dtype != CLATTN_BF16) {
    ctn_text_printf(reason, "matrix engines multiply f16 and bf16, the tensors are stored as f32");
    return true;
  }
  if (a->head_dim > LARGEST_DIM) {
    ctn_text_printf(reason, "head_dim is %lld, and registers hold rows of up to %d", (long long)a->head_dim, LARGEST_DIM);
    return true;
  }
  if (request->options.vector_width != 0) {
    ctn_text_printf(reason, "a vector width was asked for, and work-items are scalar here");
    return true;
  }
  if (ctn_matrix_refused(request->runtime, a->dtype, reason)) return true;
  const size_t needed = local_bytes(a, keys_of(request));
  if (info->max_work_group < WORK_ITEMS || info->local_memory < needed) {
    ctn_text_printf(reason, "needs work-groups of %d and %zu bytes of local memory, the device has %u and %llu", WORK_ITEMS,
                    needed, info->max_work_group, (unsigned long long)info->local_memory);
    return true;
  }
  return ctn_refuse_loops(request, turns_of(request), reason);
}

/* A guess: nobody has measured it. Products are several times faster, the softmax is not. */
static double cost(const struct request *request) {
  return 0.1 * ctn_fused_work(request);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct specialisation spec = {0};
  struct fused *s = ctn_fused_begin(request, "fused_matrix", &spec, error);
  if (s == NULL) return CLATTN_OUT_OF_MEMORY;
  const struct attention *a = &request->problem->as.attention;
  s->tile = ROWS;
  s->block = keys_of(request);
  s->chunk = chunk_of(a);
  s->work_items = WORK_ITEMS;
  ctn_define(&spec, "DIM", (long)dim_of(a));
  ctn_define(&spec, "CHUNK", (long)s->chunk);
  ctn_define(&spec, "KEYS", (long)s->block);
  return ctn_fused_finish(state, s, "fused_matrix.cl", &spec, error);
}

static void describe(const void *state, struct text *text) {
  const struct fused *s = state;
  ctn_text_printf(text, "tiles: %d (row, head) pairs x %lld keys x %lld value columns, %d work-items, on the matrix engine\n",
                  ROWS, (long long)s->block, (long long)s->chunk, WORK_ITEMS);
}

const struct family ctn_family_fused_matrix = {
    .name = "fused_matrix",
    .summary = "one pass with an online softmax, f16 and bf16 on a matrix engine",
    .operation = OP_ATTENTION,
    .path = CLATTN_PATH_FUSED,
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = ctn_fused_workspace,
    .describe = describe,
    .enqueue = ctn_fused_enqueue,
    .release = ctn_fused_release,
};
