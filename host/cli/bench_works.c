/* The works of `clattn bench`: which rows each consists of, at which sizes, and how much a row does. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "half.h"

enum { PEAK, MEMORY, PREFILL, CAUSAL, WINDOW, SHORT, PROJECT, OVERHEAD };

const char *const ctn_bench_works[] = {[PEAK] = "peak",       [MEMORY] = "memory",     [PREFILL] = "prefill",
                                       [CAUSAL] = "causal",   [WINDOW] = "window",     [SHORT] = "short",
                                       [PROJECT] = "project", [OVERHEAD] = "overhead", NULL};

/* A row more, or NULL where memory ran out. */
static struct bench_row *new_row(struct bench *bench, const char *work) {
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
  row->group = bench->group_count;
  row->against = -1;
  return row;
}

/* Sizes from the command line in place of the work's own. */
static struct bench_shape sized(const struct bench *bench, enum bench_kind kind, struct bench_shape shape) {
  const struct bench_sizes *sizes = &bench->sizes;
  if (sizes->batch) shape.batch = sizes->batch;
  if (sizes->dtype) shape.dtype = sizes->dtype;
  if (sizes->seq) shape.q_len = sizes->seq;
  if (kind == BENCH_PROJECTION) {
    const int64_t heads = sizes->heads ? sizes->heads : 12, dim = sizes->head_dim ? sizes->head_dim : 64;
    shape.head_dim = shape.head_dim_v = heads * dim;
    return shape;
  }
  if (sizes->seq) shape.kv_len = sizes->seq;
  if (sizes->heads) shape.q_heads = shape.kv_heads = sizes->heads;
  if (sizes->kv_heads) shape.kv_heads = sizes->kv_heads;
  if (sizes->head_dim) shape.head_dim = shape.head_dim_v = sizes->head_dim;
  if (sizes->window && shape.window) shape.window = sizes->window;
  return shape;
}

static bool same(const struct bench_shape *a, const struct bench_shape *b) {
  return a->dtype == b->dtype && a->batch == b->batch && a->q_heads == b->q_heads && a->kv_heads == b->kv_heads &&
         a->q_len == b->q_len && a->kv_len == b->kv_len && a->head_dim == b->head_dim && a->head_dim_v == b->head_dim_v &&
         a->causal == b->causal && a->window == b->window;
}

/* A row for each path, compared with the rows from `against` on; the first one's index, or -1 where memory ran out. Sizes from
 * the command line can make two shapes the same: then the rows that are there serve. */
static int add_shape(struct bench *bench, enum bench_kind kind, const char *work, struct bench_shape shape, int against) {
  const struct bench_shape actual = sized(bench, kind, shape);
  for (int i = 0; i < bench->row_count; i++) {
    if (bench->rows[i].work == work && bench->rows[i].kind == kind && same(&bench->rows[i].shape, &actual)) return i;
  }
  const int first = bench->row_count;
  bool on_device = false;
  for (int p = 0; p < bench->path_count; p++) {
    /* Only attention has more than one way on a device. */
    if (kind == BENCH_PROJECTION && on_device && !bench->paths[p].on_host) continue;
    if (!bench->paths[p].on_host) on_device = true;
    struct bench_row *row = new_row(bench, work);
    if (!row) return -1;
    row->kind = kind;
    row->path = bench->paths[p].name;
    row->plan_path = bench->paths[p].path;
    row->on_host = bench->paths[p].on_host;
    row->shape = actual;
    row->against = against < 0 ? -1 : against + p;
    ctn_bench_count(row);
  }
  return first;
}

static bool add_prefill(struct bench *bench) {
  for (int64_t dim = 64; dim <= 128; dim += 64) {
    struct bench_shape shape = {CLATTN_F32, 1, 8, 8, 1920, 1920, dim, dim, false, 0};
    const int f32 = add_shape(bench, BENCH_ATTENTION, "prefill", shape, -1);
    shape.q_len = shape.kv_len = 1999;
    const int awkward = add_shape(bench, BENCH_ATTENTION, "prefill", shape, -1);
    shape.q_len = shape.kv_len = 1920;
    shape.dtype = CLATTN_F16;
    const int f16 = add_shape(bench, BENCH_ATTENTION, "prefill", shape, f32);
    shape.dtype = CLATTN_BF16;
    const int bf16 = add_shape(bench, BENCH_ATTENTION, "prefill", shape, f32);
    if (f32 < 0 || awkward < 0 || f16 < 0 || bf16 < 0) return false;
    bench->group_count++;
  }
  return true;
}

/* shape's time against that of the wider one. */
static bool add_pair(struct bench *bench, const char *wide, const char *narrow, struct bench_shape shape, bool causal,
                     int window) {
  const int first = add_shape(bench, BENCH_ATTENTION, wide, shape, -1);
  shape.causal = causal;
  shape.window = window;
  return first >= 0 && add_shape(bench, BENCH_ATTENTION, narrow, shape, first) >= 0;
}

/* Calls on a tiny problem, where nothing but the call costs, against an empty kernel's. Device paths only. */
static bool add_overhead(struct bench *bench) {
  const struct bench_shape shape = {CLATTN_F32, 1, 1, 1, 4, 4, 6, 6, false, 0}, none = {0};
  struct bench_row *row = NULL;
  const int empty = bench->row_count;
  for (int p = 0; p < bench->path_count; p++) {
    if (bench->paths[p].on_host) continue;
    if (!row) {
      row = new_row(bench, "overhead-empty");
      if (!row) return false;
      row->kind = BENCH_EMPTY;
      row->path = "opencl";
      row->shape = none;
    }
    row = new_row(bench, "overhead");
    if (!row) return false;
    row->kind = BENCH_ATTENTION;
    row->path = bench->paths[p].name;
    row->plan_path = bench->paths[p].path;
    row->shape = shape;
    row->against = empty;
    ctn_bench_count(row);
  }
  return true;
}

static bool add_meter(struct bench *bench, const char *work, const char *path, bool on_host) {
  struct bench_row *row = new_row(bench, work);
  if (!row) return false;
  row->kind = BENCH_METER;
  row->path = path;
  row->on_host = on_host;
  return true;
}

bool ctn_bench_add(struct bench *bench, int work) {
  bool done = true;
  switch (work) {
    case PEAK:
      done = add_meter(bench, "peak", "native", true) && (!bench->device || add_meter(bench, "peak", "opencl", false));
      break;
    case MEMORY:
      done = add_meter(bench, "memory", "native", true);
      break;
    case PREFILL:
      return add_prefill(bench);
    case CAUSAL:
      done = add_pair(bench, "causal-full", "causal", (struct bench_shape){CLATTN_F32, 1, 8, 8, 4096, 4096, 64, 64, false, 0},
                      true, 0);
      break;
    case WINDOW:
      done = add_pair(bench, "window-causal", "window", (struct bench_shape){CLATTN_F32, 1, 8, 8, 8192, 8192, 64, 64, true, 0},
                      true, 512);
      break;
    case SHORT:
      for (int64_t batch = 1; batch <= 8 && done; batch += 7) {
        const struct bench_shape shape = {CLATTN_F32, batch, 12, 12, 128, 128, 64, 64, false, 0};
        done = add_shape(bench, BENCH_ATTENTION, "short", shape, -1) >= 0;
      }
      break;
    case PROJECT:
      done = add_shape(bench, BENCH_PROJECTION, "project",
                       (struct bench_shape){CLATTN_F32, 1, 0, 0, 2048, 0, 768, 768, false, 0}, -1) >= 0;
      break;
    default:
      done = add_overhead(bench);
      break;
  }
  bench->group_count++;
  return done;
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
