/* The table of what can be tuned. Which values a device can take is the families' matter. */
#include <stddef.h>
#include <string.h>

#include "tuning.h"

const struct tuning_family ctn_tuning_families[] = {
    {"fused_vector", {"VECTORS", "STEP", "BLOCK", "GROUPS", NULL}},
    {"fused_tile", {"CHUNK", NULL}},
    {"projection_vector", {"ROWS", "DEPTH", NULL}},
    {"product_vector", {"ROWS", "DEPTH", NULL}},
    {"product_tile", {"SIDE", NULL}},
    {"softmax", {"ITEMS", NULL}},
    {"clblast_routine", {"XGEMM_MIN_INDIRECT_SIZE", NULL}},
    {"clblast_xgemm",
     {"GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB", "NDIMC", "NWG", "SA", "SB", "STRM", "STRN", "VWM", "VWN",
      NULL}},
    {"clblast_xgemm_direct", {"KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD", "PADA", "PADB", "VWMD", "VWND", "WGD", NULL}},
    {NULL, {NULL}},
};

const struct tuning_family *ctn_tuning_family(const char *name) {
  for (const struct tuning_family *family = ctn_tuning_families; family->name != NULL; family++) {
    if (strcmp(family->name, name) == 0) return family;
  }
  return NULL;
}
