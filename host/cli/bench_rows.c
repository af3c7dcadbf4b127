/* Rows of a shape: one for each path, at sizes that the command line and a place's speed allow. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "half.h"

enum { LEAST_LENGTH = 64, SMALL = 8 };

struct bench_row *ctn_bench_new_row(struct bench *bench, const char *work) {
  if (bench->row_count == bench->row_room) {
    const int room = bench->row_room ? 2 * bench->row_room : 32;
    struct bench_row *rows = realloc(bench->rows, (size_t)room * sizeof *rows);
    if (!rows) return NULL;
    bench->rows = rows;
    bench->row_room = room;
  }
  struct bench_row *row = &bench->rows[bench->row_count++];
  memset(row, 0, sizeof *row);
  row->work = work;
  row->path_index = -1;
  row->product = bench->plan.product;
  row->group = bench->group_count;
  row->against = -1;
  row->inner = 1;
  return row;
}

void ctn_bench_divide(struct bench_shape *shape, int64_t divisor) {
  int64_t *const lengths[] = {&shape->q_len, &shape->kv_len, &shape->window};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    if (*lengths[i] > 1) *lengths[i] = *lengths[i] > divisor ? *lengths[i] / divisor : 1;
  }
}

/* Sizes from the command line in place of the work's own. One query stays one. */
struct bench_shape ctn_bench_sized(const struct bench *bench, enum bench_kind kind, struct bench_shape shape) {
  const struct bench_sizes *sizes = &bench->sizes;
  if (bench->small) ctn_bench_divide(&shape, SMALL);
  if (sizes->batch) shape.batch = sizes->batch;
  if (sizes->dtype) shape.dtype = sizes->dtype;
  if (sizes->seq && shape.q_len > 1) shape.q_len = sizes->seq;
  if (kind == BENCH_PROJECTION) {
    const int64_t heads = sizes->heads ? sizes->heads : 12, dim = sizes->head_dim ? sizes->head_dim : 64;
    shape.head_dim = shape.head_dim_v = heads * dim;
    return shape;
  }
  if (sizes->seq) shape.kv_len = sizes->seq;
  if (sizes->heads) shape.q_heads = shape.kv_heads = sizes->heads;
  if (sizes->kv_heads) shape.kv_heads = sizes->kv_heads;
  if (shape.q_heads % shape.kv_heads != 0) shape.q_heads = shape.kv_heads;
  if (sizes->head_dim) shape.head_dim = shape.head_dim_v = sizes->head_dim;
  if (sizes->window && shape.window) shape.window = sizes->window;
  return shape;
}

bool ctn_bench_same_shape(const struct bench_shape *a, const struct bench_shape *b) {
  return a->dtype == b->dtype && a->batch == b->batch && a->q_heads == b->q_heads && a->kv_heads == b->kv_heads &&
         a->q_len == b->q_len && a->kv_len == b->kv_len && a->head_dim == b->head_dim && a->head_dim_v == b->head_dim_v &&
         a->causal == b->causal && a->window == b->window;
}

/* In a sweep lengths stay: a row that takes too long is left out there. */
int64_t ctn_bench_divisor(const struct bench *bench, enum bench_kind kind, struct bench_shape shape, int path, double slower) {
  int64_t divisor = 1;
  for (;;) {
    struct bench_row row = {.kind = kind, .path_index = path, .shape = shape};
    ctn_bench_divide(&row.shape, divisor);
    ctn_bench_count(&row);
    if (bench->sweep.axis || bench->longest <= 0 || slower * ctn_bench_estimate(bench, &row) <= bench->longest) return divisor;
    if ((row.shape.q_len > 1 ? row.shape.q_len : row.shape.kv_len) / 2 < LEAST_LENGTH) return divisor;
    divisor *= 2;
  }
}

/* The row of this group that has the same work, shape and path, or NULL. */
static const struct bench_row *find(const struct bench *bench, const char *work, const struct bench_shape *shape, int path) {
  for (int i = 0; i < bench->row_count; i++) {
    const struct bench_row *row = &bench->rows[i];
    if (row->group == bench->group_count && strcmp(row->work, work) == 0 && row->path_index == path &&
        ctn_bench_same_shape(&row->shape, shape)) {
      return row;
    }
  }
  return NULL;
}

