/* The fused family for GPUs: kernels/fused_tile.cl. */
#include <stdlib.h>

#include "checked.h"
#include "fused.h"

/* kernels/fused_tile.cl and common/product_tile.clh. */
enum { SIDE = 8, TILE = 32, DEPTH = 16, LARGEST_CHUNK = 128 };

/* Value columns of a work-group: a multiple of 32, so that few programs are made. */
static int64_t chunk_of(const struct attention *a) {
  return ctn_min(ctn_ceil_div(a->head_dim_v, 32) * 32, LARGEST_CHUNK);
}

static size_t local_bytes(const struct attention *a) {
  const size_t floats = TILE * (TILE + 1) + 2 * DEPTH * (TILE + 1) + TILE * (size_t)chunk_of(a);
  return floats * sizeof(float) + TILE * (size_t)(8 + 6 * 4 + 4 * 4);
}

static bool refuse(const struct request *request, struct text *reason) {
  if (ctn_fused_refuse(request, reason)) return true;
  const clattn_device_info *info = &request->runtime->device.info;
  const size_t needed = local_bytes(&request->problem->as.attention);
  if (info->max_work_group < SIDE * SIDE || info->local_memory < needed) {
    ctn_text_printf(reason, "needs work-groups of %d and %zu bytes of local memory, the device has %u and %llu", SIDE * SIDE,
                    needed, info->max_work_group, (unsigned long long)info->local_memory);
    return true;
  }
  if (request->options.vector_width != 0) {
    ctn_text_printf(reason, "a vector width was asked for, and work-items are scalar here");
    return true;
  }
  return false;
}

/* On a device with wide vectors these scalar work-items run many times slower than the vector family. */
static double cost(const struct request *request) {
  const bool wide = request->runtime->device.info.native_float_width >= 8;
  return (wide ? 8 : 0.5) * ctn_fused_work(request);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct fused *s = calloc(1, sizeof *s);
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "fused_tile: no memory for a plan");
  const struct attention *a = &request->problem->as.attention;
  s->problem = request->problem;
  s->runtime = request->runtime;
  s->tile = TILE;
  s->chunk = chunk_of(a);
  s->work_items = (size_t)SIDE * SIDE;
  struct specialisation spec = {0};
  ctn_define(&spec, "DTYPE", ctn_dtype_macro(a->dtype));
  ctn_define(&spec, "MASK", ctn_dtype_macro(a->mask_dtype));
  ctn_define(&spec, "CHUNK", (long)s->chunk);
  /* The kernel states its work-group size, so a device that cannot run it fails to build it. CL_KERNEL_WORK_GROUP_SIZE is no
   * help: Rusticl reports less than it then runs. */
  const clattn_status status = ctn_kernel_create(&s->kernel, s->runtime, "fused_tile.cl", "fused", &spec, error);
  ctn_specialisation_free(&spec);
  if (status != CLATTN_OK) {
    ctn_fused_release(s);
    return status;
  }
  *state = s;
  return CLATTN_OK;
}

static void describe(const void *state, struct text *text) {
  const struct fused *s = state;
  ctn_text_printf(text, "tiles: %d (row, head) pairs x %d keys x %lld value columns, %d work-items\n", TILE, TILE,
                  (long long)s->chunk, SIDE * SIDE);
}

const struct family ctn_family_fused_tile = {
    .name = "fused_tile",
    .summary = "one pass with an online softmax, tiles in local memory, for GPUs",
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
