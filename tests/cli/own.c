/* `clattn walkthrough` on one's own sentences: every step against float64 computed here, on the host and on a device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "own.h"
#include "philox.h"

/* Everything in float64. Scores and weights are [B, H, S, S], the rest is [B, S, D]. */
struct wanted {
  double embedded[ROWS * D], position[S * D], x[ROWS * D], query[ROWS * D], key[ROWS * D], value[ROWS * D];
  double raw[B * H * S * S], scaled[B * H * S * S], masked[B * H * S * S];
  double weights[B * H * S * S], weights_masked[B * H * S * S];
  double output[ROWS * D], output_masked[ROWS * D], projected[ROWS * D], projected_masked[ROWS * D];
};

/* y = x w^T + b for all rows; b may be NULL. */
static void project(double *y, const double *x, const float *w, const float *b) {
  for (int r = 0; r < ROWS; r++) {
    for (int o = 0; o < D; o++) {
      double sum = b ? (double)b[o] : 0;
      for (int i = 0; i < D; i++)
        sum += x[r * D + i] * (double)w[o * D + i];
      y[r * D + o] = sum;
    }
  }
}

static void softmax_and_mean(const double *scores, const double *value, double *weights, double *output) {
  for (int t = 0; t < B * H * S; t++) {
    const int sentence = t / (H * S), head = t / S % H, query = t % S;
    const double *row = scores + t * S;
    double highest = -INFINITY, sum = 0;
    for (int j = 0; j < S; j++)
      highest = fmax(highest, row[j]);
    for (int j = 0; j < S; j++)
      sum += exp(row[j] - highest);
    for (int j = 0; j < S; j++)
      weights[t * S + j] = exp(row[j] - highest) / sum;
    for (int d = head * HEAD; d < (head + 1) * HEAD; d++) {
      double mean = 0;
      for (int j = 0; j < S; j++)
        mean += weights[t * S + j] * value[(sentence * S + j) * D + d];
      output[(sentence * S + query) * D + d] = mean;
    }
  }
}

static void compute(struct wanted *w, const struct inputs *in, bool causal) {
  for (int r = 0; r < ROWS; r++) {
    for (int d = 0; d < D; d++) {
      const double angle = r % S / pow(10000, (d - d % 2) / (double)D);
      const double position = d % 2 ? cos(angle) : sin(angle);
      w->embedded[r * D + d] = own_ids[r] == 0 ? 0 : (double)in->table[own_ids[r] * D + d] * 2; /* the root of D */
      w->position[r % S * D + d] = position;
      w->x[r * D + d] = w->embedded[r * D + d] + position;
    }
  }
  project(w->query, w->x, in->q, in->bias_q);
  project(w->key, w->x, in->k, in->bias_k);
  project(w->value, w->x, in->v, in->bias_v);
  for (int t = 0; t < B * H * S * S; t++) {
    const int sentence = t / (H * S * S), head = t / (S * S) % H, query = t / S % S, key = t % S;
    double sum = 0;
    for (int d = head * HEAD; d < (head + 1) * HEAD; d++)
      sum += w->query[(sentence * S + query) * D + d] * w->key[(sentence * S + key) * D + d];
    w->raw[t] = sum;
    w->scaled[t] = sum / sqrt(HEAD);
    w->masked[t] = own_ids[sentence * S + key] == 0 || (causal && key > query) ? -INFINITY : w->scaled[t];
  }
  softmax_and_mean(w->scaled, w->value, w->weights, w->output);
  softmax_and_mean(w->masked, w->value, w->weights_masked, w->output_masked);
  project(w->projected, w->output, in->o, in->bias_o);
  project(w->projected_masked, w->output_masked, in->o, in->bias_o);
}

/* --------------------------------------------------------------------------------------------------------------- checking */

static void check_values(const json_t *root, const char *name, const double *want, int count) {
  const json_t *step = own_step(root, name);
  if (!step) fail_msg("no step %s", name);
  const json_t *values = json_object_get(step, "values");
  assert_int_equal(json_array_size(values), count);
  assert_true(json_is_null(json_object_get(step, "difference_stored")));
  for (int i = 0; i < count; i++) {
    const json_t *value = json_array_get(values, (size_t)i);
    if (isinf(want[i])) {
      assert_true(json_is_string(value));
      assert_string_equal(json_string_value(value), "-inf");
    } else if (!json_is_number(value) || !(fabs(json_number_value(value) - want[i]) <= 1e-5)) {
      fail_msg("%s[%d]: %.9g, not %.9g", name, i, json_number_value(value), want[i]);
    }
  }
}

