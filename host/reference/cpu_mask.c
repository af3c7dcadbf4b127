/* What masks, lengths, causality, windows, biases and dropout do to a block of scores on the CPU path. */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "cpu_block.h"
#include "half.h"
#include "philox.h"

static struct range lane_range(const struct block *block, int64_t row) {
  const struct attention *a = block->a;
  const int64_t p = row + block->seq.query_offset;
  struct range range = {0, block->seq.kv_len};
  if (a->mask_dtype != CLATTN_NONE) range.high = ctn_min(range.high, a->mask_kv_len);
  if (a->causal) range.high = ctn_min(range.high, p + 1);
  if (a->window_right >= 0) range.high = ctn_min(range.high, p + a->window_right + 1);
  if (a->window_left >= 0) range.low = ctn_max(range.low, p - a->window_left);
  range.high = ctn_max(range.high, 0);
  range.low = ctn_min(range.low, range.high);
  return range;
}

void ctn_cpu_find_ranges(struct block *block) {
  block->some = (struct range){INT64_MAX, 0};
  block->all = (struct range){0, INT64_MAX};
  for (int l = 0; l < block->lanes; l++) {
    const struct range range = lane_range(block, block->row[l]);
    block->range[l] = range;
    block->all.low = ctn_max(block->all.low, range.low);
    block->all.high = ctn_min(block->all.high, range.high);
    if (range.low == range.high) continue;
    block->some.low = ctn_min(block->some.low, range.low);
    block->some.high = ctn_max(block->some.high, range.high);
  }
  if (block->some.low > block->some.high) block->some = (struct range){0, 0};
}

/* A lane's range within keys j0 to j0 + keys, counted from j0. */
static struct range within(struct range range, int64_t j0, int64_t keys) {
  return (struct range){ctn_min(ctn_max(range.low - j0, 0), keys), ctn_min(ctn_max(range.high - j0, 0), keys)};
}

/* A lane's bit is flipped where its range begins and ends; what has been flipped so far is what holds at a key. */
static void attend_ranges(struct block *block, int64_t j0, int64_t keys) {
  uint32_t flip[CPU_KEYS + 1] = {0}, bits = 0;
  for (int l = 0; l < block->lanes; l++) {
    const struct range range = within(block->range[l], j0, keys);
    flip[range.low] ^= UINT32_C(1) << l;
    flip[range.high] ^= UINT32_C(1) << l;
  }
  for (int64_t j = 0; j < keys; j++) {
    bits ^= flip[j];
    block->attended[j] = bits;
  }
}

/* Takes the keys out that lane l's boolean mask excludes. */
static void apply_truth(struct block *block, int l, const uint8_t *truth, int64_t stride, int64_t low, int64_t high) {
  uint32_t *attended = block->attended + low;
  const int64_t count = high - low;
  for (int64_t j = 0; j < count; j++) {
    attended[j] &= ~((uint32_t)(truth[j * stride] == 0) << l);
  }
}

/* Loads lane l's floating-point mask, and takes the keys out where it is -inf. */
static void apply_bias(struct block *block, int l, int64_t start, int64_t stride, int64_t low, int64_t high, int64_t keys) {
  const clattn_dtype dtype = block->a->mask_dtype;
  float *bias = block->bias_rows + (size_t)l * CPU_KEYS;
  for (int64_t j = 0; j < keys; j++) {
    bias[j] = 0;
  }
  if (stride == 1) {
    block->kernels->load_row(dtype, block->arrays->mask, start, high - low, bias + low);
  } else {
    for (int64_t j = low; j < high; j++)
      bias[j] = (float)ctn_load_f64(dtype, block->arrays->mask, start + (j - low) * stride);
  }
  for (int64_t j = low; j < high; j++) {
    block->attended[j] &= ~((uint32_t)(bias[j] == -INFINITY) << l);
  }
}

static void apply_mask(struct block *block, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  const int64_t *stride = a->mask_stride;
  const float *rows[CPU_LANES];
  for (int l = 0; l < block->lanes; l++) {
    const struct range range = within(block->range[l], j0, keys);
    const int64_t start =
        block->b * stride[0] + block->head[l] * stride[1] + block->row[l] * stride[2] + (j0 + range.low) * stride[3];
    if (a->mask_dtype != CLATTN_BOOL) {
      apply_bias(block, l, start, stride[3], range.low, range.high, keys);
    } else if (range.low < range.high) {
      apply_truth(block, l, (const uint8_t *)block->arrays->mask + start, stride[3], range.low, range.high);
    }
    rows[l] = block->bias_rows + (size_t)l * CPU_KEYS;
  }
  if (a->mask_dtype != CLATTN_BOOL) block->kernels->transpose(block->bias, rows, block->lanes, keys, 1);
}

enum attended ctn_cpu_find_attended(struct block *block, int64_t j0, int64_t keys) {
  const uint32_t every = UINT32_MAX >> (CPU_LANES - block->lanes);
  uint32_t some = 0, all = every;
  attend_ranges(block, j0, keys);
  if (block->a->mask_dtype != CLATTN_NONE) apply_mask(block, j0, keys);
  for (int64_t j = 0; j < keys; j++) {
    some |= block->attended[j];
    all &= block->attended[j];
  }
  block->attends |= some;
  return all == every ? ATTENDED_ALL : some != 0 ? ATTENDED_SOME : ATTENDED_NONE;
}

void ctn_cpu_add_biases(struct block *block, int64_t j0, int64_t keys) {
  const struct attention *a = block->a;
  if (a->mask_dtype != CLATTN_NONE && a->mask_dtype != CLATTN_BOOL) {
    for (int64_t n = 0; n < keys * CPU_LANES; n++)
      block->scores[n] += block->bias[n];
  }
  if (a->has_alibi) {
    _Alignas(64) float slope[CPU_LANES] = {0};
    _Alignas(64) float distance[CPU_LANES] = {0};
    for (int l = 0; l < block->lanes; l++) {
      slope[l] = block->arrays->alibi_slopes[block->head[l]];
      distance[l] = (float)(block->row[l] + block->seq.query_offset - j0);
    }
    block->kernels->add_alibi(block->scores, keys, slope, distance);
  }
}

void ctn_cpu_drop_weights(struct block *block, int64_t j0, int64_t keys) {
  const float probability = block->a->dropout, scale = 1.0f / (1.0f - probability);
  const uint64_t seed = block->arrays->dropout_seed, offset = block->arrays->dropout_offset;
  for (int l = 0; l < block->lanes; l++) {
    const uint64_t start = (uint64_t)(ctn_cpu_stage_row(block, l) + j0);
    for (int64_t j = 0; j < keys; j++) {
      if ((block->attended[j] >> l & 1) == 0) continue;
      block->scores[j * CPU_LANES + l] *= ctn_dropout_keeps(seed, offset, start + (uint64_t)j, probability) ? scale : 0.0f;
    }
  }
}
