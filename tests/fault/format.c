/* Files that are no safetensors files, or damaged ones: each is told of in one line, and nothing is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tool.h"

#define Q TENSOR("q", "F32", "[1,2,3,4]", 0, 96)
#define K TENSOR("k", "F32", "[1,2,3,4]", 96, 192)
#define V TENSOR("v", "F32", "[1,2,3,4]", 192, 288)
/* k and v around a q of the row's own, which begins at byte 0 and takes 96. */
#define WITH_Q(entry) "{\"q\":" entry "," K "," V "}"
#define Q_SHAPE(shape) WITH_Q("{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[0,96]}")
#define Q_OFFSETS(offsets) WITH_Q("{\"dtype\":\"F32\",\"shape\":[1,2,3,4],\"data_offsets\":" offsets "}")

/* Headers with the bytes of data behind them, and what the message must hold. */
static const struct {
  const char *header;
  size_t data;
  const char *message;
} rows[] = {
    {"", 0, "JSON object"},
    {" {" Q "}", 96, "does not start with {"},
    {"[]", 0, "JSON object"},
    {"{", 0, "JSON object"},
    {"{} {}", 0, "JSON object"},
    {"{\"a\\u0000b\":{}}", 0, "JSON object"},
    {"{\"\xff\xfe\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "JSON object"},
    {"{" Q "," Q "," K "," V "}", 288, "duplicate"},
    {"{\"__metadata__\":[]," Q "," K "," V "}", 288, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"scale\":2}," Q "," K "," V "}", 288, "__metadata__ 'scale' is not a string"},
    {WITH_Q("7"), 288, "tensor 'q'"},
    {WITH_Q("{\"dtype\":\"F32\",\"shape\":[1,2,3,4]}"), 288, "must hold dtype, shape and data_offsets"},
    {WITH_Q("{\"dtype\":\"F32\",\"shape\":[1,2,3,4],\"data_offsets\":[0,96],\"more\":1}"), 288, "must hold"},
    {WITH_Q("{\"dtype\":32,\"shape\":[1,2,3,4],\"data_offsets\":[0,96]}"), 288, "dtype is not a string"},
    {WITH_Q("{\"dtype\":\"f32\",\"shape\":[1,2,3,4],\"data_offsets\":[0,96]}"), 288, "unknown dtype 'f32'"},
    {WITH_Q("{\"dtype\":\"F8_E4M3\",\"shape\":[96],\"data_offsets\":[0,96]}"), 288, "unknown dtype 'F8_E4M3'"},
    {WITH_Q("{\"dtype\":\"\",\"shape\":[96],\"data_offsets\":[0,96]}"), 288, "unknown dtype ''"},
    {Q_SHAPE("24"), 288, "shape is not a list"},
    {Q_SHAPE("[1,2,3,\"4\"]"), 288, "dimension 3 is not an integer"},
    {Q_SHAPE("[1,2,3,4.5]"), 288, "dimension 3 is not an integer"},
    {Q_SHAPE("[1,2,3,4.0]"), 288, "dimension 3 is not an integer"},
    {Q_SHAPE("[1,2,3,1e3]"), 288, "dimension 3 is not an integer"},
    {Q_SHAPE("[1,2,3,null]"), 288, "dimension 3 is not an integer"},
    {Q_SHAPE("[1,2,-3,-4]"), 288, "dimension 2 is negative: -3"},
    {Q_SHAPE("[1,2,3,9223372036854775807]"), 288, "passes 2^63"},
    {Q_SHAPE("[1,2,3,9223372036854775808]"), 288, "JSON object"},
    {Q_SHAPE("[1,2,3,-9223372036854775808]"), 288, "negative"},
    {Q_SHAPE("[4294967296,4294967296,1,6]"), 288, "passes 2^63"},
    {Q_SHAPE("[2147483648,2147483648,2]"), 288, "passes 2^63"},
    {Q_SHAPE("[4294967296,4294967296,0,4]"), 288, "passes 2^63"},
    {Q_SHAPE("[1,1,1,1,1,1,2,3,4]"), 288, "9 dimensions"},
    {Q_SHAPE("[1,2,3,5]"), 288, "span 96 bytes, its shape and dtype need 120"},
    {Q_SHAPE("[]"), 288, "span 96 bytes, its shape and dtype need 4"},
    {Q_OFFSETS("96"), 288, "not a list of two integers"},
    {Q_OFFSETS("[96]"), 288, "not a list of two integers"},
    {Q_OFFSETS("[0,96,96]"), 288, "not a list of two integers"},
    {Q_OFFSETS("[0,96.0]"), 288, "not a list of two integers"},
    {Q_OFFSETS("[-96,0]"), 288, "do not lie in the 288 bytes"},
    {Q_OFFSETS("[96,0]"), 288, "do not lie in the 288 bytes"},
    {Q_OFFSETS("[0,9223372036854775807]"), 288, "do not lie in the 288 bytes"},
    {Q_OFFSETS("[288,384]"), 288, "do not lie in the 288 bytes"},
    {"{" Q "," TENSOR("k", "F32", "[1,2,3,4]", 92, 188) "," TENSOR("v", "F32", "[1,2,3,4]", 188, 284) "}", 284, "overlaps"},
    {Q_OFFSETS("[96,192]"), 288, "gap"},
    {Q_OFFSETS("[48,144]"), 288, "gap"},
    {Q_OFFSETS("[288,384]"), 384, "gap"},
    {"{" Q "," K "," V "}", 287, "do not lie in the 287 bytes"},
    {"{" Q "," K "," V "}", 289, "289 bytes of data, but the tensors use 288"},
    {"{" Q "," K "," TENSOR("v", "F32", "[1,2,3,4]", 196, 292) "}", 292, "gap"},
    {"{}", 0, "tensor 'q': missing"},
    {"{}", 4, "4 bytes of data, but the tensors use 0"},
};

/* Runs both commands on a file that neither can read. */
static void expect_refusal(const char *folder, const char *input, const char *message) {
  char *output = join_path(folder, "out.safetensors");
  size_t before = count_files(folder);
  const char *run[] = {"run", input, "-o", output, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  tool_assert_error(&result, 1, "run", message);
  assert_string_equal(result.out, "");
  assert_non_null(strstr(result.err, input));
  assert_false(file_exists(output));
  assert_int_equal(count_files(folder), before);
  tool_free(&result);

  const char *verify[] = {"verify", input, "--path", "reference", NULL};
  result = tool_run(verify, NULL);
  tool_assert_error(&result, 1, "verify", NULL);
  assert_non_null(strstr(result.out, "FAIL "));
  assert_non_null(strstr(result.out, message));
  assert_non_null(strstr(result.out, "0 passed, 1 failed, 0 skipped\n"));
  tool_free(&result);
  free(output);
}

static void headers_are_refused(void **state) {
  (void)state;
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_case(input, rows[i].header, rows[i].data, NULL, 0);
    expect_refusal(folder, input, rows[i].message);
  }
  free(input);
  remove_folder(folder);
}

static void header_lengths_are_refused(void **state) {
  (void)state;
  static const unsigned char lengths[][8] = {
      {0, 0, 0, 0, 0, 0, 0, 0x10},                      /* 2^60 */
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, /* 2^64 - 1 */
      {0, 0, 0, 0, 0, 0, 0, 0x80},                      /* 2^63 */
      {0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, /* with the 8 bytes before it exactly 2^64 */
      {9, 0, 0, 0, 0, 0, 0, 0},                         /* one more than there are */
  };
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors");
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    unsigned char bytes[16] = "........{}      ";
    memcpy(bytes, lengths[i], 8);
    write_file(input, bytes, sizeof bytes);
    expect_refusal(folder, input, "in a file of 16 bytes: cut short");
  }
  for (size_t length = 0; length < 8; length++) {
    write_file(input, lengths[0], length);
    expect_refusal(folder, input, "are too few for a safetensors file");
  }
  free(input);
  remove_folder(folder);
}

/* Past the format's limit of 100 MB, in a file that really has as many bytes (a hole, so it takes no room). */
static void long_header_is_refused(void **state) {
  (void)state;
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors");
  const unsigned char length[8] = {0, 0, 0, 0x10};
  write_file(input, length, sizeof length);
  FILE *stream = fopen(input, "r+b");
  assert_non_null(stream);
  assert_int_equal(fseek(stream, 300000000L, SEEK_SET), 0);
  fputc(0, stream);
  assert_int_equal(fclose(stream), 0);
  expect_refusal(folder, input, "passes the format's limit");
  free(input);
  remove_folder(folder);
}

static void deep_json_is_refused(void **state) {
  (void)state;
  enum { DEPTH = 200000 };
  char *header = malloc(DEPTH + 8);
  assert_non_null(header);
  strcpy(header, "{\"q\":");
  memset(header + 5, '[', DEPTH);
  header[DEPTH + 5] = '\0';
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors");
  write_case(input, header, 0, NULL, 0);
  expect_refusal(folder, input, "JSON object");
  free(header);
  free(input);
  remove_folder(folder);
}

static void what_is_no_file_is_refused(void **state) {
  (void)state;
  char *folder = make_folder(), *missing = join_path(folder, "missing.safetensors"), *pipe = join_path(folder, "pipe");
  expect_refusal(folder, missing, "No such file");
  assert_int_equal(mkfifo(pipe, 0600), 0);
  expect_refusal(folder, pipe, "not a regular file");
  expect_refusal(folder, "/dev/null", "not a regular file");
  /* verify takes a folder, run does not. */
  char *output = join_path(folder, "out.safetensors");
  const char *run[] = {"run", folder, "-o", output, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  tool_assert_error(&result, 1, "run", "is a folder");
  tool_free(&result);
  free(output);
  free(missing);
  free(pipe);
  remove_folder(folder);
}

/* Names with line breaks and terminal controls stay inside the one line. */
static void odd_names_are_told_in_one_line(void **state) {
  (void)state;
  char *folder = make_folder(), *input = join_path(folder, "in.safetensors"),
       *odd = join_path(folder, "a\nb\033[31m.safetensors");
  write_case(input, "{" Q "," K "," V "," TENSOR("a\\nb\\u001b[31m", "U8", "[1]", 288, 289) "}", 289, NULL, 0);
  expect_refusal(folder, input, "tensor 'a b [31m'");
  char long_name[4096] = "{\"";
  memset(long_name + 2, 'n', 3000);
  strcpy(long_name + 3002, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
  write_case(input, long_name, 1, NULL, 0);
  expect_refusal(folder, input, "no such tensor");
  const char *run[] = {"run", odd, "-o", input, "--path", "reference", NULL};
  struct tool_result result = tool_run(run, NULL);
  tool_assert_error(&result, 1, "run", "No such file");
  tool_free(&result);
  free(input);
  free(odd);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_are_refused),        cmocka_unit_test(header_lengths_are_refused),
      cmocka_unit_test(long_header_is_refused),     cmocka_unit_test(deep_json_is_refused),
      cmocka_unit_test(what_is_no_file_is_refused), cmocka_unit_test(odd_names_are_told_in_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
