/* The host's families: the CPU path and the reference, for every operation. */
#include <stdlib.h>

#include "family.h"
#include "reference.h"

struct on_host {
  const struct problem *problem;
  struct pool *pool;
  size_t workspace;
};

/* A device that is there is preferred: the host's estimate is dearer by this factor. */
enum { HOST_PENALTY = 16 };

static bool refuse_cpu(const struct request *request, struct text *reason) {
  if (!request->options.no_host) return false;
  ctn_text_printf(reason, "the options forbid the host");
  return true;
}

static bool refuse_reference(const struct request *request, struct text *reason) {
  if (request->options.path == CLATTN_PATH_REFERENCE) return false;
  ctn_text_printf(reason, "runs only when asked for by name: it is the measure, not the means");
  return true;
}

static double cost(const struct request *request) {
  const struct attention *a = &request->problem->as.attention;
  const struct projection *p = &request->problem->as.projection;
  if (request->problem->operation == OP_PROJECTION) {
    return HOST_PENALTY * (double)p->batch * (double)p->length * (double)p->in_features * (double)p->heads *
           (double)p->head_dim;
  }
  if (request->problem->operation != OP_ATTENTION) return HOST_PENALTY * (double)request->problem->tensor[T_OUT].extent;
  return HOST_PENALTY * (double)a->batch * (double)a->q_heads * (double)a->q_len * (double)a->kv_len *
         (double)(a->head_dim + a->head_dim_v);
}

static clattn_status prepare(void **state, const struct request *request, size_t scratch, clattn_error *error) {
  struct on_host *s = calloc(1, sizeof *s);
  if (s == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "host: no memory for a plan");
  *s = (struct on_host){request->problem, request->pool, scratch};
  *state = s;
  return CLATTN_OK;
}

static clattn_status prepare_plain(void **state, const struct request *request, clattn_error *error) {
  return prepare(state, request, 0, error);
}

static clattn_status prepare_attention(void **state, const struct request *request, clattn_error *error) {
  return prepare(state, request, ctn_cpu_attention_scratch(&request->problem->as.attention, request->pool), error);
}

static clattn_status prepare_projection(void **state, const struct request *request, clattn_error *error) {
  return prepare(state, request, ctn_cpu_projection_scratch(&request->problem->as.projection, request->pool), error);
}

static size_t workspace(const void *state) {
  return ((const struct on_host *)state)->workspace;
}

static void describe_cpu(const void *state, struct text *text) {
  ctn_text_printf(text, "threads: %d\n", ctn_pool_size(((const struct on_host *)state)->pool));
}

static void describe_reference(const void *state, struct text *text) {
  (void)state;
  ctn_text_printf(text, "float64, one thread\n");
}

static void cpu_attention(void *state, const clattn_arrays *arrays, void *scratch) {
  const struct on_host *s = state;
  ctn_cpu_attention(&s->problem->as.attention, arrays, s->pool, scratch);
}

static void cpu_embedding(void *state, const clattn_arrays *arrays, void *scratch) {
  const struct on_host *s = state;
  (void)scratch;
  ctn_cpu_embedding(&s->problem->as.embedding, arrays, s->pool);
}

static void cpu_position(void *state, const clattn_arrays *arrays, void *scratch) {
  const struct on_host *s = state;
  (void)scratch;
  ctn_cpu_position(&s->problem->as.position, arrays, s->pool);
}

static void cpu_projection(void *state, const clattn_arrays *arrays, void *scratch) {
  const struct on_host *s = state;
  ctn_cpu_projection(&s->problem->as.projection, arrays, s->pool, scratch);
}

static void cpu_merge(void *state, const clattn_arrays *arrays, void *scratch) {
  const struct on_host *s = state;
  (void)scratch;
  ctn_cpu_merge(&s->problem->as.merge, arrays, s->pool);
}

static void oracle_attention(void *state, const clattn_arrays *arrays, void *scratch) {
  (void)scratch;
  ctn_oracle_attention(&((const struct on_host *)state)->problem->as.attention, arrays);
}

static void oracle_embedding(void *state, const clattn_arrays *arrays, void *scratch) {
  (void)scratch;
  ctn_oracle_embedding(&((const struct on_host *)state)->problem->as.embedding, arrays);
}

static void oracle_position(void *state, const clattn_arrays *arrays, void *scratch) {
  (void)scratch;
  ctn_oracle_position(&((const struct on_host *)state)->problem->as.position, arrays);
}

static void oracle_projection(void *state, const clattn_arrays *arrays, void *scratch) {
  (void)scratch;
  ctn_oracle_projection(&((const struct on_host *)state)->problem->as.projection, arrays);
}

static void oracle_merge(void *state, const clattn_arrays *arrays, void *scratch) {
  (void)scratch;
  ctn_oracle_merge(&((const struct on_host *)state)->problem->as.merge, arrays);
}

#define CPU_ROW(operation_, prepare_, run_)                                                                      \
  {                                                                                                              \
    .name = "cpu", .summary = "the host's threads, float32", .operation = (operation_), .path = CLATTN_PATH_CPU, \
    .on_host = true, .refuse = refuse_cpu, .cost = cost, .prepare = (prepare_), .workspace = workspace,          \
    .describe = describe_cpu, .run = (run_), .release = free                                                     \
  }
#define REFERENCE_ROW(operation_, run_)                                                                                 \
  {                                                                                                                     \
    .name = "reference", .summary = "plain loops in float64, the measure of all others", .operation = (operation_),     \
    .path = CLATTN_PATH_REFERENCE, .on_host = true, .refuse = refuse_reference, .cost = cost, .prepare = prepare_plain, \
    .workspace = workspace, .describe = describe_reference, .run = (run_), .release = free                              \
  }

const struct family ctn_families_host[HOST_FAMILY_COUNT] = {
    CPU_ROW(OP_ATTENTION, prepare_attention, cpu_attention),
    CPU_ROW(OP_EMBEDDING, prepare_plain, cpu_embedding),
    CPU_ROW(OP_POSITION, prepare_plain, cpu_position),
    CPU_ROW(OP_PROJECTION, prepare_projection, cpu_projection),
    CPU_ROW(OP_MERGE, prepare_plain, cpu_merge),
    REFERENCE_ROW(OP_ATTENTION, oracle_attention),
    REFERENCE_ROW(OP_EMBEDDING, oracle_embedding),
    REFERENCE_ROW(OP_POSITION, oracle_position),
    REFERENCE_ROW(OP_PROJECTION, oracle_projection),
    REFERENCE_ROW(OP_MERGE, oracle_merge),
};
