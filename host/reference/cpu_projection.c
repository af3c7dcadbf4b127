/*
 * Projections in float32 on the pool's threads: y = x W^T + b with the kernels of attention's scores, rows of W for keys.
 *
 * A piece is ROWS rows of x (lanes) by some features. For TERMS terms at a time its part of x is transposed once, and every
 * feature's row of W is multiplied with it; y is gathered transposed.
 */
#include <string.h>

#include "checked.h"
#include "cpu_kernels.h"
#include "half.h"
#include "reference.h"

enum {
  GROUPS = 4, /* of lanes, which share what is read of W */
  ROWS = GROUPS * CPU_LANES,
  TERMS = 128,          /* for which x is transposed at a time */
  STRIP = 48,           /* features whose weights are multiplied with all groups while they are in the cache */
  FEATURES = 8 * STRIP, /* at most, of a piece */
  PIECES_A_THREAD = 4   /* at least, where there are features enough */
};

/* One worker's scratch, aligned to 64 bytes. */
struct room {
  float x[GROUPS][TERMS * CPU_LANES];    /* [terms, lane] */
  float y[GROUPS][FEATURES * CPU_LANES]; /* [feature, lane] */
  float w[STRIP * TERMS];                /* where the weights are not float32 */
  float rows[CPU_LANES * TERMS];         /* where x is not float32 */
  float row[FEATURES];
  float bias[FEATURES];
};

struct job {
  const struct projection *p;
  const clattn_arrays *arrays;
  const struct cpu_kernels *kernels;
  struct room *rooms;
  int64_t features; /* of a piece */
};

/* Rows first_row to first_row + rows and features first to first + features. */
struct piece {
  const struct job *job;
  struct room *room;
  int64_t first_row, rows, first, features;
};

/* Lanes of a group. */
static int group_lanes(const struct piece *piece, int g) {
  return (int)ctn_max(0, ctn_min(CPU_LANES, piece->rows - (int64_t)g * CPU_LANES));
}

/* Batch and length count as one. */
static int64_t row_start(const struct layout *layout, int64_t length, int64_t row) {
  return row / length * layout->batch + row % length * layout->row;
}

static void load_x(const struct piece *piece, int g, int64_t t, int64_t terms) {
  const struct projection *p = piece->job->p;
  const void *data = piece->job->arrays->x;
  const int lanes = group_lanes(piece, g);
  const float *rows[CPU_LANES];
  for (int l = 0; l < lanes; l++) {
    const int64_t start = row_start(&p->x, p->length, piece->first_row + (int64_t)g * CPU_LANES + l) + t;
    float *room = piece->room->rows + (size_t)l * TERMS;
    if (p->dtype != CLATTN_F32) piece->job->kernels->load_row(p->dtype, data, start, terms, room);
    rows[l] = p->dtype == CLATTN_F32 ? (const float *)data + start : room;
  }
  piece->job->kernels->transpose(piece->room->x[g], rows, lanes, terms, 1);
}

/* y (+)= x W^T over terms t to t + terms, for the piece's features from f to f + count. */
static void multiply(const struct piece *piece, int64_t f, int64_t count, int64_t t, int64_t terms) {
  const struct projection *p = piece->job->p;
  const void *data = piece->job->arrays->weight;
  const int64_t start = (piece->first + f) * p->in_features + t;
  const float *w = (const float *)data + start;
  int64_t pitch = p->in_features;
  if (p->dtype != CLATTN_F32) {
    for (int64_t n = 0; n < count; n++) {
      piece->job->kernels->load_row(p->dtype, data, start + n * p->in_features, terms, piece->room->w + n * TERMS);
    }
    w = piece->room->w;
    pitch = TERMS;
  }
  for (int g = 0; g < GROUPS && group_lanes(piece, g) > 0; g++) {
    piece->job->kernels->multiply(piece->room->y[g] + f * CPU_LANES, w, pitch, piece->room->x[g], count, terms,
                                  group_lanes(piece, g), t > 0);
  }
}

