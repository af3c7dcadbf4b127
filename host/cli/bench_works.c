/* The works of `clattn bench`: which rows each consists of, at which sizes. */
#include <string.h>

#include "bench.h"

enum { PEAK, MEMORY, PREFILL, CAUSAL, WINDOW, SHORT, DECODE, PROJECT, PRODUCT, SPLIT, OVERHEAD };

const char *const ctn_bench_works[] = {
    [PEAK] = "peak",       [MEMORY] = "memory", [PREFILL] = "prefill",   [CAUSAL] = "causal",
    [WINDOW] = "window",   [SHORT] = "short",   [DECODE] = "decode",     [PROJECT] = "project",
    [PRODUCT] = "product", [SPLIT] = "split",   [OVERHEAD] = "overhead", NULL};

static const struct bench_shape causal_full = {CLATTN_F32, 1, 8, 8, 4096, 4096, 64, 64, false, 0};
static const struct bench_shape window_causal = {CLATTN_F32, 1, 8, 8, 8192, 8192, 64, 64, true, 0};
static const struct bench_shape projection = {CLATTN_F32, 1, 0, 0, 2048, 0, 768, 768, false, 0};

int ctn_bench_work(const char *name) {
  for (int i = 0; ctn_bench_works[i]; i++) {
    if (strcmp(ctn_bench_works[i], name) == 0) return i;
  }
  return -1;
}

bool ctn_bench_work_can_sweep(int work) {
  return work >= PREFILL && work <= PROJECT;
}

static bool add_prefill(struct bench *bench) {
  for (int64_t dim = 64; dim <= 128; dim += 64) {
    struct bench_shape shape = {CLATTN_F32, 1, 8, 8, 1920, 1920, dim, dim, false, 0};
    const struct bench_shape fit = {CLATTN_F32, 1, 8, 8, 1999, 1999, dim, dim, false, 0};
    const int f32 = ctn_bench_add_shape(bench, BENCH_ATTENTION, "prefill", shape, &fit, -1);
    const int awkward = ctn_bench_add_shape(bench, BENCH_ATTENTION, "prefill", fit, &fit, -1);
    shape.dtype = CLATTN_F16;
    const int f16 = ctn_bench_add_shape(bench, BENCH_ATTENTION, "prefill", shape, &fit, f32);
    shape.dtype = CLATTN_BF16;
    const int bf16 = ctn_bench_add_shape(bench, BENCH_ATTENTION, "prefill", shape, &fit, f32);
    if (f32 < 0 || awkward < 0 || f16 < 0 || bf16 < 0) return false;
    bench->group_count++;
  }
  return true;
}

/* shape's time against that of the wider one. */
static bool add_pair(struct bench *bench, const char *wide, const char *narrow, struct bench_shape shape, bool causal,
                     int window) {
  const struct bench_shape fit = shape;
  const int first = ctn_bench_add_shape(bench, BENCH_ATTENTION, wide, shape, &fit, -1);
  shape.causal = causal;
  shape.window = window;
  return first >= 0 && ctn_bench_add_shape(bench, BENCH_ATTENTION, narrow, shape, &fit, first) >= 0;
}

/* One query over a long key axis, as when a text is continued: so many query heads read each key head. */
static bool add_decode(struct bench *bench) {
  static const int64_t groups[] = {1, 4, 8};
  for (int type = CLATTN_F32; type <= CLATTN_F16; type++) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
      const struct bench_shape shape = {(clattn_dtype)type, 1, 8 * groups[i], 8, 1, 8192, 128, 128, false, 0};
      if (ctn_bench_add_shape(bench, BENCH_ATTENTION, "decode", shape, NULL, -1) < 0) return false;
    }
  }
  return true;
}

/* Who multiplies matrices, CLBlast or the own kernel: of staged attention and of a projection. */
static bool add_products(struct bench *bench) {
  const struct bench_shape shape = {CLATTN_F32, 1, 8, 8, 1024, 1024, 64, 64, false, 0};
  const clattn_product asked = bench->plan.product;
  bool done = true;
  bench->products = true;
  for (int kind = BENCH_ATTENTION; kind <= BENCH_PROJECTION && done; kind++) {
    const struct bench_shape of = kind == BENCH_PROJECTION ? projection : shape;
    bench->plan.product = CLATTN_PRODUCT_OWN;
    const int own = ctn_bench_add_shape(bench, (enum bench_kind)kind, "product-own", of, NULL, -1);
    bench->plan.product = CLATTN_PRODUCT_CLBLAST;
    done = own >= 0 && ctn_bench_add_shape(bench, (enum bench_kind)kind, "product-clblast", of, NULL,
                                           own < bench->row_count ? own : -1) >= 0;
  }
  bench->products = false;
  bench->plan.product = asked;
  return done;
}

