/* Comparison of results: see compare.h. */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define POISON_F32 0x7fa5a5a5u
#define POISON_F16 0x7da5u
#define POISON_BF16 0x7fa5u

void ctn_poison(enum st_dtype dtype, void *data, int64_t count) {
  if (dtype == ST_F32) {
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)data)[i] = POISON_F32;
  } else {
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)data)[i] = dtype == ST_F16 ? POISON_F16 : POISON_BF16;
  }
}

static bool is_poison(const struct st_tensor *tensor, int64_t index) {
  switch (tensor->dtype) {
    case ST_F32:
      return ((const uint32_t *)tensor->data)[index] == POISON_F32;
    case ST_F16:
      return ((const uint16_t *)tensor->data)[index] == POISON_F16;
    case ST_BF16:
      return ((const uint16_t *)tensor->data)[index] == POISON_BF16;
    default:
      return false;
  }
}

static bool agree(double got, double want, double rtol, double atol) {
  if (isnan(want)) return isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= atol + rtol * fabs(want);
}

struct comparison ctn_compare(const struct st_tensor *got, const struct st_tensor *want, double rtol, double atol) {
  struct comparison result = {.count = want->count};
  for (int64_t i = 0; i < want->count; i++) {
    double g = ctn_st_f64(got, i), w = ctn_st_f64(want, i);
    bool unwritten = is_poison(got, i);
    if (isfinite(g) && isfinite(w) && fabs(g - w) > result.largest) result.largest = fabs(g - w);
    if (!unwritten && agree(g, w, rtol, atol)) continue;
    if (result.differing++) continue;
    result.first = i;
    result.got = g;
    result.want = w;
    result.unwritten = unwritten;
  }
  return result;
}

static const char *list_text(int rank, const int64_t *values, char *text) {
  size_t length = (size_t)snprintf(text, 200, "[");
  for (int i = 0; i < rank; i++) {
    length += (size_t)snprintf(text + length, 200 - length, "%s%" PRId64, i ? ", " : "", values[i]);
  }
  snprintf(text + length, 200 - length, "]");
  return text;
}

const char *ctn_index_text(const struct st_tensor *tensor, int64_t index, char *text) {
  int64_t place[SAFETENSORS_MAX_RANK];
  for (int i = tensor->rank - 1; i >= 0; i--) {
    place[i] = index % tensor->shape[i];
    index /= tensor->shape[i];
  }
  return list_text(tensor->rank, place, text);
}

const char *ctn_shape_text(const struct st_tensor *tensor, char *text) {
  return list_text(tensor->rank, tensor->shape, text);
}