/* The row on the same path that this one is compared with: of row against's shape, at lengths divided alike. */
static int counterpart(const struct bench *bench, int against, int path, int64_t divisor) {
  if (against < 0) return -1;
  const struct bench_row *base = &bench->rows[against];
  struct bench_shape shape = base->whole;
  ctn_bench_divide(&shape, divisor);
  const struct bench_row *row = find(bench, base->work, &shape, path);
  return row ? (int)(row - bench->rows) : -1;
}

static bool add_row(struct bench *bench, enum bench_kind kind, const char *work, struct bench_shape whole, int path,
                    int64_t divisor, int against) {
  struct bench_shape shape = whole;
  ctn_bench_divide(&shape, divisor);
  if (find(bench, work, &shape, path)) return true;
  struct bench_row *row = ctn_bench_new_row(bench, work);
  if (!row) return false;
  row->kind = kind;
  row->path = bench->paths[path].name;
  row->path_index = path;
  row->place = bench->paths[path].place;
  row->shape = shape;
  row->whole = whole;
  row->against = counterpart(bench, against, path, divisor);
  ctn_bench_count(row);
  return true;
}

/* Only attention has more than one way on a device; only a device's stages leave the product to somebody. */
static bool has_path(const struct bench *bench, enum bench_kind kind, int path) {
  const struct bench_path *asked = &bench->paths[path];
  if (bench->products) return asked->path == CLATTN_PATH_STAGED;
  for (int p = 0; p < path && kind == BENCH_PROJECTION; p++) {
    if (bench->paths[p].place == asked->place && asked->place > 0) return false;
  }
  return true;
}

int ctn_bench_add_shape(struct bench *bench, enum bench_kind kind, const char *work, struct bench_shape shape,
                        const struct bench_shape *fit, int against) {
  const struct bench_shape actual = ctn_bench_sized(bench, kind, shape),
                           decides = ctn_bench_sized(bench, kind, fit ? *fit : shape);
  const int first = bench->row_count;
  for (int p = 0; p < bench->path_count; p++) {
    if (!has_path(bench, kind, p)) continue;
    const int64_t divisor = ctn_bench_divisor(bench, kind, decides, p, 1);
    if (!add_row(bench, kind, work, actual, p, divisor, against)) return -1;
    /* The CPU path at that size as well, so that both can be compared. */
    for (int host = 0; divisor > 1 && host < bench->path_count; host++) {
      if (bench->paths[host].path != CLATTN_PATH_CPU || host == p || bench->products) continue;
      if (!add_row(bench, kind, work, actual, host, divisor, against)) return -1;
    }
  }
  for (int i = 0; i < bench->row_count; i++) {
    const struct bench_row *row = &bench->rows[i];
    if (row->group == bench->group_count && strcmp(row->work, work) == 0 && ctn_bench_same_shape(&row->whole, &actual))
      return i;
  }
  return first; /* no path has such rows */
}

/* (query, key) pairs that one head attends. */
static double attended(const struct bench_shape *shape) {
  double pairs = 0;
  for (int64_t i = 0; i < shape->q_len; i++) {
    const int64_t end = shape->causal && i + 1 < shape->kv_len ? i + 1 : shape->kv_len;
    const int64_t start = shape->window && i + 1 > shape->window ? i + 1 - shape->window : 0;
    if (end > start) pairs += (double)(end - start);
  }
  return pairs;
}

void ctn_bench_count(struct bench_row *row) {
  const struct bench_shape *s = &row->shape;
  const double element = (double)ctn_dtype_size(s->dtype), in = (double)s->head_dim, out = (double)s->head_dim_v;
  if (row->kind == BENCH_ATTENTION) {
    row->flop = 2 * (in + out) * attended(s) * (double)(s->q_heads * s->batch);
    row->bytes =
        element * (double)s->batch * (in + out) * ((double)(s->q_heads * s->q_len) + (double)(s->kv_heads * s->kv_len));
  } else if (row->kind == BENCH_PROJECTION) {
    const double rows = (double)(s->batch * s->q_len);
    row->flop = 2 * rows * in * out;
    row->bytes = element * (rows * (in + out) + in * out);
  }
}
