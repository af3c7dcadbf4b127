/* `clattn walkthrough`: every step against the stored tensors, and the printed figures against them at their decimals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "safetensors.h"
#include "tool.h"

#define TOLERANCE 1e-5
enum { OPTIONS = 6 };

/* How a tensor's figures are printed, and how far float32 rounding may move a value before it is. */
struct printed {
  const char *name;
  const char *format;
  double absolute, relative;
};

struct example {
  const char *name;
  const char *file;
  size_t steps;
  const struct printed *printed;
  size_t sections;
  const char *const *phrases; /* in this order, white space collapsed; the sections' titles among them */
};

#define VECTOR "%.4f", 2e-6, 0
#define SCORE "%.4e", 4e-6, 0
#define WEIGHT "%.4e", 0, 4e-6

static const struct printed sentences_printed[] = {
    {"embedded", VECTOR},     {"embedded_plus_position", VECTOR},
    {"query", VECTOR},        {"key", VECTOR},
    {"value", VECTOR},        {"raw_scores", SCORE},
    {"scaled_scores", SCORE}, {"masked_scores", SCORE},
    {"weights", WEIGHT},      {"weights_masked", WEIGHT},
    {"output", VECTOR},       {"output_masked", VECTOR},
    {NULL, NULL, 0, 0},
};
static const char *const sentences_phrases[] = {
    "\n 1. Input",
    " 0 [PAD]",
    " 8 집에",
    " word | 나는 오늘 학교에 간다\n token id | 1 2 3 4\n",
    " word | 나는 집에 간다 [PAD]\n token id | 1 8 4 0\n",
    "\n 2. Embedding",
    " 1 나는 | -0.7741 -5.1812 0.7894 -3.0945 0.8573 0.7548\n",
    " [PAD] | 0.0000 0.0000 0.0000 0.0000 0.0000 0.0000\n",
    "\n 3. Positional encoding",
    " position 1 | 0.8415 0.5403 0.0464 0.9989 0.0022 1.0000\n",
    "\n 4. Query, key and value",
    "\n 5. Padding mask",
    " attended to | yes yes yes NO\n",
    "\n 6. Attention without the mask",
    "\n 7. Attention with the padding mask",
    " -1.0000e+09\n",
    "\n 8. The last sentence (4) without and with the mask",
    " with | 3.8584e-02 9.6124e-01 1.7694e-04 0.0000e+00 | 1.0000e+00\n",
    "\n 9. Attention to [PAD], compared",
    " 집에 | 7.9856e-02 0.0000e+00\n",
    " up to 7.99 % ",
    " with the mask 0.00 %",
    "\n 10. Shapes",
    " raw_scores [B, S, S] [4, 4, 4] Q K^T ",
    "\nLargest difference of all 13 steps: ",
    " Every step agrees within 1e-05.\n",
    NULL,
};

static const struct printed words_printed[] = {
    {"query", "%.2f", 1e-6, 0},         {"key", "%.2f", 1e-6, 0},     {"value", "%.2f", 1e-6, 0},  {"scores", "%.2f", 1e-6, 0},
    {"scaled_scores", "%.2f", 1e-6, 0}, {"weights", "%.3f", 1e-6, 0}, {"output", "%.2f", 1e-6, 0}, {NULL, NULL, 0, 0},
};
static const char *const words_phrases[] = {
    "\n 1. X",
    " 사과를 | 0.00 2.00 0.00 1.00\n",
    "\n 2. Query, key and value",
    "\n 3. Scores",
    " q(나는) . k(사과를) = 0.80 * (-1.80) + 0.40 * 1.30 + 0.60 * 0.90 + 1.80 * (-0.60)",
    " = -1.46\n",
    "\n 4. Weights",
    " 나는 | 0.340 0.138 0.522 | 1.000\n",
    "\n 5. The most attended word",
    " 나는 -> 먹었다 with weight 0.522\n",
    " 사과를 -> 나는 with weight 0.824\n",
    " 먹었다 -> 나는 with weight 0.656\n",
    "\n 6. Output",
    " output(나는), d3 = 0.340 * 1.10 + 0.138 * 0.00 + 0.522 * 0.70 = 0.74\n",
    "\nLargest difference of all 7 steps: ",
    " Every step agrees within 1e-05.\n",
    NULL,
};

