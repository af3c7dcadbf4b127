/* A run's rows as comma-separated values: what fits into one line each, without the single runs' times. */
#include <math.h>
#include <string.h>

#include "bench_run.h"

static const char *const columns[] = {"work",          "path",
                                      "device",        "dtype",
                                      "batch",         "q_heads",
                                      "kv_heads",      "q_len",
                                      "kv_len",        "head_dim",
                                      "head_dim_v",    "causal",
                                      "window",        "swept",
                                      "state",         "min_s",
                                      "median_s",      "spread",
                                      "gflops",        "gb_s",
                                      "share_of_peak", "share_of_read",
                                      "bound",         "peak_gflops",
                                      "read_gb_s",     "speedup_over_cpu",
                                      "compared_with", "ratio",
                                      "family",        "product",
                                      "reason"};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* RFC 4180: in quotation marks where there is a comma, a quotation mark or a line break. */
static void write_text(FILE *stream, const char *text) {
  if (!text[strcspn(text, ",\"\r\n")]) {
    fputs(text, stream);
    return;
  }
  fputc('"', stream);
  for (; *text; text++) {
    if (*text == '"') fputc('"', stream);
    fputc(*text, stream);
  }
  fputc('"', stream);
}

static void write_value(FILE *stream, const json_t *value) {
  if (json_is_string(value)) {
    write_text(stream, json_string_value(value));
  } else if (json_is_integer(value)) {
    fprintf(stream, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  } else if (json_is_real(value)) {
    fprintf(stream, "%.9g", json_real_value(value));
  } else if (json_is_boolean(value)) {
    fputs(json_is_true(value) ? "true" : "false", stream);
  }
}

bool ctn_run_write_csv(const struct run *run, FILE *stream) {
  static const char *const arrays[] = {"results", "left_out"};
  const json_t *row;
  size_t i;
  for (int c = 0; c < COLUMNS; c++)
    fprintf(stream, "%s%s", c ? "," : "", columns[c]);
  fputs("\r\n", stream);
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
    json_array_foreach(json_object_get(run->root, arrays[a]), i, row) {
      for (int c = 0; c < COLUMNS; c++) {
        if (c) fputc(',', stream);
        write_value(stream, json_object_get(row, columns[c]));
      }
      fputs("\r\n", stream);
    }
  }
  return ferror(stream) == 0;
}
