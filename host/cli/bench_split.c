/* The work `split`: one problem over the two halves of a device, and over all devices at once, against one of them alone. Runs
 * are on arrays of the host, because a split's are. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "status.h"

static const struct bench_shape prefill = {CLATTN_F32, 1, 8, 8, 1920, 1920, 64, 64, false, 0};

/* The way that rows of this work take at a place: the first there is; -1: none. */
static int path_at(const struct bench *bench, int place) {
  for (int p = 0; p < bench->path_count; p++) {
    if (bench->paths[p].place == place) return p;
  }
  return -1;
}

static bool is_member(const struct bench_row *row, int place) {
  return (row->members >> place & 1) != 0;
}

clattn_path ctn_bench_path_of(const struct bench *bench, const struct bench_row *row) {
  clattn_path path = CLATTN_PATH_AUTO;
  if (row->path_index >= 0) return bench->paths[row->path_index].path;
  for (int place = bench->place_count - 1; place >= 0; place--) {
    if (!is_member(row, place)) continue;
    const clattn_path here = bench->paths[path_at(bench, place)].path;
    if (path != CLATTN_PATH_AUTO && path != here) return CLATTN_PATH_AUTO;
    path = here;
  }
  return path;
}

/* A row at a place; its index, or -1 where memory ran out. */
static int add_row(struct bench *bench, const char *work, enum bench_on on, int place, struct bench_shape whole,
                   int64_t divisor) {
  struct bench_row *row = ctn_bench_new_row(bench, work);
  if (!row) return -1;
  row->kind = BENCH_ATTENTION;
  row->on = on;
  row->place = place;
  row->shape = row->whole = whole;
  ctn_bench_divide(&row->shape, divisor);
  if (on != BENCH_TOGETHER) {
    row->path_index = path_at(bench, place);
    row->path = bench->paths[row->path_index].name;
  }
  ctn_bench_count(row);
  return (int)(row - bench->rows);
}

static bool add_halves(struct bench *bench, int place, struct bench_shape whole) {
  enum { SLOWER = 2 }; /* one half than the whole */
  static const struct {
    const char *work;
    enum bench_on on;
  } against[] = {{"split-whole", BENCH_ARRAYS}, {"split-part", BENCH_PART}};
  clattn_error error = CLATTN_ERROR_INIT;
  struct bench_place *at = &bench->places[place];
  const int64_t divisor = ctn_bench_divisor(bench, BENCH_ATTENTION, whole, path_at(bench, place), SLOWER);
  const clattn_status status = clattn_context_partition(at->parts, BENCH_PARTS, at->context, &bench->context, &error);
  const int parts = add_row(bench, "split-parts", BENCH_BOTH_PARTS, place, whole, divisor);
  if (parts < 0) return false;
  if (status != CLATTN_OK) {
    const bool failed = status == CLATTN_OPENCL_FAILED || status == CLATTN_INTERNAL;
    ctn_bench_fail(&bench->rows[parts], failed ? BENCH_FAILED : BENCH_REFUSED, error.text);
  }
  for (size_t i = 0; status == CLATTN_OK && i < sizeof against / sizeof *against; i++) {
    const int row = add_row(bench, against[i].work, against[i].on, place, whole, divisor);
    if (row < 0) return false;
    bench->rows[row].against = parts;
  }
  bench->group_count++;
  return true;
}

/* The places that can share one problem. The host's threads are among them where no device has the same processor. */
static unsigned find_members(const struct bench *bench) {
  bool shared = false;
  unsigned members = 0;
  for (int place = 1; place < bench->place_count; place++) {
    if (path_at(bench, place) < 0) continue;
    members |= 1u << place;
    shared = shared || ctn_bench_shares_host(bench, place);
  }
  if (!shared && path_at(bench, 0) >= 0) members |= 1u;
  return members;
}

static double speed_at(const struct bench *bench, int place) {
  return bench->paths[path_at(bench, place)].speed;
}

/* One that is slower than all pairs one after another on the fastest gets none of them: no reason to measure for long. */
static bool too_slow(const struct bench *bench, int place, int fastest, struct bench_shape shape) {
  static const double soon = 5; /* seconds */
  const double speed = speed_at(bench, place);
  struct bench_row row = {.kind = BENCH_ATTENTION, .shape = shape};
  ctn_bench_count(&row);
  return speed > 0 && row.flop / speed > soon && speed * (double)(shape.batch * shape.kv_heads) < speed_at(bench, fastest);
}

static bool leave_out(struct bench *bench, const char *work, int place, int fastest, struct bench_shape whole,
                      int64_t divisor) {
  clattn_error error = CLATTN_ERROR_INIT;
  const int row = add_row(bench, work, BENCH_ARRAYS, place, whole, divisor);
  if (row < 0) return false;
  ctn_fail(&error, CLATTN_UNSUPPORTED, "%.0f times slower than %s, so a split gives it none of %lld pairs",
           speed_at(bench, fastest) / speed_at(bench, place), bench->places[fastest].name,
           (long long)(whole.batch * whole.kv_heads));
  ctn_bench_fail(&bench->rows[row], BENCH_REFUSED, error.text);
  return true;
}

static const char *name_path(const struct bench *bench, clattn_path path) {
  for (int p = 0; p < bench->path_count; p++) {
    if (bench->paths[p].path == path) return bench->paths[p].name;
  }
  return "auto";
}