/* Adds the bias and stores, a row and a head at a time. */
static void store_row(const struct piece *piece, int g, int l) {
  const struct projection *p = piece->job->p;
  struct room *room = piece->room;
  const int64_t start = row_start(&p->out, p->length, piece->first_row + (int64_t)g * CPU_LANES + l);
  for (int64_t f = 0; f < piece->features; f++) {
    room->row[f] = room->y[g][f * CPU_LANES + l] + room->bias[f];
  }
  for (int64_t f = 0; f < piece->features;) {
    const int64_t h = (piece->first + f) / p->head_dim, d = (piece->first + f) % p->head_dim;
    const int64_t count = ctn_min(p->head_dim - d, piece->features - f);
    piece->job->kernels->store_row(p->dtype, piece->job->arrays->out, start + h * p->out.head + d, count, room->row + f);
    f += count;
  }
}

static void projection_piece(void *argument, int64_t index, int worker) {
  const struct job *job = argument;
  const struct projection *p = job->p;
  const int64_t all_features = p->heads * p->head_dim, blocks = ctn_ceil_div(all_features, job->features);
  struct piece piece = {.job = job, .room = &job->rooms[worker]};
  piece.first_row = index / blocks * ROWS;
  piece.first = index % blocks * job->features;
  piece.rows = ctn_min(ROWS, p->batch * p->length - piece.first_row);
  piece.features = ctn_min(job->features, all_features - piece.first);
  for (int64_t t = 0; t < p->in_features; t += TERMS) {
    const int64_t terms = ctn_min(TERMS, p->in_features - t);
    for (int g = 0; g < GROUPS; g++) {
      load_x(&piece, g, t, terms);
    }
    for (int64_t f = 0; f < piece.features; f += STRIP) {
      multiply(&piece, f, ctn_min(STRIP, piece.features - f), t, terms);
    }
  }
  memset(piece.room->bias, 0, sizeof piece.room->bias);
  if (p->has_bias) ctn_load_row(p->dtype, job->arrays->bias, piece.first, piece.features, piece.room->bias);
  for (int64_t r = 0; r < piece.rows; r++) {
    store_row(&piece, (int)(r / CPU_LANES), (int)(r % CPU_LANES));
  }
}

size_t ctn_cpu_projection_scratch(const struct projection *p, const struct pool *pool) {
  (void)p;
  return sizeof(struct room) * (size_t)ctn_pool_size(pool);
}

/* As many features as a piece can have, but fewer where that would leave threads idle. */
static int64_t features_of_piece(const struct projection *p, const struct pool *pool) {
  const int64_t row_blocks = ctn_ceil_div(p->batch * p->length, ROWS);
  const int64_t wanted = ctn_ceil_div((int64_t)PIECES_A_THREAD * ctn_pool_size(pool), row_blocks);
  const int64_t strips = ctn_ceil_div(ctn_ceil_div(p->heads * p->head_dim, wanted), STRIP);
  return ctn_min(FEATURES, strips * STRIP);
}

void ctn_cpu_projection_with(const struct cpu_kernels *kernels, const struct projection *p, const clattn_arrays *arrays,
                             struct pool *pool, void *scratch) {
  struct job job = {.p = p, .arrays = arrays, .kernels = kernels, .rooms = scratch};
  job.features = features_of_piece(p, pool);
  const int64_t row_blocks = ctn_ceil_div(p->batch * p->length, ROWS);
  ctn_pool_run(pool, row_blocks * ctn_ceil_div(p->heads * p->head_dim, job.features), projection_piece, &job);
}

void ctn_cpu_projection(const struct projection *p, const clattn_arrays *arrays, struct pool *pool, void *scratch) {
  ctn_cpu_projection_with(ctn_cpu_kernels_best(), p, arrays, pool, scratch);
}
