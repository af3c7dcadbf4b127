/* Compiled programs in memory: one build a specialisation, whichever thread asks first. */
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "disk_cache.h"
#include "source.h"

/* CL1.2 is what every device has; the options that let compilers ignore infinities and NaN are never used. */
#define BASE_OPTIONS "-cl-std=CL1.2"

struct entry {
  struct entry *next;
  cl_program program;
  char *name; /* "softmax.cl -DNAME=value ..." */
  uint8_t key[32];
};

static _Thread_local struct sha256 *trace; /* of this thread; NULL: none */

struct program_store {
  pthread_mutex_t lock;
  struct entry *first;
  atomic_uint_fast64_t compiled, loaded; /* read without the lock: a log callback may ask */
};

struct sha256 *ctn_program_trace(struct sha256 *keys) {
  struct sha256 *before = trace;
  trace = keys;
  return before;
}

clattn_status ctn_program_store_create(struct program_store **store, clattn_error *error) {
  *store = NULL;
  struct program_store *made = calloc(1, sizeof *made);
  if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
    free(made);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for the program store");
  }
  atomic_init(&made->compiled, 0);
  atomic_init(&made->loaded, 0);
  *store = made;
  return CLATTN_OK;
}

void ctn_program_store_destroy(struct program_store *store) {
  if (store == NULL) return;
  for (struct entry *entry = store->first; entry != NULL;) {
    struct entry *next = entry->next;
    clReleaseProgram(entry->program);
    free(entry->name);
    free(entry);
    entry = next;
  }
  pthread_mutex_destroy(&store->lock);
  free(store);
}

void ctn_define(struct specialisation *spec, const char *name, long value) {
  ctn_text_printf(&spec->options, " -D%s=%ld", name, value);
}

void ctn_specialisation_free(struct specialisation *spec) {
  ctn_text_free(&spec->options);
}

/* The program from the disk cache, or NULL. */
static cl_program load(struct runtime *runtime, const uint8_t key[32], const char *file, const char *options) {
  size_t size = 0;
  cl_int code = CL_SUCCESS;
  unsigned char *binary = ctn_cache_load(runtime, key, &size);
  if (binary == NULL) return NULL;
  cl_program program = ctn_build_binary(runtime, binary, size, options, &code);
  free(binary);
  if (program == NULL) {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "cache: the driver refuses the program kept of kernels/%s: %s (%d); compiling",
                    file, ctn_cl_name(code), (int)code);
  }
  return program;
}

static void keep(struct runtime *runtime, const uint8_t key[32], cl_program program, const char *file) {
  unsigned char *binary = NULL;
  size_t size = 0;
  if (runtime->cache_dir == NULL) return;
  cl_int code = ctn_build_binary_of(program, runtime->device.id, &binary, &size);
  if (code == CL_SUCCESS) {
    ctn_cache_store(runtime, key, binary, size);
  } else {
    ctn_runtime_log(runtime, CLATTN_LOG_INFO, "cache: the driver gives no binary of kernels/%s: %s (%d)", file,
                    ctn_cl_name(code), (int)code);
  }
  free(binary);
}

/* From the disk cache or the compiler. */
static clattn_status make_program(struct entry *entry, struct runtime *runtime, const char *file, const char *options,
                                  clattn_error *error) {
  cl_program *program = &entry->program;
  const uint8_t *key = entry->key;
  struct text source = {0};
  clattn_status status = ctn_source_splice(&source, runtime->kernel_dir, file, error);
  if (status != CLATTN_OK) goto cleanup;
  ctn_cache_key(entry->key, runtime, source.data, source.length, options);
  *program = load(runtime, key, file, options);
  if (*program != NULL) {
    atomic_fetch_add(&runtime->programs->loaded, 1);
    goto cleanup;
  }
  status = ctn_build_source(program, runtime, file, source.data, source.length, options, error);
  if (status != CLATTN_OK) goto cleanup;
  atomic_fetch_add(&runtime->programs->compiled, 1);
  keep(runtime, key, *program, file);
cleanup:
  ctn_text_free(&source);
  return status;
}

/* Finds or makes the program; the store is locked and keeps the reference. */
static clattn_status find_program(const struct entry **program, struct runtime *runtime, const char *file, const char *options,
                                  clattn_error *error) {
  clattn_status status = CLATTN_OK;
  struct text name = {0};
  struct entry *entry = NULL;
  ctn_text_printf(&name, "%s %s", file, options);
  if (name.failed) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "kernels/%s: no memory for its options", file);
  for (struct entry *at = runtime->programs->first; at != NULL; at = at->next) {
    if (strcmp(at->name, name.data) != 0) continue;
    *program = at;
    goto cleanup;
  }
  entry = calloc(1, sizeof *entry);
  if (entry == NULL) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "kernels/%s: no memory for the program store", file);
    goto cleanup;
  }
  status = make_program(entry, runtime, file, options, error);
  if (status != CLATTN_OK) goto cleanup;
  entry->name = name.data;
  name.data = NULL;
  entry->next = runtime->programs->first;
  runtime->programs->first = entry;
  *program = entry;
  entry = NULL;
cleanup:
  free(entry);
  ctn_text_free(&name);
  return status;
}

clattn_status ctn_kernel_create(cl_kernel *kernel, struct runtime *runtime, const char *file, const char *name,
                                const struct specialisation *spec, clattn_error *error) {
  cl_int code = CL_SUCCESS;
  const struct entry *program = NULL;
  struct text options = {0};
  *kernel = NULL;
  bool failed = spec != NULL && spec->options.failed;
  ctn_text_printf(&options, "%s%s", BASE_OPTIONS, spec != NULL && spec->options.data != NULL ? spec->options.data : "");
  if (options.failed || failed) {
    ctn_text_free(&options);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "kernels/%s: no memory for its options", file);
  }
  pthread_mutex_lock(&runtime->programs->lock);
  clattn_status status = find_program(&program, runtime, file, options.data, error);
  if (status == CLATTN_OK) {
    *kernel = clCreateKernel(program->program, name, &code);
    if (code != CL_SUCCESS) {
      *kernel = NULL;
      status = ctn_fail_cl(error, code, "clCreateKernel", "kernel %s of kernels/%s", name, file);
    }
  }
  if (status == CLATTN_OK && trace != NULL) ctn_sha256_add(trace, program->key, sizeof program->key);
  pthread_mutex_unlock(&runtime->programs->lock);
  ctn_text_free(&options);
  return status;
}

void ctn_program_counts(struct runtime *runtime, uint64_t *compiled, uint64_t *loaded) {
  if (compiled != NULL) *compiled = atomic_load(&runtime->programs->compiled);
  if (loaded != NULL) *loaded = atomic_load(&runtime->programs->loaded);
}
