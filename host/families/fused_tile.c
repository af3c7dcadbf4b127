/* The fused family for GPUs: kernels/fused_tile.cl. */

#include "checked.h"
#include "fused.h"
#include "loops.h"
#include "tuned_sizes.h"

/* kernels/fused_tile.cl and common/product_tile.clh. */
enum { SIDE = 8, PATCH = 4, TILE = 32, DEPTH = 16, FLUSH = 256, LARGEST_CHUNK = 128, ITEMS = SIDE * SIDE };

static size_t bytes_of(int64_t chunk) {
  const size_t floats = TILE * (TILE + 1) + 2 * DEPTH * (TILE + 1) + TILE * (size_t)chunk;
  return floats * sizeof(float) + TILE * (size_t)(8 + 6 * 4 + 4 * 4);
}

static const char *fault(const struct tuning_entry *entry, const struct request *request) {
  const long chunk = ctn_tuning_value(entry, "CHUNK", LARGEST_CHUNK);
  if (chunk < 32 || chunk > 512 || chunk % 32 != 0) return "CHUNK is a multiple of 32 from 32 to 512";
  return bytes_of(chunk) > request->runtime->device.info.local_memory ? "CHUNK needs more local memory than the device has"
                                                                      : NULL;
}

/* Value columns of a work-group: a multiple of 32, so that few programs are made. */
static int64_t chunk_of(const struct request *request) {
  const int64_t largest = ctn_tuning_value(ctn_tuned(request, "fused_tile", fault), "CHUNK", LARGEST_CHUNK);
  return ctn_min(ctn_ceil_div(request->problem->as.attention.head_dim_v, 32) * 32, largest);
}

/* Turns of a loop whose body makes `inside`, with its end. */
static int64_t loop(int64_t turns, int64_t inside) {
  return turns * (inside + 1) + 1;
}

/* Turns that a work-item's loops make at most for one block of keys, as they are written in the kernel; compilers unroll some.
 */
static int64_t block_turns(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const int64_t columns = chunk_of(request) / SIDE, place = loop(PATCH, loop(PATCH, 0));
  const int64_t load = loop(TILE * DEPTH / ITEMS, 0);
  const int64_t scores =
      loop(ctn_ceil_div(a->head_dim, DEPTH), 2 * load + loop(DEPTH, 0)) + a->head_dim / FLUSH * place + place;
  const int64_t softmax = loop(TILE / 2, 0) + loop(TILE / 2, a->dropout > 0 ? loop(10, 0) : 0);
  const int64_t values = loop(PATCH, loop(columns, 0) + loop(TILE, loop(columns, 0)) + loop(columns, 0));
  return 1 + scores + softmax + loop(TILE * chunk_of(request) / ITEMS, 0) + values;
}

/* Those outside of the loop over the blocks: ranges, the state read, the state or the results written; and its end. */
static int64_t other_turns(const struct request *request) {
  return loop(TILE, 0) + 2 * loop(PATCH, loop(chunk_of(request) / SIDE, 0)) + 1;
}

/* Keys of a launch: all, or as many blocks as the device lets loops turn for; 0 where that is none. */
static int64_t step_of(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const int64_t turns = ctn_ceil_div(a->kv_len, TILE) * block_turns(request) + other_turns(request);
  const int64_t limit = ctn_loop_limit(request->runtime, turns);
  return turns <= limit ? a->kv_len : ctn_max(0, (limit - other_turns(request)) / block_turns(request)) * TILE;
}

static int64_t groups_of(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  return ctn_ceil_div(a->q_len * a->group, TILE) * ctn_ceil_div(a->head_dim_v, chunk_of(request)) * a->kv_heads * a->batch;
}

/* The state of a work-group between launches: its totals, and maximum, sum and seen of its rows. */
static size_t group_bytes(const struct request *request) {
  return (size_t)((chunk_of(request) + 3) * TILE) * sizeof(float);
}

static bool refuse_steps(const struct request *request, struct text *reason) {
  const struct attention *a = &request->problem->as.attention;
  const int64_t step = step_of(request);
  if (step == 0) return ctn_refuse_loops(request, block_turns(request) + other_turns(request), reason);
  const uint64_t limit = request->runtime->device.info.max_allocation;
  const uint64_t group = group_bytes(request);
  if (step == a->kv_len || (uint64_t)groups_of(request) <= limit / group) return false;
  ctn_text_printf(
      reason,
      "the device ends loops early, and the state between launches of %lld keys needs more than its largest buffer, %llu bytes",
      (long long)step, (unsigned long long)limit);
  return true;
}

static bool refuse(const struct request *request, struct text *reason) {
  if (ctn_fused_refuse(request, reason)) return true;
  const clattn_device_info *info = &request->runtime->device.info;
  const size_t needed = bytes_of(chunk_of(request));
  if (info->max_work_group < SIDE * SIDE || info->local_memory < needed) {
    ctn_text_printf(reason, "needs work-groups of %d and %zu bytes of local memory, the device has %u and %llu", SIDE * SIDE,
                    needed, info->max_work_group, (unsigned long long)info->local_memory);
    return true;
  }
  if (request->options.vector_width != 0) {
    ctn_text_printf(reason, "a vector width was asked for, and work-items are scalar here");
    return true;
  }
  return refuse_steps(request, reason);
}

/* On a device with wide vectors these scalar work-items run many times slower than the vector family. */
static double cost(const struct request *request) {
  const bool wide = request->runtime->device.info.native_float_width >= 8;
  return (wide ? 8 : 0.5) * ctn_fused_work(request);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct specialisation spec = {0};
  struct fused *s = ctn_fused_begin(request, "fused_tile", &spec, error);
  if (s == NULL) return CLATTN_OUT_OF_MEMORY;
  const struct attention *a = &request->problem->as.attention;
  s->tile = TILE;
  s->chunk = chunk_of(request);
  s->tuned = ctn_tuned(request, "fused_tile", fault);
  s->work_items = (size_t)SIDE * SIDE;
  s->step = step_of(request);
  if (s->step < a->kv_len) s->carry = (size_t)groups_of(request) * group_bytes(request);
  ctn_define(&spec, "CHUNK", (long)s->chunk);
  /* The kernel states its work-group size, so a device that cannot run it fails to build it. CL_KERNEL_WORK_GROUP_SIZE is no
   * help: Rusticl reports less than it then runs. */
  return ctn_fused_finish(state, s, "fused_tile.cl", &spec, error);
}

static void describe(const void *state, struct text *text) {
  const struct fused *s = state;
  ctn_text_printf(text, "tiles: %d (row, head) pairs x %d keys x %lld value columns, %d work-items\n", TILE, TILE,
                  (long long)s->chunk, SIDE * SIDE);
  ctn_tuned_describe(s->tuned, text);
  if (s->carry != 0) {
    ctn_text_printf(text, "launches: %lld keys each, because the device ends loops early\n", (long long)s->step);
  }
}

const struct family ctn_family_fused_tile = {
    .name = "fused_tile",
    .summary = "one pass with an online softmax, tiles in local memory, for GPUs",
    .operation = OP_ATTENTION,
    .path = CLATTN_PATH_FUSED,
    .tuning = {"fused_tile", NULL},
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = ctn_fused_workspace,
    .describe = describe,
    .enqueue = ctn_fused_enqueue,
    .release = ctn_fused_release,
};
