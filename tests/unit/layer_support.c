/* Layers with their data, and what they should give. */
#include "layer_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements between the rows of tensors that lie apart. */
enum { GAP = 3 };

static void *checked(void *memory) {
  assert_non_null(memory);
  return memory;
}

static void make_numbers(struct layer_data *d, int index, int64_t count, double spread, uint64_t *state) {
  const size_t n = (size_t)count;
  d->count[index] = count;
  d->plain[index] = checked(malloc(n * sizeof(double)));
  d->typed[index] = checked(malloc(n * ctn_dtype_size(d->problem.dtype)));
  for (int64_t i = 0; i < count; i++) {
    support_set(d->problem.dtype, d->typed[index], i, support_random(state) * spread);
    d->plain[index][i] = ctn_load_f64(d->problem.dtype, d->typed[index], i);
  }
}

static clattn_layout layout(const struct layer_data *d, int64_t length, int64_t features) {
  if (!d->c.apart) return (clattn_layout){length * features, 0, features};
  return (clattn_layout){features + GAP, 0, d->c.batch * (features + GAP)};
}

static size_t extent(const struct layer_data *d, int64_t length, int64_t features) {
  const clattn_layout l = layout(d, length, features);
  const int64_t last = (d->c.batch - 1) * l.batch_stride + (length - 1) * l.row_stride + features;
  return (size_t)last * ctn_dtype_size(d->problem.dtype);
}

static int64_t input_length(const struct layer_case *c, int input) {
  return input == 0 ? c->q_len : c->kv_len;
}
static int64_t input_features(const struct layer_case *c, int input) {
  return input == 0 ? c->d_model : input == 1 ? c->k_features : c->v_features;
}

size_t layer_data_out_bytes(const struct layer_data *d) {
  return extent(d, d->c.q_len, d->c.out_features);
}
size_t layer_data_input_bytes(const struct layer_data *d, int input) {
  return extent(d, input_length(&d->c, input), input_features(&d->c, input));
}

static void place_input(struct layer_data *d, int input) {
  const int64_t length = input_length(&d->c, input), features = input_features(&d->c, input);
  const clattn_layout l = layout(d, length, features);
  const size_t element = ctn_dtype_size(d->problem.dtype), bytes = extent(d, length, features);
  d->input[input] = checked(malloc(bytes));
  memset(d->input[input], INPUT_POISON, bytes);
  for (int64_t b = 0; b < d->c.batch; b++) {
    for (int64_t i = 0; i < length; i++) {
      const int64_t to = b * l.batch_stride + i * l.row_stride, from = (b * length + i) * features;
      memcpy((char *)d->input[input] + (size_t)to * element, (char *)d->typed[D_QUERY + input] + (size_t)from * element,
             (size_t)features * element);
    }
  }
  if (!d->c.apart) return;
  if (input == 0) d->problem.query = l;
  if (input == 1) d->problem.key = l;
  if (input == 2) d->problem.value = l;
}

/* Tensors one after another; absent ones as zeros. */
static void *join(const struct layer_data *d, int first, const int64_t counts[3]) {
  const size_t element = ctn_dtype_size(d->problem.dtype);
  char *joined = checked(calloc((size_t)(counts[0] + counts[1] + counts[2]), element)), *at = joined;
  for (int i = 0; i < 3; i++) {
    if (d->typed[first + i] != NULL) memcpy(at, d->typed[first + i], (size_t)counts[i] * element);
    at += (size_t)counts[i] * element;
  }
  return joined;
}

static void make_weights(struct layer_data *d, uint64_t *state) {
  const struct layer_case *c = &d->c;
  const int64_t rows[3] = {c->q_heads * c->head_dim, c->kv_heads * c->head_dim, c->kv_heads * c->head_dim_v};
  const int64_t heads = c->q_heads * c->head_dim_v;
  int64_t counts[3];
  for (int i = 0; i < 3; i++) {
    counts[i] = rows[i] * input_features(c, i);
    make_numbers(d, D_WQ + i, counts[i], 2 / sqrt((double)input_features(c, i)), state);
    if (c->biases & 1 << i) make_numbers(d, D_BQ + i, rows[i], 0.5, state);
  }
  make_numbers(d, D_WO, c->out_features * heads, 2 / sqrt((double)heads), state);
  if (c->biases & BIAS_OUT) make_numbers(d, D_BO, c->out_features, 0.5, state);
  d->packed_weight = join(d, D_WQ, counts);
  d->packed_bias = join(d, D_BQ, rows);

  clattn_layer_weights *w = &d->weights;
  *w = (clattn_layer_weights)CLATTN_LAYER_WEIGHTS_INIT;
  if (c->packed_weights) {
    w->in_weight = d->packed_weight;
  } else {
    w->q_weight = d->typed[D_WQ], w->k_weight = d->typed[D_WK], w->v_weight = d->typed[D_WV];
  }
  if (c->packed_biases) {
    w->in_bias = d->packed_bias;
  } else {
    w->q_bias = d->typed[D_BQ], w->k_bias = d->typed[D_BK], w->v_bias = d->typed[D_BV];
  }
  w->out_weight = d->typed[D_WO], w->out_bias = d->typed[D_BO];
}

