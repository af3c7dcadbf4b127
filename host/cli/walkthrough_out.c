/* A run as pictures and a page in a folder: see walkthrough_out.h. */
#include "walkthrough_out.h"

#include <stdio.h>

#include "status.h"
#include "walkthrough_view.h"

enum { FILE_NAME = 128 };

static clattn_status add(struct folder *folder, const char *name, const char *ending, const struct text *bytes,
                         clattn_error *error) {
  char file[FILE_NAME];
  snprintf(file, sizeof file, "%s.%s", name, ending);
  return ctn_folder_add(folder, file, bytes->data, bytes->length, error);
}

static clattn_status add_pictures(struct folder *folder, const struct walk_pictures *pictures, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < pictures->count && status == CLATTN_OK; i++) {
    const struct walk_picture *picture = &pictures->pictures[i];
    status = add(folder, picture->name, "png", &picture->png.bytes, error);
    if (status == CLATTN_OK) status = add(folder, picture->name, "svg", &picture->svg[PLOT_LIGHT].bytes, error);
  }
  return status;
}

clattn_status ctn_walk_open_out(struct folder *folder, const char *path, clattn_error *error) {
  return ctn_folder_open(folder, path, error);
}

clattn_status ctn_walk_write_out(const struct walk *walk, const struct walk_example *example, struct folder *folder,
                                 struct walk_out *out, clattn_error *error) {
  struct walk_view view = {0};
  struct walk_pictures pictures = {0};
  struct text page = {0};
  clattn_status status = ctn_view_open(&view, walk, example, error);
  if (status == CLATTN_OK) status = ctn_pictures_draw(&pictures, &view, error);
  if (status == CLATTN_OK) status = ctn_page_write(&page, &view, &pictures, error);
  if (status == CLATTN_OK) status = add_pictures(folder, &pictures, error);
  if (status == CLATTN_OK) status = add(folder, "index", "html", &page, error);
  if (status == CLATTN_OK) status = ctn_folder_publish(folder, error);
  out->pictures = pictures.count;
  out->missing = pictures.missing;
  out->cut = pictures.cut;
  ctn_text_free(&page);
  ctn_pictures_free(&pictures);
  ctn_view_close(&view);
  return status;
}
