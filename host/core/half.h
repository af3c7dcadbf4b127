/* f16 and bf16 in software: conversions that round to nearest even and keep infinities and NaN, and typed element access. */
#ifndef CTN_HALF_H
#define CTN_HALF_H

#include <stddef.h>
#include <stdint.h>

#include <clattn/clattn.h>

float ctn_f16_to_f32(uint16_t bits);
uint16_t ctn_f32_to_f16(float value);
float ctn_bf16_to_f32(uint16_t bits);
uint16_t ctn_f32_to_bf16(float value);
/* Directly from double, so that a float64 result is rounded once. */
uint16_t ctn_f64_to_f16(double value);
uint16_t ctn_f64_to_bf16(double value);

/* Bytes of one element; 0 for CLATTN_NONE and unknown values. */
size_t ctn_dtype_size(clattn_dtype dtype);
/* "f32", "f16", "bf16", "bool", "i32", "i64"; "none" for anything else. */
const char *ctn_dtype_name(clattn_dtype dtype);

/* Element `index` of an array of a floating-point type (F32, F16, BF16), widened or narrowed. */
double ctn_load_f64(clattn_dtype dtype, const void *data, int64_t index);
void ctn_store_f64(clattn_dtype dtype, void *data, int64_t index, double value);
/* count contiguous elements to and from float32: what a block of the CPU path works on. */
void ctn_load_row(clattn_dtype dtype, const void *data, int64_t index, int64_t count, float *row);
void ctn_store_row(clattn_dtype dtype, void *data, int64_t index, int64_t count, const float *row);

#endif
