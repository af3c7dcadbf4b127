/* A folder of files that appear all together or not at all. */
#ifndef CTN_FOLDER_H
#define CTN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <clattn/clattn.h>

enum { FOLDER_MAX_FILES = 128 };

/* Start from {0}; end with ctn_folder_close. */
struct folder {
  char *path;
  bool made; /* by ctn_folder_open */
  struct {
    char *path;
    char *temporary; /* beside it, until ctn_folder_publish */
  } files[FOLDER_MAX_FILES];
  int count;
  int published;
};

/* Makes the folder where there is none, and tells before any work is done whether files can be made in it. */
clattn_status ctn_folder_open(struct folder *folder, const char *path, clattn_error *error);
/* Writes a file's bytes under a temporary name. */
clattn_status ctn_folder_add(struct folder *folder, const char *name, const void *bytes, size_t length, clattn_error *error);
/* Gives every file its name; files that were there before are replaced. */
clattn_status ctn_folder_publish(struct folder *folder, clattn_error *error);
/* Removes what was not published, and the folder if it was made here and nothing is in it. */
void ctn_folder_close(struct folder *folder);

#endif
