/* The table of kernel families, and the choice among them. */
#ifndef CTN_REGISTRY_H
#define CTN_REGISTRY_H

#include "selftest.h"

/* Row `index`, or NULL past the last. */
const struct family *ctn_family(size_t index);

/* The cheapest family that takes the request; `reasons` receives a line for every other one of the operation. None:
 * UNSUPPORTED, with the reasons in the error. */
clattn_status ctn_choose(const struct family **chosen, const struct request *request, struct selftests *selftests,
                         struct text *reasons, clattn_error *error);

#endif
