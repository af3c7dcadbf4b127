/* The st_file in memory: building, looking up, reading elements, releasing. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "status.h"

static char *copy_string(const char *text) {
  size_t length = strlen(text) + 1;
  char *copy = malloc(length);
  if (copy) memcpy(copy, text, length);
  return copy;
}

const struct st_tensor *ctn_st_find(const struct st_file *file, const char *name) {
  for (size_t i = 0; i < file->count; i++) {
    if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
  }
  return NULL;
}

const char *ctn_st_metadata(const struct st_file *file, const char *key) {
  for (size_t i = 0; i < file->metadata_count; i++) {
    if (strcmp(file->keys[i], key) == 0) return file->values[i];
  }
  return NULL;
}

/* True where one more element needs room: capacities are the powers of two. */
static bool full(size_t count) {
  return (count & (count - 1)) == 0;
}
static size_t grown(size_t count) {
  return count ? count * 2 : 1;
}

clattn_status ctn_st_add(struct st_file *file, const char *name, enum st_dtype dtype, int rank, const int64_t *shape,
                         const void *data, clattn_error *error) {
  if (full(file->count)) {
    struct st_tensor *tensors = realloc(file->tensors, grown(file->count) * sizeof *tensors);
    if (!tensors) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for %zu tensors", file->count + 1);
    file->tensors = tensors;
  }
  struct st_tensor *tensor = &file->tensors[file->count];
  memset(tensor, 0, sizeof *tensor);
  tensor->name = copy_string(name);
  if (!tensor->name) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the tensor's name '%.100s'", name);
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->count = 1;
  for (int i = 0; i < rank; i++) {
    tensor->shape[i] = shape[i];
    tensor->count *= shape[i];
  }
  tensor->data = data;
  file->count++;
  return CLATTN_OK;
}

clattn_status ctn_st_add_metadata(struct st_file *file, const char *key, const char *value, clattn_error *error) {
  if (full(file->metadata_count)) {
    size_t room = grown(file->metadata_count);
    char **keys = realloc(file->keys, room * sizeof *keys);
    if (keys) file->keys = keys;
    char **values = realloc(file->values, room * sizeof *values);
    if (values) file->values = values;
    if (!keys || !values) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the metadata '%.100s'", key);
  }
  char *new_key = copy_string(key), *new_value = copy_string(value);
  if (!new_key || !new_value) {
    free(new_key);
    free(new_value);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "no memory for the metadata '%.100s'", key);
  }
  file->keys[file->metadata_count] = new_key;
  file->values[file->metadata_count] = new_value;
  file->metadata_count++;
  return CLATTN_OK;
}

/* Element index of an unsigned 64-bit tensor past 2^63 becomes the largest signed one, which no length or offset reaches. */
int64_t ctn_st_i64(const struct st_tensor *tensor, int64_t index) {
  switch (tensor->dtype) {
    case ST_BOOL:
      return ((const uint8_t *)tensor->data)[index] != 0;
    case ST_U8:
      return ((const uint8_t *)tensor->data)[index];
    case ST_I8:
      return ((const int8_t *)tensor->data)[index];
    case ST_U16:
      return ((const uint16_t *)tensor->data)[index];
    case ST_I16:
      return ((const int16_t *)tensor->data)[index];
    case ST_U32:
      return ((const uint32_t *)tensor->data)[index];
    case ST_I32:
      return ((const int32_t *)tensor->data)[index];
    case ST_I64:
      return ((const int64_t *)tensor->data)[index];
    case ST_U64: {
      uint64_t value = ((const uint64_t *)tensor->data)[index];
      return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    }
    default:
      return 0;
  }
}

double ctn_st_f64(const struct st_tensor *tensor, int64_t index) {
  switch (tensor->dtype) {
    case ST_F16:
      return (double)ctn_f16_to_f32(((const uint16_t *)tensor->data)[index]);
    case ST_BF16:
      return (double)ctn_bf16_to_f32(((const uint16_t *)tensor->data)[index]);
    case ST_F32:
      return (double)((const float *)tensor->data)[index];
    case ST_F64:
      return ((const double *)tensor->data)[index];
    case ST_U64:
      return (double)((const uint64_t *)tensor->data)[index];
    default:
      return (double)ctn_st_i64(tensor, index);
  }
}

void ctn_st_clear(struct st_file *file) {
  for (size_t i = 0; i < file->count; i++)
    free(file->tensors[i].name);
  for (size_t i = 0; i < file->metadata_count; i++) {
    free(file->keys[i]);
    free(file->values[i]);
  }
  free(file->tensors);
  free(file->keys);
  free(file->values);
  free(file->memory);
  memset(file, 0, sizeof *file);
}
