/* A run of `clattn bench` as JSON: its rows with every run's time, the places that they ran at, how it was started. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "half.h"

/* Adds value under key, and drops what was not made: memory ran out where *done becomes false. */
static void put(json_t *object, const char *key, json_t *value, bool *done) {
  if (!value || json_object_set_new(object, key, value) != 0) *done = false;
}

static json_t *size_json(int64_t size) {
  return size > 0 ? json_integer((json_int_t)size) : json_null();
}

static json_t *number_json(double value) {
  return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

/* Zero is a value here. */
static json_t *spread_json(const struct bench_series *series) {
  const double spread = series->count > 1 ? ctn_series_spread(series) : NAN;
  return isfinite(spread) ? json_real(spread) : json_null();
}

/* Strings from drivers may be no UTF-8. */
static json_t *string_json(const char *text) {
  json_t *value = json_string(text ? text : "");
  if (value || !text) return value;
  char *plain = strdup(text);
  for (char *at = plain; at && *at; at++) {
    if ((unsigned char)*at > 126) *at = '?';
  }
  value = plain ? json_string(plain) : NULL;
  free(plain);
  return value;
}

static json_t *series_json(const struct bench_series *series, double scale) {
  json_t *array = json_array();
  for (int i = 0; i < series->count && array; i++) {
    if (json_array_append_new(array, json_real(scale * series->values[i])) == 0) continue;
    json_decref(array);
    return NULL;
  }
  return array;
}

static bool finished(const struct bench_row *row) {
  return row->state == BENCH_READY && row->samples.count > 0;
}

/* The CPU path's row for the same problem, measured in turns with this one. */
static const struct bench_row *on_cpu(const struct bench *bench, const struct bench_row *row) {
  for (int i = 0; i < bench->row_count && row->path_index >= 0; i++) {
    const struct bench_row *other = &bench->rows[i];
    if (other->group == row->group && other->kind == row->kind && finished(other) && strcmp(other->path, "cpu") == 0 &&
        strcmp(other->work, row->work) == 0 && ctn_bench_same_shape(&other->shape, &row->shape)) {
      return other;
    }
  }
  return NULL;
}

static void put_sizes(json_t *value, const struct bench_row *row, bool *done) {
  const struct bench_shape *s = &row->shape;
  const char *type = row->kind == BENCH_EMPTY                                ? NULL
                     : row->kind == BENCH_METER || row->kind == BENCH_READER ? "f32"
                                                                             : ctn_dtype_name(s->dtype);
  put(value, "dtype", type ? json_string(type) : json_null(), done);
  put(value, "batch", size_json(s->batch), done);
  put(value, "q_heads", size_json(s->q_heads), done);
  put(value, "kv_heads", size_json(s->kv_heads), done);
  put(value, "q_len", size_json(s->q_len), done);
  put(value, "kv_len", size_json(s->kv_len), done);
  put(value, "head_dim", size_json(s->head_dim), done);
  put(value, "head_dim_v", size_json(s->head_dim_v), done);
  put(value, "causal", json_boolean(s->causal), done);
  put(value, "window", size_json(s->window), done);
  const bool shrunk = !ctn_bench_same_shape(s, &row->whole);
  put(value, "whole_len", size_json(shrunk ? row->whole.q_len : 0), done);
  put(value, "swept", size_json(row->swept), done);
}

static void put_rates(json_t *value, const struct bench *bench, const struct bench_row *row, bool *done) {
  const struct bench_row *base = row->against >= 0 ? &bench->rows[row->against] : NULL, *cpu = on_cpu(bench, row);
  const double median = finished(row) ? ctn_series_median(&row->samples) : NAN;
  const double peak = ctn_series_median(&row->peaks), read = ctn_series_median(&row->reads);
  const struct bench_place *place = &bench->places[row->place];
  /* Where reading was not measured beside the row, the whole run's figure serves. */
  const double any_read = isfinite(read) ? read : row->members ? NAN : ctn_series_median(&place->read);
  const double flop_share = row->flop / median / peak, read_share = row->bytes / median / any_read;
  const bool both = isfinite(flop_share) && isfinite(read_share) && row->flop > 0 && row->bytes > 0;
  put(value, "min_s", number_json(ctn_series_quantile(&row->samples, 0)), done);
  put(value, "median_s", number_json(median), done);
  put(value, "spread", finished(row) ? spread_json(&row->samples) : json_null(), done);
  put(value, "gflops", number_json(row->flop / median * 1e-9), done);
  put(value, "gb_s", number_json(row->bytes / median * 1e-9), done);
  put(value, "share_of_peak", number_json(flop_share), done);
  put(value, "share_of_read", number_json(read_share), done);
  put(value, "bound", both ? json_string(row->flop / peak < row->bytes / any_read ? "memory" : "compute") : json_null(), done);
  put(value, "peak_gflops", number_json(peak * 1e-9), done);
  put(value, "read_gb_s", number_json(any_read * 1e-9), done);
  put(value, "flop", number_json(row->flop), done);
  put(value, "bytes", number_json(row->bytes), done);
  put(value, "compared_with",
      base ? json_string(strcmp(base->work, row->work) ? base->work : ctn_dtype_name(base->shape.dtype)) : json_null(), done);
  put(value, "ratio", number_json(base && finished(base) && base != row ? median / ctn_series_median(&base->samples) : NAN),
      done);
  put(value, "speedup_over_cpu", number_json(cpu && cpu != row ? ctn_series_median(&cpu->samples) / median : NAN), done);
}

static void put_device_of(json_t *value, const struct bench *bench, const struct bench_row *row, bool *done) {
  struct text name = {0}, on = {0};
  ctn_bench_device(bench, row, &name, &on);
  put(value, "device", string_json(name.data), done);
  put(value, "on", on.data ? json_string(on.data) : json_null(), done);
  if (name.failed || on.failed) *done = false;
  ctn_text_free(&name);
  ctn_text_free(&on);
}

/* Who computes how much of a split; null for all else. */
static json_t *shares_json(const struct bench *bench, const struct bench_row *row) {
  json_t *array = row->share_count ? json_array() : json_null();
  bool done = array != NULL;
  for (int i = 0; i < row->share_count && done; i++) {
    char name[200] = "";
    json_t *share = json_object();
    ctn_bench_member(bench, row, i, name, sizeof name);
    put(share, "device", string_json(name), &done);
    put(share, "share", json_real(row->shares[i]), &done);
    if (json_array_append_new(array, share) != 0) done = false;
  }
  if (done) return array;
  json_decref(array);
  return NULL;
}

static json_t *row_json(const struct bench *bench, const struct bench_row *row) {
  static const char *const products[] = {
      [CLATTN_PRODUCT_AUTO] = "auto", [CLATTN_PRODUCT_OWN] = "own", [CLATTN_PRODUCT_CLBLAST] = "clblast"};
  json_t *value = json_object();
  bool done = value != NULL;
  put(value, "work", json_string(row->work), &done);
  put(value, "path", json_string(row->path), &done);
  put_device_of(value, bench, row, &done);
  put_sizes(value, row, &done);
  put_rates(value, bench, row, &done);
  put(value, "family", json_string(row->family), &done);
  put(value, "shares", shares_json(bench, row), &done);
  put(value, "product", json_string(products[row->product]), &done);
  put(value, "state",
      json_string(finished(row)                 ? "ok"
                  : row->state == BENCH_FAILED  ? "failed"
                  : row->state == BENCH_REFUSED ? "left out"
                                                : "interrupted"),
      &done);
  put(value, "reason", string_json(row->reason), &done);
  put(value, "runs_per_round", json_integer(row->inner), &done);
  put(value, "samples_s", series_json(&row->samples, 1), &done);
  put(value, "round_peak_gflops", series_json(&row->peaks, 1e-9), &done);
  put(value, "round_read_gb_s", series_json(&row->reads, 1e-9), &done);
  if (done) return value;
  json_decref(value);
  return NULL;
}

static void put_device(json_t *value, const clattn_device_info *info, bool *done) {
  static const char *const types[] = {[CLATTN_DEVICE_ANY] = "device",
                                      [CLATTN_DEVICE_GPU] = "GPU",
                                      [CLATTN_DEVICE_ACCELERATOR] = "accelerator",
                                      [CLATTN_DEVICE_CPU] = "CPU device",
                                      [CLATTN_DEVICE_HOST] = "host"};
  put(value, "type", json_string(types[info->type]), done);
  put(value, "platform", string_json(info->platform_name), done);
  put(value, "platform_version", string_json(info->platform_version), done);
  put(value, "vendor", string_json(info->vendor), done);
  put(value, "driver", string_json(info->driver_version), done);
  put(value, "version", string_json(info->device_version), done);
  put(value, "compute_units", json_integer(info->compute_units), done);
  put(value, "clock_mhz", json_integer(info->max_clock_mhz), done);
  put(value, "global_memory", json_integer((json_int_t)info->global_memory), done);
  put(value, "max_allocation", json_integer((json_int_t)info->max_allocation), done);
  put(value, "local_memory", json_integer((json_int_t)info->local_memory), done);
}

static json_t *place_json(const struct bench_place *place) {
  json_t *value = json_object();
  bool done = value != NULL;
  put(value, "name", string_json(place->name), &done);
  put(value, "index", place->info ? json_integer(place->index) : json_null(), &done);
  if (place->info) {
    put_device(value, place->info, &done);
  } else {
    put(value, "type", json_string("host"), &done);
  }
  put(value, "instructions", json_string(ctn_peak_name(place->peak)), &done);
  put(value, "peak_gflops", number_json(ctn_series_median(&place->flop) * 1e-9), &done);
  put(value, "peak_low_gflops", number_json(ctn_series_quantile(&place->flop, 0.25) * 1e-9), &done);
  put(value, "peak_high_gflops", number_json(ctn_series_quantile(&place->flop, 0.75) * 1e-9), &done);
  put(value, "read_gb_s", number_json(ctn_series_median(&place->read) * 1e-9), &done);
  if (done) return value;
  json_decref(value);
  return NULL;
}

/* "AMD EPYC 9B14", where the system tells. */
static json_t *processor_json(void) {
  char line[256] = "", *name = NULL;
  FILE *stream = fopen("/proc/cpuinfo", "r");
  while (stream && !name && fgets(line, sizeof line, stream)) {
    char *colon = strncmp(line, "model name", strlen("model name")) == 0 ? strchr(line, ':') : NULL;
    if (colon) name = colon + 1 + strspn(colon + 1, " ");
  }
  if (stream) fclose(stream);
  if (!name) return json_null();
  name[strcspn(name, "\n")] = '\0';
  return string_json(name);
}

static json_t *command_json(int argc, const char **argv) {
  char text[1024] = "clattn";
  size_t length = strlen(text);
  for (int i = 0; i < argc && length < sizeof text - 1; i++) {
    const int more = snprintf(text + length, sizeof text - length, " %s", argv[i]);
    length += more > 0 ? (size_t)more : 0;
  }
  return string_json(text);
}

static json_t *time_json(void) {
  char text[32] = "";
  const time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return json_string(text);
}

/* The rows that have a result, a time or a failure, or those that have none. */
static json_t *rows_json(const struct bench *bench, bool results) {
  json_t *rows = json_array();
  for (int i = 0; i < bench->row_count && rows; i++) {
    const struct bench_row *row = &bench->rows[i];
    if ((finished(row) || row->state == BENCH_FAILED) != results) continue;
    json_t *value = row_json(bench, row);
    if (value && json_array_append_new(rows, value) == 0) continue;
    json_decref(rows);
    return NULL;
  }
  return rows;
}

static json_t *places_json(const struct bench *bench) {
  json_t *places = json_array();
  for (int i = 0; i < bench->place_count && places; i++) {
    json_t *value = place_json(&bench->places[i]);
    if (value && json_array_append_new(places, value) == 0) continue;
    json_decref(places);
    return NULL;
  }
  return places;
}

json_t *ctn_bench_json(const struct bench *bench, int argc, const char **argv) {
  json_t *root = json_object();
  bool done = root != NULL;
  put(root, "results", rows_json(bench, true), &done);
  put(root, "left_out", rows_json(bench, false), &done);
  put(root, "devices", places_json(bench), &done);
  put(root, "processor", processor_json(), &done);
  put(root, "clattn_version", json_string(clattn_version_string()), &done);
  put(root, "command", command_json(argc, argv), &done);
  put(root, "started", time_json(), &done);
  put(root, "interrupted", json_boolean(bench->interrupted), &done);
  put(root, "sweep", bench->sweep.axis ? json_string(bench->sweep.axis) : json_null(), &done);
  if (done) return root;
  json_decref(root);
  return NULL;
}
