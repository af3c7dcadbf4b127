/* f16 and bf16 in integer arithmetic: exact on every host, whatever its rounding mode or compiler options. */
#include "half.h"

#include <string.h>

static uint32_t f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float f32_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Both sides of the choice are computed, so that a loop over it becomes vector code. */
static float f16_widen(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t magnitude = (uint32_t)(half & 0x7fff);
  /* Subnormal: 2^-14 plus fraction * 2^-24 is a float as it stands; taking 2^-14 off again is exact. */
  const float subnormal = f32_from_bits((113u << 23) | (magnitude << 13)) - 0x1p-14f;
  const uint32_t rebias = magnitude >= 0x7c00 ? 224u << 23 : 112u << 23; /* infinity and NaN go to the top exponent */
  const uint32_t normal = (magnitude << 13) + rebias;
  return f32_from_bits(sign | (magnitude < 0x0400 ? f32_bits(subnormal) : normal));
}

static float bf16_widen(uint16_t bits) {
  return f32_from_bits((uint32_t)bits << 16);
}

/* A 16-bit format with that many fraction bits and that exponent bias, rounded to nearest even from the exact value. */
static uint16_t narrow(double value, int fraction, int bias) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = (uint32_t)(bits >> 63) << 15;
  const uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction;
  const uint64_t magnitude = bits & (UINT64_MAX >> 1);
  const uint64_t significand = (magnitude & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52);
  if (magnitude > UINT64_C(0x7ff) << 52) { /* NaN: quiet, with the upper part of its payload */
    const uint32_t payload = (uint32_t)(magnitude >> (52 - fraction)) & ((1u << fraction) - 1);
    return (uint16_t)(sign | infinity | (1u << (fraction - 1)) | payload);
  }
  int exponent = (int)(magnitude >> 52) - 1023 + bias; /* as the narrow format stores it */
  if (exponent > 2 * bias) return (uint16_t)(sign | infinity);
  int shift = 52 - fraction;
  if (exponent < 1) { /* subnormal: all share the exponent of 1, further bits fall off */
    shift += 1 - exponent;
    exponent = 1;
  }
  if (shift > 53) return (uint16_t)sign; /* below half of the smallest subnormal */
  const uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
  const uint64_t middle = UINT64_C(1) << (shift - 1);
  uint32_t kept = (uint32_t)(significand >> shift);
  if (rest > middle || (rest == middle && (kept & 1) != 0)) kept++;
  /* kept carries its leading 1 into the exponent; rounding up may carry once more, up to infinity. */
  return (uint16_t)(sign | (((uint32_t)(exponent - 1) << fraction) + kept));
}

float ctn_f16_to_f32(uint16_t bits) {
  return f16_widen(bits);
}
float ctn_bf16_to_f32(uint16_t bits) {
  return bf16_widen(bits);
}
uint16_t ctn_f64_to_f16(double value) {
  return narrow(value, 10, 15);
}
uint16_t ctn_f64_to_bf16(double value) {
  return narrow(value, 7, 127);
}
/* Every float is a double, so these round once too. */
uint16_t ctn_f32_to_f16(float value) {
  return narrow((double)value, 10, 15);
}
uint16_t ctn_f32_to_bf16(float value) {
  return narrow((double)value, 7, 127);
}

static const struct {
  const char *name;
  size_t size;
} dtypes[] = {
    [CLATTN_NONE] = {"none", 0}, [CLATTN_F32] = {"f32", 4}, [CLATTN_F16] = {"f16", 2}, [CLATTN_BF16] = {"bf16", 2},
    [CLATTN_BOOL] = {"bool", 1}, [CLATTN_I32] = {"i32", 4}, [CLATTN_I64] = {"i64", 8},
};

static size_t dtype_index(clattn_dtype dtype) {
  const size_t index = (size_t)dtype;
  return index < sizeof dtypes / sizeof dtypes[0] ? index : CLATTN_NONE;
}

size_t ctn_dtype_size(clattn_dtype dtype) {
  return dtypes[dtype_index(dtype)].size;
}
const char *ctn_dtype_name(clattn_dtype dtype) {
  return dtypes[dtype_index(dtype)].name;
}

double ctn_load_f64(clattn_dtype dtype, const void *data, int64_t index) {
  if (dtype == CLATTN_F16) return (double)f16_widen(((const uint16_t *)data)[index]);
  if (dtype == CLATTN_BF16) return (double)bf16_widen(((const uint16_t *)data)[index]);
  return (double)((const float *)data)[index];
}

void ctn_store_f64(clattn_dtype dtype, void *data, int64_t index, double value) {
  if (dtype == CLATTN_F16) {
    ((uint16_t *)data)[index] = ctn_f64_to_f16(value);
  } else if (dtype == CLATTN_BF16) {
    ((uint16_t *)data)[index] = ctn_f64_to_bf16(value);
  } else {
    ((float *)data)[index] = (float)value;
  }
}

void ctn_load_row(clattn_dtype dtype, const void *data, int64_t index, int64_t count, float *row) {
  if (dtype == CLATTN_F32) {
    memcpy(row, (const float *)data + index, (size_t)count * sizeof *row);
    return;
  }
  const uint16_t *from = (const uint16_t *)data + index;
  if (dtype == CLATTN_F16) {
    for (int64_t i = 0; i < count; i++)
      row[i] = f16_widen(from[i]);
  } else {
    for (int64_t i = 0; i < count; i++)
      row[i] = bf16_widen(from[i]);
  }
}

void ctn_store_row(clattn_dtype dtype, void *data, int64_t index, int64_t count, const float *row) {
  if (dtype == CLATTN_F32) {
    memcpy((float *)data + index, row, (size_t)count * sizeof *row);
    return;
  }
  uint16_t *to = (uint16_t *)data + index;
  for (int64_t i = 0; i < count; i++)
    to[i] = dtype == CLATTN_F16 ? ctn_f32_to_f16(row[i]) : ctn_f32_to_bf16(row[i]);
}
