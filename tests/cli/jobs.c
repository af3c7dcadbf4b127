/* run and verify at work: what they print, write and count. A planted wrong answer must fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

#include "safetensors.h"
#include "tool.h"

#define CASE(name) TEST_CASES "/" name ".safetensors"

static struct st_file read_case(const char *path) {
  struct st_file file;
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_read(&file, path, &error)) fail_msg("%s", error.text);
  return file;
}

static void write_tensors(const struct st_file *file, const char *path) {
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_write(file, path, &error)) fail_msg("%s", error.text);
}

static struct st_tensor *tensor_of(struct st_file *file, const char *name) {
  struct st_tensor *tensor = (struct st_tensor *)(uintptr_t)ctn_st_find(file, name);
  assert_non_null(tensor);
  return tensor;
}

/* The tool's verdict on a file: the whole of standard output. */
static void expect_verdict(const char *path, const char *strict, int code, const char *start, const char *last) {
  const char *const argv[] = {"verify", path, "--path", "reference", strict, NULL};
  struct tool_result result = tool_run(argv, NULL);
  if (result.code != code || strncmp(result.out, start, strlen(start)) != 0 || !strstr(result.out, last) ||
      strlen(strstr(result.out, last)) != strlen(last)) {
    fail_msg("exit code %d (not %d), or not '%s...%s':\n%s%s", result.code, code, start, last, result.out, result.err);
  }
  if (code)
    tool_assert_error(&result, code, "verify", NULL);
  else
    assert_string_equal(result.err, "");
  tool_free(&result);
}

static void verdicts_and_closing_line(void **state) {
  (void)state;
  expect_verdict(CASE("extended/one_key"), NULL, 0, "ok ", "\n1 passed, 0 failed, 0 skipped\n");
  expect_verdict(CASE("extended/grad_plain"), NULL, 0, "ok ", "(without dq, dk, dv)\n1 passed, 0 failed, 0 skipped\n");
  expect_verdict(CASE("onnx/rotary_embedding"), NULL, 0, "skip ", "\n0 passed, 0 failed, 1 skipped\n");
  expect_verdict(CASE("onnx/rotary_embedding"), "--strict", 1, "skip ", "\n0 passed, 0 failed, 1 skipped\n");
  expect_verdict(CASE("extended/grad_plain"), "--strict", 0, "ok ", "\n1 passed, 0 failed, 0 skipped\n");
  expect_verdict("/nowhere/case.safetensors", NULL, 1, "FAIL ", "\n0 passed, 1 failed, 0 skipped\n");
}

/* Changes one expected tensor of a case in one way after the other; every change must be found. */
static void planted_wrong_answers_fail(void **state) {
  (void)state;
  char *folder = make_folder(), *path = join_path(folder, "planted.safetensors");
  const char *const closing = "\n0 passed, 1 failed, 0 skipped\n";
  struct st_file file = read_case(CASE("extended/weights_stages"));
  static const char *const names[] = {
      "expected.out",          "expected.lse", "expected.weights", "expected.scores_raw", "expected.scores_softcapped",
      "expected.scores_masked"};
  write_tensors(&file, path);
  expect_verdict(path, NULL, 0, "ok ", "\n1 passed, 0 failed, 0 skipped\n");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct st_tensor *tensor = tensor_of(&file, names[i]);
    float *last = (float *)(uintptr_t)tensor->data + tensor->count - 1;
    const float right = *last;
    static const uint32_t bits[] = {0x3f8ccccd, 0x7fc00000, 0x7f800000, 0xff800000}; /* 1.1, NaN, inf, -inf */
    for (size_t b = 0; b < 4; b++) {
      memcpy(last, &bits[b], sizeof *last);
      if (memcmp(last, &right, sizeof right) == 0) continue; /* a masked score is -inf anyway */
      write_tensors(&file, path);
      expect_verdict(path, NULL, 1, "FAIL ", closing);
    }
    *last = right;
  }
  /* A result beyond the tolerance by little, and within it. */
  struct st_tensor *lse = tensor_of(&file, "expected.lse");
  float *value = (float *)(uintptr_t)lse->data;
  const float right = *value;
  *value = right + 1e-3f;
  write_tensors(&file, path);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  *value = right + 1e-6f;
  write_tensors(&file, path);
  expect_verdict(path, NULL, 0, "ok ", "\n1 passed, 0 failed, 0 skipped\n");
  ctn_st_clear(&file);
  free(path);
  remove_folder(folder);
}

