/* Well-formed files that are no attention problem: each is told of in one line that names the file, and nothing is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool.h"

#define Q TENSOR("q", "F32", "[1,2,3,4]", 0, 96)
#define K TENSOR("k", "F32", "[1,2,3,4]", 96, 192)
#define V TENSOR("v", "F32", "[1,2,3,4]", 192, 288)
/* [batch 1, 2 heads, 3 rows, 4 columns] with one metadata entry; or with one more tensor, which begins at byte 288. */
#define META(key, value) "{\"__metadata__\":{\"" key "\":\"" value "\"}," Q "," K "," V "}", 288, {0}, 0
#define MORE(tensor) "{" Q "," K "," V "," tensor "}"
/* The same data as [batch 1, 3 rows, 2 heads * 4 columns]. */
#define SPLIT(metadata)                                                                \
  "{\"__metadata__\":{" metadata "}," TENSOR("q", "F32", "[1,3,8]", 0, 96) "," TENSOR( \
      "k", "F32", "[1,3,8]", 96, 192) "," TENSOR("v", "F32", "[1,3,8]", 192, 288) "}", \
      288, {0}, 0
/* As [3 rows in all, 2 heads, 4 columns], with tensors that say where sequences begin. */
#define PACKED(tensors)                                                                                                      \
  "{" TENSOR("q", "F32", "[3,2,4]", 0, 96) "," TENSOR("k", "F32", "[3,2,4]", 96, 192) "," TENSOR("v", "F32", "[3,2,4]", 192, \
                                                                                                 288) "," tensors "}"
#define CU_Q TENSOR("cu_seqlens_q", "I64", "[3]", 288, 312)
#define CU_KV TENSOR("cu_seqlens_kv", "I64", "[3]", 312, 336)

