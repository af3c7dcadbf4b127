/* Trying a device's matrix engine: compile, run and check kernels/matrix_probe.cl. */
#include "matrix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "disk_cache.h"
#include "half.h"
#include "launch.h"
#include "program.h"
#include "source.h"

static const char file[] = "matrix_probe.cl";
/* Kernels with this file in them hold NVIDIA's instructions, for this compute capability. */
static const char ptx_file[] = "\"kernels/common/mma_ptx.clh\"";
enum { PTX_NEEDED = 80 };

/* One of f16, one of bf16. */
struct verdict {
  bool known;
  struct text reason; /* empty: trusted */
};

struct matrix_verdicts {
  pthread_mutex_t lock; /* held during a probe, so that each is run once */
  struct verdict of[2];
};

clattn_status ctn_matrix_verdicts_create(struct matrix_verdicts **verdicts, clattn_error *error) {
  struct matrix_verdicts *made = calloc(1, sizeof *made);
  if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
    free(made);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for what is known of its matrix engine");
  }
  *verdicts = made;
  return CLATTN_OK;
}

void ctn_matrix_verdicts_destroy(struct matrix_verdicts *verdicts) {
  if (verdicts == NULL) return;
  for (int n = 0; n < 2; n++)
    ctn_text_free(&verdicts->of[n].reason);
  pthread_mutex_destroy(&verdicts->lock);
  free(verdicts);
}

/* ------------------------------------------------------------------------------------------------- the problem and its results
 */

/* As in matrix_probe.cl: of the 16 terms of a score the kernel takes 14. */
enum { ROWS = 64, SIDE = 16, TERMS = 14, FACTOR = 257, WORK_ITEMS = 128 };

struct inputs {
  uint16_t q[ROWS * SIDE], k[SIDE * SIDE], v[SIDE * SIDE];
};
struct outputs {
  float scores[ROWS * SIDE], maximum[ROWS], out[ROWS * SIDE];
};

/* Integers from -3 to 4. */
static void fill(clattn_dtype dtype, uint16_t *data, int count, uint32_t state) {
  for (int n = 0; n < count; n++) {
    state = state * 1664525u + 1013904223u;
    ctn_store_f64(dtype, data, n, (double)(state >> 29) - 3);
  }
}

/* What has to come out, to the last bit. */
static void expect(clattn_dtype dtype, const struct inputs *in, struct outputs *want) {
  for (int row = 0; row < ROWS; row++) {
    for (int key = 0; key < SIDE; key++) {
      double score = 0;
      for (int d = 0; d < TERMS; d++)
        score += ctn_load_f64(dtype, in->q, row * SIDE + d) * ctn_load_f64(dtype, in->k, key * SIDE + d);
      want->scores[row * SIDE + key] = (float)score;
      if (key == 0 || (float)score > want->maximum[row]) want->maximum[row] = (float)score;
    }
    for (int column = 0; column < SIDE; column++) {
      double value = 0;
      for (int key = 0; key < SIDE; key++)
        value += FACTOR * (double)want->scores[row * SIDE + key] * ctn_load_f64(dtype, in->v, key * SIDE + column);
      want->out[row * SIDE + column] = (float)value;
    }
  }
}

static bool same(const float *a, const float *b, int count) {
  int n = 0;
  while (n < count && a[n] == b[n])
    n++;
  return n == count;
}

/* NULL, or what differs first. */
static const char *difference(const struct outputs *got, const struct outputs *want) {
  if (!same(got->scores, want->scores, ROWS * SIDE)) return "scores";
  if (!same(got->maximum, want->maximum, ROWS)) return "maxima of rows";
  return same(got->out, want->out, ROWS * SIDE) ? NULL : "values";
}

/* --------------------------------------------------------------------------------------------------------------------- the
 * probe */

static clattn_status launch(cl_command_queue queue, cl_kernel kernel, const cl_mem memory[6], clattn_error *error) {
  static const size_t items[1] = {WORK_ITEMS};
  struct arguments arguments;
  struct chain chain;
  ctn_arguments_begin(&arguments, kernel, "matrix_probe");
  for (int n = 0; n < 6; n++)
    ctn_argument(&arguments, &memory[n], sizeof(cl_mem));
  clattn_status status = ctn_arguments_end(&arguments, error);
  if (status == CLATTN_OK) status = ctn_chain_begin(&chain, queue, 0, NULL, NULL, error);
  if (status != CLATTN_OK) return status;
  status = ctn_chain_kernel(&chain, kernel, "matrix_probe", 1, items, items, true, error);
  ctn_chain_end(&chain);
  return status;
}

