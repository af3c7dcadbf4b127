/* Embedding, position and projection in float32 on the pool's threads. */
#include <math.h>
#include <string.h>

#include "checked.h"
#include "cpu_product.h"
#include "half.h"
#include "reference.h"

enum {
  CHUNK = 256,    /* columns that pass through a stack array */
  TOKENS = 16,    /* of an embedding's piece */
  POSITIONS = 64, /* of a position's piece: rows that share the frequencies */
  PAIRS = CHUNK / 2,
  ROWS = 64, /* of a projection's piece */
  FEATURES = 64,
  TERMS = 256
};

/* --------------------------------------------------------------------------------------------------------------- embedding */

struct embedding_job {
  const struct embedding *e;
  const clattn_arrays *arrays;
};

static void embed_token(const struct embedding *e, const clattn_arrays *arrays, int64_t n) {
  const int64_t token =
      e->token_dtype == CLATTN_I32 ? ((const int32_t *)arrays->tokens)[n] : ((const int64_t *)arrays->tokens)[n];
  for (int64_t first = 0; first < e->dim; first += CHUNK) {
    const int64_t count = ctn_min(CHUNK, e->dim - first);
    float row[CHUNK] = {0};
    if (token != e->padding_id) {
      ctn_load_row(e->dtype, arrays->table, token * e->dim + first, count, row);
      for (int64_t d = 0; d < count; d++)
        row[d] *= e->scale;
    }
    ctn_store_row(e->dtype, arrays->out, n * e->dim + first, count, row);
  }
}

static void embedding_piece(void *argument, int64_t piece, int worker) {
  const struct embedding_job *job = argument;
  const int64_t end = ctn_min((piece + 1) * TOKENS, job->e->count);
  (void)worker;
  for (int64_t n = piece * TOKENS; n < end; n++) {
    embed_token(job->e, job->arrays, n);
  }
}

void ctn_cpu_embedding(const struct embedding *e, const clattn_arrays *arrays, struct pool *pool) {
  struct embedding_job job = {e, arrays};
  ctn_pool_run(pool, ctn_ceil_div(e->count, TOKENS), embedding_piece, &job);
}

/* ---------------------------------------------------------------------------------------------------------------- position */

struct position_job {
  const struct position *p;
  const clattn_arrays *arrays;
};

static const long double TURN = 6.283185307179586476925286766559005768L;

/* Pair i's turns a position, as a 64-bit fraction: multiplied with a position, what wraps around are whole turns, and what
 * remains is exact however large the angle. */
static uint64_t frequency(const struct position *p, int64_t i) {
  return (uint64_t)ldexpl(powl((long double)p->base, -2.0L * (long double)i / (long double)p->dim) / TURN, 64);
}

/* pe[columns first to first + count] at one position; first is even. */
static void encode(const uint64_t *frequencies, int64_t pos, int64_t count, float *pe) {
  for (int64_t d = 0; d < count; d += 2) {
    const uint64_t fraction = (uint64_t)pos * frequencies[d / 2];
    const double angle = (double)fraction * (0x1p-64 * (double)TURN);
    pe[d] = (float)sin(angle);
    if (d + 1 < count) pe[d + 1] = (float)cos(angle);
  }
}

static void position_piece(void *argument, int64_t piece, int worker) {
  const struct position_job *job = argument;
  const struct position *p = job->p;
  const int64_t end = ctn_min((piece + 1) * POSITIONS, p->length);
  (void)worker;
  for (int64_t first = 0; first < p->dim; first += CHUNK) {
    const int64_t count = ctn_min(CHUNK, p->dim - first);
    uint64_t frequencies[PAIRS];
    for (int64_t d = 0; d < count; d += 2) {
      frequencies[d / 2] = frequency(p, (first + d) / 2);
    }
    for (int64_t s = piece * POSITIONS; s < end; s++) {
      float pe[CHUNK], row[CHUNK] = {0};
      encode(frequencies, p->start + s, count, pe);
      for (int64_t b = 0; b < p->batch; b++) {
        const int64_t index = (b * p->length + s) * p->dim + first;
        if (p->has_x) ctn_load_row(p->dtype, job->arrays->x, index, count, row);
        for (int64_t d = 0; d < count; d++)
          row[d] = p->has_x ? row[d] + pe[d] : pe[d];
        ctn_store_row(p->dtype, job->arrays->out, index, count, row);
      }
    }
  }
}

