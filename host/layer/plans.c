/* The plans inside a layer: layouts that split and merge the heads, who runs where, and what they need between them. */
#include <string.h>

#include "checked.h"
#include "descriptor.h"
#include "layer.h"

static clattn_layout input_layout(const clattn_layer_problem *p, enum layer_tensor input) {
  return input == L_QUERY ? p->query : input == L_KEY ? p->key : p->value;
}

/* heads = 1: the columns of all parts beside each other, dense. The attention's layouts find the heads in them. */
static clattn_status plan_linear(clattn_layer *layer, struct linear *linear, clattn_layout x, clattn_layout out,
                                 const clattn_plan_options *options, clattn_error *error) {
  clattn_projection projection = CLATTN_PROJECTION_INIT;
  projection.dtype = layer->problem.dtype;
  projection.batch = layer->problem.batch;
  projection.length = linear->length;
  projection.in_features = linear->in_features;
  projection.head_dim = linear->features;
  projection.has_bias = linear->has_bias;
  projection.x = x;
  projection.out = out;
  projection.x.head_stride = projection.out.head_stride = 0;
  return ctn_layer_in(linear->name, clattn_projection_plan_create(&linear->plan, layer->context, &projection, options, error),
                      error);
}

/* A part's heads inside the rows of its projection. */
static clattn_layout part_layout(const clattn_layer *layer, enum part part, int64_t head_dim) {
  const struct linear *linear = &layer->input[layer->part[part].linear];
  return (clattn_layout){linear->length * linear->features, head_dim, linear->features};
}

static clattn_status plan_attention(clattn_layer *layer, const clattn_plan_options *options, clattn_error *error) {
  const clattn_layer_problem *p = &layer->problem;
  const int64_t width = layer->output.in_features;
  clattn_problem a = CLATTN_PROBLEM_INIT;
  a.dtype = p->dtype;
  a.batch = p->batch;
  a.q_heads = p->q_heads;
  a.kv_heads = p->kv_heads;
  a.q_len = p->q_len;
  a.kv_len = p->kv_len;
  a.head_dim = p->head_dim;
  a.head_dim_v = p->head_dim_v;
  a.q = part_layout(layer, PART_Q, p->head_dim);
  a.k = part_layout(layer, PART_K, p->head_dim);
  a.v = part_layout(layer, PART_V, p->head_dim_v);
  a.out = (clattn_layout){p->q_len * width, p->head_dim_v, width};
  a.scale_given = p->scale_given;
  a.scale = p->scale;
  a.softcap = p->softcap;
  a.mask = p->mask;
  a.causal = p->causal;
  a.window_left = p->window_left;
  a.window_right = p->window_right;
  a.has_kv_len = p->has_kv_len;
  a.has_query_offset = p->has_query_offset;
  a.has_sinks = p->has_sinks;
  a.has_alibi = p->has_alibi;
  a.dropout = p->dropout;
  a.outputs = p->outputs;
  return ctn_layer_in("attention", clattn_plan_create(&layer->attention, layer->context, &a, options, error), error);
}

static clattn_status plan_all(clattn_layer *layer, clattn_path path, clattn_error *error) {
  const clattn_layout dense = {0, 0, 0};
  clattn_plan_options options = layer->options;
  options.user_workspace = 1; /* they share the layer's */
  options.path = path;
  clattn_status status = CLATTN_OK;
  for (int i = 0; i < layer->inputs && status == CLATTN_OK; i++) {
    struct linear *linear = &layer->input[i];
    status = plan_linear(layer, linear, input_layout(&layer->problem, linear->input), dense, &options, error);
  }
  if (status == CLATTN_OK) status = plan_attention(layer, &options, error);
  if (status == CLATTN_OK) status = plan_linear(layer, &layer->output, dense, layer->problem.out, &options, error);
  return status;
}

/* How many of the plans run on the host; *count: of how many. */
static int hosted(const clattn_layer *layer, int *count) {
  int on_host = layer->attention->family->on_host + layer->output.plan->family->on_host;
  for (int i = 0; i < layer->inputs; i++)
    on_host += layer->input[i].plan->family->on_host;
  *count = layer->inputs + 2;
  return on_host;
}

void ctn_layer_drop_plans(clattn_layer *layer) {
  for (int i = 0; i < MOST_INPUTS; i++) {
    clattn_plan_destroy(layer->input[i].plan);
    layer->input[i].plan = NULL;
  }
  clattn_plan_destroy(layer->output.plan);
  clattn_plan_destroy(layer->attention);
  layer->output.plan = layer->attention = NULL;
}

static void set_tensor(clattn_layer *layer, enum layer_tensor to, const clattn_plan *plan, enum tensor from) {
  const struct tensor_info *info = &plan->problem.tensor[from];
  layer->tensor[to] = (struct layer_tensor_info){info->used, info->element, (size_t)info->extent * info->element};
}

