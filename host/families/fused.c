/* What the fused families share. */
#include "fused.h"

#include <stdlib.h>

#include "checked.h"

/* Both kernels count keys, and a block past the last, in an int. */
enum { MOST_KEYS = INT32_MAX - 1024 };

bool ctn_fused_refuse(const struct request *request, struct text *reason) {
  static const enum tensor stages[] = {T_SCORES_RAW, T_SCORES_SOFTCAPPED, T_SCORES_MASKED, T_WEIGHTS};
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    if (request->problem->tensor[stages[i]].used) {
      ctn_text_printf(reason, "%s was asked for, and a fused pass never has it", ctn_tensor_name(stages[i]));
      return true;
    }
  }
  if (ctn_refuse_without_device(request, reason) || ctn_refuse_sizes(request, reason)) return true;
  const int64_t kv_len = request->problem->as.attention.kv_len;
  if (kv_len > MOST_KEYS) {
    ctn_text_printf(reason, "kv_len is %lld, and a fused pass counts up to %d keys", (long long)kv_len, MOST_KEYS);
    return true;
  }
  return false;
}

double ctn_fused_work(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  return (double)a->batch * (double)a->q_heads * (double)a->q_len * (double)a->kv_len * (double)(a->head_dim + a->head_dim_v);
}

size_t ctn_fused_workspace(const void *state) {
  return ((const struct fused *)state)->carry;
}

void ctn_fused_release(void *state) {
  struct fused *s = state;
  if (s == NULL) return;
  if (s->kernel != NULL) clReleaseKernel(s->kernel);
  free(s);
}

struct fused *ctn_fused_begin(const struct request *request, const char *family, struct specialisation *spec,
                              clattn_error *error) {
  const struct attention *a = &request->problem->as.attention;
  struct fused *s = calloc(1, sizeof *s);
  if (s == NULL) {
    ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for a plan", family);
    return NULL;
  }
  s->problem = request->problem;
  s->runtime = request->runtime;
  ctn_define(spec, "DTYPE", ctn_dtype_macro(a->dtype));
  ctn_define(spec, "MASK", ctn_dtype_macro(a->mask_dtype));
  return s;
}

clattn_status ctn_fused_finish(void **state, struct fused *s, const char *file, struct specialisation *spec,
                               clattn_error *error) {
  const clattn_status status = ctn_kernel_create(&s->kernel, s->runtime, file, "fused", spec, error);
  ctn_specialisation_free(spec);
  if (status != CLATTN_OK) {
    ctn_fused_release(s);
    return status;
  }
  *state = s;
  return CLATTN_OK;
}

/* fused_tile.cl: CARRY_... */
enum { CARRY_IN = 1, CARRY_OUT = 2 };

/* The keys from first on, a step of them, and the state between launches. */
static void argue_range(struct arguments *arguments, const struct fused *s, const struct call *call, int64_t first) {
  const int64_t kv_len = s->problem->as.attention.kv_len;
  const bool last = kv_len - first <= s->step;
  ctn_argument_long(arguments, first);
  ctn_argument_long(arguments, last ? kv_len : first + s->step);
  /* One launch does not touch it. */
  ctn_argument_slice(arguments, s->carry != 0 ? call->workspace : (struct slice){call->tensor[T_Q].memory, 0}, sizeof(float));
  ctn_argument_int(arguments, (first > 0 ? CARRY_IN : 0) | (last ? 0 : CARRY_OUT));
}

static clattn_status launch(const struct fused *s, const struct call *call, int64_t first, bool last, clattn_error *error) {
  const struct attention *a = &s->problem->as.attention;
  const struct attention_parameters parameters = ctn_attention_parameters(a, call->out);
  struct arguments arguments;
  ctn_arguments_begin(&arguments, s->kernel, "fused");
  ctn_argument(&arguments, &parameters, sizeof parameters);
  ctn_argument_tensor(&arguments, call, s->problem, T_Q, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_K, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_V, T_Q);
  ctn_argument_sequences(&arguments, call, s->problem, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_MASK, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_SINKS, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_ALIBI, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_OUT, T_Q);
  ctn_argument_tensor(&arguments, call, s->problem, T_LSE, T_Q);
  ctn_argument_int(&arguments, s->problem->tensor[T_OUT].used);
  ctn_argument_int(&arguments, s->problem->tensor[T_LSE].used);
  ctn_argument_long(&arguments, (int64_t)call->dropout_seed);
  ctn_argument_long(&arguments, (int64_t)call->dropout_offset);
  if (s->step != 0) argue_range(&arguments, s, call, first);
  for (int i = 0; i < 3; i++) {
    if (s->local[i] != 0) ctn_argument(&arguments, NULL, s->local[i]);
  }
  if (s->groups != 0) {
    ctn_argument_int(&arguments, (int)s->groups);
    ctn_argument_int(&arguments, (int)s->block);
  }
  const clattn_status status = ctn_arguments_end(&arguments, error);
  if (status != CLATTN_OK) return status;
  const size_t local[3] = {s->work_items, 1, 1};
  const int64_t chunks = s->chunk > 0 ? ctn_ceil_div(a->head_dim_v, s->chunk) : 1;
  const int64_t tiles = ctn_ceil_div(ctn_ceil_div(a->q_len * a->group, s->tile), ctn_max(s->groups, 1));
  const size_t global[3] = {(size_t)(tiles * chunks) * s->work_items, (size_t)a->kv_heads, (size_t)a->batch};
  return ctn_chain_kernel(call->chain, s->kernel, "fused", 3, global, local, last, error);
}

clattn_status ctn_fused_enqueue(void *state, const struct call *call, clattn_error *error) {
  const struct fused *s = state;
  const int64_t kv_len = s->problem->as.attention.kv_len, step = s->step != 0 ? s->step : kv_len;
  clattn_status status = CLATTN_OK;
  for (int64_t first = 0; first < kv_len && status == CLATTN_OK; first += step) {
    status = launch(s, call, first, kv_len - first <= step, error);
  }
  return status;
}