static const struct {
  const char *message;
  const char *header;
  size_t data;
  int64_t values[6];
  size_t value_count;
} rows[] = {
    /* metadata */
    {"metadata scale: 'nan'", META("scale", "nan")},
    {"metadata scale: 'inf'", META("scale", "inf")},
    {"metadata scale: '-inf'", META("scale", "-inf")},
    {"metadata scale: 'abc'", META("scale", "abc")},
    {"metadata scale: ''", META("scale", "")},
    {"metadata scale: ' 1'", META("scale", " 1")},
    {"metadata scale: '1 '", META("scale", "1 ")},
    {"metadata scale: '0x1p3'", META("scale", "0x1p3")},
    {"metadata scale: '1.2.3'", META("scale", "1.2.3")},
    {"metadata scale: '1e999'", META("scale", "1e999")},
    {"metadata scale: '1e39'", META("scale", "1e39")},
    {"metadata softcap: '-1'", META("softcap", "-1")},
    {"metadata softcap: 'nan'", META("softcap", "nan")},
    {"metadata softcap: '1e-60'", META("softcap", "1e-60")},
    {"metadata dropout: '1'", META("dropout", "1")},
    {"metadata dropout: '-0.1'", META("dropout", "-0.1")},
    {"metadata dropout: '0.99999999999'", META("dropout", "0.99999999999")},
    {"metadata dropout: 'NaN'", META("dropout", "NaN")},
    {"metadata causal: '2'", META("causal", "2")},
    {"metadata causal: 'true'", META("causal", "true")},
    {"metadata causal: '-1'", META("causal", "-1")},
    {"metadata causal: '1.0'", META("causal", "1.0")},
    {"metadata window_left: '-2'", META("window_left", "-2")},
    {"metadata window_right: '1.5'", META("window_right", "1.5")},
    {"metadata window_right: '18446744073709551616'", META("window_right", "18446744073709551616")},
    {"metadata dropout_seed: '-1'", META("dropout_seed", "-1")},
    {"metadata dropout_seed: '18446744073709551616'", META("dropout_seed", "18446744073709551616")},
    {"metadata dropout_offset: ''", META("dropout_offset", "")},
    {"metadata rtol: '-1'", META("rtol", "-1")},
    {"metadata atol: 'nan'", META("atol", "nan")},
    {"metadata atol: 'inf'", META("atol", "inf")},
    {"metadata dtype: 'i8'", META("dtype", "i8")},
    {"metadata dtype: 'f16', but q is F32", META("dtype", "f16")},
    {"op: 'convolution'", META("op", "convolution")},
    {"op: ''", META("op", "")},
    {"metadata 'casual': no such key", META("casual", "1")},
    {"metadata 'rotary_dim': no such key", META("rotary_dim", "1")},
    {"metadata q_heads: 3, but the tensor has 2 heads", META("q_heads", "3")},
    {"metadata kv_heads: '0'", META("kv_heads", "0")},
    /* q, k, v */
    {"tensor 'v': missing", "{" Q "," K "}", 192, {0}, 0},
    {"tensor 'q': dtype I32", "{" TENSOR("q", "I32", "[1,2,3,4]", 0, 96) "," K "," V "}", 288, {0}, 0},
    {"tensor 'q': dtype F64", "{" TENSOR("q", "F64", "[1,2,3,2]", 0, 96) "," K "," V "}", 288, {0}, 0},
    {"tensor 'k': dtype F16, but q's is F32", "{" Q "," TENSOR("k", "F16", "[1,2,6,4]", 96, 192) "," V "}", 288, {0}, 0},
    {"ranks 4, 3, 4", "{" Q "," TENSOR("k", "F32", "[1,3,8]", 96, 192) "," V "}", 288, {0}, 0},
    {"ranks 2, 2, 2",
     "{" TENSOR("q", "F32", "[3,8]", 0, 96) "," TENSOR("k", "F32", "[3,8]", 96, 192) "," TENSOR("v", "F32", "[3,8]", 192,
                                                                                                288) "}",
     288,
     {0},
     0},
    {"heads do not divide",
     "{" Q "," TENSOR("k", "F32", "[1,4,3,4]", 96, 288) "," TENSOR("v", "F32", "[1,4,3,4]", 288, 480) "}",
     480,
     {0},
     0},
    {"tensor 'k': shape [2, 2, 3, 2]", "{" Q "," TENSOR("k", "F32", "[2,2,3,2]", 96, 192) "," V "}", 288, {0}, 0},
    {"tensor 'k': shape [1, 2, 4, 3]", "{" Q "," TENSOR("k", "F32", "[1,2,4,3]", 96, 192) "," V "}", 288, {0}, 0},
    {"tensor 'v': shape [1, 2, 6, 2]", "{" Q "," K "," TENSOR("v", "F32", "[1,2,6,2]", 192, 288) "}", 288, {0}, 0},
    {"tensor 'v': shape [1, 1, 3, 8]", "{" Q "," K "," TENSOR("v", "F32", "[1,1,3,8]", 192, 288) "}", 288, {0}, 0},
    {"q_len: 0",
     "{" TENSOR("q", "F32", "[1,2,0,4]", 0, 0) "," TENSOR("k", "F32", "[1,2,3,4]", 0, 96) "," TENSOR("v", "F32", "[1,2,3,4]",
                                                                                                     96, 192) "}",
     192,
     {0},
     0},
    {"kv_len: 0",
     "{" Q "," TENSOR("k", "F32", "[1,2,0,4]", 96, 96) "," TENSOR("v", "F32", "[1,2,0,4]", 96, 96) "}",
     96,
     {0},
     0},
    {"batch: 0",
     "{" TENSOR("q", "F32", "[0,2,3,4]", 0, 0) "," TENSOR("k", "F32", "[0,2,3,4]", 0, 0) "," TENSOR("v", "F32", "[0,2,3,4]", 0,
                                                                                                    0) "}",
     0,
     {0},
     0},
    {"q_heads: 0",
     "{" TENSOR("q", "F32", "[1,0,3,4]", 0, 0) "," TENSOR("k", "F32", "[1,0,3,4]", 0, 0) "," TENSOR("v", "F32", "[1,0,3,4]", 0,
                                                                                                    0) "}",
     0,
     {0},
     0},
    {"batch: 2305843009213693952",
     "{" TENSOR("q", "F16", "[2305843009213693952,0,1,1]", 0, 0) "," TENSOR(
         "k", "F16", "[2305843009213693952,0,1,1]", 0, 0) "," TENSOR("v", "F16", "[2305843009213693952,0,1,1]", 0, 0) "}",
     0,
     {0},
     0},
    /* heads side by side */
    {"metadata q_heads: missing", SPLIT("\"op\":\"attention\"")},
    {"metadata kv_heads: missing", SPLIT("\"q_heads\":\"2\"")},
    {"metadata q_heads: '0'", SPLIT("\"q_heads\":\"0\",\"kv_heads\":\"2\"")},
    {"metadata q_heads: '-2'", SPLIT("\"q_heads\":\"-2\",\"kv_heads\":\"2\"")},
    {"metadata q_heads: 'two'", SPLIT("\"q_heads\":\"two\",\"kv_heads\":\"2\"")},
    {"tensor 'q': its last dimension 8 is not a multiple of 3 heads", SPLIT("\"q_heads\":\"3\",\"kv_heads\":\"2\"")},
    {"tensor 'k': head dimension 8", SPLIT("\"q_heads\":\"2\",\"kv_heads\":\"1\"")},
    /* mask */
    {"tensor 'mask': dtype U8", MORE(TENSOR("mask", "U8", "[3,3]", 288, 297)), 297, {0}, 0},
    {"tensor 'mask': dtype I64", MORE(TENSOR("mask", "I64", "[3]", 288, 312)), 312, {0}, 0},
    {"tensor 'mask': rank 0", MORE(TENSOR("mask", "F32", "[]", 288, 292)), 292, {0}, 0},
    {"tensor 'mask': rank 5", MORE(TENSOR("mask", "BOOL", "[1,1,1,3,3]", 288, 297)), 297, {0}, 0},
    {"does not broadcast to 3", MORE(TENSOR("mask", "BOOL", "[2,3]", 288, 294)), 294, {0}, 0},
    {"does not broadcast to 3", MORE(TENSOR("mask", "BOOL", "[3,4]", 288, 300)), 300, {0}, 0},
    {"does not broadcast to 2", MORE(TENSOR("mask", "BOOL", "[3,1,3]", 288, 297)), 297, {0}, 0},
    {"does not broadcast to 1", MORE(TENSOR("mask", "BOOL", "[2,1,1,3]", 288, 294)), 294, {0}, 0},
    {"does not broadcast", MORE(TENSOR("mask", "BOOL", "[0]", 288, 288)), 288, {0}, 0},
    /* a number for each batch or head */
    {"tensor 'kv_len': dtype F32", MORE(TENSOR("kv_len", "F32", "[1]", 288, 292)), 292, {0}, 0},
    {"tensor 'kv_len': shape [2]", MORE(TENSOR("kv_len", "I64", "[2]", 288, 304)), 304, {3, 3}, 2},
    {"tensor 'kv_len': shape []", MORE(TENSOR("kv_len", "I64", "[]", 288, 296)), 296, {3}, 1},
    {"kv_len[0]: -1", MORE(TENSOR("kv_len", "I64", "[1]", 288, 296)), 296, {-1}, 1},
    {"kv_len[0]: 4", MORE(TENSOR("kv_len", "I64", "[1]", 288, 296)), 296, {4}, 1},
    {"kv_len[0]: 9223372036854775807", MORE(TENSOR("kv_len", "I64", "[1]", 288, 296)), 296, {INT64_MAX}, 1},
    {"tensor 'query_offset': shape [1, 1]", MORE(TENSOR("query_offset", "I64", "[1,1]", 288, 296)), 296, {0}, 1},
    {"tensor 'sinks': shape [1]", MORE(TENSOR("sinks", "F32", "[1]", 288, 292)), 292, {0}, 0},
    {"tensor 'sinks': dtype I64", MORE(TENSOR("sinks", "I64", "[2]", 288, 304)), 304, {0, 0}, 2},
    {"tensor 'alibi_slopes': shape [3]", MORE(TENSOR("alibi_slopes", "F32", "[3]", 288, 300)), 300, {0}, 0},
    {"tensor 'Q': no such tensor", MORE(TENSOR("Q", "F32", "[1]", 288, 292)), 292, {0}, 0},
    {"tensor 'expected.output': no such tensor", MORE(TENSOR("expected.output", "F32", "[1]", 288, 292)), 292, {0}, 0},
    /* packed sequences */
    {"tensor 'cu_seqlens_kv': missing", PACKED(CU_Q), 312, {0, 1, 3}, 3},
    {"tensor 'cu_seqlens_q': missing", PACKED(TENSOR("cu_seqlens_kv", "I64", "[3]", 288, 312)), 312, {0, 1, 3}, 3},
    {"with cu_seqlens_* it is [total_q, heads, dim]", MORE(CU_Q "," CU_KV), 336, {0, 1, 3, 0, 1, 3}, 6},
    {"element 2 is 1 after 2", PACKED(CU_Q "," CU_KV), 336, {0, 2, 1, 0, 1, 3}, 6},
    {"'cu_seqlens_kv': element 1 is -1", PACKED(CU_Q "," CU_KV), 336, {0, 1, 3, 0, -1, 3}, 6},
    {"runs from 1 to 3", PACKED(CU_Q "," CU_KV), 336, {1, 2, 3, 0, 1, 3}, 6},
    {"runs from 0 to 2", PACKED(CU_Q "," CU_KV), 336, {0, 1, 2, 0, 1, 3}, 6},
    {"'cu_seqlens_kv': element 2 is 4", PACKED(CU_Q "," CU_KV), 336, {0, 1, 3, 0, 1, 4}, 6},
    {"element 1 is -9223372036854775808", PACKED(CU_Q "," CU_KV), 336, {0, INT64_MIN, INT64_MAX, 0, 1, 3}, 6},
    {"a list of at least two",
     PACKED(TENSOR("cu_seqlens_q", "I64", "[1]", 288, 296) "," TENSOR("cu_seqlens_kv", "I64", "[1]", 296, 304)),
     304,
     {0, 0},
     2},
    {"'cu_seqlens_kv': shape [4]",
     PACKED(TENSOR("cu_seqlens_q", "I64", "[2]", 288, 304) "," TENSOR("cu_seqlens_kv", "I64", "[4]", 304, 336)),
     336,
     {0, 3, 0, 1, 2, 3},
     6},
    {"'cu_seqlens_q': dtype F32",
     PACKED(TENSOR("cu_seqlens_q", "F32", "[2]", 288, 296) "," TENSOR("cu_seqlens_kv", "I64", "[2]", 296, 312)),
     312,
     {0, 3},
     2},
    {"not possible together with cu_seqlens",
     PACKED(CU_Q "," CU_KV
                 "," TENSOR("past_k", "F32", "[1,2,0,4]", 336, 336) "," TENSOR("past_v", "F32", "[1,2,0,4]", 336, 336)),
     336,
     {0, 1, 3, 0, 1, 3},
     6},
    /* past keys and values */
    {"tensor 'past_v': missing", MORE(TENSOR("past_k", "F32", "[1,2,1,4]", 288, 320)), 320, {0}, 0},
    {"tensor 'past_k': missing", MORE(TENSOR("past_v", "F32", "[1,2,1,4]", 288, 320)), 320, {0}, 0},
    {"tensor 'past_k': rank 3",
     MORE(TENSOR("past_k", "F32", "[2,1,4]", 288, 320) "," TENSOR("past_v", "F32", "[2,1,4]", 320, 352)),
     352,
     {0},
     0},
    {"tensor 'past_k': shape [1, 1, 2, 4]",
     MORE(TENSOR("past_k", "F32", "[1,1,2,4]", 288, 320) "," TENSOR("past_v", "F32", "[1,1,2,4]", 320, 352)),
     352,
     {0},
     0},
    {"tensor 'past_v': shape [1, 2, 2, 2]",
     MORE(TENSOR("past_k", "F32", "[1,2,1,4]", 288, 320) "," TENSOR("past_v", "F32", "[1,2,2,2]", 320, 352)),
     352,
     {0},
     0},
    {"tensor 'past_k': dtype F16",
     MORE(TENSOR("past_k", "F16", "[1,2,2,4]", 288, 320) "," TENSOR("past_v", "F32", "[1,2,1,4]", 320, 352)),
     352,
     {0},
     0},
};