void ctn_cpu_position(const struct position *p, const clattn_arrays *arrays, struct pool *pool) {
  struct position_job job = {p, arrays};
  ctn_pool_run(pool, ctn_ceil_div(p->length, POSITIONS), position_piece, &job);
}

/* -------------------------------------------------------------------------------------------------------------- projection */

/* One worker's scratch. */
struct projection_block {
  float x[ROWS * TERMS];
  float w[FEATURES * TERMS];
  float wt[TERMS * FEATURES];
  float part[ROWS * FEATURES]; /* of y: the sum over TERMS terms, so that a long sum's rounding stays small */
  float y[ROWS * FEATURES];
};

struct projection_job {
  const struct projection *p;
  const clattn_arrays *arrays;
  struct projection_block *blocks;
};

/* y += x W^T over terms t to t + terms, for rows from first_row on (batch and length as one) and features from first on. */
static void project_terms(const struct projection_job *job, struct projection_block *block, int64_t first_row, int64_t rows,
                          int64_t first, int64_t features, int64_t t, int64_t terms) {
  const struct projection *p = job->p;
  for (int64_t r = 0; r < rows; r++) {
    const int64_t row = first_row + r;
    const int64_t start = row / p->length * p->x.batch + row % p->length * p->x.row + t;
    ctn_load_row(p->dtype, job->arrays->x, start, terms, block->x + r * TERMS);
  }
  for (int64_t f = 0; f < features; f++) {
    ctn_load_row(p->dtype, job->arrays->weight, (first + f) * p->in_features + t, terms, block->w + f * TERMS);
  }
  ctn_cpu_transpose(block->wt, FEATURES, block->w, TERMS, features, terms);
  memset(block->part, 0, sizeof block->part);
  ctn_cpu_multiply(block->part, FEATURES, block->x, TERMS, block->wt, FEATURES, rows, features, terms);
  for (int n = 0; n < ROWS * FEATURES; n++) {
    block->y[n] += block->part[n];
  }
}

/* A block of y into out, a head at a time. */
static void store_block(const struct projection_job *job, const struct projection_block *block, int64_t first_row, int64_t rows,
                        int64_t first, int64_t features) {
  const struct projection *p = job->p;
  for (int64_t r = 0; r < rows; r++) {
    const int64_t row = first_row + r;
    const int64_t start = row / p->length * p->out.batch + row % p->length * p->out.row;
    for (int64_t f = first; f < first + features;) {
      const int64_t h = f / p->head_dim, d = f % p->head_dim;
      const int64_t count = ctn_min(p->head_dim - d, first + features - f);
      ctn_store_row(p->dtype, job->arrays->out, start + h * p->out.head + d, count, block->y + r * FEATURES + (f - first));
      f += count;
    }
  }
}

static void projection_piece(void *argument, int64_t piece, int worker) {
  const struct projection_job *job = argument;
  const struct projection *p = job->p;
  struct projection_block *block = &job->blocks[worker];
  const int64_t all_features = p->heads * p->head_dim;
  const int64_t feature_blocks = ctn_ceil_div(all_features, FEATURES);
  const int64_t first_row = piece / feature_blocks * ROWS, first = piece % feature_blocks * FEATURES;
  const int64_t rows = ctn_min(ROWS, p->batch * p->length - first_row), features = ctn_min(FEATURES, all_features - first);
  memset(block->y, 0, sizeof block->y);
  for (int64_t t = 0; t < p->in_features; t += TERMS) {
    project_terms(job, block, first_row, rows, first, features, t, ctn_min(TERMS, p->in_features - t));
  }
  if (p->has_bias) {
    float bias[FEATURES];
    ctn_load_row(p->dtype, job->arrays->bias, first, features, bias);
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t f = 0; f < features; f++)
        block->y[r * FEATURES + f] += bias[f];
    }
  }
  store_block(job, block, first_row, rows, first, features);
}

size_t ctn_cpu_projection_scratch(const struct projection *p, const struct pool *pool) {
  (void)p;
  return sizeof(struct projection_block) * (size_t)ctn_pool_size(pool);
}

void ctn_cpu_projection(const struct projection *p, const clattn_arrays *arrays, struct pool *pool, void *scratch) {
  struct projection_job job = {p, arrays, scratch};
  const int64_t pieces = ctn_ceil_div(p->batch * p->length, ROWS) * ctn_ceil_div(p->heads * p->head_dim, FEATURES);
  ctn_pool_run(pool, pieces, projection_piece, &job);
}
