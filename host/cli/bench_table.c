/* What `clattn bench` found: a table with ratios and notes, and the same rows as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "half.h"
#include "print.h"

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double ctn_bench_quantile(const struct bench_row *row, double share) {
  const size_t count = (size_t)row->count;
  double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return NAN;
  memcpy(sorted, row->samples, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_value);
  const double place = share * (double)(count - 1);
  const size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
  const double value = sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
  free(sorted);
  return value;
}

double ctn_bench_median(const struct bench_row *row) {
  return ctn_bench_quantile(row, 0.5);
}

static double smallest(const struct bench_row *row) {
  double least = row->count ? row->samples[0] : NAN;
  for (int i = 1; i < row->count; i++)
    least = fmin(least, row->samples[i]);
  return least;
}

static bool finished(const struct bench_row *row) {
  return row->state == BENCH_READY && row->count > 0;
}

/* Three digits and a unit. */
static const char *time_text(double seconds, char text[24]) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  while (seconds < 1 && unit < 3) {
    seconds *= 1000;
    unit++;
  }
  snprintf(text, 24, "%.*f %s", seconds < 10 ? 2 : seconds < 100 ? 1 : 0, seconds, units[unit]);
  return text;
}

static const char *rate_text(double amount, double seconds, char text[24]) {
  const double rate = amount / seconds * 1e-9;
  snprintf(text, 24, "%.*f", rate < 10 ? 2 : rate < 100 ? 1 : 0, rate);
  if (amount <= 0) snprintf(text, 24, "-");
  return text;
}

static const char *heads_text(const struct bench_shape *s, char text[80]) {
  snprintf(text, 80, "%lld x %lld", (long long)s->batch, (long long)s->q_heads);
  if (s->kv_heads != s->q_heads) {
    snprintf(text, 80, "%lld x %lld/%lld", (long long)s->batch, (long long)s->q_heads, (long long)s->kv_heads);
  }
  return text;
}

/* What identifies a row: 65 columns with work, path and type. */
static void print_name(const struct bench_row *row) {
  const struct bench_shape *s = &row->shape;
  char heads[80] = "", sizes[80] = "", dim[80] = "";
  if (row->kind == BENCH_ATTENTION) {
    heads_text(s, heads);
    snprintf(sizes, sizeof sizes, "%lld x %lld", (long long)s->q_len, (long long)s->kv_len);
    snprintf(dim, sizeof dim, "%lld", (long long)s->head_dim);
  } else if (row->kind == BENCH_PROJECTION) {
    snprintf(sizes, sizeof sizes, "%lld rows", (long long)(s->batch * s->q_len));
    snprintf(dim, sizeof dim, "%lld", (long long)s->head_dim);
  }
  const bool plain = row->kind == BENCH_EMPTY || row->kind == BENCH_METER;
  printf("%-14s  %-6s  %-4s  %7s  %11s  %3s", row->work, row->path, plain ? "" : ctn_dtype_name(s->dtype), heads, sizes, dim);
}

static void print_row(const struct bench_row *row) {
  char median[24], least[24], flop[24], bytes[24], share[24] = "-";
  const double seconds = ctn_bench_median(row);
  print_name(row);
  if (row->peak > 0 && row->flop > 0) snprintf(share, sizeof share, "%.0f %%", 100 * row->flop / seconds / row->peak);
  const bool meter = row->kind == BENCH_METER;
  printf("  %8s  %8s  %7s  %5s  %6s\n", meter ? "" : time_text(seconds, median), meter ? "" : time_text(smallest(row), least),
         rate_text(row->flop, seconds, flop), rate_text(row->bytes, seconds, bytes), share);
}

static void print_ratios(const struct bench *bench) {
  bool title = false;
  for (int i = 0; i < bench->row_count; i++) {
    const struct bench_row *row = &bench->rows[i];
    if (row->against < 0 || !finished(row) || !finished(&bench->rows[row->against])) continue;
    const struct bench_row *base = &bench->rows[row->against];
    if (row == base) continue;
    if (!title) printf("\nratio of the medians, each measured in turns\n");
    title = true;
    const bool types = row->shape.dtype != base->shape.dtype && row->work == base->work;
    char heading[80], dim[40] = "";
    snprintf(heading, sizeof heading, "%s / %s", types ? ctn_dtype_name(row->shape.dtype) : row->work,
             types ? ctn_dtype_name(base->shape.dtype) : base->work);
    snprintf(dim, sizeof dim, "%lld x %lld, %lld", (long long)row->shape.q_len, (long long)row->shape.kv_len,
             (long long)row->shape.head_dim);
    printf("%-30s  %-9s  %18s  %6.3f\n", heading, row->path, dim, ctn_bench_median(row) / ctn_bench_median(base));
  }
}

