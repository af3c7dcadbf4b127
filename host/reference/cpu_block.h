/*
 * A block of the CPU path's attention: up to CPU_LANES queries that share a KV head.
 *
 * Lane l is query row row[l] of head head[l]; the heads of a KV head take turns, so that few rows still fill the lanes. Several
 * blocks walk over blocks of CPU_KEYS keys together.
 */
#ifndef CTN_CPU_BLOCK_H
#define CTN_CPU_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu_kernels.h"
#include "problem.h"

#define CPU_STAGES \
  (CLATTN_OUTPUT_SCORES_RAW | CLATTN_OUTPUT_SCORES_SOFTCAPPED | CLATTN_OUTPUT_SCORES_MASKED | CLATTN_OUTPUT_WEIGHTS)

/* Keys low <= j < high. */
struct range {
  int64_t low, high;
};

struct block {
  const struct attention *a;
  const clattn_arrays *arrays;
  const struct cpu_kernels *kernels;
  struct sequence seq;
  int64_t b, kv_head;
  int lanes;
  int64_t head[CPU_LANES], row[CPU_LANES];
  struct range range[CPU_LANES]; /* keys that lengths, causality and windows leave to each lane */
  struct range some, all;        /* keys within the range of some lane, and of every lane */

  float *queries;  /* [head_dim, CPU_LANES], scaled */
  float *gathered; /* [head_dim_v, CPU_LANES]: out times the sum */

  /* Scratch between two blocks of keys, that all blocks of a worker use in turn. */
  float *scores;    /* [CPU_KEYS, CPU_LANES]: then weights */
  float *bias;      /* [CPU_KEYS, CPU_LANES], where there is a floating-point mask */
  float *bias_rows; /* [CPU_LANES, CPU_KEYS], the same before it is transposed */
  float *out;       /* [head_dim_v] */

  /* The online softmax: over the keys so far, maximum and sum of exp(score - maximum). */
  _Alignas(64) float maximum[CPU_LANES];
  _Alignas(64) float sum[CPU_LANES];
  _Alignas(64) float factor[CPU_LANES]; /* what gathered is to be multiplied with next */
  uint32_t attends;                     /* bit l: lane l attends some key */

  uint32_t attended[CPU_KEYS]; /* of the block of keys at hand; bit l: lane l */
};

/* cpu_mask.c */

enum attended { ATTENDED_NONE, ATTENDED_SOME, ATTENDED_ALL };

/* Fills range, some and all. */
void ctn_cpu_find_ranges(struct block *block);
/* Fills attended, and bias where there is a floating-point mask, for keys j0 to j0 + keys. */
enum attended ctn_cpu_find_attended(struct block *block, int64_t j0, int64_t keys);
/* scores += bias and ALiBi. */
void ctn_cpu_add_biases(struct block *block, int64_t j0, int64_t keys);
/* Weights of attended keys to 0, or scaled. */
void ctn_cpu_drop_weights(struct block *block, int64_t j0, int64_t keys);

/* cpu_stages.c */

/* The index of a lane's first element in the stage tensors and in dropout's count. */
static inline int64_t ctn_cpu_stage_row(const struct block *block, int lane) {
  const struct attention *a = block->a;
  return ((block->b * a->q_heads + block->head[lane]) * a->q_len + block->row[lane]) * a->kv_len;
}
/* Scores as they are into a stage tensor. */
void ctn_cpu_write_scores(const struct block *block, float *stage, int64_t j0, int64_t keys);
/* The same with -inf where a key is excluded. */
void ctn_cpu_write_masked(const struct block *block, float *stage, int64_t j0, int64_t keys);
/* Turns the masked scores that lie in the stage weights into weights. */
void ctn_cpu_finish_weights(struct block *block, const float *maximum, const float *denominator);
/* Stage entries of a lane from key j on: they lie outside its packed sequence. */
void ctn_cpu_write_padding(const struct block *block, int lane, int64_t j);

#endif
