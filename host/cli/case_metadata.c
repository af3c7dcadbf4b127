/* The metadata of a case file: strings that become numbers, each within its range. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "status.h"

#define FAIL(...) ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: metadata %s: '%.60s' " __VA_ARGS__)

/* A decimal number and nothing else: no spaces, hexadecimal or words. */
static bool is_decimal(const char *text) {
  return *text && strspn(text, "0123456789+-.eE") == strlen(text);
}

static clattn_status number(const struct case_file *c, const char *key, double least, double most, double *value,
                            clattn_error *error) {
  const char *text = ctn_st_metadata(&c->file, key);
  if (!text) return CLATTN_OK;
  char *end = NULL;
  double parsed = strtod(text, &end);
  if (!is_decimal(text) || *end || !isfinite(parsed)) return FAIL("is not a finite decimal number", c->path, key, text);
  if (parsed < least || parsed > most) return FAIL("is not between %g and %g", c->path, key, text, least, most);
  *value = parsed;
  return CLATTN_OK;
}

clattn_status ctn_case_integer(const struct case_file *c, const char *key, int64_t least, int64_t most, int64_t *value,
                               clattn_error *error) {
  const char *text = ctn_st_metadata(&c->file, key);
  if (!text) return CLATTN_OK;
  char *end = NULL;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (!is_decimal(text) || *end || errno) return FAIL("is not an integer", c->path, key, text);
  if (parsed < least || parsed > most) {
    return FAIL("is not between %" PRId64 " and %" PRId64, c->path, key, text, least, most);
  }
  *value = parsed;
  return CLATTN_OK;
}

/* Seeds and offsets use all 64 bits. */
static clattn_status unsigned_integer(const struct case_file *c, const char *key, uint64_t *value, clattn_error *error) {
  const char *text = ctn_st_metadata(&c->file, key);
  if (!text) return CLATTN_OK;
  errno = 0;
  unsigned long long parsed = strtoull(text, NULL, 10);
  if (!*text || strspn(text, "0123456789") != strlen(text) || errno) {
    return FAIL("is not an integer between 0 and 2^64 - 1", c->path, key, text);
  }
  *value = parsed;
  return CLATTN_OK;
}

static clattn_status attention_numbers(struct case_file *c, clattn_error *error) {
  const double float_limit = 3.4028234663852886e38; /* FLT_MAX */
  clattn_problem *problem = &c->problem;
  double scale = 0, softcap = 0, dropout = 0;
  int64_t causal = 0;
  clattn_status status = number(c, "scale", -float_limit, float_limit, &scale, error);
  if (status == CLATTN_OK) status = number(c, "softcap", 0, float_limit, &softcap, error);
  if (status == CLATTN_OK) status = number(c, "dropout", 0, 1, &dropout, error);
  if (status == CLATTN_OK) status = ctn_case_integer(c, "causal", 0, 1, &causal, error);
  if (status == CLATTN_OK) status = ctn_case_integer(c, "window_left", -1, INT64_MAX, &problem->window_left, error);
  if (status == CLATTN_OK) status = ctn_case_integer(c, "window_right", -1, INT64_MAX, &problem->window_right, error);
  if (status == CLATTN_OK) status = unsigned_integer(c, "dropout_seed", &c->arrays.dropout_seed, error);
  if (status == CLATTN_OK) status = unsigned_integer(c, "dropout_offset", &c->arrays.dropout_offset, error);
  if (status) return status;
  problem->scale_given = ctn_st_metadata(&c->file, "scale") != NULL;
  problem->scale = (float)scale;
  problem->softcap = (float)softcap;
  problem->dropout = (float)dropout;
  problem->causal = (int)causal;
  if (problem->dropout >= 1.0f) {
    return FAIL("is not below 1: nothing would be kept", c->path, "dropout", ctn_st_metadata(&c->file, "dropout"));
  }
  if (softcap > 0 && problem->softcap == 0) {
    return FAIL("is too small for float32", c->path, "softcap", ctn_st_metadata(&c->file, "softcap"));
  }
  return CLATTN_OK;
}

clattn_status ctn_case_metadata(struct case_file *c, clattn_error *error) {
  const clattn_problem problem = CLATTN_PROBLEM_INIT;
  const clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  c->problem = problem;
  c->arrays = arrays;
  c->rtol = c->atol = -1; /* by the data type, once that is known */
  const char *dtype = ctn_st_metadata(&c->file, "dtype");
  if (dtype && strcmp(dtype, "f32") != 0 && strcmp(dtype, "f16") != 0 && strcmp(dtype, "bf16") != 0) {
    return FAIL("is none of f32, f16, bf16", c->path, "dtype", dtype);
  }
  clattn_status status = number(c, "rtol", 0, INFINITY, &c->rtol, error);
  if (status == CLATTN_OK) status = number(c, "atol", 0, INFINITY, &c->atol, error);
  if (status == CLATTN_OK && !c->rotary) status = attention_numbers(c, error);
  return status;
}