static void make_masks(struct layer_data *d, uint64_t *state) {
  const struct layer_case *c = &d->c;
  clattn_layer_problem *p = &d->problem;
  const size_t batch = (size_t)c->batch, keys = (size_t)c->kv_len, rows = (size_t)c->q_len;
  if (c->mask == BOOL_MASK) { /* [batch, 1, 1, keys]: padding */
    d->bool_mask = checked(malloc(batch * keys));
    for (size_t i = 0; i < batch * keys; i++)
      d->bool_mask[i] = i % keys == 0 || support_random(state) > -0.4;
    p->mask = (clattn_mask){CLATTN_BOOL, 4, {c->batch, 1, 1, c->kv_len}, {0, 0, 0, 0}};
    d->arrays.mask = d->bool_mask;
  } else if (c->mask == FLOAT_MASK) { /* [rows, keys] */
    d->float_mask = checked(malloc(rows * keys * sizeof(float)));
    for (size_t i = 0; i < rows * keys; i++)
      d->float_mask[i] = support_random(state) < -0.6 ? -INFINITY : (float)support_random(state);
    p->mask = (clattn_mask){CLATTN_F32, 2, {c->q_len, c->kv_len, 0, 0}, {0, 0, 0, 0}};
    d->arrays.mask = d->float_mask;
  }
  if (c->kv_lens) { /* the last batch has none: its rows attend nothing */
    d->kv_len = checked(malloc(batch * sizeof *d->kv_len));
    for (int64_t b = 0; b < c->batch; b++)
      d->kv_len[b] = b == c->batch - 1 ? 0 : c->kv_len - b;
    d->arrays.kv_len = d->kv_len;
  }
  if (c->offsets) {
    d->query_offset = checked(malloc(batch * sizeof *d->query_offset));
    for (int64_t b = 0; b < c->batch; b++)
      d->query_offset[b] = c->kv_len - c->q_len - b;
    d->arrays.query_offset = d->query_offset;
  }
}

/* y[row][n] = sum of x[row][k] w[n][k], and a bias. */
static double *project(const double *x, const double *w, const double *bias, int64_t rows, int64_t in, int64_t out) {
  double *y = checked(malloc((size_t)(rows * out) * sizeof(double)));
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t n = 0; n < out; n++) {
      double sum = bias != NULL ? bias[n] : 0;
      for (int64_t k = 0; k < in; k++)
        sum += x[r * in + k] * w[n * in + k];
      y[r * out + n] = sum;
    }
  }
  return y;
}

static bool attends(const struct layer_data *d, int64_t b, int64_t i, int64_t j) {
  const int64_t position = i + (d->query_offset != NULL ? d->query_offset[b] : 0);
  if (d->kv_len != NULL && j >= d->kv_len[b]) return false;
  if (d->c.causal && j > position) return false;
  if (d->bool_mask != NULL && !d->bool_mask[b * d->c.kv_len + j]) return false;
  return d->float_mask == NULL || !isinf(d->float_mask[i * d->c.kv_len + j]);
}

