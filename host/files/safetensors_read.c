/* Reading .safetensors files, believing nothing that is not checked: header, offsets and shapes against the file's real size.
 */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "checked.h"
#include "half.h"
#include "status.h"

/* The format's own limit on the header; also bounds what is allocated before anything is known to be true. */
#define HEADER_LIMIT 100000000u
enum { ALIGNMENT = 64 };

/* In the order of enum st_dtype. */
static const struct {
  const char *name;
  size_t size;
} dtypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2},  {"I16", 2}, {"U32", 4}, {"I32", 4},
              {"U64", 8},  {"I64", 8}, {"F16", 2}, {"BF16", 2}, {"F32", 4}, {"F64", 8}};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Where the bytes come from: a descriptor, or memory where fd is -1. */
struct source {
  const char *name;
  int fd;
  const unsigned char *bytes;
  uint64_t size;
  const char *prefix; /* tensors whose names do not start with it stay without data; NULL: all are read */
};

size_t ctn_st_size(enum st_dtype dtype) {
  return dtypes[dtype].size;
}
const char *ctn_st_name(enum st_dtype dtype) {
  return dtypes[dtype].name;
}

static clattn_status read_at(const struct source *source, uint64_t offset, void *to, size_t length, clattn_error *error) {
  if (source->fd < 0) {
    if (length) memcpy(to, source->bytes + offset, length);
    return CLATTN_OK;
  }
  unsigned char *at = to;
  while (length) {
    ssize_t got = pread(source->fd, at, length, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return ctn_fail(error, CLATTN_IO_FAILED, "%s: reading at byte %" PRIu64 ": %s", source->name, offset,
                      got < 0 ? strerror(errno) : "the file became shorter meanwhile");
    }
    at += got;
    offset += (uint64_t)got;
    length -= (size_t)got;
  }
  return CLATTN_OK;
}

/* The JSON header; *data_start is the file offset of the first tensor's byte. */
static clattn_status read_header(const struct source *source, json_t **header, uint64_t *data_start, clattn_error *error) {
  unsigned char prefix[8];
  if (source->size < sizeof prefix) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "%s: %" PRIu64 " bytes are too few for a safetensors file: an 8-byte header length comes first",
                    source->name, source->size);
  }
  clattn_status status = read_at(source, 0, prefix, sizeof prefix, error);
  if (status) return status;
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--)
    length = length << 8 | prefix[i];
  if (length > source->size - sizeof prefix) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "%s: header of %" PRIu64 " bytes in a file of %" PRIu64 " bytes: cut short, or no safetensors file",
                    source->name, length, source->size);
  }
  if (length > HEADER_LIMIT) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "%s: header of %" PRIu64 " bytes passes the format's limit of %u", source->name,
                    length, HEADER_LIMIT);
  }
  char *text = malloc((size_t)length + 1);
  if (!text)
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for a header of %" PRIu64 " bytes", source->name, length);
  status = read_at(source, sizeof prefix, text, (size_t)length, error);
  if (status == CLATTN_OK) {
    json_error_t json_error = {0};
    /* The format wants the object at once and allows spaces after it. */
    *header = length && text[0] == '{' ? json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &json_error) : NULL;
    if (!*header) {
      status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: header is not a JSON object: %s", source->name,
                        json_error.text[0] ? json_error.text : "it does not start with {");
    }
  }
  free(text);
  *data_start = sizeof prefix + length;
  return status;
}

/* The text of ctn_fail for something wrong with one tensor. */
#define TENSOR_FAIL(...) ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: tensor '%.100s': " __VA_ARGS__)