static void cases_are_refused(void **state) {
  (void)state;
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors"), *output = join_path(folder, "out.safetensors");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_case(input, rows[i].header, rows[i].data, rows[i].values, rows[i].value_count);
    const char *run[] = {"run", input, "-o", output, "--path", "reference", NULL};
    struct tool_result result = tool_run(run, NULL);
    tool_assert_error(&result, 1, "run", rows[i].message);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, input));
    assert_int_equal(count_files(folder), 1);
    tool_free(&result);
  }
  free(input);
  free(output);
  remove_folder(folder);
}

/* The rows above are wrong by what they change alone: unchanged they are computed. */
static void unchanged_cases_are_computed(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t data;
    int64_t values[6];
    size_t value_count;
  } good[] = {
      {META("scale", "0.5")},
      {META("window_left", "9223372036854775807")},
      {META("dropout_seed", "18446744073709551615")},
      {META("format", "pt")},
      {SPLIT("\"q_heads\":\"2\",\"kv_heads\":\"2\"")},
      {PACKED(CU_Q "," CU_KV), 336, {0, 1, 3, 0, 3, 3}, 6},
      {MORE(TENSOR("mask", "BOOL", "[3]", 288, 291)), 291, {0}, 0},
      {MORE(TENSOR("kv_len", "I32", "[1]", 288, 292)), 292, {0}, 0},
      {MORE(TENSOR("sinks", "F64", "[2]", 288, 304)), 304, {0, 0}, 2},
      {MORE(TENSOR("past_k", "F32", "[1,2,0,4]", 288, 288) "," TENSOR("past_v", "F32", "[1,2,0,4]", 288, 288)), 288, {0}, 0},
      {MORE(TENSOR("past_k", "F32", "[1,2,1,4]", 288, 320) "," TENSOR("past_v", "F32", "[1,2,1,4]", 320, 352)), 352, {0}, 0},
  };
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors"), *output = join_path(folder, "out.safetensors");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    write_case(input, good[i].header, good[i].data, good[i].values, good[i].value_count);
    if (i == 7) { /* a float32's bits are no length: take three keys */
      size_t length;
      char *bytes = read_whole(input, &length);
      const int32_t three = 3;
      memcpy(bytes + length - 4, &three, 4);
      write_file(input, bytes, length);
      free(bytes);
    }
    const char *run[] = {"run", input, "-o", output, "--path", "reference", NULL};
    struct tool_result result = tool_run(run, NULL);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 0);
    assert_true(file_exists(output));
    assert_int_equal(count_files(folder), 2);
    tool_free(&result);
  }
  free(input);
  free(output);
  remove_folder(folder);
}

static void rotary_is_refused_by_name(void **state) {
  (void)state;
  char *folder = make_folder(), *output = join_path(folder, "out.safetensors");
  const char *run[] = {"run", TEST_CASES "/onnx/rotary_embedding.safetensors", "-o", output, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  tool_assert_error(&result, 1, "run", "rotary_embedding");
  assert_int_equal(count_files(folder), 0);
  tool_free(&result);
  free(output);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cases_are_refused),
      cmocka_unit_test(unchanged_cases_are_computed),
      cmocka_unit_test(rotary_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