static const struct example examples[] = {
    {"sentences", CLATTN_EXAMPLES "/sentences.safetensors", 13, sentences_printed, 10, sentences_phrases},
    {"words", CLATTN_EXAMPLES "/words.safetensors", 7, words_printed, 6, words_phrases},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* Where the example runs; arguments after "walkthrough --example NAME". */
struct place {
  const char *arguments[OPTIONS];
  const char *path; /* the only path that may have run */
};

static struct tool_result walk(const struct example *example, const struct place *place, bool json) {
  const char *argv[OPTIONS + 5] = {"walkthrough", "--example", example->name};
  int count = 3;
  if (json) argv[count++] = "--json";
  for (int i = 0; i < OPTIONS && place->arguments[i]; i++)
    argv[count++] = place->arguments[i];
  const struct tool_result result = tool_run(argv, NULL);
  if (result.code != 0) fail_msg("%s: exit code %d: %s", example->name, result.code, result.err);
  return result;
}

static struct st_file open_stored(const struct example *example) {
  struct st_file file = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_read(&file, example->file, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return file;
}

static void check_value(const char *name, size_t index, const json_t *value, double want) {
  if (want <= -1e9) {
    assert_true(json_is_string(value));
    assert_string_equal(json_string_value(value), "-inf");
    return;
  }
  assert_true(json_is_number(value));
  const double got = json_number_value(value);
  if (!(fabs(got - want) <= TOLERANCE)) fail_msg("%s[%zu]: %.9g, not %.9g", name, index, got, want);
}

static void check_step(const struct st_file *file, const json_t *step, const char *path) {
  const char *name = json_string_value(json_object_get(step, "name"));
  assert_non_null(name);
  const struct st_tensor *stored = ctn_st_find(file, name);
  assert_non_null(stored);
  const json_t *shape = json_object_get(step, "shape"), *values = json_object_get(step, "values");
  assert_int_equal(json_array_size(shape), stored->rank);
  for (int i = 0; i < stored->rank; i++)
    assert_int_equal(json_integer_value(json_array_get(shape, (size_t)i)), stored->shape[i]);
  assert_int_equal(json_array_size(values), stored->count);
  for (size_t i = 0; i < (size_t)stored->count; i++)
    check_value(name, i, json_array_get(values, i), ctn_st_f64(stored, (int64_t)i));
  assert_string_equal(json_string_value(json_object_get(step, "path")), path);
  assert_true(json_number_value(json_object_get(step, "difference_reference")) <= TOLERANCE);
  assert_true(json_number_value(json_object_get(step, "difference_stored")) <= TOLERANCE);
}

static void check_json(const struct example *example, const struct place *place) {
  struct tool_result result = walk(example, place, true);
  struct st_file file = open_stored(example);
  json_error_t error;
  json_t *root = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at line %d", error.text, error.line);
  const json_t *steps = json_object_get(root, "steps");
  assert_int_equal(json_array_size(steps), example->steps);
  for (size_t i = 0; i < example->steps; i++) {
    const json_t *step = json_array_get(steps, i);
    check_step(&file, step, place->path);
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(json_string_value(json_object_get(step, "name")),
                              json_string_value(json_object_get(json_array_get(steps, j), "name")));
    }
  }
  assert_true(json_is_true(json_object_get(root, "agrees")));
  assert_true(json_is_true(json_object_get(root, "host_computes")) == (strcmp(place->path, "staged") != 0));
  json_decref(root);
  ctn_st_clear(&file);
  tool_free(&result);
}

/* Runs of spaces become one. */
static void collapse(char *text) {
  char *to = text;
  for (const char *from = text; *from; from++) {
    if (*from != ' ' || to == text || to[-1] != ' ') *to++ = *from;
  }
  *to = '\0';
}

/* Past a space and a figure at text that value, or what rounding could have made of it, prints as; NULL where none stands
 * there. */
static const char *skip_figure(const char *text, const struct printed *printed, double value) {
  const double margin = value <= -1e9 || value == 0 ? 0 : printed->absolute + printed->relative * fabs(value);
  char figure[64], *end = NULL;
  if (*text != ' ') return NULL;
  const double got = strtod(text + 1, &end);
  const size_t length = (size_t)snprintf(figure, sizeof figure, printed->format, got);
  if (strncmp(text + 1, figure, length) != 0 || end != text + 1 + length) return NULL;
  snprintf(figure, sizeof figure, printed->format, value - margin);
  if (got < strtod(figure, NULL)) return NULL;
  snprintf(figure, sizeof figure, printed->format, value + margin);
  return got <= strtod(figure, NULL) ? end : NULL;
}

/* Whether a row of a table in the text holds these figures. */
static bool has_row(const char *out, const struct printed *printed, const struct st_tensor *stored, int64_t row) {
  const int64_t columns = stored->shape[stored->rank - 1];
  for (const char *bar = strstr(out, " |"); bar; bar = strstr(bar + 1, " |")) {
    const char *at = bar + 2;
    for (int64_t j = 0; j < columns && at; j++)
      at = skip_figure(at, printed, ctn_st_f64(stored, row * columns + j));
    if (at) return true;
  }
  return false;
}

static void check_figures(const char *out, const struct printed *printed, const struct st_file *file) {
  const struct st_tensor *stored = ctn_st_find(file, printed->name);
  assert_non_null(stored);
  for (int64_t i = 0; i < stored->count / stored->shape[stored->rank - 1]; i++) {
    if (!has_row(out, printed, stored, i)) fail_msg("%s: its row %lld is not in the text", printed->name, (long long)i);
  }
}

static void check_text(const struct example *example, const struct place *place) {
  struct tool_result result = walk(example, place, false);
  struct st_file file = open_stored(example);
  collapse(result.out);
  assert_string_equal(result.err, "");
  assert_null(strstr(result.out, "TOO FAR"));
  const char *at = result.out;
  for (const char *const *phrase = example->phrases; *phrase; phrase++) {
    const char *found = strstr(at, *phrase);
    if (!found) fail_msg("%s: no \"%s\" where it should stand", example->name, *phrase);
    at = found;
  }
  char last[32];
  snprintf(last, sizeof last, "\n %zu. ", example->sections + 1);
  assert_null(strstr(result.out, last));
  for (const struct printed *printed = example->printed; printed->name; printed++)
    check_figures(result.out, printed, &file);
  ctn_st_clear(&file);
  tool_free(&result);
}

static void check_place(const struct place *place) {
  for (size_t i = 0; i < EXAMPLES; i++) {
    check_json(&examples[i], place);
    check_text(&examples[i], place);
  }
}

static void test_cpu(void **state) {
  (void)state;
  check_place(&(struct place){{"--device", "host", "--path", "cpu"}, "cpu"});
}

static void test_reference(void **state) {
  (void)state;
  check_place(&(struct place){{"--path", "reference"}, "reference"});
}

/* Whether a device's or its platform's name contains part. */
static bool device_there(const char *part) {
  clattn_device_list *list = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  if (clattn_device_list_create(&list, &error) != CLATTN_OK) fail_msg("%s", error.text);
  bool there = false;
  for (size_t i = 0; i < clattn_device_list_count(list); i++) {
    const clattn_device_info *device = clattn_device_list_get(list, i);
    there = there || strstr(device->name, part) || strstr(device->platform_name, part);
  }
  clattn_device_list_destroy(list);
  return there;
}

/* The device that the test is for. Without it the test is skipped, or fails where it must not be. */
static const char *wanted_device(void) {
  const char *wanted = getenv("CLATTN_TEST_DEVICE");
  const char *device = wanted ? wanted : "Portable Computing Language";
  if (device_there(device)) return device;
  if (getenv("CLATTN_TEST_REQUIRE_DEVICES")) fail_msg("no device \"%s\"", device);
  skip();
  return NULL;
}

static void test_staged(void **state) {
  (void)state;
  const char *device = wanted_device();
  check_place(&(struct place){{"--device", device, "--path", "staged", "--no-host"}, "staged"});
}

/* A kernel that is wrong is seen: the step is named, and the job fails. */
static void test_wrong_kernel(void **state) {
  (void)state;
  const char *device = wanted_device();
  char *folder = make_folder(), *kernels = join_path(folder, "kernels"), *path = join_path(kernels, "embedding.cl");
  char command[2048], variable[1024];
  snprintf(command, sizeof command, "cp -R '%s' '%s'", CLATTN_KERNELS, kernels);
  assert_int_equal(system(command), 0);
  char *source = read_whole(path, NULL);
  char *factor = strstr(source, "* scale;");
  assert_non_null(factor);
  memcpy(factor, "* 2.46f;", strlen("* 2.46f;"));
  write_file(path, source, strlen(source));
  snprintf(variable, sizeof variable, "CLATTN_KERNEL_DIR=%s", kernels);
  const struct tool_options options = {.environment = (const char *const[]){variable, "CLATTN_NO_SELFTEST=1", NULL}};
  struct tool_result result =
      tool_run((const char *const[]){"walkthrough", "--device", device, "--path", "staged", NULL}, &options);
  assert_int_equal(result.code, 1);
  assert_non_null(strstr(result.err, "more than 1e-05"));
  const char *step = strstr(result.out, "check  embedded ");
  assert_non_null(step);
  const char *verdict = strstr(step, "TOO FAR\n");
  assert_true(verdict && verdict < strchr(step, '\n'));
  assert_non_null(strstr(result.out, "That is MORE than the 1e-05 allowed.\n"));
  tool_free(&result);
  remove_folder(folder);
  free(source);
  free(path);
  free(kernels);
}

/* The default is the first example, on whatever runs. */
static void test_default(void **state) {
  (void)state;
  struct tool_result result = tool_run((const char *const[]){"walkthrough", NULL}, NULL);
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "example \"sentences\""));
  assert_non_null(strstr(result.out, "\n  device   "));
  assert_non_null(strstr(result.out, "\n  path     "));
  tool_free(&result);
}

