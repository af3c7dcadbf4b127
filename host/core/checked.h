/* Arithmetic on sizes that reports overflow instead of wrapping. */
#ifndef CTN_CHECKED_H
#define CTN_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *result = a * b (a + b) and true, or false where that does not fit. Arguments are not negative. */
static inline bool ctn_mul(int64_t a, int64_t b, int64_t *result) {
  if (b != 0 && a > INT64_MAX / b) return false;
  *result = a * b;
  return true;
}

static inline bool ctn_add(int64_t a, int64_t b, int64_t *result) {
  if (a > INT64_MAX - b) return false;
  *result = a + b;
  return true;
}

/* The product of count factors, none negative. */
static inline bool ctn_product(const int64_t *factors, size_t count, int64_t *result) {
  int64_t product = 1;
  for (size_t i = 0; i < count; i++) {
    if (!ctn_mul(product, factors[i], &product)) return false;
  }
  *result = product;
  return true;
}

static inline int64_t ctn_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t ctn_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static inline int64_t ctn_ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

#endif