/* Rows of one reason in one line each: what did not run, and what failed. */
static void print_missing(const struct bench *bench, enum bench_state state, const char *title) {
  bool first = true;
  for (int i = 0; i < bench->row_count; i++) {
    const struct bench_row *row = &bench->rows[i];
    if (row->state != state) continue;
    if (first) printf("\n%s\n", title);
    first = false;
    print_name(row);
    char reason[sizeof row->reason];
    memcpy(reason, row->reason, sizeof reason);
    printf("\n  %s\n", ctn_one_line(reason));
  }
}

static void print_notes(const struct bench *bench) {
  printf(
      "\nsizes: batch x heads (query heads/key-value heads), queries x keys, numbers a head (D)\n"
      "GFLOP/s: 4 x D a pair of query and key that is attended, 2 x in x out a projected row, over the median time\n"
      "GB/s: inputs and results once, over the median time\n"
      "of peak: share of the fused multiply-adds that the same processor did in bursts between these runs\n");
  if (bench->peak_native > 0) {
    printf("peak on the host: %.0f GFLOP/s (%s)\n", bench->peak_native * 1e-9, ctn_peak_native_name(bench->peak));
  }
  if (bench->peak_high > 1.5 * bench->peak_low) {
    printf("the machine was busy with other things: half of the bursts on the host were between %.0f and %.0f GFLOP/s\n",
           bench->peak_low * 1e-9, bench->peak_high * 1e-9);
  }
  if (bench->peak_device > 0) {
    printf("peak through OpenCL: %.0f GFLOP/s (%s)\n", bench->peak_device * 1e-9, ctn_peak_device_name(bench->peak));
  }
}

void ctn_bench_print(struct bench *bench) {
  const clattn_device_info *info = bench->device ? clattn_context_device(bench->device) : NULL;
  int waiting = 0;
  printf("device: %s%s%s%s\n\n", info ? info->name : "the host alone", info ? " (" : "", info ? info->platform_name : "",
         info ? ")" : "");
  printf("%-14s  %-6s  %-4s  %7s  %11s  %3s  %8s  %8s  %7s  %5s  %6s\n", "work", "path", "type", "heads", "sizes", "D",
         "median", "fastest", "GFLOP/s", "GB/s", "of peak");
  for (int i = 0; i < bench->row_count; i++) {
    if (finished(&bench->rows[i])) print_row(&bench->rows[i]);
    waiting += bench->rows[i].state == BENCH_WAITING || (bench->rows[i].state == BENCH_READY && !bench->rows[i].count);
  }
  print_ratios(bench);
  print_missing(bench, BENCH_REFUSED, "left out, because a path does not take it");
  print_missing(bench, BENCH_FAILED, "FAILED");
  if (waiting) printf("\ninterrupted: %d of %d rows were not measured\n", waiting, bench->row_count);
  print_notes(bench);
}

static json_t *size_json(int64_t size) {
  return size > 0 ? json_integer((json_int_t)size) : json_null();
}

static json_t *number_json(double value) {
  return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *row_json(const struct bench *bench, const struct bench_row *row) {
  const struct bench_shape *s = &row->shape;
  const clattn_device_info *info = bench->device && !row->on_host ? clattn_context_device(bench->device) : NULL;
  const double median = finished(row) ? ctn_bench_median(row) : NAN, rate = row->flop / median;
  const bool plain = row->kind == BENCH_EMPTY, meter = row->kind == BENCH_METER;
  json_t *value = json_object();
  const struct {
    const char *key;
    json_t *value;
  } entries[] = {
      {"work", json_string(row->work)},
      {"path", json_string(row->path)},
      {"device", json_string(info ? info->name : "host")},
      {"dtype", plain ? json_null() : json_string(ctn_dtype_name(meter ? CLATTN_F32 : s->dtype))},
      {"batch", size_json(s->batch)},
      {"q_heads", size_json(s->q_heads)},
      {"kv_heads", size_json(s->kv_heads)},
      {"q_len", size_json(s->q_len)},
      {"kv_len", size_json(s->kv_len)},
      {"head_dim", size_json(s->head_dim)},
      {"head_dim_v", size_json(s->head_dim_v)},
      {"min_s", number_json(smallest(row))},
      {"median_s", number_json(median)},
      {"gflops", number_json(rate * 1e-9)},
      {"gb_s", number_json(row->bytes / median * 1e-9)},
      {"share_of_peak", number_json(row->peak > 0 ? rate / row->peak : NAN)},
  };
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    if (json_object_set_new(value, entries[i].key, entries[i].value) == 0) continue;
    json_decref(value);
    value = NULL; /* setting in it fails, and releases what is left */
  }
  return value;
}

bool ctn_bench_write_json(const struct bench *bench, FILE *stream) {
  json_t *rows = json_array(), *value = NULL;
  bool done = rows != NULL;
  for (int i = 0; i < bench->row_count && done; i++) {
    const struct bench_row *row = &bench->rows[i];
    if (finished(row) || row->state == BENCH_FAILED) done = json_array_append_new(rows, row_json(bench, row)) == 0;
  }
  if (done) value = json_pack("{s:O}", "results", rows);
  done = value && json_dumpf(value, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 && fputc('\n', stream) != EOF;
  json_decref(value);
  json_decref(rows);
  return done;
}