static void size_tensors(clattn_layer *layer) {
  static const struct {
    enum layer_tensor to;
    enum tensor from;
  } passed[] = {
      {L_MASK, T_MASK},
      {L_KV_LEN, T_KV_LEN},
      {L_QUERY_OFFSET, T_QUERY_OFFSET},
      {L_SINKS, T_SINKS},
      {L_ALIBI, T_ALIBI},
      {L_LSE, T_LSE},
      {L_SCORES_RAW, T_SCORES_RAW},
      {L_SCORES_SOFTCAPPED, T_SCORES_SOFTCAPPED},
      {L_SCORES_MASKED, T_SCORES_MASKED},
      {L_WEIGHTS, T_WEIGHTS},
  };
  for (int i = 0; i < layer->inputs; i++)
    set_tensor(layer, layer->input[i].input, layer->input[i].plan, T_X);
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
    set_tensor(layer, passed[i].to, layer->attention, passed[i].from);
  set_tensor(layer, L_OUT, layer->output.plan, T_OUT);
}

static size_t aligned(size_t bytes) {
  return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

static size_t result_bytes(const clattn_plan *plan) {
  return aligned((size_t)plan->problem.tensor[T_OUT].extent * plan->problem.tensor[T_OUT].element);
}

static clattn_status size_segments(clattn_layer *layer, clattn_error *error) {
  size_t shared = 0, host_total = 0;
  for (int i = 0; i < layer->inputs; i++)
    layer->segment[i] = result_bytes(layer->input[i].plan);
  layer->segment[SEGMENT_HEADS] = result_bytes(layer->attention);
  const clattn_plan *plans[MOST_INPUTS + 2] = {layer->attention, layer->output.plan, layer->input[0].plan, layer->input[1].plan,
                                               layer->input[2].plan};
  for (int i = 0; i < layer->inputs + 2; i++) {
    const size_t size = aligned(plans[i]->workspace_size);
    if (size > shared) shared = size;
    host_total += size;
  }
  if (!layer->on_host) layer->segment[SEGMENT_WORKSPACE] = shared;
  int64_t total = layer->on_host ? (int64_t)host_total : 0;
  for (int i = 0; i < SEGMENT_COUNT; i++) {
    if (!ctn_add(total, (int64_t)layer->segment[i], &total)) {
      return ctn_fail(error, CLATTN_TOO_LARGE, "layer: the bytes between its steps overflow");
    }
  }
  layer->workspace_size = (size_t)total;
  return CLATTN_OK;
}

/* One step's heading, then its plan's own lines, indented. */
static void describe_step(struct text *text, const char *name, int64_t rows, int64_t in, int64_t out, const clattn_plan *plan) {
  ctn_text_printf(text, "%s", name);
  if (rows > 0) ctn_text_printf(text, ", %lld x %lld to %lld", (long long)rows, (long long)in, (long long)out);
  ctn_text_printf(text, "\n");
  for (const char *line = plan->description.data; line != NULL && *line != '\0';) {
    const size_t length = strcspn(line, "\n");
    ctn_text_printf(text, "  ");
    ctn_text_append(text, line, length);
    ctn_text_printf(text, "\n");
    line += length + (line[length] == '\n');
  }
}

static clattn_status describe(clattn_layer *layer, clattn_error *error) {
  const clattn_layer_problem *p = &layer->problem;
  struct text *text = &layer->description;
  ctn_text_printf(text, "layer: %lld heads of %lld for queries, %lld of %lld and %lld for keys and values\n",
                  (long long)p->q_heads, (long long)p->head_dim, (long long)p->kv_heads, (long long)p->head_dim,
                  (long long)p->head_dim_v);
  if (layer->gathered) ctn_text_printf(text, "all steps on the host: some of them have no family on the device\n");
  ctn_text_printf(text, "workspace of the layer: %zu bytes%s\n", layer->workspace_size,
                  layer->on_host ? "" : ", which the steps share");
  for (int i = 0; i < layer->inputs; i++) {
    const struct linear *l = &layer->input[i];
    describe_step(text, l->name, p->batch * l->length, l->in_features, l->features, l->plan);
  }
  describe_step(text, "attention", 0, 0, 0, layer->attention);
  const struct linear *l = &layer->output;
  describe_step(text, l->name, p->batch * l->length, l->in_features, l->features, l->plan);
  return text->failed ? ctn_fail(error, CLATTN_OUT_OF_MEMORY, "layer: no memory for its description") : CLATTN_OK;
}

clattn_status ctn_layer_plan(clattn_layer *layer, const clattn_plan_options *options, const bool has_bias[PART_COUNT],
                             bool has_out_bias, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  layer->options = (clattn_plan_options)CLATTN_PLAN_OPTIONS_INIT;
  if (options != NULL) {
    status = ctn_descriptor_read(&layer->options, sizeof layer->options, options, "plan options", error);
  }
  if (status != CLATTN_OK) return status;
  for (int part = 0; part < PART_COUNT; part++) {
    if (has_bias[part]) layer->input[layer->part[part].linear].has_bias = true;
  }
  layer->output.has_bias = has_out_bias;
  status = plan_all(layer, layer->options.path, error);
  if (status != CLATTN_OK) return status;
  int count = 0;
  int on_host = hosted(layer, &count);
  if (on_host > 0 && on_host < count) { /* what lies between the steps would cross the bus again and again */
    ctn_layer_drop_plans(layer);
    status = plan_all(layer, CLATTN_PATH_CPU, error);
    if (status != CLATTN_OK) return status;
    layer->gathered = true;
    on_host = hosted(layer, &count);
  }
  layer->on_host = on_host > 0;
  size_tensors(layer);
  status = size_segments(layer, error);
  return status == CLATTN_OK ? describe(layer, error) : status;
}