static void expected_tensors_that_say_nothing_fail(void **state) {
  (void)state;
  char *folder = make_folder(), *path = join_path(folder, "planted.safetensors");
  const char *const closing = "\n0 passed, 1 failed, 0 skipped\n";
  struct st_file file = read_case(CASE("extended/one_key"));
  struct st_tensor *out = tensor_of(&file, "expected.out");
  const struct st_tensor whole = *out;
  /* The shape is another one, with the same elements; then none. */
  out->shape[2] = 1;
  out->shape[3] = whole.shape[2] * whole.shape[3];
  write_tensors(&file, path);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  out->shape[0] = out->count = 0;
  write_tensors(&file, path);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  *out = whole;
  out->dtype = ST_I32;
  write_tensors(&file, path);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  *out = whole;
  out->name[strlen("expected.")] = 'x';
  write_tensors(&file, path);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  ctn_st_clear(&file);

  /* A problem without any answer is no case. */
  const char *const run[] = {"run", CASE("extended/one_key"), "-o", path, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  assert_int_equal(result.code, 0);
  tool_free(&result);
  expect_verdict(path, NULL, 1, "FAIL ", closing);
  free(path);
  remove_folder(folder);
}

static void folders_are_searched_in_order(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *const empty[] = {"verify", folder, "--path", "reference", NULL};
  struct tool_result result = tool_run(empty, NULL);
  tool_assert_error(&result, 1, "verify", "no .safetensors file");
  tool_free(&result);
  remove_folder(folder);

  const char *const all[] = {"verify", TEST_CASES "/", "--path", "reference", NULL};
  result = tool_run(all, NULL);
  assert_int_equal(result.code, 0);
  assert_memory_equal(result.out, "ok extended/alibi_causal\n", strlen("ok extended/alibi_causal\n"));
  assert_non_null(strstr(result.out, "\nskip onnx/rotary_embedding: "));
  assert_non_null(strstr(result.out, "\n129 passed, 0 failed, 8 skipped\n"));
  tool_free(&result);
}

/* The results of run are those that verify compares: put beside the inputs as expected, they pass. */
static void run_writes_what_verify_expects(void **state) {
  (void)state;
  static const struct {
    const char *path;
    const char *outputs;
    size_t count;
    enum st_dtype out;
    int rank;
  } rows[] = {
      {CASE("extended/weights_stages"), "out,lse,weights,scores_raw,scores_softcapped,scores_masked,present_k,present_v", 8,
       ST_F32, 4},
      {CASE("extended/f16"), "lse,out", 2, ST_F16, 4},
      {CASE("extended/bf16"), "out", 1, ST_BF16, 4},
      {CASE("extended/packed_causal"), "out,lse,weights", 3, ST_F32, 3},
      {CASE("onnx/attention_3d_gqa_with_past_and_present"), "out,present_k,present_v", 3, ST_F32, 3},
      {CASE("onnx/attention_3d_gqa"), "out,present_k,present_v", 3, ST_F32, 3},
  };
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors"),
       *joined = join_path(folder, "joined.safetensors");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *const run[] = {"run", rows[i].path, "-o", output, "--outputs", rows[i].outputs, "--path", "reference", NULL};
    struct tool_result result = tool_run(run, NULL);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "computed by reference"));
    tool_free(&result);
    struct st_file got = read_case(output), inputs = read_case(rows[i].path), both = {0};
    assert_int_equal(got.count, rows[i].count);
    const struct st_tensor *out = ctn_st_find(&got, "out");
    assert_non_null(out);
    assert_int_equal(out->dtype, rows[i].out);
    assert_int_equal(out->rank, rows[i].rank);
    for (size_t t = 0; t < inputs.count; t++) {
      const struct st_tensor *tensor = &inputs.tensors[t];
      if (strncmp(tensor->name, "expected.", 9) == 0) continue;
      assert_int_equal(ctn_st_add(&both, tensor->name, tensor->dtype, tensor->rank, tensor->shape, tensor->data, NULL), 0);
    }
    for (size_t t = 0; t < got.count; t++) {
      const struct st_tensor *tensor = &got.tensors[t];
      char name[64];
      snprintf(name, sizeof name, "expected.%s", tensor->name);
      assert_int_equal(ctn_st_add(&both, name, tensor->dtype, tensor->rank, tensor->shape, tensor->data, NULL), 0);
    }
    for (size_t m = 0; m < inputs.metadata_count; m++) {
      bool tolerance = strcmp(inputs.keys[m], "rtol") == 0 || strcmp(inputs.keys[m], "atol") == 0;
      assert_int_equal(ctn_st_add_metadata(&both, inputs.keys[m], tolerance ? "0" : inputs.values[m], NULL), 0);
    }
    write_tensors(&both, joined);
    expect_verdict(joined, "--strict", 0, "ok ", "\n1 passed, 0 failed, 0 skipped\n");
    ctn_st_clear(&both);
    ctn_st_clear(&inputs);
    ctn_st_clear(&got);
  }
  const char *const present[] = {"run", rows[3].path, "-o", output, "--outputs", "present_k", "--path", "reference", NULL};
  struct tool_result result = tool_run(present, NULL);
  tool_assert_error(&result, 1, "run", "cu_seqlens");
  tool_free(&result);
  const char *const gradient[] = {"run", rows[0].path, "-o", output, "--outputs", "out,dq", "--path", "reference", NULL};
  result = tool_run(gradient, NULL);
  tool_assert_error(&result, 1, "run", "dq: gradients");
  tool_free(&result);
  free(output);
  free(joined);
  remove_folder(folder);
}

