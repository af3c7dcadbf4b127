/* `walkthrough --out` in a tool that was built without pictures: refused. */
#include "walkthrough_out.h"

#include "status.h"

clattn_status ctn_walk_open_out(struct folder *folder, const char *path, clattn_error *error) {
  (void)folder;
  return ctn_fail(error, CLATTN_UNSUPPORTED, "--out %s: this clattn was built without pictures (-DCLATTN_PICTURES=ON has them)",
                  path);
}

clattn_status ctn_walk_write_out(const struct walk *walk, const struct walk_example *example, struct folder *folder,
                                 struct walk_out *out, clattn_error *error) {
  (void)walk, (void)example, (void)out;
  return ctn_walk_open_out(folder, "", error);
}
