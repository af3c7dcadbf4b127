/* A run as charts: see bench_charts.h. A line is what one path does at one place; its colour tells the place, its points the
 * path. */
#include "bench_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROOF_POINTS = 3 };

static clattn_status allocate(struct bench_chart *chart, const struct run *run, clattn_error *error) {
  const size_t lines = (size_t)(run->row_count + run->place_count) + 1,
               points = (size_t)(run->row_count + ROOF_POINTS * run->place_count) + 1;
  bool done = true;
  chart->x = calloc(points, sizeof *chart->x);
  chart->at = calloc(points, sizeof *chart->at);
  chart->labels = calloc(points, sizeof *chart->labels);
  chart->label_texts = calloc(points, sizeof *chart->label_texts);
  chart->names = calloc(lines, sizeof *chart->names);
  for (int a = 0; a < CHART_AXES; a++) {
    chart->y[a] = calloc(points, sizeof *chart->y[a]);
    chart->lines[a] = calloc(lines, sizeof *chart->lines[a]);
    done = done && chart->y[a] && chart->lines[a];
  }
  if (done && chart->x && chart->at && chart->labels && chart->label_texts && chart->names) return CLATTN_OK;
  return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for a chart");
}

void ctn_chart_free(struct bench_chart *chart) {
  free(chart->x);
  free(chart->at);
  free(chart->labels);
  free(chart->label_texts);
  free(chart->names);
  for (int a = 0; a < CHART_AXES; a++) {
    free(chart->y[a]);
    free(chart->lines[a]);
  }
  memset(chart, 0, sizeof *chart);
}

/* The line that is being made, in both pairs of axes; its points come after those of the last. */
static struct plot_line *begin_line(struct bench_chart *chart, int hue, int mark) {
  for (int a = 0; a < CHART_AXES; a++) {
    chart->lines[a][chart->lines_count] = (struct plot_line){.name = chart->names[chart->lines_count],
                                                             .x = chart->x + chart->points,
                                                             .y = chart->y[a] + chart->points,
                                                             .hue = hue,
                                                             .mark = mark};
  }
  return &chart->lines[0][chart->lines_count];
}

static void add_point(struct bench_chart *chart, double x, double first, double second) {
  chart->x[chart->points] = x;
  chart->y[0][chart->points] = first;
  chart->y[1][chart->points] = second;
  chart->points++;
  for (int a = 0; a < CHART_AXES; a++)
    chart->lines[a][chart->lines_count].count++;
}

static int mark_of(const struct record *row) {
  static const char *const paths[PLOT_MARKS] = {"fused", "staged", "cpu", "reference"};
  for (int i = 0; i < PLOT_MARKS; i++) {
    if (strcmp(paths[i], row->path) == 0) return i;
  }
  return PLOT_MARKS - 1;
}

/* The first row that belongs to the same line as this one. */
static int first_of_line(const struct run *run, int index, bool by_work) {
  const struct record *row = &run->rows[index];
  for (int i = 0; i < index; i++) {
    const struct record *other = &run->rows[i];
    if (strcmp(row->path, other->path) == 0 && strcmp(row->device, other->device) == 0 &&
        (!by_work || (strcmp(row->work, other->work) == 0 && strcmp(row->dtype, other->dtype) == 0))) {
      return i;
    }
  }
  return index;
}

/* One colour for each place and work. */
static int hue_of(const struct run *run, int index) {
  int hue = 0;
  for (int i = 0; i < index; i++) {
    const struct record *row = &run->rows[i];
    bool first = true;
    if (strcmp(row->device, run->rows[index].device) == 0 && strcmp(row->work, run->rows[index].work) == 0) return hue;
    for (int n = 0; n < i && first; n++)
      first = strcmp(run->rows[n].device, row->device) != 0 || strcmp(run->rows[n].work, row->work) != 0;
    hue += first;
  }
  return hue;
}

static const char *place_name(const struct run *run, const struct record *row) {
  return row->place == 0 && *run->processor ? run->processor : row->device;
}

static void finish(struct bench_chart *chart, int axes) {
  chart->chart.title = chart->title;
  chart->chart.axes = chart->axes;
  chart->chart.axes_count = axes;
  for (int a = 0; a < axes; a++) {
    chart->axes[a].lines = chart->lines[a];
    chart->axes[a].line_count = chart->lines_count;
  }
}

