/* Parts of the tool by themselves: files written and read back, comparison, columns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "print.h"
#include "safetensors.h"
#include "tool.h"

/* Every type, sizes that leave the next tensor at an odd byte, no elements, rank 0: all come back, at aligned places. */
static void files_come_back_as_written(void **state) {
  (void)state;
  enum { TYPES = ST_F64 + 1 };
  char *folder = make_folder(), *path = join_path(folder, "file.safetensors");
  unsigned char data[256];
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(i * 7);
  struct st_file file = {0};
  clattn_error error = CLATTN_ERROR_INIT;
  static const int64_t shapes[3][2] = {{3, 5}, {0, 7}, {1, 1}};
  for (int t = 0; t < TYPES; t++) {
    for (int s = 0; s < 4; s++) {
      char name[40];
      snprintf(name, sizeof name, "%s \xed\x95\x9c \"%d\"", ctn_st_name((enum st_dtype)t), s);
      assert_int_equal(ctn_st_add(&file, name, (enum st_dtype)t, s < 3 ? 2 : 0, shapes[s < 3 ? s : 0], data, &error), 0);
    }
  }
  assert_int_equal(ctn_st_add_metadata(&file, "origin", "a \"b\"\n\xed\x95\x9c", &error), 0);
  assert_int_equal(ctn_st_write(&file, path, &error), 0);

  struct st_file back;
  if (ctn_st_read(&back, path, &error)) fail_msg("%s", error.text);
  assert_int_equal(back.count, file.count);
  for (size_t i = 0; i < file.count; i++) {
    const struct st_tensor *wrote = &file.tensors[i], *read = ctn_st_find(&back, wrote->name);
    assert_non_null(read);
    assert_int_equal(read->dtype, wrote->dtype);
    assert_int_equal(read->rank, wrote->rank);
    assert_int_equal(read->count, wrote->count);
    assert_memory_equal(read->shape, wrote->shape, (size_t)wrote->rank * sizeof *wrote->shape);
    assert_int_equal((uintptr_t)read->data % 64, 0);
    assert_memory_equal(read->data, wrote->data, (size_t)wrote->count * ctn_st_size(wrote->dtype));
  }
  assert_string_equal(ctn_st_metadata(&back, "origin"), "a \"b\"\n\xed\x95\x9c");
  assert_null(ctn_st_metadata(&back, "Origin"));
  ctn_st_clear(&back);
  ctn_st_clear(&file);
  free(path);
  remove_folder(folder);
}

static void elements_are_widened(void **state) {
  (void)state;
  const uint16_t half[] = {0x3c00, 0xc000, 0x7c00, 0x0001}, brain[] = {0x3f80, 0xc000, 0x7f80, 0x0001};
  const struct st_tensor f16 = {.dtype = ST_F16, .data = half}, bf16 = {.dtype = ST_BF16, .data = brain};
  assert_true(ctn_st_f64(&f16, 0) == 1.0 && ctn_st_f64(&f16, 1) == -2.0 && isinf(ctn_st_f64(&f16, 2)));
  assert_true(ctn_st_f64(&f16, 3) == ldexp(1, -24));
  assert_true(ctn_st_f64(&bf16, 0) == 1.0 && ctn_st_f64(&bf16, 1) == -2.0 && isinf(ctn_st_f64(&bf16, 2)));
  assert_true(ctn_st_f64(&bf16, 3) == ldexp(1, -133));
  const uint64_t large[] = {UINT64_MAX, 5};
  const int64_t small[] = {INT64_MIN};
  const struct st_tensor u64 = {.dtype = ST_U64, .data = large}, i64 = {.dtype = ST_I64, .data = small};
  assert_true(ctn_st_i64(&u64, 0) == INT64_MAX && ctn_st_i64(&u64, 1) == 5 && ctn_st_i64(&i64, 0) == INT64_MIN);
}