static bool add_together(struct bench *bench, struct bench_shape whole) {
  const unsigned all = find_members(bench);
  unsigned members = 0;
  int fastest = -1, first = -1, together = -1;
  if ((all & (all - 1)) == 0) return true;                         /* one, or none */
  if (bench->longest <= 0 || bench->small) ctn_bench_probe(bench); /* nobody did */
  for (int place = 0; place < bench->place_count; place++) {
    if ((all >> place & 1) && (fastest < 0 || speed_at(bench, place) > speed_at(bench, fastest))) fastest = place;
  }
  for (int place = 0; place < bench->place_count; place++) {
    if (!(all >> place & 1) || too_slow(bench, place, fastest, whole)) continue;
    members |= 1u << place;
    if (first <= 0) first = place; /* a device rather than the host */
  }
  const int64_t divisor = ctn_bench_divisor(bench, BENCH_ATTENTION, whole, path_at(bench, fastest), 1);
  if (members & (members - 1)) {
    together = add_row(bench, "split-all", BENCH_TOGETHER, first, whole, divisor);
    if (together < 0) return false;
    struct bench_row *row = &bench->rows[together];
    row->members = members;
    row->path = name_path(bench, ctn_bench_path_of(bench, row));
  }
  for (int n = 1; n <= bench->place_count; n++) {
    const int place = n % bench->place_count; /* the host is last */
    if ((all & ~members) >> place & 1) {
      if (!leave_out(bench, "split-all", place, fastest, whole, divisor)) return false;
    } else if (together >= 0 && (members >> place & 1)) {
      const int row = add_row(bench, "split-alone", BENCH_ARRAYS, place, whole, divisor);
      if (row < 0) return false;
      bench->rows[row].against = together;
    }
  }
  bench->group_count++;
  return true;
}

bool ctn_bench_add_split(struct bench *bench) {
  const struct bench_shape whole = ctn_bench_sized(bench, BENCH_ATTENTION, prefill);
  for (int place = 1; place < bench->place_count; place++) {
    if (path_at(bench, place) >= 0 && !add_halves(bench, place, whole)) return false;
  }
  return add_together(bench, whole);
}

/* The contexts of a split; how many. */
static size_t contexts_of(const struct bench *bench, const struct bench_row *row, clattn_context *contexts[BENCH_PLACES]) {
  size_t count = 0;
  if (row->on == BENCH_BOTH_PARTS) {
    for (; count < BENCH_PARTS; count++)
      contexts[count] = bench->places[row->place].parts[count];
    return count;
  }
  for (int n = 1; n <= bench->place_count; n++) {
    const int place = n % bench->place_count;
    if (is_member(row, place)) contexts[count++] = bench->places[place].context;
  }
  return count;
}

void ctn_bench_member(const struct bench *bench, const struct bench_row *row, int index, char *text, size_t room) {
  if (row->on == BENCH_BOTH_PARTS) {
    snprintf(text, room, "part %d of %d of %s", index + 1, BENCH_PARTS, bench->places[row->place].name);
    return;
  }
  for (int n = 1; n <= bench->place_count; n++) {
    const int place = n % bench->place_count;
    if (is_member(row, place) && index-- == 0) snprintf(text, room, "%s", bench->places[place].name);
  }
}

void ctn_bench_device(const struct bench *bench, const struct bench_row *row, struct text *name, struct text *on) {
  const struct bench_place *at = &bench->places[row->place];
  if (row->on == BENCH_PART) ctn_text_printf(name, "part 1 of %d of %s", BENCH_PARTS, at->name);
  if (row->on == BENCH_BOTH_PARTS) ctn_text_printf(name, "%d parts of %s", BENCH_PARTS, at->name);
  if (row->on == BENCH_BUFFERS || row->on == BENCH_ARRAYS) ctn_text_printf(name, "%s", at->name);
  if (row->on == BENCH_PART || row->on == BENCH_BOTH_PARTS) ctn_text_printf(on, "%d", at->index);
  if (row->on != BENCH_TOGETHER) return;
  const char *between = "", *sign = "";
  for (int n = 1; n <= bench->place_count; n++) {
    const int place = n % bench->place_count;
    if (!is_member(row, place)) continue;
    ctn_text_printf(name, "%s%s", between, bench->places[place].name);
    if (place) ctn_text_printf(on, "%s%d", sign, bench->places[place].index);
    if (!place) ctn_text_printf(on, "%shost", sign);
    between = " and ", sign = "+";
  }
}

clattn_status ctn_bench_make_split(struct bench_job *job, const struct bench *bench, const struct bench_row *row,
                                   clattn_error *error) {
  clattn_context *contexts[BENCH_PLACES];
  clattn_plan_options plan = bench->plan;
  clattn_split_options options = CLATTN_SPLIT_OPTIONS_INIT;
  const clattn_problem problem = ctn_bench_attention(&row->shape);
  const size_t count = contexts_of(bench, row, contexts);
  plan.path = ctn_bench_path_of(bench, row);
  plan.product = row->product;
  options.plan = &plan;
  const clattn_status status = clattn_split_create(&job->split, contexts, count, &problem, &options, error);
  for (size_t i = 0; status == CLATTN_OK && i < count; i++) {
    char name[200] = "";
    if (clattn_split_share(job->split, i) < 1) continue;
    ctn_bench_member(bench, row, (int)i, name, sizeof name);
    return ctn_fail(error, CLATTN_UNSUPPORTED,
                    "%s would compute all of it: by the speeds measured, the others get none of %lld pairs", name,
                    (long long)(problem.batch * problem.kv_heads));
  }
  return status;
}

void ctn_bench_note_shares(const struct bench *bench, struct bench_row *row, const struct bench_job *job) {
  clattn_context *contexts[BENCH_PLACES];
  row->share_count = (int)contexts_of(bench, row, contexts);
  for (int i = 0; i < row->share_count; i++)
    row->shares[i] = clattn_split_share(job->split, (size_t)i);
}
