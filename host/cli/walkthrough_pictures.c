/* Turns a run's steps into figures: one for each, weights without and with a mask side by side, a strip of all heads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walkthrough_view.h"

enum {
  MOST_COLUMNS = 256,
  TITLE = 96,
  NARROW = 6,
  FIGURE_TITLE = 256,
  HEADS_ACROSS = 8,
  CELLS_ACROSS = 72,
  CELLS_OF_NAMES = 5,
  MOST_HEADS = 16
};

/* A figure while it is put together. */
struct sketch {
  struct view_shape shown; /* of the step, in this figure */
  struct plot_figure figure;
  struct plot_panel panels[2 * VIEW_MOST_PANELS];
  char titles[2 * VIEW_MOST_PANELS][TITLE];
  char title[FIGURE_TITLE];
};

static int at_most(int count, int most) {
  return count < most ? count : most;
}

static int at_least(int count, int least) {
  return count < least ? least : count;
}

/* What a picture of that many cells shows of a step: the upper left parts of its first matrices, whole sentences of heads where
 * there is room. A matrix that is too large is cut to a square, or to what the other side leaves. */
static struct view_shape shown_of(const struct walk_step *step, int cells) {
  struct view_shape shown = ctn_view_shape(step);
  const int side = (int)sqrt((double)cells);
  shown.columns = at_most(shown.columns, at_most(at_least(side, cells / shown.rows), MOST_COLUMNS));
  shown.rows = at_most(shown.rows, cells / shown.columns);
  int most = at_most(VIEW_MOST_PANELS, cells / (shown.rows * shown.columns));
  if (most >= shown.heads) most -= most % shown.heads;
  shown.count = at_most(shown.count, most < 1 ? 1 : most);
  return shown;
}

static void add_panel(struct sketch *sketch, const struct walk_view *view, const struct walk_step *step, int matrix) {
  const struct view_shape shape = ctn_view_shape(step);
  const int index = sketch->figure.panel_count++;
  struct plot_panel *panel = &sketch->panels[index];
  *panel = (struct plot_panel){.rows = sketch->shown.rows, .columns = sketch->shown.columns, .pitch = shape.columns};
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
  if (matrix < shape.count && shape.columns == panel->pitch && shape.rows >= panel->rows) {
    panel->struck = masked->values + (size_t)matrix * (size_t)shape.rows * (size_t)shape.columns;
  }
}

static double largest_size(const struct sketch *sketch) {
  double largest = 0;
  for (int p = 0; p < sketch->figure.panel_count; p++) {
    const struct plot_panel *panel = &sketch->panels[p];
    for (int i = 0; i < panel->rows * panel->columns; i++) {
      const double value = (double)panel->values[i / panel->columns * panel->pitch + i % panel->columns];
      if (isfinite(value)) largest = fmax(largest, fabs(value));
    }
  }
  return largest;
}

static enum view_kind kind_of(const struct walk_step *step) {
  const struct view_tensor *tensor = ctn_view_tensor(step->name);
  return tensor ? tensor->kind : VIEW_VECTORS;
}

/* The title, with what is left out of the picture. */
static void name_figure(struct sketch *sketch, const struct walk_step *step, const char *title, int count) {
  const struct view_shape all = ctn_view_shape(step), shown = sketch->shown;
  char first[TITLE] = "", cut[TITLE] = "";
  if (count < all.count) snprintf(first, sizeof first, ctn_message(MSG_PICTURE_FIRST), count, all.count);
  if (shown.rows < all.rows || shown.columns < all.columns) {
    snprintf(cut, sizeof cut, ctn_message(MSG_PICTURE_CUT), shown.rows, shown.columns, all.rows, all.columns);
  }
  snprintf(sketch->title, sizeof sketch->title, "%s%s%s", title, first, cut);
}

/* Axes, scale and legend, by what the tensor holds. */
static void finish(struct sketch *sketch, const struct walk_step *step, const char *title, int count) {
  static const enum message legends[] = {[VIEW_VECTORS] = MSG_LEGEND_NUMBER,
                                         [VIEW_POSITIONS] = MSG_LEGEND_POSITION,
                                         [VIEW_SCORES] = MSG_LEGEND_SCORE,
                                         [VIEW_WEIGHTS] = MSG_LEGEND_WEIGHT};
  struct plot_figure *figure = &sketch->figure;
  const enum view_kind kind = kind_of(step);
  const bool square = kind == VIEW_SCORES || kind == VIEW_WEIGHTS;
  name_figure(sketch, step, title, count);
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
  pictures->cut = pictures->cut || strcmp(sketch->title, title) != 0;
  picture->name = name;
  picture->title = title;
  clattn_status status = ctn_plot_png(&sketch->figure, &picture->png, error);
  for (int theme = 0; theme < PLOT_THEMES && status == CLATTN_OK; theme++)
    status = ctn_plot_svg(&sketch->figure, (enum plot_theme)theme, &picture->svg[theme], error);
  pictures->missing += picture->png.missing;
  return status;
}