/* Calls on a tiny problem, where nothing but the call costs, against an empty kernel's. Devices alone. */
static bool add_overhead(struct bench *bench) {
  const struct bench_shape shape = {CLATTN_F32, 1, 1, 1, 4, 4, 6, 6, false, 0};
  int empty = -1;
  for (int p = 0; p < bench->path_count; p++) {
    const int place = bench->paths[p].place;
    if (place == 0) continue;
    if (empty < 0 || bench->rows[empty].place != place) {
      struct bench_row *row = ctn_bench_new_row(bench, "overhead-empty");
      if (!row) return false;
      row->kind = BENCH_EMPTY;
      row->path = "opencl";
      row->place = place;
      empty = (int)(row - bench->rows);
    }
    struct bench_row *row = ctn_bench_new_row(bench, "overhead");
    if (!row) return false;
    row->kind = BENCH_ATTENTION;
    row->path = bench->paths[p].name;
    row->path_index = p;
    row->place = place;
    row->shape = row->whole = shape;
    row->against = empty;
  }
  return true;
}

static bool add_meters(struct bench *bench, const char *work, enum bench_kind kind) {
  for (int place = 0; place < bench->place_count; place++) {
    struct bench_row *row = ctn_bench_new_row(bench, work);
    if (!row) return false;
    row->kind = kind;
    row->path = place ? "opencl" : "native";
    row->place = place;
  }
  return true;
}

static bool add_short(struct bench *bench) {
  for (int64_t batch = 1; batch <= 8; batch += 7) {
    const struct bench_shape shape = {CLATTN_F32, batch, 12, 12, 128, 128, 64, 64, false, 0};
    if (ctn_bench_add_shape(bench, BENCH_ATTENTION, "short", shape, NULL, -1) < 0) return false;
  }
  return true;
}

/* One shape of each work, at every swept value: a group for each. */
static bool add_swept(struct bench *bench, int work) {
  static const struct bench_shape shapes[] = {[PREFILL] = {CLATTN_F32, 1, 8, 8, 1920, 1920, 64, 64, false, 0},
                                              [CAUSAL] = {CLATTN_F32, 1, 8, 8, 4096, 4096, 64, 64, true, 0},
                                              [WINDOW] = {CLATTN_F32, 1, 8, 8, 8192, 8192, 64, 64, true, 512},
                                              [SHORT] = {CLATTN_F32, 1, 12, 12, 128, 128, 64, 64, false, 0},
                                              [DECODE] = {CLATTN_F32, 1, 8, 8, 1, 8192, 128, 128, false, 0}};
  const struct bench_sizes sizes = bench->sizes;
  bool done = true;
  for (int i = 0; i < bench->sweep.count && done; i++) {
    bench->sizes = ctn_bench_sweep_sizes(&bench->sweep, sizes, i);
    done = ctn_bench_add_shape(bench, work == PROJECT ? BENCH_PROJECTION : BENCH_ATTENTION, ctn_bench_works[work],
                               work == PROJECT ? projection : shapes[work], NULL, -1) >= 0;
    for (int n = 0; n < bench->row_count; n++) {
      if (bench->rows[n].group == bench->group_count) bench->rows[n].swept = bench->sweep.values[i];
    }
    bench->group_count++;
  }
  bench->sizes = sizes;
  return done;
}

bool ctn_bench_add(struct bench *bench, int work) {
  bool done = true;
  if (bench->sweep.axis) return add_swept(bench, work);
  switch (work) {
    case PEAK:
      done = add_meters(bench, "peak", BENCH_METER);
      break;
    case MEMORY:
      done = add_meters(bench, "memory", BENCH_READER);
      break;
    case PREFILL:
      return add_prefill(bench);
    case CAUSAL:
      done = add_pair(bench, "causal-full", "causal", causal_full, true, 0);
      break;
    case WINDOW:
      done = add_pair(bench, "window-causal", "window", window_causal, true, 512);
      break;
    case SHORT:
      done = add_short(bench);
      break;
    case DECODE:
      done = add_decode(bench);
      break;
    case PROJECT:
      done = ctn_bench_add_shape(bench, BENCH_PROJECTION, "project", projection, NULL, -1) >= 0;
      break;
    case PRODUCT:
      done = add_products(bench);
      break;
    case SPLIT:
      return ctn_bench_add_split(bench);
    default:
      done = add_overhead(bench);
      break;
  }
  bench->group_count++;
  return done;
}
