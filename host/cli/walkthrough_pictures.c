/* Turns a run's steps into figures: one for each, weights without and with a mask side by side, a strip of all heads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walkthrough_view.h"

enum { TITLE = 96, NARROW = 6, FIGURE_TITLE = 256, HEADS_ACROSS = 8 };

/* A figure while it is put together. */
struct sketch {
  struct plot_figure figure;
  struct plot_panel panels[2 * VIEW_MOST_PANELS];
  char titles[2 * VIEW_MOST_PANELS][TITLE];
  char title[FIGURE_TITLE];
};

static void add_panel(struct sketch *sketch, const struct walk_view *view, const struct walk_step *step, int matrix) {
  const struct view_shape shape = ctn_view_shape(step);
  const int index = sketch->figure.panel_count++;
  struct plot_panel *panel = &sketch->panels[index];
  panel->rows = shape.rows;
  panel->columns = shape.columns;
  panel->values = step->values + (size_t)matrix * (size_t)shape.rows * (size_t)shape.columns;
  panel->row_names = ctn_view_rows(view, step, matrix);
  panel->column_names = ctn_view_columns(view, step, matrix);
  ctn_view_matrix_name(view, step, matrix, sketch->titles[index], TITLE);
  panel->title = sketch->titles[index][0] ? sketch->titles[index] : NULL;
}

/* Hatches what the masked scores of the same matrix exclude. */
static void strike(struct sketch *sketch, const struct walk_view *view, int matrix) {
  struct plot_panel *panel = &sketch->panels[sketch->figure.panel_count - 1];
  const struct walk_step *masked = ctn_view_find(view, "masked_scores");
  if (!masked) return;
  const struct view_shape shape = ctn_view_shape(masked);
  if (matrix < shape.count && shape.rows == panel->rows && shape.columns == panel->columns) {
    panel->struck = masked->values + (size_t)matrix * (size_t)shape.rows * (size_t)shape.columns;
  }
}

static double largest_size(const struct sketch *sketch) {
  double largest = 0;
  for (int p = 0; p < sketch->figure.panel_count; p++) {
    const struct plot_panel *panel = &sketch->panels[p];
    for (int i = 0; i < panel->rows * panel->columns; i++) {
      if (isfinite(panel->values[i])) largest = fmax(largest, fabs((double)panel->values[i]));
    }
  }
  return largest;
}

static enum view_kind kind_of(const struct walk_step *step) {
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  return tensor ? tensor->kind : VIEW_VECTORS;
}

/* Axes, scale and legend, by what the tensor holds. */
static void finish(struct sketch *sketch, enum view_kind kind, const char *title, int shown, int all) {
  static const enum message legends[] = {[VIEW_VECTORS] = MSG_LEGEND_NUMBER,
                                         [VIEW_POSITIONS] = MSG_LEGEND_POSITION,
                                         [VIEW_SCORES] = MSG_LEGEND_SCORE,
                                         [VIEW_WEIGHTS] = MSG_LEGEND_WEIGHT};
  struct plot_figure *figure = &sketch->figure;
  const bool square = kind == VIEW_SCORES || kind == VIEW_WEIGHTS;
  if (shown < all) {
    snprintf(sketch->title, sizeof sketch->title, ctn_message(MSG_PICTURE_FIRST), title, shown, all);
  } else {
    snprintf(sketch->title, sizeof sketch->title, "%s", title);
  }
  figure->title = sketch->title;
  figure->panels = sketch->panels;
  figure->row_title = ctn_message(square                   ? MSG_PICTURE_QUERY
                                  : kind == VIEW_POSITIONS ? MSG_PICTURE_POSITION
                                                           : MSG_PICTURE_WORD);
  figure->column_title = ctn_message(square ? MSG_PICTURE_KEY : MSG_PICTURE_DIMENSION);
  figure->scale = kind == VIEW_WEIGHTS ? PLOT_SHARES : PLOT_SIGNED;
  figure->limit = kind == VIEW_POSITIONS ? 1 : largest_size(sketch);
  figure->decimals = kind == VIEW_WEIGHTS ? 3 : 2;
  figure->legend = ctn_message(legends[kind]);
  figure->struck_out = ctn_message(MSG_PICTURE_STRUCK);
}

static clattn_status draw(struct walk_pictures *pictures, const struct sketch *sketch, const char *name, const char *title,
                          clattn_error *error) {
  struct walk_picture *picture = &pictures->pictures[pictures->count++];
  picture->name = name;
  picture->title = title;
  clattn_status status = ctn_plot_png(&sketch->figure, &picture->png, error);
  for (int theme = 0; theme < PLOT_THEMES && status == CLATTN_OK; theme++)
    status = ctn_plot_svg(&sketch->figure, (enum plot_theme)theme, &picture->svg[theme], error);
  pictures->missing += picture->png.missing;
  return status;
}