/* Adds a piece to text. */
static void append(char *text, size_t room, const char *piece) {
  const size_t length = strlen(text);
  snprintf(text + length, room - length, "%s", piece);
}

/* The works, and the sizes of the first where it is the only one. */
static void describe(const struct run *run, char *text, size_t room) {
  const struct record *row = &run->rows[0];
  char piece[64];
  int works = 0;
  snprintf(text, room, "clattn bench:");
  for (int i = 0; i < run->left_out; i++) {
    bool known = false;
    for (int n = 0; n < i && !known; n++)
      known = strcmp(run->rows[n].work, run->rows[i].work) == 0;
    if (known) continue;
    snprintf(piece, sizeof piece, "%s %.40s", works++ ? "," : "", run->rows[i].work);
    append(text, room, piece);
  }
  append(text, room, " over ");
  append(text, room, run->axis);
  const struct {
    const char *axis, *format;
    long long value;
  } sizes[] = {{"batch", ", batch %lld", row->batch},
               {"heads", ", %lld heads", row->q_heads},
               {"seq", ", %lld keys", row->kv_len},
               {"head-dim", ", D = %lld", row->head_dim}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && works == 1; i++) {
    if (strcmp(sizes[i].axis, run->axis) == 0 || sizes[i].value == 0) continue;
    snprintf(piece, sizeof piece, sizes[i].format, sizes[i].value);
    append(text, room, piece);
  }
}

clattn_status ctn_chart_sweep(struct bench_chart *chart, const struct run *run, clattn_error *error) {
  const clattn_status status = allocate(chart, run, error);
  if (status != CLATTN_OK) return status;
  int at = 0;
  for (int first = 0; first < run->left_out; first++) {
    const struct record *row = &run->rows[first];
    if (row->swept <= 0) continue;
    bool known = false;
    for (int i = 0; i < at; i++)
      known = known || chart->at[i] == (double)row->swept;
    if (!known) chart->at[at++] = (double)row->swept;
    if (first_of_line(run, first, true) != first) continue;
    begin_line(chart, hue_of(run, first), mark_of(row));
    snprintf(chart->names[chart->lines_count], CHART_NAME, "%s %s, %s: %s", row->work, row->dtype, row->path,
             place_name(run, row));
    for (int i = first; i < run->left_out; i++) {
      const struct record *point = &run->rows[i];
      if (first_of_line(run, i, true) == first && ctn_record_finished(point)) {
        add_point(chart, (double)point->swept, point->median_s * 1e3, ctn_record_share(point));
      }
    }
    chart->lines_count++;
  }
  describe(run, chart->title, sizeof chart->title);
  snprintf(chart->x_title, sizeof chart->x_title, "%s", strcmp(run->axis, "seq") == 0 ? "seq: queries and keys" : run->axis);
  chart->axes[0] =
      (struct plot_axes){.title = "time of one run", .x_title = chart->x_title, .y_title = "milliseconds (median)"};
  chart->axes[1] = (struct plot_axes){
      .title = "share of what the device can do", .x_title = chart->x_title, .y_title = "of its peak", .shares = true};
  for (int a = 0; a < CHART_AXES; a++)
    chart->axes[a].at_x = chart->at, chart->axes[a].at_count = at;
  chart->chart.note = "peak: multiply-adds measured beside the runs, or reading where memory is the limit";
  finish(chart, CHART_AXES);
  return CLATTN_OK;
}

static bool in_roofline(const struct record *row) {
  return ctn_record_finished(row) && row->flop > 0 && row->bytes > 0;
}

/* What a place can do: bytes as fast as it reads, up to where its multiply-adds are the limit. */
static void add_roof(struct bench_chart *chart, const struct run_place *place, int hue, double low, double high) {
  const double ridge = place->peak_gflops / place->read_gb_s;
  begin_line(chart, hue, -1);
  snprintf(chart->names[chart->lines_count], CHART_NAME, "limit of %s: %.3g GFLOP/s, %.3g GB/s (measured)",
           hue ? place->name : "the host's threads", place->peak_gflops, place->read_gb_s);
  const double from = fmin(low, ridge / 4), to = fmax(high, ridge * 4);
  add_point(chart, from, from * place->read_gb_s, 0);
  add_point(chart, ridge, place->peak_gflops, 0);
  add_point(chart, to, place->peak_gflops, 0);
  chart->lines_count++;
}

