/* `walkthrough --out`: a run as pictures and a page in a folder. */
#ifndef CTN_WALKTHROUGH_OUT_H
#define CTN_WALKTHROUGH_OUT_H

#include "folder.h"
#include "walkthrough.h"

struct walk_out {
  int pictures; /* each as PNG and SVG */
  int missing;  /* characters that no installed font has */
  bool cut;     /* some picture leaves something out */
};

/* Opens the folder, before any work is done. A tool that was built without pictures refuses. */
clattn_status ctn_walk_open_out(struct folder *folder, const char *path, clattn_error *error);
/* Draws everything, and publishes it in a folder that was opened. */
clattn_status ctn_walk_write_out(const struct walk *walk, const struct walk_example *example, struct folder *folder,
                                 struct walk_out *out, clattn_error *error);

#endif