/* On a queue of its own: the caller's may hold work that waits for the caller. */
static clattn_status compute(struct runtime *runtime, cl_kernel kernel, struct inputs *in, struct outputs *out,
                             clattn_error *error) {
  const struct {
    void *data;
    size_t size;
  } part[6] = {{in->q, sizeof in->q},
               {in->k, sizeof in->k},
               {in->v, sizeof in->v},
               {out->scores, sizeof out->scores},
               {out->maximum, sizeof out->maximum},
               {out->out, sizeof out->out}};
  cl_mem memory[6] = {NULL};
  cl_int code = CL_SUCCESS;
  clattn_status status = CLATTN_OK;
  cl_command_queue queue = clCreateCommandQueue(runtime->context, runtime->device.id, 0, &code);
  for (int n = 0; n < 6 && code == CL_SUCCESS; n++) {
    memory[n] = clCreateBuffer(runtime->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, part[n].size, part[n].data, &code);
  }
  if (code != CL_SUCCESS) {
    status = ctn_fail_cl(error, code, "clCreateCommandQueue or clCreateBuffer", "trying the matrix engine");
    goto cleanup;
  }
  status = launch(queue, kernel, memory, error);
  for (int n = 3; n < 6 && status == CLATTN_OK; n++) {
    code = clEnqueueReadBuffer(queue, memory[n], CL_TRUE, 0, part[n].size, part[n].data, 0, NULL, NULL);
    if (code != CL_SUCCESS) status = ctn_fail_cl(error, code, "clEnqueueReadBuffer", "trying the matrix engine");
  }
cleanup:
  for (int n = 0; n < 6; n++) {
    if (memory[n] != NULL) clReleaseMemObject(memory[n]);
  }
  if (queue != NULL) clReleaseCommandQueue(queue);
  return status;
}

/* OK, or what is wrong in error. */
static clattn_status probe(struct runtime *runtime, clattn_dtype dtype, clattn_error *error) {
  struct inputs in;
  struct outputs got, want;
  struct specialisation spec = {0};
  cl_kernel kernel = NULL;
  fill(dtype, in.q, ROWS * SIDE, 1);
  fill(dtype, in.k, SIDE * SIDE, 2);
  fill(dtype, in.v, SIDE * SIDE, 3);
  expect(dtype, &in, &want);
  memset(&got, 0, sizeof got);
  ctn_define(&spec, "DTYPE", dtype == CLATTN_F16 ? 2 : 3);
  struct sha256 *trace = ctn_program_trace(NULL); /* no family is made from this */
  clattn_status status = ctn_kernel_create(&kernel, runtime, file, "matrix_probe", &spec, error);
  ctn_program_trace(trace);
  ctn_specialisation_free(&spec);
  if (status != CLATTN_OK) return status;
  status = compute(runtime, kernel, &in, &got, error);
  clReleaseKernel(kernel);
  const char *wrong = status == CLATTN_OK ? difference(&got, &want) : NULL;
  return wrong == NULL ? status : ctn_fail(error, CLATTN_INTERNAL, "its %s are wrong", wrong);
}

/* ------------------------------------------------------------------------------------------------------------------- the
 * verdict */

/* Whether the kernels are in a language that the device cannot speak: then nothing is compiled. */
static bool speaks_another(const struct runtime *runtime, const struct text *source, struct text *reason) {
  const uint32_t ptx = runtime->device.ptx;
  if (strstr(source->data, ptx_file) == NULL || ptx >= PTX_NEEDED) return false;
  if (ptx == 0) {
    ctn_text_printf(reason, "the device has no matrix engine that the kernels know: they know NVIDIA's");
  } else {
    ctn_text_printf(reason, "needs NVIDIA's compute capability %d.%d, the device has %u.%u", PTX_NEEDED / 10, PTX_NEEDED % 10,
                    ptx / 10, ptx % 10);
  }
  return true;
}

static void judge(struct runtime *runtime, clattn_dtype dtype, struct text *reason) {
  struct text source = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  uint8_t key[32];
  clattn_status status = ctn_source_splice(&source, runtime->kernel_dir, file, &error);
  if (status == CLATTN_OK && speaks_another(runtime, &source, reason)) goto cleanup;
  if (status == CLATTN_OK) {
    ctn_cache_key(key, runtime, source.data, source.length, dtype == CLATTN_F16 ? "matrix engine, f16" : "matrix engine, bf16");
    if (ctn_cache_has_passed(runtime, key)) goto cleanup;
    status = probe(runtime, dtype, &error);
  }
  if (status == CLATTN_OK) {
    ctn_cache_store_passed(runtime, key);
  } else {
    ctn_text_printf(reason, "the matrix engine's probe failed: %s", error.text);
  }
  ctn_runtime_log(runtime, status == CLATTN_OK ? CLATTN_LOG_INFO : CLATTN_LOG_WARNING, "matrix engine of %s, %s: %s",
                  runtime->device.info.name, dtype == CLATTN_F16 ? "f16" : "bf16",
                  status == CLATTN_OK ? "passes its probe" : error.text);
cleanup:
  ctn_text_free(&source);
}

bool ctn_matrix_refused(struct runtime *runtime, clattn_dtype dtype, struct text *reason) {
  struct matrix_verdicts *verdicts = runtime->matrix;
  struct verdict *verdict = &verdicts->of[dtype == CLATTN_BF16];
  pthread_mutex_lock(&verdicts->lock);
  if (!verdict->known) judge(runtime, dtype, &verdict->reason);
  verdict->known = true;
  const bool refused = verdict->reason.failed || verdict->reason.length > 0;
  if (refused) ctn_text_printf(reason, "%s", verdict->reason.data != NULL ? verdict->reason.data : "");
  pthread_mutex_unlock(&verdicts->lock);
  return refused;
}
