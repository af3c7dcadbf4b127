/* Running a family's self-test and remembering its verdict: in the context, and beside the compiled programs. */
#include "selftest.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "disk_cache.h"
#include "half.h"
#include "plan.h"
#include "registry.h"
#include "tuned_sizes.h"

static const char format[] = "clattn self-test 2";

/* What passed, by key; and what failed, by family. */
struct passed {
  struct passed *next;
  uint8_t key[32];
};

struct failed {
  struct failed *next;
  const struct family *family;
  struct text reason;
};

struct selftests {
  pthread_mutex_t lock; /* held during a test, so that each is run once */
  struct passed *passed;
  struct failed *failed;
};

clattn_status ctn_selftests_create(struct selftests **selftests, clattn_error *error) {
  struct selftests *made = calloc(1, sizeof *made);
  if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
    free(made);
    return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for its self-tests");
  }
  *selftests = made;
  return CLATTN_OK;
}

void ctn_selftests_destroy(struct selftests *selftests) {
  if (selftests == NULL) return;
  for (struct passed *at = selftests->passed; at != NULL;) {
    struct passed *following = at->next;
    free(at);
    at = following;
  }
  for (struct failed *at = selftests->failed; at != NULL;) {
    struct failed *following = at->next;
    ctn_text_free(&at->reason);
    free(at);
    at = following;
  }
  pthread_mutex_destroy(&selftests->lock);
  free(selftests);
}

static const struct failed *find_failed(const struct selftests *selftests, const struct family *family) {
  const struct failed *at = selftests->failed;
  while (at != NULL && at->family != family)
    at = at->next;
  return at;
}

bool ctn_selftest_failed(struct selftests *selftests, const struct family *family, struct text *reason) {
  pthread_mutex_lock(&selftests->lock);
  const struct failed *failed = find_failed(selftests, family);
  pthread_mutex_unlock(&selftests->lock);
  /* What is in the list stays as it is until the context goes. */
  if (failed != NULL) ctn_text_printf(reason, "failed its self-test on this device: %s", failed->reason.data);
  return failed != NULL;
}

/* ------------------------------------------------------------------------------------------------------------------ running */

/* Memory for every tensor of the problem, zero. */
static clattn_status allocate(const struct problem *problem, clattn_arrays *arrays, clattn_error *error) {
  *arrays = (clattn_arrays)CLATTN_ARRAYS_INIT;
  for (int t = 0; t < TENSOR_COUNT; t++) {
    if (!problem->tensor[t].used) continue;
    void *memory = calloc((size_t)problem->tensor[t].extent, problem->tensor[t].element);
    if (memory == NULL)
      return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "self-test: no memory for %s", ctn_tensor_name((enum tensor)t));
    ctn_arrays_put(arrays, (enum tensor)t, memory);
  }
  return CLATTN_OK;
}

static void release(clattn_arrays *arrays, int first) {
  void *table[TENSOR_COUNT];
  ctn_arrays_table(arrays, table);
  for (int t = first; t < TENSOR_COUNT; t++) {
    free(table[t]);
    ctn_arrays_put(arrays, (enum tensor)t, NULL);
  }
}

/* The problem through one family, on a queue of its own: the caller's may hold work that waits for the caller. */
static clattn_status run(clattn_context *context, const struct request *request, const struct family *family,
                         const clattn_arrays *arrays, clattn_error *error) {
  clattn_plan plan = {.context = context, .problem = *request->problem, .options = request->options, .family = family};
  const struct request own = {&plan.problem, request->options, request->runtime, request->pool, request->tuned_for};
  cl_int code = CL_SUCCESS;
  plan.options.user_workspace = 0;
  plan.queue = clCreateCommandQueue(context->runtime->context, context->runtime->device.id, 0, &code);
  if (code != CL_SUCCESS) return ctn_fail_cl(error, code, "clCreateCommandQueue", "self-test");
  clattn_status status = family->prepare(&plan.state, &own, error);
  if (status == CLATTN_OK) status = ctn_plan_allocate(&plan, error);
  if (status == CLATTN_OK) status = clattn_plan_execute(&plan, arrays, error);
  ctn_plan_clear(&plan);
  clReleaseCommandQueue(plan.queue);
  return status;
}