static void test_header_is_honest(void **state) {
  (void)state;
  struct tool_result result =
      tool_run((const char *const[]){"walkthrough", "--path", "reference", "--device", "host", NULL}, NULL);
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "\n  device   none: the host's own processor"));
  assert_non_null(strstr(result.out, "\n  path     reference: "));
  assert_non_null(strstr(result.out, "only the stored values check it"));
  tool_free(&result);
}

static void test_wrong_usage(void **state) {
  (void)state;
  static const char *const lines[][5] = {
      {"walkthrough", "--example", "song", NULL},
      {"walkthrough", "words", NULL},
      {"walkthrough", "--path", "nowhere", NULL},
  };
  static const char *const fragments[] = {"--example: song", "words: takes no operand", "--path: nowhere"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    struct tool_result result = tool_run(lines[i], NULL);
    tool_assert_error(&result, 2, "walkthrough", fragments[i]);
    assert_string_equal(result.out, "");
    tool_free(&result);
  }
}

/* A path that is not built is refused by name, and nothing of the story is printed. */
static void test_refused_path(void **state) {
  (void)state;
  struct tool_result result = tool_run((const char *const[]){"walkthrough", "--path", "fused", NULL}, NULL);
  tool_assert_error(&result, 1, "walkthrough", "fused");
  assert_string_equal(result.out, "");
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cpu),          cmocka_unit_test(test_reference),    cmocka_unit_test(test_staged),
      cmocka_unit_test(test_wrong_kernel), cmocka_unit_test(test_default),      cmocka_unit_test(test_header_is_honest),
      cmocka_unit_test(test_wrong_usage),  cmocka_unit_test(test_refused_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
