/* Reading and writing .safetensors files (8-byte little-endian header length, JSON header, data), trusting nothing in them. */
#ifndef CTN_SAFETENSORS_H
#define CTN_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clattn/clattn.h>

enum { SAFETENSORS_MAX_RANK = 8 };

/* Element types of the format. Sizes: ctn_st_size. */
enum st_dtype { ST_BOOL, ST_U8, ST_I8, ST_U16, ST_I16, ST_U32, ST_I32, ST_U64, ST_I64, ST_F16, ST_BF16, ST_F32, ST_F64 };

struct st_tensor {
  char *name;
  enum st_dtype dtype;
  int rank;
  int64_t shape[SAFETENSORS_MAX_RANK];
  int64_t count;    /* elements */
  const void *data; /* aligned to 64 bytes; borrowed from the file, or from the caller while writing */
};

struct st_file {
  struct st_tensor *tensors;
  size_t count;
  char **keys; /* __metadata__ */
  char **values;
  size_t metadata_count;
  void *memory; /* behind tensors[].data when read */
};

size_t ctn_st_size(enum st_dtype dtype);
const char *ctn_st_name(enum st_dtype dtype); /* "F32" */

/* A file, or bytes in memory (name is for messages). Errors name the file and what is wrong at which tensor. */
clattn_status ctn_st_read(struct st_file *file, const char *path, clattn_error *error);
/* The same, reading only the data of tensors whose names start with prefix: the others are there, with data NULL. */
clattn_status ctn_st_read_prefix(struct st_file *file, const char *path, const char *prefix, clattn_error *error);
clattn_status ctn_st_parse(struct st_file *file, const char *name, const void *bytes, size_t length, clattn_error *error);
/* Writes path by way of a temporary file beside it and a rename: nothing half-written is ever seen. */
clattn_status ctn_st_write(const struct st_file *file, const char *path, clattn_error *error);
/* Whether ctn_st_write could make a file there, told before any work is done; leaves nothing behind. */
clattn_status ctn_st_check_writable(const char *path, clattn_error *error);

/* NULL where there is none. */
const struct st_tensor *ctn_st_find(const struct st_file *file, const char *name);
const char *ctn_st_metadata(const struct st_file *file, const char *key);
/* For building a file to write: copies name (and key, value); data is borrowed. */
clattn_status ctn_st_add(struct st_file *file, const char *name, enum st_dtype dtype, int rank, const int64_t *shape,
                         const void *data, clattn_error *error);
clattn_status ctn_st_add_metadata(struct st_file *file, const char *key, const char *value, clattn_error *error);
/* Element index, any dtype, as double (64-bit integers lose bits past 2^53; use ctn_st_i64 for them). */
double ctn_st_f64(const struct st_tensor *tensor, int64_t index);
/* Integer tensors (and bool) only. */
int64_t ctn_st_i64(const struct st_tensor *tensor, int64_t index);
void ctn_st_clear(struct st_file *file);

#endif
