/* Reads a run's JSON into records. Files of other tools or versions may lack anything but the work and the path. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench_run.h"

enum kind { TEXT, SIZE, NUMBER, FLAG };

struct field {
  const char *key;
  enum kind kind;
  size_t offset;
};

#define RECORD(key, kind, member) \
  { key, kind, offsetof(struct record, member) }
static const struct field record_fields[] = {RECORD("work", TEXT, work),
                                             RECORD("path", TEXT, path),
                                             RECORD("device", TEXT, device),
                                             RECORD("dtype", TEXT, dtype),
                                             RECORD("state", TEXT, state),
                                             RECORD("reason", TEXT, reason),
                                             RECORD("bound", TEXT, bound),
                                             RECORD("compared_with", TEXT, compared_with),
                                             RECORD("product", TEXT, product),
                                             RECORD("on", TEXT, on),
                                             RECORD("batch", SIZE, batch),
                                             RECORD("q_heads", SIZE, q_heads),
                                             RECORD("kv_heads", SIZE, kv_heads),
                                             RECORD("q_len", SIZE, q_len),
                                             RECORD("kv_len", SIZE, kv_len),
                                             RECORD("head_dim", SIZE, head_dim),
                                             RECORD("head_dim_v", SIZE, head_dim_v),
                                             RECORD("window", SIZE, window),
                                             RECORD("swept", SIZE, swept),
                                             RECORD("whole_len", SIZE, whole_len),
                                             RECORD("runs_per_round", SIZE, runs_per_round),
                                             RECORD("causal", FLAG, causal),
                                             RECORD("min_s", NUMBER, min_s),
                                             RECORD("median_s", NUMBER, median_s),
                                             RECORD("spread", NUMBER, spread),
                                             RECORD("gflops", NUMBER, gflops),
                                             RECORD("gb_s", NUMBER, gb_s),
                                             RECORD("flop", NUMBER, flop),
                                             RECORD("bytes", NUMBER, bytes),
                                             RECORD("share_of_peak", NUMBER, share_of_peak),
                                             RECORD("share_of_read", NUMBER, share_of_read),
                                             RECORD("peak_gflops", NUMBER, peak_gflops),
                                             RECORD("read_gb_s", NUMBER, read_gb_s),
                                             RECORD("ratio", NUMBER, ratio),
                                             RECORD("speedup_over_cpu", NUMBER, speedup)};

#define PLACE(key, kind, member) \
  { key, kind, offsetof(struct run_place, member) }
static const struct field place_fields[] = {PLACE("name", TEXT, name),
                                            PLACE("platform", TEXT, platform),
                                            PLACE("vendor", TEXT, vendor),
                                            PLACE("driver", TEXT, driver),
                                            PLACE("version", TEXT, version),
                                            PLACE("type", TEXT, type),
                                            PLACE("instructions", TEXT, instructions),
                                            PLACE("index", SIZE, index),
                                            PLACE("compute_units", SIZE, compute_units),
                                            PLACE("clock_mhz", SIZE, clock_mhz),
                                            PLACE("global_memory", SIZE, memory),
                                            PLACE("max_allocation", SIZE, max_allocation),
                                            PLACE("local_memory", SIZE, local_memory),
                                            PLACE("peak_gflops", NUMBER, peak_gflops),
                                            PLACE("peak_low_gflops", NUMBER, peak_low),
                                            PLACE("peak_high_gflops", NUMBER, peak_high),
                                            PLACE("read_gb_s", NUMBER, read_gb_s)};

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static void read_fields(const json_t *object, const struct field *fields, size_t count, void *out) {
  for (size_t i = 0; i < count; i++) {
    const json_t *value = json_object_get(object, fields[i].key);
    void *at = (char *)out + fields[i].offset;
    switch (fields[i].kind) {
      case TEXT:
        *(const char **)at = text_of(object, fields[i].key);
        break;
      case SIZE:
        *(int64_t *)at = json_integer_value(value);
        break;
      case NUMBER:
        *(double *)at = json_is_number(value) ? json_number_value(value) : NAN;
        break;
      default:
        *(int *)at = json_is_true(value);
        break;
    }
  }
}

static void read_row(struct run *run, const json_t *object) {
  struct record *row = &run->rows[run->row_count++];
  read_fields(object, record_fields, sizeof record_fields / sizeof *record_fields, row);
  row->samples = json_object_get(object, "samples_s");
  row->peaks = json_object_get(object, "round_peak_gflops");
  row->shares = json_object_get(object, "shares");
  row->reads = json_object_get(object, "round_read_gb_s");
  row->place = -1;
  for (int i = 0; i < run->place_count && row->place < 0; i++) {
    if (strcmp(run->places[i].name, row->device) != 0) continue;
    row->place = i;
    row->index = run->places[i].index;
  }
}

clattn_status ctn_run_read(struct run *run, json_t *root, const char *source, clattn_error *error) {
  const json_t *results = json_object_get(root, "results"), *left_out = json_object_get(root, "left_out"),
               *places = json_object_get(root, "devices"), *value;
  const size_t count = json_array_size(results), more = json_array_size(left_out), place_count = json_array_size(places);
  size_t i;
  memset(run, 0, sizeof *run);
  if (!json_is_array(results)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: has no \"results\"; it is no file of `clattn bench --json`", source);
  }
  run->rows = calloc(count + more + 1, sizeof *run->rows);
  run->places = calloc(place_count + 1, sizeof *run->places);
  if (!run->rows || !run->places) {
    ctn_run_free(run);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its rows", source);
  }
  run->root = json_incref(root);
  json_array_foreach(places, i, value)
      read_fields(value, place_fields, sizeof place_fields / sizeof *place_fields, &run->places[run->place_count++]);
  json_array_foreach(results, i, value) read_row(run, value);
  run->left_out = run->row_count;
  json_array_foreach(left_out, i, value) read_row(run, value);
  run->version = text_of(root, "clattn_version");
  run->started = text_of(root, "started");
  run->command = text_of(root, "command");
  run->axis = text_of(root, "sweep");
  run->processor = text_of(root, "processor");
  run->interrupted = json_is_true(json_object_get(root, "interrupted"));
  return CLATTN_OK;
}

clattn_status ctn_run_load(struct run *run, const char *file, clattn_error *error) {
  json_error_t wrong;
  memset(run, 0, sizeof *run);
  errno = 0;
  json_t *root = json_load_file(file, 0, &wrong);
  if (!root && errno) return ctn_fail(error, CLATTN_IO_FAILED, "%s: %s", file, strerror(errno));
  if (!root) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d: %s", file, wrong.line, wrong.text);
  const clattn_status status = ctn_run_read(run, root, file, error);
  json_decref(root);
  return status;
}

void ctn_run_free(struct run *run) {
  free(run->rows);
  free(run->places);
  json_decref(run->root);
  memset(run, 0, sizeof *run);
}

bool ctn_record_finished(const struct record *row) {
  return row->median_s > 0;
}

double ctn_record_share(const struct record *row) {
  return strcmp(row->bound, "memory") == 0 ? row->share_of_read : row->share_of_peak;
}