static json_t *run_json(const char *const *argv, int code) {
  struct tool_result result = tool_run(argv, NULL);
  assert_int_equal(result.code, code);
  json_error_t error;
  json_t *value = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
  if (!value) fail_msg("%s: no JSON: %s", error.text, result.out);
  tool_free(&result);
  return value;
}

static void json_is_valid_and_complete(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  const char *const verify[] = {"verify",
                                CASE("extended/grad_plain"),
                                CASE("onnx/rotary_embedding"),
                                CASE("extended/nan_only_where_attended"),
                                "/nowhere/x",
                                "--path",
                                "reference",
                                "--json",
                                NULL};
  json_t *value = run_json(verify, 1);
  assert_int_equal(json_integer_value(json_object_get(value, "passed")), 2);
  assert_int_equal(json_integer_value(json_object_get(value, "failed")), 1);
  assert_int_equal(json_integer_value(json_object_get(value, "skipped")), 1);
  assert_true(json_is_integer(json_object_get(value, "programs_compiled")));
  json_t *cases = json_object_get(value, "cases");
  assert_int_equal(json_array_size(cases), 4);
  assert_string_equal(json_string_value(json_object_get(json_array_get(cases, 0), "verdict")), "ok");
  assert_int_equal(json_array_size(json_object_get(json_array_get(cases, 0), "without")), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(cases, 1), "verdict")), "skip");
  assert_non_null(json_object_get(json_array_get(cases, 3), "reason"));
  json_decref(value);

  const char *const run[] = {"run", CASE("extended/one_key"), "-o", output, "--path", "reference", "--json", "--explain", NULL};
  value = run_json(run, 0);
  assert_string_equal(json_string_value(json_object_get(value, "path")), "reference");
  assert_int_equal(json_array_size(json_object_get(value, "tensors")), 1);
  assert_true(json_is_string(json_object_get(value, "explanation")));
  json_decref(value);

  const char *const devices[] = {"devices", "--device", "host", "--json", NULL};
  value = run_json(devices, 0);
  assert_int_equal(json_array_size(json_object_get(value, "devices")), 0);
  assert_int_equal(json_array_size(json_object_get(json_object_get(value, "host"), "operations")), 4);
  json_decref(value);
  free(output);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verdicts_and_closing_line),
      cmocka_unit_test(planted_wrong_answers_fail),
      cmocka_unit_test(expected_tensors_that_say_nothing_fail),
      cmocka_unit_test(folders_are_searched_in_order),
      cmocka_unit_test(run_writes_what_verify_expects),
      cmocka_unit_test(json_is_valid_and_complete),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
