/* A run as one page of HTML that needs nothing beside it: devices, tables, plots. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench_charts.h"
#include "bench_run.h"
#include "walkthrough_page.h"

static const char style[] =
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#1c2024;background:#fff;max-width:72rem;margin:0 "
    "auto;"
    "padding:1.5rem 1.1rem}\n"
    "h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.25rem;margin:2.2rem 0 .5rem;padding-top:.7rem;border-top:2px solid "
    "#d8dce0}\n"
    "p{margin:.5rem 0}.faint{color:#5c636b;font-size:.92rem}code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;"
    "font-size:.9em}\n"
    ".wide{overflow-x:auto}svg{max-width:100%;height:auto}\n"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .55rem;text-align:right;white-space:nowrap}th{border-bottom:1px solid #5c636b}\n"
    "td.text,th.text{text-align:left}tr.group td{border-top:1px solid #d8dce0}\n"
    ".bar{display:inline-block;height:.7em;background:#0072b2;vertical-align:baseline;margin-right:.4em}.bar.memory{background:"
    "#e69f00}.track{display:inline-block;width:6rem;text-align:left}\n"
    ".bad{color:#b3261e;font-weight:600}td.reason{white-space:normal;text-align:left}\n";

/* A table's cell. */
static void cell(struct text *html, const char *kind, const char *text) {
  ctn_text_printf(html, *kind ? "<td class=\"%s\">" : "<td>%s", kind);
  ctn_page_escaped(html, text);
  ctn_text_printf(html, "</td>");
}

static void pair(struct text *html, const char *name, const char *format, ...) CTN_PRINTF(3, 4);

static void pair(struct text *html, const char *name, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!*text) return;
  ctn_text_printf(html, "<tr><td class=\"text\">%s</td>", name);
  cell(html, "reason", text);
  ctn_text_printf(html, "</tr>\n");
}

static void add_place(struct text *html, const struct run *run, int index) {
  const struct run_place *place = &run->places[index];
  char peak[CELL], read[CELL];
  if (index) {
    ctn_text_printf(html, "<h3>Device %lld</h3>\n<table>\n", (long long)place->index);
  } else {
    ctn_text_printf(html, "<h3>The host</h3>\n<table>\n");
  }
  pair(html, "name", "%s", index ? place->name : run->processor);
  pair(html, "type", "%s", index ? place->type : "");
  pair(html, "platform", "%s", place->platform);
  pair(html, "vendor, driver", index ? "%s, %s" : "%s%s", place->vendor, place->driver);
  pair(html, "version", "%s", place->version);
  if (place->compute_units) {
    pair(html, "units", "%lld at %lld MHz", (long long)place->compute_units, (long long)place->clock_mhz);
    pair(html, "memory", "%.1f GiB, largest buffer %.1f GiB, local %lld KiB", (double)place->memory * 0x1p-30,
         (double)place->max_allocation * 0x1p-30, (long long)place->local_memory / 1024);
  }
  pair(html, "measured peak", "%s GFLOP/s of multiply-adds%s%s%s; reads %s GB/s", ctn_cell_number(place->peak_gflops, peak),
       *place->instructions ? " (" : "", place->instructions, *place->instructions ? ")" : "",
       ctn_cell_number(place->read_gb_s, read));
  ctn_text_printf(html, "</table>\n");
}

static void add_share(struct text *html, const struct record *row) {
  const double share = ctn_record_share(row);
  const bool memory = strcmp(row->bound, "memory") == 0;
  if (!isfinite(share)) {
    ctn_text_printf(html, "<td></td>");
    return;
  }
  ctn_text_printf(html, "<td><span class=\"track\"><span class=\"bar%s\" style=\"width:%.1f%%\"></span></span>%.0f %%%s</td>",
                  memory ? " memory" : "", fmin(100 * share, 100), 100 * share, memory ? " m" : "");
}