/* "decode f16 32/8": what tells points of a work apart. */
static void write_label(struct bench_chart *chart, const struct record *row) {
  char *label = chart->label_texts[chart->points];
  snprintf(label, CHART_LABEL, "%.20s", row->work);
  const size_t length = strlen(label), room = CHART_LABEL - length;
  if (row->swept) {
    snprintf(label + length, room, " %lld", (long long)row->swept);
  } else if (row->kv_heads != row->q_heads) {
    snprintf(label + length, room, " %s %lld/%lld", row->dtype, (long long)row->q_heads, (long long)row->kv_heads);
  } else {
    snprintf(label + length, room, " %s", row->dtype);
  }
  chart->labels[chart->points] = label;
}

clattn_status ctn_chart_roofline(struct bench_chart *chart, const struct run *run, clattn_error *error) {
  const clattn_status status = allocate(chart, run, error);
  double low = INFINITY, high = 0;
  if (status != CLATTN_OK) return status;
  for (int i = 0; i < run->left_out; i++) {
    if (!in_roofline(&run->rows[i])) continue;
    low = fmin(low, run->rows[i].flop / run->rows[i].bytes);
    high = fmax(high, run->rows[i].flop / run->rows[i].bytes);
  }
  for (int i = 0; i < run->place_count; i++) {
    if (run->places[i].peak_gflops > 0 && run->places[i].read_gb_s > 0) add_roof(chart, &run->places[i], i, low, high);
  }
  for (int first = 0; first < run->left_out; first++) {
    const struct record *row = &run->rows[first];
    if (row->q_len <= 0 || first_of_line(run, first, false) != first) continue;
    struct plot_line *line = begin_line(chart, row->place < 0 ? 0 : row->place, mark_of(row));
    line->apart = true;
    line->labels = chart->labels + chart->points;
    snprintf(chart->names[chart->lines_count], CHART_NAME, "%s: %s", row->path, place_name(run, row));
    for (int i = first; i < run->left_out; i++) {
      const struct record *point = &run->rows[i];
      if (first_of_line(run, i, false) != first || !in_roofline(point)) continue;
      write_label(chart, point);
      add_point(chart, point->flop / point->bytes, point->gflops, 0);
    }
    if (line->count) chart->lines_count++;
  }
  snprintf(chart->title, sizeof chart->title, "clattn bench: how close to what each device can do");
  chart->axes[0] = (struct plot_axes){
      .title = "roofline", .x_title = "operations a byte of inputs and results (FLOP/byte)", .y_title = "GFLOP/s (median)"};
  chart->chart.note = "a point on its device's line is as fast as the device; below the slope memory is the limit";
  finish(chart, 1);
  return CLATTN_OK;
}

/* ------------------------------------------------------------------------------------------------------------------- files
 */

static bool ends_with(const char *file, const char *ending) {
  const size_t length = strlen(file), tail = strlen(ending);
  return length > tail && strcasecmp(file + length - tail, ending) == 0;
}

clattn_status ctn_run_can_draw(const char *option, const char *file, bool page, clattn_error *error) {
  if (page || ends_with(file, ".png") || ends_with(file, ".svg")) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s %s: the name must end in .png or .svg", option, file);
}

static clattn_status draw(struct bench_chart *chart, const char *file, struct text *bytes, clattn_error *error) {
  struct plot_image image = {0};
  const clattn_status status =
      ends_with(file, ".png") ? ctn_chart_png(&chart->chart, &image, error) : ctn_chart_svg(&chart->chart, &image, error);
  *bytes = image.bytes;
  ctn_plot_end();
  return status;
}

clattn_status ctn_run_plot(const struct run *run, const char *file, struct text *bytes, clattn_error *error) {
  struct bench_chart chart = {0};
  clattn_status status = ctn_chart_sweep(&chart, run, error);
  if (status == CLATTN_OK) status = draw(&chart, file, bytes, error);
  ctn_chart_free(&chart);
  return status;
}

clattn_status ctn_run_roofline(const struct run *run, const char *file, struct text *bytes, clattn_error *error) {
  struct bench_chart chart = {0};
  clattn_status status = ctn_chart_roofline(&chart, run, error);
  if (status == CLATTN_OK) status = draw(&chart, file, bytes, error);
  ctn_chart_free(&chart);
  return status;
}