static clattn_status parse_shape(const char *file, struct st_tensor *tensor, const json_t *shape, clattn_error *error) {
  if (!json_is_array(shape)) return TENSOR_FAIL("shape is not a list", file, tensor->name);
  size_t rank = json_array_size(shape);
  if (rank > SAFETENSORS_MAX_RANK) {
    return TENSOR_FAIL("%zu dimensions, at most %d are read", file, tensor->name, rank, SAFETENSORS_MAX_RANK);
  }
  tensor->rank = (int)rank;
  for (size_t i = 0; i < rank; i++) {
    const json_t *dimension = json_array_get(shape, i);
    if (!json_is_integer(dimension)) return TENSOR_FAIL("dimension %zu is not an integer", file, tensor->name, i);
    tensor->shape[i] = json_integer_value(dimension);
    if (tensor->shape[i] < 0) {
      return TENSOR_FAIL("dimension %zu is negative: %" PRId64, file, tensor->name, i, tensor->shape[i]);
    }
  }
  /* A zero anywhere empties the tensor, but the other factors must fit too. */
  int64_t factors[SAFETENSORS_MAX_RANK];
  for (size_t i = 0; i < rank; i++)
    factors[i] = ctn_max(tensor->shape[i], 1);
  int64_t bytes;
  if (!ctn_product(factors, rank, &bytes) || !ctn_mul(bytes, (int64_t)ctn_st_size(tensor->dtype), &bytes)) {
    return TENSOR_FAIL("the product of its dimensions passes 2^63", file, tensor->name);
  }
  ctn_product(tensor->shape, rank, &tensor->count);
  return CLATTN_OK;
}

static clattn_status parse_tensor(const struct source *source, struct st_tensor *tensor, const json_t *entry,
                                  uint64_t data_size, uint64_t *begin, clattn_error *error) {
  const char *file = source->name;
  const json_t *dtype = json_object_get(entry, "dtype");
  const json_t *offsets = json_object_get(entry, "data_offsets");
  if (!json_is_object(entry) || json_object_size(entry) != 3 || !dtype || !offsets || !json_object_get(entry, "shape")) {
    return TENSOR_FAIL("its entry must hold dtype, shape and data_offsets", file, tensor->name);
  }
  if (!json_is_string(dtype)) return TENSOR_FAIL("dtype is not a string", file, tensor->name);
  int type = 0;
  while (type < DTYPES && strcmp(dtypes[type].name, json_string_value(dtype)) != 0)
    type++;
  if (type == DTYPES) return TENSOR_FAIL("unknown dtype '%.40s'", file, tensor->name, json_string_value(dtype));
  tensor->dtype = (enum st_dtype)type;
  clattn_status status = parse_shape(file, tensor, json_object_get(entry, "shape"), error);
  if (status) return status;

  const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last)) {
    return TENSOR_FAIL("data_offsets is not a list of two integers", file, tensor->name);
  }
  int64_t from = json_integer_value(first), to = json_integer_value(last);
  if (from < 0 || to < from || (uint64_t)to > data_size) {
    return TENSOR_FAIL("data_offsets [%" PRId64 ", %" PRId64 "] do not lie in the %" PRIu64 " bytes of data", file,
                       tensor->name, from, to, data_size);
  }
  int64_t bytes = tensor->count * (int64_t)ctn_st_size(tensor->dtype);
  if (to - from != bytes) {
    return TENSOR_FAIL("data_offsets span %" PRId64 " bytes, its shape and dtype need %" PRId64, file, tensor->name, to - from,
                       bytes);
  }
  *begin = (uint64_t)from;
  return CLATTN_OK;
}

struct extent {
  uint64_t begin, end;
  const char *name;
};

static int by_begin(const void *a, const void *b) {
  const struct extent *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* The format wants the tensors to cover the data exactly: no byte twice, none unused. */
static clattn_status check_cover(const struct st_file *file, const char *name, const uint64_t *begins, uint64_t data_size,
                                 clattn_error *error) {
  struct extent *extents = calloc(file->count + 1, sizeof *extents);
  if (!extents) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu tensors", name, file->count);
  for (size_t i = 0; i < file->count; i++) {
    uint64_t bytes = (uint64_t)file->tensors[i].count * ctn_st_size(file->tensors[i].dtype);
    extents[i] = (struct extent){begins[i], begins[i] + bytes, file->tensors[i].name};
  }
  qsort(extents, file->count, sizeof *extents, by_begin);
  uint64_t end = 0;
  clattn_status status = CLATTN_OK;
  for (size_t i = 0; i < file->count && status == CLATTN_OK; i++) {
    if (extents[i].begin != end) {
      status = ctn_fail(
          error, CLATTN_INVALID_ARGUMENT, "%s: tensor '%.100s': its data at byte %" PRIu64 " %s, which ends at %" PRIu64, name,
          extents[i].name, extents[i].begin,
          extents[i].begin < end ? "overlaps the tensor before it" : "leaves a gap after the data before it", end);
    }
    end = extents[i].end;
  }
  if (status == CLATTN_OK && end != data_size) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: %" PRIu64 " bytes of data, but the tensors use %" PRIu64, name,
                      data_size, end);
  }
  free(extents);
  return status;
}