static void add_row(struct text *html, const struct record *row, bool starts) {
  char place[CELL], heads[CELL], sizes[CELL], dim[CELL], median[CELL], spread[CELL], flop[CELL], bytes[CELL], speedup[CELL];
  ctn_text_printf(html, starts ? "<tr class=\"group\">" : "<tr>");
  cell(html, "text", row->work);
  cell(html, "text", ctn_cell_place(row, place));
  cell(html, "text", row->path);
  cell(html, "text", row->q_len ? row->dtype : "");
  cell(html, "", ctn_cell_heads(row, heads));
  cell(html, "", ctn_cell_sizes(row, sizes));
  cell(html, "", ctn_cell_dim(row, dim));
  if (!ctn_record_finished(row)) {
    ctn_text_printf(html, "<td class=\"bad\">FAILED</td><td></td><td></td><td></td><td></td><td></td></tr>\n");
    return;
  }
  const bool meter = !row->q_len && (isfinite(row->gflops) || isfinite(row->gb_s));
  cell(html, "", meter ? "" : ctn_cell_time(row->median_s, median));
  cell(html, "", ctn_cell_spread(row, spread));
  cell(html, "", isfinite(row->gflops) ? ctn_cell_number(row->gflops, flop) : "");
  cell(html, "", isfinite(row->gb_s) ? ctn_cell_number(row->gb_s, bytes) : "");
  if (meter) {
    ctn_text_printf(html, "<td></td>");
  } else {
    add_share(html, row);
  }
  cell(html, "", isfinite(row->speedup) ? ctn_cell_number(row->speedup, speedup) : "");
  ctn_text_printf(html, "</tr>\n");
}

static void add_rows(struct text *html, const struct run *run) {
  static const char *const heads[] = {"work",   "on",     "path",    "type", "heads",   "sizes",      "D",
                                      "median", "spread", "GFLOP/s", "GB/s", "of peak", "&times; CPU"};
  ctn_text_printf(html, "<h2>Times</h2>\n<div class=\"wide\"><table>\n<tr>");
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    ctn_text_printf(html, "<th%s>%s</th>", i < 4 ? " class=\"text\"" : "", heads[i]);
  ctn_text_printf(html, "</tr>\n");
  for (int i = 0; i < run->left_out; i++)
    add_row(html, &run->rows[i], i == 0 || strcmp(run->rows[i].work, run->rows[i - 1].work) != 0);
  ctn_text_printf(
      html,
      "</table></div>\n<p class=\"faint\">on: the host&rsquo;s threads, or a device above. heads: batch &times; query heads "
      "(/ key-value heads). sizes: queries &times; keys. D: numbers a head. median: of one run&rsquo;s time. spread: half the "
      "distance between the quartiles, of the median. GFLOP/s: 4 D operations a pair of query and key that is attended, "
      "2 &times; in &times; out a projected row. GB/s: inputs and results once. of peak: of the multiply-adds that the same "
      "place did in bursts between these runs (blue), or of its reading where that is the limit (orange, m). &times; CPU: how "
      "many times as fast as the CPU path, measured in turns. Every row&rsquo;s result was checked against a float64 reference "
      "before it was timed. Times on a device are from enqueueing on its buffers to finishing, without copies, but with copies "
      "from and to the "
      "host in the rows split-*.</p>\n");
}

static void add_missing(struct text *html, const struct run *run, const char *state, const char *title) {
  bool any = false;
  for (int i = 0; i < run->row_count; i++) {
    const struct record *row = &run->rows[i];
    char place[CELL], sizes[CELL];
    if (strcmp(row->state, state) != 0) continue;
    if (!any) ctn_text_printf(html, "<h2>%s</h2>\n<table>\n", title);
    any = true;
    ctn_text_printf(html, "<tr>");
    cell(html, "text", row->work);
    cell(html, "text", ctn_cell_place(row, place));
    cell(html, "text", row->path);
    cell(html, "text", row->dtype);
    cell(html, "", ctn_cell_sizes(row, sizes));
    cell(html, "reason", row->reason);
    ctn_text_printf(html, "</tr>\n");
  }
  if (any) ctn_text_printf(html, "</table>\n");
}

/* The names that things have inside one picture must not be those of another on the same page. */
static void append_svg(struct text *html, const char *svg, int number) {
  static const char *const marks[] = {" id=\"", "href=\"#", "url(#"};
  const char *at = strstr(svg, "<svg");
  while (at && *at) {
    const char *next = NULL;
    size_t length = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
      const char *found = strstr(at, marks[i]);
      if (!found || (next && found > next)) continue;
      next = found;
      length = strlen(marks[i]);
    }
    const size_t plain = next ? (size_t)(next - at) + length : strlen(at);
    ctn_text_append(html, at, plain);
    if (next) ctn_text_printf(html, "plot%d-", number);
    at += plain;
  }
}

