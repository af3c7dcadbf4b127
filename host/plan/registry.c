/* The table of kernel families. */
#include "registry.h"

static const struct family *const rows[] = {
    &ctn_family_fused_vector, &ctn_family_fused_tile, &ctn_family_fused_matrix, &ctn_family_staged,    &ctn_family_embedding,
    &ctn_family_position,     &ctn_family_projection, &ctn_family_merge,        &ctn_families_host[0], &ctn_families_host[1],
    &ctn_families_host[2],    &ctn_families_host[3],  &ctn_families_host[4],    &ctn_families_host[5], &ctn_families_host[6],
    &ctn_families_host[7],    &ctn_families_host[8],  &ctn_families_host[9],
};

_Static_assert(HOST_FAMILY_COUNT == 10, "every row of ctn_families_host stands in the table");

const struct family *ctn_family(size_t index) {
  return index < sizeof rows / sizeof rows[0] ? rows[index] : NULL;
}
