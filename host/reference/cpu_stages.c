/* The stage tensors of the CPU path: a row's scores and weights, when the caller asks to see them. */
#include <math.h>

#include "checked.h"
#include "cpu_block.h"

void ctn_cpu_write_scores(const struct block *block, float *stage, int64_t j0, int64_t keys) {
  for (int l = 0; l < block->lanes; l++) {
    float *row = stage + ctn_cpu_stage_row(block, l) + j0;
    for (int64_t j = 0; j < keys; j++)
      row[j] = block->scores[j * CPU_LANES + l];
  }
}

void ctn_cpu_write_masked(const struct block *block, float *stage, int64_t j0, int64_t keys) {
  for (int l = 0; l < block->lanes; l++) {
    float *row = stage + ctn_cpu_stage_row(block, l) + j0;
    for (int64_t j = 0; j < keys; j++)
      row[j] = block->attended[j] >> l & 1 ? block->scores[j * CPU_LANES + l] : -INFINITY;
  }
}

void ctn_cpu_finish_weights(struct block *block, const float *maximum, const float *denominator) {
  for (int64_t j0 = 0; j0 < block->seq.kv_rows; j0 += CPU_KEYS) {
    const int64_t keys = ctn_min(CPU_KEYS, block->seq.kv_rows - j0);
    ctn_cpu_find_attended(block, j0, keys);
    for (int l = 0; l < block->lanes; l++) {
      float *row = block->arrays->weights + ctn_cpu_stage_row(block, l) + j0;
      block->kernels->normalise(row, keys, maximum[l], denominator[l]);
      for (int64_t j = 0; j < keys; j++)
        row[j] = block->attended[j] >> l & 1 ? row[j] : 0.0f;
    }
  }
}

void ctn_cpu_write_padding(const struct block *block, int lane, int64_t j) {
  const clattn_arrays *arrays = block->arrays;
  const uint32_t outputs = block->a->outputs;
  const int64_t row = ctn_cpu_stage_row(block, lane);
  for (; j < block->a->kv_len; j++) {
    if (outputs & CLATTN_OUTPUT_SCORES_RAW) arrays->scores_raw[row + j] = 0;
    if (outputs & CLATTN_OUTPUT_SCORES_SOFTCAPPED) arrays->scores_softcapped[row + j] = 0;
    if (outputs & CLATTN_OUTPUT_SCORES_MASKED) arrays->scores_masked[row + j] = -INFINITY;
    if (outputs & CLATTN_OUTPUT_WEIGHTS) arrays->weights[row + j] = 0;
  }
}
