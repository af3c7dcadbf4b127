/* The fused family for CPU devices: kernels/fused_vector.cl. */
#include <string.h>

#include "checked.h"
#include "fused.h"
#include "half.h"
#include "product.h"
#include "tuned_sizes.h"

/*
 * kernels/fused_vector.cl: GROUPS and BLOCK, the most of each, and UNROLL. A work-group takes no more lane groups than keep its
 * memory within CACHE, and leaves at least SHARE work-groups for each compute unit.
 */
enum { GROUPS = 16, BLOCK = 96, UNROLL = 4, CACHE = 384 * 1024, SHARE = 4 };
/* Bytes of its lane_group: a lane's, and the rest with padding. */
enum { LANE_BYTES = 72, GROUP_BYTES = 128 };

/* Register blocks by vector width, VECTORS and STEP of the kernel; GROUPS and BLOCK. */
struct shape {
  long vectors, step, groups, block;
  const struct tuning_entry *tuned; /* NULL: as built in */
};

static struct shape sizes_of(const struct tuning_entry *tuned, long vector) {
  const bool wide = vector == 16;
  return (struct shape){ctn_tuning_value(tuned, "VECTORS", wide ? 2 : 3), ctn_tuning_value(tuned, "STEP", wide ? 8 : 4),
                        ctn_tuning_value(tuned, "GROUPS", GROUPS), ctn_tuning_value(tuned, "BLOCK", BLOCK), tuned};
}

/* Its static local memory: scores, bias, lane groups. */
static size_t static_bytes(struct shape shape, long vector) {
  const size_t lanes = (size_t)(shape.vectors * vector);
  return 2 * lanes * (size_t)shape.block * sizeof(float) + (size_t)shape.groups * (lanes * LANE_BYTES + GROUP_BYTES);
}

static const char *fault(const struct tuning_entry *entry, const struct request *request) {
  const long vector = ctn_vector_width(request);
  const struct shape shape = sizes_of(entry, vector);
  if (shape.vectors < 2 || shape.vectors > 4) return "VECTORS is 2 to 4";
  if (shape.step < 4 || shape.step > 16 || shape.step % 4 != 0) return "STEP is 4, 8, 12 or 16";
  if (shape.block < shape.step || shape.block > 512 || shape.block % shape.step != 0) {
    return "BLOCK is a multiple of STEP up to 512";
  }
  if (shape.groups < 1 || shape.groups > 32) return "GROUPS is 1 to 32";
  return static_bytes(shape, vector) > request->runtime->device.info.local_memory / 2
             ? "BLOCK and GROUPS need more than half of the device's local memory"
             : NULL;
}

static struct shape shape_of(const struct request *request, long vector) {
  return sizes_of(ctn_tuned(request, "fused_vector", fault), vector);
}

/* Dynamic local memory: q^T and O^T of the lane groups, and a block of k and v. */
static void size_local(const struct attention *a, struct shape shape, long vector, int64_t groups, int64_t block,
                       size_t local[3]) {
  const size_t lane_bytes = (size_t)(groups * shape.vectors * vector) * sizeof(float);
  const int64_t padded_v = ctn_ceil_div(a->head_dim_v, shape.step) * shape.step;
  const int64_t padded_k = ctn_ceil_div(a->head_dim, UNROLL) * UNROLL;
  local[0] = lane_bytes * (size_t)padded_k;
  local[1] = lane_bytes * (size_t)padded_v;
  local[2] = (size_t)(block * (padded_k + padded_v)) * sizeof(float);
}

static size_t total(const size_t local[3], struct shape shape, long vector) {
  return local[0] + local[1] + local[2] + static_bytes(shape, vector);
}

