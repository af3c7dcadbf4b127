/* Every truncation of a good file, and many changes of its bytes: read or refused, never more (the sanitizers watch). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"
#include "tool.h"

static const char *const files[] = {
    TEST_CASES "/onnx/attention_3d_with_past_and_present.safetensors",
    TEST_CASES "/onnx/attention_4d_gqa_causal_nonpad_decode_fp16.safetensors",
    TEST_CASES "/onnx/rotary_embedding_3d_input.safetensors",
};

static size_t header_end(const char *bytes) {
  size_t length = 0;
  for (int i = 7; i >= 0; i--)
    length = length << 8 | (unsigned char)bytes[i];
  return length + 8;
}

/* A refusal has one line of text; a file that is read can be looked at in every element. */
static bool try_bytes(const char *bytes, size_t length) {
  struct st_file file;
  clattn_error error = CLATTN_ERROR_INIT;
  if (ctn_st_parse(&file, "mutated", bytes, length, &error)) {
    assert_true(error.text[0] != '\0');
    assert_int_equal(file.count, 0);
    return false;
  }
  double sum = 0;
  for (size_t t = 0; t < file.count; t++) {
    for (int64_t i = 0; i < file.tensors[t].count; i++)
      sum += ctn_st_f64(&file.tensors[t], i);
  }
  assert_true(sum == sum || sum != sum);
  ctn_st_clear(&file);
  return true;
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_whole(files[f], &length);
    assert_true(try_bytes(bytes, length));
    for (size_t cut = 0; cut < length; cut++) {
      char *exact = malloc(cut + 1);
      assert_non_null(exact);
      memcpy(exact, bytes, cut);
      assert_false(try_bytes(exact, cut));
      free(exact);
    }
    free(bytes);
  }
}

static void changed_headers_do_no_harm(void **state) {
  (void)state;
  static const char with[] = {'9', '-', '"', ']', '}', '\0', (char)0xff};
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_whole(files[f], &length);
    for (size_t at = 0; at < header_end(bytes); at++) {
      const char old = bytes[at];
      for (size_t i = 0; i < sizeof with; i++) {
        bytes[at] = with[i];
        try_bytes(bytes, length);
      }
      bytes[at] = old;
    }
    free(bytes);
  }
}

/* The same one level up: digits and letters of the header changed, then read as a case. */
static void changed_cases_do_no_harm(void **state) {
  (void)state;
  char *folder = make_folder(), *path = join_path(folder, "in.safetensors");
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t length;
    char *bytes = read_whole(files[f], &length);
    for (size_t at = 8; at < header_end(bytes); at++) {
      const char old = bytes[at];
      for (const char *with = old >= '0' && old <= '9' ? "0139" : "x"; *with; with++) {
        bytes[at] = *with;
        write_file(path, bytes, length);
        struct case_file c;
        clattn_error error = CLATTN_ERROR_INIT;
        if (ctn_case_read(&c, path, &error) == CLATTN_OK)
          ctn_case_clear(&c);
        else
          assert_true(error.text[0] != '\0');
      }
      bytes[at] = old;
    }
    free(bytes);
  }
  free(path);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(changed_headers_do_no_harm),
      cmocka_unit_test(changed_cases_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
