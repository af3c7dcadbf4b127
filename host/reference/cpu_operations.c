/* Embedding and position in float32 on the pool's threads. */
#include <math.h>

#include "checked.h"
#include "half.h"
#include "reference.h"

enum {
  CHUNK = 256,    /* columns that pass through a stack array */
  TOKENS = 16,    /* of an embedding's piece */
  POSITIONS = 64, /* of a position's piece: rows that share the frequencies */
  PAIRS = CHUNK / 2
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