static void check_all(const json_t *root, const struct wanted *w, bool projected) {
  const struct {
    const char *name;
    const double *want;
    int count;
  } rows[] = {
      {"embedded", w->embedded, ROWS * D},
      {"positional_encoding", w->position, S * D},
      {"embedded_plus_position", w->x, ROWS * D},
      {"query", w->query, ROWS * D},
      {"key", w->key, ROWS * D},
      {"value", w->value, ROWS * D},
      {"raw_scores", w->raw, B * H * S * S},
      {"scaled_scores", w->scaled, B * H * S * S},
      {"weights", w->weights, B * H * S * S},
      {"output", w->output, ROWS * D},
      {"masked_scores", w->masked, B * H * S * S},
      {"weights_masked", w->weights_masked, B * H * S * S},
      {"output_masked", w->output_masked, ROWS * D},
      {"projected", w->projected, ROWS * D},
      {"projected_masked", w->projected_masked, ROWS * D},
  };
  const size_t count = sizeof rows / sizeof *rows - (projected ? 0 : 2);
  assert_int_equal(json_array_size(json_object_get(root, "steps")), count);
  for (size_t i = 0; i < count; i++)
    check_values(root, rows[i].name, rows[i].want, rows[i].count);
  assert_true(json_is_true(json_object_get(root, "agrees")));
  assert_int_equal(json_integer_value(json_object_get(root, "heads")), H);
}

/* With and without the causal mask, on one path. */
static void check_path(const char *const *place_options) {
  struct place place = own_place(own_sentences);
  struct inputs in;
  own_inputs(&in);
  for (int packed = 0; packed < 2; packed++) {
    if (packed) {
      own_write_packed(place.weights, &in);
    } else {
      own_write_all(place.weights, &in);
    }
    for (int causal = 0; causal < 2; causal++) {
      struct wanted wanted;
      const char *options[16] = {"--tokens", place.tokens, "--weights", place.weights, "--heads", "2"};
      int count = 6;
      for (int i = 0; place_options[i]; i++)
        options[count++] = place_options[i];
      if (causal) options[count++] = "--causal";
      compute(&wanted, &in, causal != 0);
      json_t *root = own_json(options);
      check_all(root, &wanted, true);
      assert_true(json_is_true(json_object_get(root, "causal")) == (causal != 0));
      json_decref(root);
    }
  }
  own_leave(&place);
}

static void the_host_computes_what_is_computed_here(void **state) {
  (void)state;
  check_path((const char *const[]){"--path", "cpu", NULL});
  check_path((const char *const[]){"--path", "reference", NULL});
}

static void the_device_does_as_well(void **state) {
  (void)state;
  const char *wanted = getenv("CLATTN_TEST_DEVICE");
  const char *device = wanted ? wanted : "Portable Computing Language";
  struct tool_result devices = tool_run((const char *const[]){"devices", NULL}, NULL);
  const bool there = strstr(devices.out, device) != NULL;
  tool_free(&devices);
  if (!there && getenv("CLATTN_TEST_REQUIRE_DEVICES")) fail_msg("no device \"%s\"", device);
  if (!there) skip();
  check_path((const char *const[]){"--device", device, "--path", "staged", "--no-host", NULL});
}

/* ----------------------------------------------------------------------------------------------------------------- random */

/* The documented generator, and a few numbers as they are on every machine. */
static void a_seed_gives_the_same_numbers_everywhere(void **state) {
  (void)state;
  struct place place = own_place(own_sentences);
  struct inputs in;
  struct wanted wanted;
  memset(&in, 0, sizeof in);
  float *const parts[] = {in.table, in.q, in.k, in.v};
  const float bound = (float)sqrt(3.0 / D);
  for (int t = 0; t < 4; t++) {
    for (int n = 0; n < (t == 0 ? V * D : D * D); n++) {
      uint32_t words[4];
      ctn_philox(77, (uint64_t)t, (uint64_t)n / 4, words);
      parts[t][n] = (float)((double)(words[n % 4] >> 8) / 8388608 - 1) * bound;
    }
  }
  compute(&wanted, &in, false);
  json_t *root = own_json(
      (const char *const[]){"--tokens", place.tokens, "--d-model", "4", "--heads", "2", "--seed", "77", "--path", "cpu", NULL});
  check_all(root, &wanted, false);
  const json_t *own = json_object_get(root, "own");
  assert_int_equal(json_integer_value(json_object_get(own, "seed")), 77);
  assert_int_equal(json_integer_value(json_object_get(own, "d_model")), D);
  const json_t *second = json_array_get(json_object_get(own, "ids"), 1);
  assert_int_equal(json_integer_value(json_array_get(second, 0)), 3);
  assert_int_equal(json_integer_value(json_array_get(second, 2)), 0);
  json_t *again = own_json(
      (const char *const[]){"--tokens", place.tokens, "--d-model", "4", "--heads", "2", "--seed", "78", "--path", "cpu", NULL});
  assert_false(json_equal(json_object_get(root, "steps"), json_object_get(again, "steps")));
  json_decref(root);
  json_decref(again);
  own_leave(&place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_computes_what_is_computed_here),
      cmocka_unit_test(the_device_does_as_well),
      cmocka_unit_test(a_seed_gives_the_same_numbers_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