/* One row of one head: softmax into p, the weighted sum of values into out. */
static void plain_row(const struct layer_data *d, int64_t b, int64_t h, int64_t i, const double *q, const double *k,
                      const double *v, double *p, double *out) {
  const struct layer_case *c = &d->c;
  const int64_t kv_head = h / (c->q_heads / c->kv_heads);
  const double *qi = q + ((b * c->q_len + i) * c->q_heads + h) * c->head_dim;
  double largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < c->kv_len; j++) {
    const double *kj = k + ((b * c->kv_len + j) * c->kv_heads + kv_head) * c->head_dim;
    p[j] = -INFINITY;
    if (!attends(d, b, i, j)) continue;
    double dot = 0;
    for (int64_t x = 0; x < c->head_dim; x++)
      dot += qi[x] * kj[x];
    p[j] = dot / sqrt((double)c->head_dim) + (d->float_mask != NULL ? (double)d->float_mask[i * c->kv_len + j] : 0);
    largest = fmax(largest, p[j]);
  }
  for (int64_t j = 0; j < c->kv_len; j++) {
    p[j] = isinf(p[j]) ? 0 : exp(p[j] - largest);
    sum += p[j];
  }
  for (int64_t x = 0; x < c->head_dim_v; x++)
    out[x] = 0;
  for (int64_t j = 0; j < c->kv_len && sum > 0; j++) {
    p[j] /= sum;
    for (int64_t x = 0; x < c->head_dim_v; x++)
      out[x] += p[j] * v[((b * c->kv_len + j) * c->kv_heads + kv_head) * c->head_dim_v + x];
  }
}

static void compute(struct layer_data *d) {
  const struct layer_case *c = &d->c;
  const double *key = c->inputs == CLATTN_LAYER_SELF ? d->plain[D_QUERY] : d->plain[D_KEY];
  const double *value = c->inputs == CLATTN_LAYER_SEPARATE ? d->plain[D_VALUE] : key;
  const int64_t rows = c->batch * c->q_len, keys = c->batch * c->kv_len, heads = c->q_heads * c->head_dim_v;
  double *q = project(d->plain[D_QUERY], d->plain[D_WQ], d->plain[D_BQ], rows, c->d_model, c->q_heads * c->head_dim);
  double *k = project(key, d->plain[D_WK], d->plain[D_BK], keys, c->k_features, c->kv_heads * c->head_dim);
  double *v = project(value, d->plain[D_WV], d->plain[D_BV], keys, c->v_features, c->kv_heads * c->head_dim_v);
  double *merged = checked(malloc((size_t)(rows * heads) * sizeof(double)));
  d->want_softmax = checked(malloc((size_t)(rows * c->q_heads * c->kv_len) * sizeof(double)));
  for (int64_t b = 0; b < c->batch; b++) {
    for (int64_t h = 0; h < c->q_heads; h++) {
      for (int64_t i = 0; i < c->q_len; i++)
        plain_row(d, b, h, i, q, k, v, d->want_softmax + ((b * c->q_heads + h) * c->q_len + i) * c->kv_len,
                  merged + (b * c->q_len + i) * heads + h * c->head_dim_v);
    }
  }
  d->want_out = project(merged, d->plain[D_WO], d->plain[D_BO], rows, heads, c->out_features);
  free(q);
  free(k);
  free(v);
  free(merged);
}

static void fill_in_case(struct layer_case *c) {
  if (c->dtype == CLATTN_NONE) c->dtype = CLATTN_F32;
  if (c->kv_len == 0) c->kv_len = c->q_len;
  if (c->kv_heads == 0) c->kv_heads = c->q_heads;
  if (c->head_dim == 0) c->head_dim = c->d_model / c->q_heads;
  if (c->head_dim_v == 0) c->head_dim_v = c->head_dim;
  if (c->k_features == 0) c->k_features = c->d_model;
  if (c->v_features == 0) c->v_features = c->k_features;
  if (c->out_features == 0) c->out_features = c->d_model;
}

void layer_data_make(struct layer_data *d, const struct layer_case *in) {
  uint64_t state = 7;
  memset(d, 0, sizeof *d);
  d->c = *in;
  clattn_layer_problem *p = &d->problem;
  *p = (clattn_layer_problem)CLATTN_LAYER_PROBLEM_INIT;
  p->inputs = in->inputs;
  p->batch = in->batch, p->q_len = in->q_len, p->kv_len = in->kv_len;
  p->q_heads = in->q_heads, p->kv_heads = in->kv_heads;
  p->head_dim = in->head_dim, p->head_dim_v = in->head_dim_v;
  p->d_model = in->d_model, p->k_features = in->k_features, p->v_features = in->v_features;
  p->out_features = in->out_features;
  p->causal = in->causal, p->has_kv_len = in->kv_lens, p->has_query_offset = in->offsets;
  if (in->weights) p->outputs |= CLATTN_OUTPUT_WEIGHTS;
  fill_in_case(&d->c);
  p->dtype = d->c.dtype;
  d->arrays = (clattn_layer_arrays)CLATTN_LAYER_ARRAYS_INIT;
  const int inputs = in->inputs == CLATTN_LAYER_SELF ? 1 : in->inputs == CLATTN_LAYER_CROSS ? 2 : 3;
  for (int i = 0; i < inputs; i++) {
    make_numbers(d, D_QUERY + i, d->c.batch * input_length(&d->c, i) * input_features(&d->c, i), 1, &state);
    place_input(d, i);
  }
  d->arrays.query = d->input[0], d->arrays.key = d->input[1], d->arrays.value = d->input[2];
  make_weights(d, &state);
  make_masks(d, &state);
  if (d->c.apart) p->out = layout(d, d->c.q_len, d->c.out_features);
  p->query.head_stride = p->out.head_stride = 5; /* not used, whatever the others are */
  d->arrays.out = d->out = checked(malloc(layer_data_out_bytes(d)));
  const size_t scores = (size_t)(d->c.batch * d->c.q_heads * d->c.q_len * d->c.kv_len);
  d->softmax = checked(malloc(scores * sizeof(float)));
  if (in->weights) d->arrays.weights = d->softmax;
  compute(d);
}