static clattn_status add_chart(struct text *html, struct bench_chart *chart, int number, clattn_error *error) {
  struct plot_image image = {0};
  const clattn_status status = ctn_chart_svg(&chart->chart, &image, error);
  if (status == CLATTN_OK && image.bytes.data) append_svg(html, image.bytes.data, number);
  ctn_text_free(&image.bytes);
  return status;
}

static clattn_status add_charts(struct text *html, const struct run *run, clattn_error *error) {
  struct bench_chart roofline = {0}, sweep = {0};
  clattn_status status = ctn_chart_roofline(&roofline, run, error);
  ctn_text_printf(html, "<h2>Plots</h2>\n<div class=\"wide\">\n");
  if (status == CLATTN_OK && *run->axis) status = ctn_chart_sweep(&sweep, run, error);
  if (status == CLATTN_OK && *run->axis) status = add_chart(html, &sweep, 1, error);
  ctn_text_printf(html, "</div>\n<div class=\"wide\">\n");
  if (status == CLATTN_OK) status = add_chart(html, &roofline, 2, error);
  ctn_text_printf(html, "</div>\n");
  ctn_chart_free(&roofline);
  ctn_chart_free(&sweep);
  ctn_plot_end();
  return status;
}

/* Who computes how much of each split. */
static void add_shares(struct text *html, const struct run *run) {
  bool first = true;
  for (int i = 0; i < run->row_count; i++) {
    const struct record *row = &run->rows[i];
    const json_t *share;
    size_t n;
    if (!json_array_size(row->shares)) continue;
    if (first) ctn_text_printf(html, "<h2>Shared out</h2>\n");
    first = false;
    ctn_text_printf(html, "<h3>");
    ctn_page_escaped(html, row->work);
    ctn_text_printf(html, ", %lld &times; %lld</h3>\n<table>\n", (long long)row->q_len, (long long)row->kv_len);
    json_array_foreach(row->shares, n, share) {
      const char *device = json_string_value(json_object_get(share, "device"));
      char part[32];
      snprintf(part, sizeof part, "%.3g %%", 100 * json_number_value(json_object_get(share, "share")));
      pair(html, part, "%s", device ? device : "");
    }
    ctn_text_printf(html, "</table>\n");
  }
}

static void add_notes(struct text *html, const struct run *run) {
  if (run->interrupted) ctn_text_printf(html, "<p class=\"bad\">The run was interrupted: rows are missing.</p>\n");
  for (int i = 0; i < run->place_count; i++) {
    const struct run_place *place = &run->places[i];
    if (!(place->peak_high > 1.5 * place->peak_low)) continue;
    ctn_text_printf(html, "<p class=\"bad\">");
    ctn_page_escaped(html, i ? place->name : "The host");
    ctn_text_printf(html,
                    " was busy with other things: half of its bursts were between %.0f and %.0f GFLOP/s, so times are unsure."
                    "</p>\n",
                    place->peak_low, place->peak_high);
  }
}

clattn_status ctn_run_report(const struct run *run, struct text *html, clattn_error *error) {
  ctn_text_printf(html,
                  "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>clattn bench</title>\n"
                  "<style>\n%s</style></head>\n<body>\n<h1>clattn bench</h1>\n<p class=\"faint\">clattn ",
                  style);
  ctn_page_escaped(html, run->version);
  ctn_text_printf(html, ", ");
  ctn_page_escaped(html, run->started);
  ctn_text_printf(html, "<br><code>");
  ctn_page_escaped(html, run->command);
  ctn_text_printf(html, "</code></p>\n");
  add_notes(html, run);
  ctn_text_printf(html, "<h2>Devices</h2>\n");
  for (int i = 0; i < run->place_count; i++)
    add_place(html, run, i);
  add_missing(html, run, "failed", "Failed");
  const clattn_status status = add_charts(html, run, error);
  add_rows(html, run);
  add_shares(html, run);
  add_missing(html, run, "left out", "Left out");
  add_missing(html, run, "interrupted", "Not measured");
  ctn_text_printf(html, "</body></html>\n");
  return status;
}
