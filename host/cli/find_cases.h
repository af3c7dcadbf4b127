/* The case files below some paths. */
#ifndef CTN_FIND_CASES_H
#define CTN_FIND_CASES_H

#include <stddef.h>

#include <clattn/clattn.h>

struct found_case {
  char *path;
  char *name;   /* path without the folder that was searched and without .safetensors; a file that was named keeps its folder */
  char *reason; /* why it cannot be read at all (a folder, say); NULL otherwise */
};

struct found_cases {
  struct found_case *items;
  size_t count;
};

/* paths ends with NULL. A folder gives every *.safetensors below it, sorted by path; any other path stands for itself. What
 * cannot be looked into becomes an item with a reason, so that it is counted. Fails only for want of memory. */
clattn_status ctn_find_cases(struct found_cases *found, const char *const *paths, clattn_error *error);
void ctn_found_cases_clear(struct found_cases *found);

#endif