void layer_data_free(struct layer_data *d) {
  for (int i = 0; i < D_COUNT; i++) {
    free(d->plain[i]);
    free(d->typed[i]);
  }
  for (int i = 0; i < 3; i++)
    free(d->input[i]);
  free(d->packed_weight);
  free(d->packed_bias);
  free(d->bool_mask);
  free(d->float_mask);
  free(d->kv_len);
  free(d->query_offset);
  free(d->out);
  free(d->softmax);
  free(d->want_out);
  free(d->want_softmax);
}

void layer_data_poison(struct layer_data *d) {
  const struct layer_case *c = &d->c;
  memset(d->out, RESULT_POISON, layer_data_out_bytes(d));
  memset(d->softmax, RESULT_POISON, (size_t)(c->batch * c->q_heads * c->q_len * c->kv_len) * sizeof(float));
}

/* norm(got - want) / norm(want). The values between the steps are rounded to the dtype too: a few of its steps are allowed. */
static void close_enough(const char *what, const char *tensor, double difference, double norm, clattn_dtype dtype) {
  const double limit = dtype == CLATTN_BF16 ? 1.5e-2 : dtype == CLATTN_F16 ? 2e-3 : 2e-6;
  if (!(sqrt(difference) <= limit * sqrt(norm))) {
    fail_msg("%s: %s is off by %g, more than %g", what, tensor, sqrt(difference / norm), limit);
  }
}

void layer_data_compare(const struct layer_data *d, const char *what) {
  const struct layer_case *c = &d->c;
  const clattn_layout l = layout(d, c->q_len, c->out_features);
  const size_t element = ctn_dtype_size(c->dtype);
  double difference = 0, norm = 0;
  for (int64_t b = 0; b < c->batch; b++) {
    for (int64_t i = 0; i < c->q_len; i++) {
      for (int64_t x = 0; x < c->out_features; x++) {
        const double got = ctn_load_f64(c->dtype, d->out, b * l.batch_stride + i * l.row_stride + x);
        const double want = d->want_out[(b * c->q_len + i) * c->out_features + x];
        difference += (got - want) * (got - want);
        norm += want * want;
      }
    }
  }
  close_enough(what, "out", difference, norm, c->dtype);
  for (int64_t row = 0; c->apart && row < c->batch * c->q_len - 1; row++) {
    const unsigned char *gap = (unsigned char *)d->out + (size_t)(row * (c->out_features + GAP) + c->out_features) * element;
    for (size_t i = 0; i < GAP * element; i++) {
      if (gap[i] != RESULT_POISON) fail_msg("%s: the gap after row %lld was written", what, (long long)row);
    }
  }
  if (!c->weights) return;
  difference = norm = 0;
  for (int64_t i = 0; i < c->batch * c->q_heads * c->q_len * c->kv_len; i++) {
    difference += pow((double)d->softmax[i] - d->want_softmax[i], 2);
    norm += d->want_softmax[i] * d->want_softmax[i];
  }
  close_enough(what, "weights", difference, norm, c->dtype);
}

void layer_data_execute(clattn_layer *layer, struct layer_data *d, const char *what) {
  clattn_error error = CLATTN_ERROR_INIT;
  layer_data_poison(d);
  if (clattn_layer_execute(layer, &d->arrays, &error) != CLATTN_OK) fail_msg("%s: %s", what, error.text);
  layer_data_compare(d, what);
}
