/* Got against wanted, element by element, by the rule of the case files; and the poison that tells a result never written. */
#ifndef CTN_COMPARE_H
#define CTN_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "safetensors.h"

struct comparison {
  int64_t count;
  int64_t differing;
  int64_t first; /* the first element that differs, if any, with its values */
  double got, want;
  bool unwritten; /* that element still holds the poison */
  double largest; /* |got - want| over the elements where both are finite */
};

/* Both floating point and of one shape. Values agree when |got - want| <= atol + rtol * |want|, widened to double; NaN agrees
 * with NaN, an infinity with the same infinity, and nothing with poison. */
struct comparison ctn_compare(const struct st_tensor *got, const struct st_tensor *want, double rtol, double atol);

/* Fills F32, F16 or BF16 memory with a signalling NaN, which no arithmetic produces. */
void ctn_poison(enum st_dtype dtype, void *data, int64_t count);

/* "[1, 2, 3]": where element index lies in the shape; text takes 200 bytes. Returns text. */
const char *ctn_index_text(const struct st_tensor *tensor, int64_t index, char *text);
/* "[2, 3, 4]": the shape. */
const char *ctn_shape_text(const struct st_tensor *tensor, char *text);

#endif