static const struct family *reference_of(enum operation operation) {
  const struct family *family = NULL;
  for (size_t i = 0; (family = ctn_family(i)) != NULL; i++) {
    if (family->operation == operation && family->path == CLATTN_PATH_REFERENCE) return family;
  }
  return NULL;
}

static clattn_dtype out_dtype(const struct problem *problem) {
  switch (problem->operation) {
    case OP_EMBEDDING:
      return problem->as.embedding.dtype;
    case OP_POSITION:
      return problem->as.position.dtype;
    case OP_PROJECTION:
      return problem->as.projection.dtype;
    case OP_MERGE:
      return problem->as.merge.dtype;
    default:
      return problem->as.attention.dtype;
  }
}

/* A wrong kernel is far off: several times what rounding makes of such small problems. */
static double tolerance(clattn_dtype dtype) {
  return dtype == CLATTN_F32 ? 2e-5 : dtype == CLATTN_F16 ? 4e-3 : 3e-2;
}

/* NULL, or the name of the first result that differs. NaN and infinities have to be in the same places. */
static const char *difference(const struct problem *problem, const clattn_arrays *got, const clattn_arrays *want) {
  void *a[TENSOR_COUNT], *b[TENSOR_COUNT];
  ctn_arrays_table(got, a);
  ctn_arrays_table(want, b);
  for (int t = T_OUT; t < TENSOR_COUNT; t++) {
    const clattn_dtype dtype = t == T_OUT ? out_dtype(problem) : CLATTN_F32;
    double error = 0, size = 0;
    for (int64_t n = 0; problem->tensor[t].used && n < problem->tensor[t].extent; n++) {
      const double x = ctn_load_f64(dtype, a[t], n), y = ctn_load_f64(dtype, b[t], n);
      if (x == y || (isnan(x) && isnan(y))) {
        if (isfinite(y)) size += y * y;
        continue;
      }
      if (!isfinite(x) || !isfinite(y)) return ctn_tensor_name((enum tensor)t);
      error += (x - y) * (x - y);
      size += y * y;
    }
    if (!(sqrt(error) <= tolerance(dtype) * sqrt(size))) return ctn_tensor_name((enum tensor)t);
  }
  return NULL;
}

/* One problem: OK, OUT_OF_MEMORY, or what went wrong in error. */
static clattn_status try_problem(clattn_context *context, const struct request *request, const struct family *family,
                                 const char *title, clattn_error *error) {
  clattn_arrays want, got;
  clattn_status status = allocate(request->problem, &want, error);
  if (status == CLATTN_OK) {
    ctn_selftest_fill(request->problem, &want);
    want.dropout_seed = UINT64_C(7) << 40 | 7;
    want.dropout_offset = UINT64_C(5) << 40 | 5;
    status = run(context, request, reference_of(request->problem->operation), &want, error);
  }
  got = want; /* the same inputs */
  for (int t = T_OUT; t < TENSOR_COUNT; t++)
    ctn_arrays_put(&got, (enum tensor)t, NULL);
  for (int t = T_OUT; t < TENSOR_COUNT && status == CLATTN_OK; t++) {
    if (!request->problem->tensor[t].used) continue;
    void *memory = calloc((size_t)request->problem->tensor[t].extent, request->problem->tensor[t].element);
    if (memory == NULL) status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "self-test: no memory for results");
    ctn_arrays_put(&got, (enum tensor)t, memory);
  }
  if (status == CLATTN_OK) status = run(context, request, family, &got, error);
  if (status == CLATTN_OK) {
    const char *wrong = difference(request->problem, &got, &want);
    if (wrong != NULL) status = ctn_fail(error, CLATTN_INTERNAL, "%s is wrong (problem \"%s\")", wrong, title);
  }
  release(&got, T_OUT);
  release(&want, 0);
  return status;
}

static bool refuses(const struct family *family, const struct request *request) {
  struct text ignored = {0};
  const bool refused = family->refuse(request, &ignored);
  ctn_text_free(&ignored);
  return refused;
}

/* All problems that the family takes, with stage tensors where it has them. */
static clattn_status test(clattn_context *context, const struct request *like, const struct family *family,
                          clattn_error *error) {
  struct problem problem;
  const char *title = NULL;
  const struct request request = {&problem, like->options, like->runtime, like->pool, like->tuned_for};
  for (int index = 0; ctn_selftest_problem(&problem, &title, like, index, true); index++) {
    if (refuses(family, &request)) {
      ctn_selftest_problem(&problem, &title, like, index, false);
      if (refuses(family, &request)) continue;
    }
    const clattn_status status = try_problem(context, &request, family, title, error);
    if (status != CLATTN_OK) return status;
  }
  return CLATTN_OK;
}