/* Puts a figure of a step together that shows so many cells. */
typedef void (*composition)(struct sketch *sketch, const struct walk_view *view, const struct walk_step *step, int cells);

/* The figure with as many cells as were asked for, or as many as there can be: labels take room too. */
static clattn_status draw_fitting(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                                  composition compose, const struct walk_step *step, const char *name, const char *title,
                                  clattn_error *error) {
  int cells = view->walk->cells;
  for (compose(sketch, view, step, cells); cells > 1 && !ctn_plot_fits(&sketch->figure);) {
    cells /= 2;
    compose(sketch, view, step, cells);
  }
  return draw(pictures, sketch, name, title, error);
}

static void compose_step(struct sketch *sketch, const struct walk_view *view, const struct walk_step *step, int cells) {
  const struct view_shape shape = ctn_view_shape(step);
  sketch->shown = shown_of(step, cells);
  sketch->figure = (struct plot_figure){.across = shape.columns <= NARROW ? 2 : 1};
  for (int i = 0; i < sketch->shown.count; i++) {
    add_panel(sketch, view, step, i);
    if (kind_of(step) == VIEW_WEIGHTS && step == ctn_view_find(view, "weights_masked")) strike(sketch, view, i);
  }
  finish(sketch, step, ctn_view_title(step), sketch->figure.panel_count);
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

static void compose_compared(struct sketch *sketch, const struct walk_view *view, const struct walk_step *with, int cells) {
  const struct walk_step *without = ctn_view_find(view, "weights");
  sketch->shown = shown_of(with, cells);
  sketch->figure = (struct plot_figure){.across = 2};
  for (int i = 0; i < sketch->shown.count; i++) {
    add_panel(sketch, view, without, i);
    title_side(sketch, MSG_WITHOUT_MASK);
    add_panel(sketch, view, with, i);
    strike(sketch, view, i);
    title_side(sketch, MSG_WITH_MASK);
  }
  finish(sketch, with, ctn_message(MSG_PICTURE_COMPARED), sketch->shown.count);
}

static clattn_status draw_compared(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                                   clattn_error *error) {
  const struct walk_step *with = ctn_view_find(view, "weights_masked");
  if (!with || !ctn_view_find(view, "weights")) return CLATTN_OK;
  return draw_fitting(pictures, sketch, view, compose_compared, with, "weights_compared", ctn_message(MSG_PICTURE_COMPARED),
                      error);
}

static void compose_heads(struct sketch *sketch, const struct walk_view *view, const struct walk_step *step, int cells) {
  const struct view_shape shape = ctn_view_shape(step);
  /* One sentence's heads at least: small cells take little room. Where they are too large even so, all are cut alike. */
  const int least = at_most(shape.heads, MOST_HEADS);
  sketch->shown = shown_of(step, cells);
  if (sketch->shown.count < least) sketch->shown = shown_of(step, at_least(2 * cells / least, 1));
  const int shown = at_least(sketch->shown.count, least);
  const int across = at_most(HEADS_ACROSS, CELLS_ACROSS / (sketch->shown.columns + CELLS_OF_NAMES));
  sketch->figure = (struct plot_figure){.across = at_most(shape.heads, across < 1 ? 1 : across), .compact = true};
  for (int i = 0; i < shown; i++) {
    add_panel(sketch, view, step, i);
    strike(sketch, view, i);
  }
  finish(sketch, step, ctn_message(MSG_PICTURE_HEADS), shown);
}

static clattn_status draw_heads(struct walk_pictures *pictures, struct sketch *sketch, const struct walk_view *view,
                                clattn_error *error) {
  const struct walk_step *step = ctn_view_find(view, "weights_masked");
  if (!step) step = ctn_view_find(view, "weights");
  if (!step || ctn_view_shape(step).heads == 1) return CLATTN_OK;
  return draw_fitting(pictures, sketch, view, compose_heads, step, "heads", ctn_message(MSG_PICTURE_HEADS), error);
}

clattn_status ctn_pictures_draw(struct walk_pictures *pictures, const struct walk_view *view, clattn_error *error) {
  struct sketch *sketch = calloc(1, sizeof *sketch);
  if (!sketch) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the pictures");
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < view->walk->step_count && status == CLATTN_OK; i++)
    status = draw_fitting(pictures, sketch, view, compose_step, &view->walk->steps[i], view->walk->steps[i].name,
                          ctn_view_title(&view->walk->steps[i]), error);
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