static clattn_status parse_metadata(struct st_file *file, const char *name, json_t *metadata, clattn_error *error) {
  if (!json_is_object(metadata)) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: __metadata__ is not an object", name);
  const char *key;
  json_t *value;
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value)) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: __metadata__ '%.100s' is not a string", name, key);
    }
    clattn_status status = ctn_st_add_metadata(file, key, json_string_value(value), error);
    if (status) return status;
  }
  return CLATTN_OK;
}

static size_t wanted_bytes(const struct source *source, const struct st_tensor *tensor) {
  bool wanted = !source->prefix || strncmp(tensor->name, source->prefix, strlen(source->prefix)) == 0;
  return wanted ? (size_t)tensor->count * ctn_st_size(tensor->dtype) : 0;
}

/* Copies every tensor to its own aligned place, which the file's offsets do not promise. */
static clattn_status read_data(struct st_file *file, const struct source *source, const uint64_t *begins, uint64_t data_start,
                               clattn_error *error) {
  size_t total = ALIGNMENT;
  for (size_t i = 0; i < file->count; i++) {
    size_t bytes = wanted_bytes(source, &file->tensors[i]);
    total += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  unsigned char *at = file->memory = aligned_alloc(ALIGNMENT, total);
  if (!at) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes of tensors", source->name, total);
  for (size_t i = 0; i < file->count; i++) {
    size_t bytes = wanted_bytes(source, &file->tensors[i]);
    clattn_status status = read_at(source, data_start + begins[i], at, bytes, error);
    if (status) return status;
    file->tensors[i].data = bytes || !source->prefix ? at : NULL;
    at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  return CLATTN_OK;
}

static clattn_status parse(struct st_file *file, const struct source *source, clattn_error *error) {
  memset(file, 0, sizeof *file);
  json_t *header = NULL;
  uint64_t *begins = NULL;
  uint64_t data_start = 0;
  clattn_status status = read_header(source, &header, &data_start, error);
  if (status) goto cleanup;
  begins = calloc(json_object_size(header) + 1, sizeof *begins);
  if (!begins) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu tensors", source->name, json_object_size(header));
    goto cleanup;
  }
  const char *name;
  json_t *entry;
  json_object_foreach(header, name, entry) {
    if (strcmp(name, "__metadata__") == 0) {
      status = parse_metadata(file, source->name, entry, error);
    } else {
      status = ctn_st_add(file, name, ST_U8, 0, NULL, NULL, error);
      if (status) goto cleanup;
      size_t last = file->count - 1;
      status = parse_tensor(source, &file->tensors[last], entry, source->size - data_start, &begins[last], error);
    }
    if (status) goto cleanup;
  }
  status = check_cover(file, source->name, begins, source->size - data_start, error);
  if (status == CLATTN_OK) status = read_data(file, source, begins, data_start, error);

cleanup:
  json_decref(header);
  free(begins);
  if (status)
    ctn_st_clear(file);
  else
    ctn_clear(error);
  return status;
}

clattn_status ctn_st_read(struct st_file *file, const char *path, clattn_error *error) {
  return ctn_st_read_prefix(file, path, NULL, error);
}

clattn_status ctn_st_read_prefix(struct st_file *file, const char *path, const char *prefix, clattn_error *error) {
  memset(file, 0, sizeof *file);
  /* O_NONBLOCK: opening a FIFO must not wait for its other end. */
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return ctn_fail(error, CLATTN_IO_FAILED, "%s: %s", path, strerror(errno));
  struct stat about;
  clattn_status status;
  if (fstat(fd, &about) != 0) {
    status = ctn_fail(error, CLATTN_IO_FAILED, "%s: %s", path, strerror(errno));
  } else if (!S_ISREG(about.st_mode)) {
    status = ctn_fail(error, CLATTN_IO_FAILED, "%s: is a %s, not a regular file", path,
                      S_ISDIR(about.st_mode) ? "folder" : "pipe, socket or device");
  } else {
    const struct source source = {path, fd, NULL, (uint64_t)about.st_size, prefix};
    status = parse(file, &source, error);
  }
  close(fd);
  return status;
}

clattn_status ctn_st_parse(struct st_file *file, const char *name, const void *bytes, size_t length, clattn_error *error) {
  const struct source source = {name, -1, bytes, length, NULL};
  return parse(file, &source, error);
}