static int at_most(int count, int most) {
  return count < most ? count : most;
}

static clattn_status draw_step(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                               const struct walk_step *step, clattn_error *error) {
  const struct view_shape shape = ctn_view_shape(step);
  const int shown = at_most(shape.count, VIEW_MOST_PANELS);
  sketch->figure = (struct plot_figure){.across = shape.columns <= NARROW ? 2 : 1};
  for (int i = 0; i < shown; i++) {
    add_panel(sketch, view, step, i);
    sketch->panels[i].struck = NULL;
    if (kind_of(step) == VIEW_WEIGHTS && step == ctn_view_find(view, "weights_masked")) strike(sketch, view, i);
  }
  finish(sketch, kind_of(step), ctn_view_title(step), shown, shape.count);
  return draw(pictures, sketch, step->name, ctn_view_title(step), error);
}

/* "sentence 1: without mask", or only the latter. */
static void title_side(struct sketch *sketch, enum message side) {
  const int index = sketch->figure.panel_count - 1;
  struct plot_panel *panel = &sketch->panels[index];
  char whole[2 * TITLE];
  snprintf(whole, sizeof whole, panel->title ? ctn_message(MSG_PICTURE_PART_OF) : "%.0s%s", sketch->titles[index],
           ctn_message(side));
  snprintf(sketch->titles[index], TITLE, "%.*s", TITLE - 1, whole);
  panel->title = sketch->titles[index];
}

static clattn_status draw_compared(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                                   clattn_error *error) {
  const struct walk_step *without = ctn_view_find(view, "weights"), *with = ctn_view_find(view, "weights_masked");
  if (!without || !with) return CLATTN_OK;
  const int count = at_most(ctn_view_shape(without).count, ctn_view_shape(with).count);
  const int shown = at_most(count, VIEW_MOST_PANELS);
  sketch->figure = (struct plot_figure){.across = 2};
  for (int i = 0; i < shown; i++) {
    add_panel(sketch, view, without, i);
    sketch->panels[2 * i].struck = NULL;
    title_side(sketch, MSG_WITHOUT_MASK);
    add_panel(sketch, view, with, i);
    strike(sketch, view, i);
    title_side(sketch, MSG_WITH_MASK);
  }
  finish(sketch, VIEW_WEIGHTS, ctn_message(MSG_PICTURE_COMPARED), shown, count);
  return draw(pictures, sketch, "weights_compared", ctn_message(MSG_PICTURE_COMPARED), error);
}

static clattn_status draw_heads(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                                clattn_error *error) {
  const struct walk_step *step = ctn_view_find(view, "weights_masked");
  if (!step) step = ctn_view_find(view, "weights");
  if (!step || ctn_view_shape(step).heads == 1) return CLATTN_OK;
  const struct view_shape shape = ctn_view_shape(step);
  const int shown = at_most(shape.count, VIEW_MOST_PANELS);
  sketch->figure = (struct plot_figure){.across = at_most(shape.heads, HEADS_ACROSS), .compact = true};
  for (int i = 0; i < shown; i++) {
    add_panel(sketch, view, step, i);
    sketch->panels[i].struck = NULL;
    strike(sketch, view, i);
  }
  finish(sketch, VIEW_WEIGHTS, ctn_message(MSG_PICTURE_HEADS), shown, shape.count);
  return draw(pictures, sketch, "heads", ctn_message(MSG_PICTURE_HEADS), error);
}

clattn_status ctn_pictures_draw(struct walk_pictures *pictures, const struct walk_view *view, clattn_error *error) {
  struct sketch *sketch = calloc(1, sizeof *sketch);
  if (!sketch) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the pictures");
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < view->walk->step_count && status == CLATTN_OK; i++)
    status = draw_step(pictures, sketch, view, &view->walk->steps[i], error);
  if (status == CLATTN_OK) status = draw_compared(pictures, sketch, view, error);
  if (status == CLATTN_OK) status = draw_heads(pictures, sketch, view, error);
  free(sketch);
  ctn_plot_end();
  return status;
}

const struct walk_picture *ctn_pictures_find(const struct walk_pictures *pictures, const char *name) {
  for (int i = 0; i < pictures->count; i++) {
    if (strcmp(pictures->pictures[i].name, name) == 0) return &pictures->pictures[i];
  }
  return NULL;
}

void ctn_pictures_free(struct walk_pictures *pictures) {
  for (int i = 0; i < pictures->count; i++) {
    ctn_text_free(&pictures->pictures[i].png.bytes);
    for (int theme = 0; theme < PLOT_THEMES; theme++)
      ctn_text_free(&pictures->pictures[i].svg[theme].bytes);
  }
  memset(pictures, 0, sizeof *pictures);
}