static void comparison_follows_the_rule(void **state) {
  (void)state;
  const float inf = INFINITY, nan = NAN;
  static const float tolerance = 0.125f;
  const struct {
    float got, want;
    bool agree;
  } rows[] = {
      {1, 1, true},       {1.125f, 1, true},   {0.875f, 1, true},   {1.126f, 1, false}, {0, -0.0f, true},
      {nan, nan, true},   {nan, 1, false},     {1, nan, false},     {inf, inf, true},   {-inf, -inf, true},
      {inf, -inf, false}, {inf, 3e38f, false}, {3e38f, inf, false}, {nan, inf, false},  {inf, nan, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct st_tensor got = {.dtype = ST_F32, .rank = 0, .count = 1, .data = &rows[i].got};
    const struct st_tensor want = {.dtype = ST_F32, .rank = 0, .count = 1, .data = &rows[i].want};
    struct comparison absolute = ctn_compare(&got, &want, 0, (double)tolerance);
    struct comparison relative = ctn_compare(&got, &want, (double)tolerance, 0);
    assert_int_equal(absolute.differing == 0, rows[i].agree);
    assert_int_equal(relative.differing == 0, rows[i].agree);
  }
  /* Poison agrees with nothing, a NaN that is expected included. */
  static const enum st_dtype types[] = {ST_F32, ST_F16, ST_BF16};
  for (size_t i = 0; i < 3; i++) {
    uint32_t poison[2];
    const float wanted[2] = {nan, 0};
    ctn_poison(types[i], poison, 2);
    const struct st_tensor got = {.dtype = types[i], .rank = 1, .shape = {2}, .count = 2, .data = poison};
    const struct st_tensor want = {.dtype = ST_F32, .rank = 1, .shape = {2}, .count = 2, .data = wanted};
    struct comparison found = ctn_compare(&got, &want, INFINITY, INFINITY);
    assert_int_equal(found.differing, 2);
    assert_true(found.unwritten && found.first == 0);
  }
}

static void places_are_told_by_index(void **state) {
  (void)state;
  const struct st_tensor tensor = {.rank = 3, .shape = {2, 3, 4}, .count = 24};
  char text[200];
  assert_string_equal(ctn_index_text(&tensor, 0, text), "[0, 0, 0]");
  assert_string_equal(ctn_index_text(&tensor, 23, text), "[1, 2, 3]");
  assert_string_equal(ctn_index_text(&tensor, 17, text), "[1, 1, 1]");
  assert_string_equal(ctn_shape_text(&tensor, text), "[2, 3, 4]");
}

static void wide_characters_take_two_columns(void **state) {
  (void)state;
  assert_int_equal(ctn_display_width(""), 0);
  assert_int_equal(ctn_display_width("abc"), 3);
  assert_int_equal(ctn_display_width("\xed\x95\x9c\xea\xb8\x80"), 4); /* two Hangul syllables */
  assert_int_equal(ctn_display_width("e\xcc\x81"), 1);                /* e and a combining accent */
  assert_int_equal(ctn_display_width("\xc3\xa9\xe2\x88\x9a"), 2);     /* one column each */
  assert_int_equal(ctn_display_width("\xf0\xa0\x80\x80"), 2);         /* past the first plane */
  assert_int_equal(ctn_display_width("a\xff\xed\x95"), 4);            /* cut and stray bytes: one each */
  char line[64] = "";
  FILE *stream = fmemopen(line, sizeof line, "w");
  assert_non_null(stream);
  ctn_print_padded(stream, "\xed\x95\x9c", 4, false);
  ctn_print_padded(stream, "\xed\x95\x9c", 4, true);
  ctn_print_padded(stream, "long", 2, true);
  fclose(stream);
  assert_string_equal(line, "\xed\x95\x9c    \xed\x95\x9clong");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_come_back_as_written),       cmocka_unit_test(elements_are_widened),
      cmocka_unit_test(comparison_follows_the_rule),      cmocka_unit_test(places_are_told_by_index),
      cmocka_unit_test(wide_characters_take_two_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