/* ----------------------------------------------------------------------------------------------------------------- verdicts */

/* The programs' keys hold sources, options, platform, device and driver already. Whether sizes come from the tuning table. */
static bool make_key(uint8_t key[32], const struct request *request, const struct family *family,
                     const struct sha256 *programs) {
  struct sha256 hash = *programs;
  const int32_t product = (int32_t)request->options.product;
  ctn_sha256_add(&hash, format, sizeof format);
  ctn_sha256_add(&hash, clattn_version_string(), strlen(clattn_version_string())); /* another version may test more */
  ctn_sha256_add(&hash, family->name, strlen(family->name));
  ctn_sha256_add(&hash, &product, sizeof product);
  struct text tuned = {0}; /* not all of it is in the programs */
  ctn_tuned_list(family, request, &tuned);
  const bool any = tuned.data != NULL;
  if (any) ctn_sha256_add(&hash, tuned.data, tuned.length);
  ctn_text_free(&tuned);
  ctn_sha256_finish(&hash, key);
  return any;
}

static bool has_passed(const struct selftests *selftests, const uint8_t key[32]) {
  for (const struct passed *at = selftests->passed; at != NULL; at = at->next) {
    if (memcmp(at->key, key, sizeof at->key) == 0) return true;
  }
  return false;
}

static void add_passed(struct selftests *selftests, const uint8_t key[32]) {
  struct passed *passed = calloc(1, sizeof *passed);
  if (passed == NULL) return; /* tested again, then */
  memcpy(passed->key, key, sizeof passed->key);
  passed->next = selftests->passed;
  selftests->passed = passed;
}

/* False where there is no memory for it. */
static bool add_failed(struct selftests *selftests, const struct family *family, const clattn_error *error) {
  struct failed *failed = calloc(1, sizeof *failed);
  if (failed == NULL) return false;
  failed->family = family;
  ctn_text_printf(&failed->reason, "%s", error->text);
  if (failed->reason.failed) {
    ctn_text_free(&failed->reason);
    free(failed);
    return false;
  }
  failed->next = selftests->failed;
  selftests->failed = failed;
  return true;
}

bool ctn_selftest_passes(clattn_context *context, const struct request *request, const struct family *family,
                         const struct sha256 *programs) {
  struct selftests *selftests = context->selftests;
  clattn_error error = CLATTN_ERROR_INIT;
  bool passes = true, tested = false;
  uint8_t key[32];
  const bool tuned = make_key(key, request, family, programs);
  pthread_mutex_lock(&selftests->lock);
  if (find_failed(selftests, family) != NULL) {
    passes = false; /* by another thread's test, meanwhile */
  } else if (!has_passed(selftests, key)) {
    if (!ctn_cache_has_passed(context->runtime, key)) {
      const clattn_status status = test(context, request, family, &error);
      if (status == CLATTN_OK) ctn_cache_store_passed(context->runtime, key);
      passes = status == CLATTN_OK || status == CLATTN_OUT_OF_MEMORY || (!tuned && !add_failed(selftests, family, &error));
      tested = true;
    }
    if (passes && error.status == CLATTN_OK) add_passed(selftests, key);
  }
  pthread_mutex_unlock(&selftests->lock);
  if (tested && error.status == CLATTN_OK) {
    ctn_runtime_log(context->runtime, CLATTN_LOG_INFO, "self-test: the family %s passes on %s", family->name,
                    context->runtime->device.info.name);
  }
  if (tested && !passes && tuned) {
    struct text why = {0};
    ctn_text_printf(&why, "it fails its self-test on %s: %s", context->runtime->device.info.name, error.text);
    ctn_tuned_drop(family, request, why.data != NULL ? why.data : "it fails its self-test");
    ctn_text_free(&why);
  } else if (tested && !passes) {
    ctn_runtime_log(context->runtime, CLATTN_LOG_WARNING, "self-test: the family %s fails on %s and is out of service: %s",
                    family->name, context->runtime->device.info.name, error.text);
  }
  return passes;
}
