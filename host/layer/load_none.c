/* clattn_layer_load of a library that reads no files. */
#include "layer.h"

clattn_status clattn_layer_load(clattn_layer **layer, clattn_context *context, const clattn_layer_problem *problem,
                                const char *path, const char *prefix, const clattn_plan_options *options, clattn_error *error) {
  (void)context;
  (void)problem;
  (void)prefix;
  (void)options;
  if (layer != NULL) *layer = NULL;
  return ctn_fail(error, CLATTN_UNSUPPORTED, "%s: this library was built without CLATTN_FILES: use clattn_layer_create",
                  path != NULL ? path : "path");
}