/* The most lane groups and keys that fit into the device's local memory and, beyond one group, into its processors' caches. */
static void choose_sizes(const struct request *request, struct shape shape, long vector, int64_t *groups, int64_t *block,
                         size_t local[3]) {
  const struct attention *a = &request->problem->as.attention;
  const clattn_device_info *info = &request->runtime->device.info;
  *block = shape.block;
  *groups = 1;
  size_local(a, shape, vector, 1, *block, local);
  while (total(local, shape, vector) > info->local_memory && *block > shape.step) {
    *block = ctn_ceil_div(*block / 2, shape.step) * shape.step;
    size_local(a, shape, vector, 1, *block, local);
  }
  const int64_t needed = ctn_ceil_div(a->q_len * a->group, shape.vectors * vector);
  for (int64_t more = 2; more <= shape.groups && more <= needed; more++) {
    size_t larger[3];
    size_local(a, shape, vector, more, *block, larger);
    const bool idle = ctn_ceil_div(needed, more) * a->kv_heads * a->batch < SHARE * (int64_t)info->compute_units;
    const size_t bytes = total(larger, shape, vector);
    if (idle || bytes > CACHE || bytes > info->local_memory) break;
    *groups = more;
    memcpy(local, larger, sizeof larger);
  }
}

static bool refuse(const struct request *request, struct text *reason) {
  if (ctn_fused_refuse(request, reason) || ctn_refuse_vectors(request, reason)) return true;
  const clattn_device_info *info = &request->runtime->device.info;
  if (!ctn_wide_vectors(request)) {
    ctn_text_printf(reason, "for devices with native vectors of 8 floats or more, this one has %u", info->native_float_width);
    return true;
  }
  size_t local[3];
  const long vector = ctn_vector_width(request);
  int64_t groups, block;
  const struct shape shape = shape_of(request, vector);
  choose_sizes(request, shape, vector, &groups, &block, local);
  const size_t needed = total(local, shape, vector);
  if (needed > info->local_memory) {
    ctn_text_printf(reason, "head dimensions this large need %zu bytes of local memory, the device has %llu", needed,
                    (unsigned long long)info->local_memory);
    return true;
  }
  return false;
}

static double cost(const struct request *request) {
  return 0.5 * ctn_fused_work(request);
}

static clattn_status prepare(void **state, const struct request *request, clattn_error *error) {
  struct specialisation spec = {0};
  struct fused *s = ctn_fused_begin(request, "fused_vector", &spec, error);
  if (s == NULL) return CLATTN_OUT_OF_MEMORY;
  s->vector = ctn_vector_width(request);
  const struct shape shape = shape_of(request, s->vector);
  s->tuned = shape.tuned;
  s->tile = shape.vectors * s->vector;
  s->work_items = 1;
  choose_sizes(request, shape, s->vector, &s->groups, &s->block, s->local);
  ctn_define(&spec, "VEC", s->vector);
  ctn_define(&spec, "VECTORS", shape.vectors);
  ctn_define(&spec, "STEP", shape.step);
  if (shape.block != BLOCK) ctn_define(&spec, "BLOCK", shape.block);
  if (shape.groups != GROUPS) ctn_define(&spec, "GROUPS", shape.groups);
  return ctn_fused_finish(state, s, "fused_vector.cl", &spec, error);
}

static void describe(const void *state, struct text *text) {
  const struct fused *s = state;
  ctn_text_printf(
      text, "tiles: %lld x %lld (row, head) pairs, one a lane, x %lld keys; vectors of %ld; local memory %zu bytes\n",
      (long long)s->groups, (long long)s->tile, (long long)s->block, s->vector, s->local[0] + s->local[1] + s->local[2]);
  ctn_tuned_describe(s->tuned, text);
}

const struct family ctn_family_fused_vector = {
    .name = "fused_vector",
    .summary = "one pass with an online softmax, a query a lane, for CPU devices",
    .operation = OP_ATTENTION,
    .path = CLATTN_PATH_FUSED,
    .tuning = {"fused_vector", NULL},
    .refuse = refuse,
    .cost = cost,
    .prepare = prepare,
    .workspace = ctn_fused_workspace,
    .describe = describe,
    .enqueue = ctn_fused_enqueue,
    .release = ctn_fused_release,
};
