/* Tuning tables: what is read, what is reported and left out, which line a problem gets, what writing keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuning.h"

/* What was reported. */
struct told {
  int count, line;
  char text[200];
};

static void listen(void *user, const char *source, int line, const char *text) {
  struct told *told = user;
  assert_string_equal(source, "a file");
  told->count++;
  told->line = line;
  snprintf(told->text, sizeof told->text, "%s", text);
}

static void read_all(struct tuning *tuning, const char *text, struct told *told) {
  memset(told, 0, sizeof *told);
  assert_true(ctn_tuning_read(tuning, text, strlen(text), "a file", false, "Device A", "1.0", listen, told));
}

#define TITLE "# first\n\nclattn tuning 1\n"

static void test_lines(void **state) {
  (void)state;
  struct tuning tuning = {0};
  struct told told;
  read_all(&tuning,
           TITLE
           "device=\"Device A\" driver=1.0 family=fused_vector dtype=f16 head_dim=64 : STEP=8 BLOCK=96 # why\n"
           "device=\"Device B\" family=fused_vector : STEP=4\r\n"
           "  device=Device* family=softmax : ITEMS=32\n"
           "device=\"Device A\" family=clblast_xgemm :",
           &told);
  assert_int_equal(told.count, 0);
  assert_int_equal(tuning.count, 3);
  assert_int_equal(tuning.entries[0].dtype, CLATTN_F16);
  assert_int_equal(tuning.entries[0].head_dim, 64);
  assert_int_equal(tuning.entries[0].line, 4);
  assert_string_equal(tuning.entries[0].source, "a file");
  assert_int_equal(ctn_tuning_value(&tuning.entries[0], "STEP", 1), 8);
  assert_int_equal(ctn_tuning_value(&tuning.entries[0], "BLOCK", 1), 96);
  assert_int_equal(ctn_tuning_value(&tuning.entries[0], "VECTORS", 3), 3);
  assert_int_equal(ctn_tuning_value(NULL, "VECTORS", 3), 3);
  assert_int_equal(ctn_tuning_value(&tuning.entries[1], "ITEMS", 1), 32);
  assert_int_equal(tuning.entries[2].count, 0);
  ctn_tuning_free(&tuning);
}

/* Each is reported with its line, and the good line after it is there. */
static void test_bad_lines(void **state) {
  static const struct {
    const char *line, *text;
  } rows[] = {
      {"device=\"Device A\" family=fused_vector STEP=8", "nothing is known of STEP"},
      {"device=\"Device A\" family=fused_vector color=1 : STEP=8", "nothing is known of color"},
      {"device=\"Device A\" family=fused_vector", "no ':'"},
      {"device=\"Device A\" family=nonsense : STEP=8", "no family has the name nonsense"},
      {"family=fused_vector : STEP=8", "device and family have to be named"},
      {"device=\"Device A\" : STEP=8", "device and family have to be named"},
      {"device=\"Device A\" family=fused_vector dtype=f64 : STEP=8", "dtype is none of"},
      {"device=\"Device A\" family=fused_vector head_dim=0 : STEP=8", "head_dim is no number"},
      {"device=\"Device A\" family=fused_vector : STEP=eight", "no number"},
      {"device=\"Device A\" family=fused_vector : STEP=-1", "no number"},
      {"device=\"Device A\" family=fused_vector : STEP=99999999999999999999", "no number"},
      {"device=\"Device A\" family=fused_vector : STEP=8 STEP=4", "named twice: STEP"},
      {"device=\"Device A\" family=fused_vector : STEP 8", "not NAME=value"},
      {"device=\"Device A family=fused_vector : STEP=8", "not NAME=value"},
      {"device=\"Device A\" driver=2.0 family=fused_vector : STEP=8", "tuned with driver 2.0"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tuning tuning = {0};
    struct told told;
    char text[600];
    snprintf(text, sizeof text, TITLE "%s\ndevice=\"Device A\" family=softmax : ITEMS=2\n", rows[i].line);
    read_all(&tuning, text, &told);
    if (told.count != 1 || told.line != 4 || !strstr(told.text, rows[i].text)) fail_msg("%s: %s", rows[i].line, told.text);
    assert_int_equal(tuning.count, 1);
    assert_string_equal(tuning.entries[0].family->name, "softmax");
    ctn_tuning_free(&tuning);
  }
}

/* An unknown parameter costs that value alone. */
static void test_unknown_parameter(void **state) {
  (void)state;
  struct tuning tuning = {0};
  struct told told;
  read_all(&tuning, TITLE "device=\"Device A\" family=fused_vector : STEP=8 SPEED=9 BLOCK=48\n", &told);
  assert_int_equal(told.count, 1);
  assert_non_null(strstr(told.text, "no parameter SPEED"));
  assert_int_equal(tuning.entries[0].count, 2);
  ctn_tuning_free(&tuning);
}

/* What is no table at all gives one report. */
static void test_foreign(void **state) {
  (void)state;
  static const char *const texts[] = {"clattn tuning 2\nx\n", "clattn tuning 10\nx", "{\"json\": 1}\n\n\n", "\177ELF\001\002"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct tuning tuning = {0};
    struct told told;
    read_all(&tuning, texts[i], &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.line, 0);
    assert_int_equal(tuning.count, 0);
  }
  struct tuning tuning = {0};
  struct told told = {0};
  static const char zero[] = TITLE "device=\"Device A\" family=softmax : ITEMS=2\n\0\0\0";
  assert_true(ctn_tuning_read(&tuning, zero, sizeof zero, "a file", false, "Device A", "1.0", listen, &told));
  assert_int_equal(told.count, 1);
  assert_int_equal(tuning.count, 0);
  read_all(&tuning, "", &told);
  assert_int_equal(told.count, 0);
}

/* Cut anywhere, or with any byte changed, nothing worse happens than a report. */
static void test_damage(void **state) {
  static const char text[] =
      TITLE "device=\"Device A\" driver=\"1.0\" family=fused_vector dtype=f32 head_dim=64 : STEP=8 BLOCK=96\n";
  (void)state;
  for (size_t at = 0; at < sizeof text - 1; at++) {
    for (int way = 0; way < 5; way++) {
      struct tuning tuning = {0};
      struct told told = {0};
      char damaged[sizeof text];
      memcpy(damaged, text, sizeof text);
      damaged[at] = "\0\"=:\xff"[way];
      assert_true(ctn_tuning_read(&tuning, damaged, way == 0 ? at : sizeof text - 1, "a file", false, "Device A", "1.0", listen,
                                  &told));
      assert_true(tuning.count <= 1);
      ctn_tuning_free(&tuning);
    }
  }
}

static long found(const struct tuning *tuning, clattn_dtype dtype, int64_t head_dim) {
  return ctn_tuning_value(ctn_tuning_find(tuning, "fused_vector", dtype, head_dim), "BLOCK", 0);
}

static void test_precedence(void **state) {
  static const char shipped[] = TITLE
      "device=\"Device A\" family=fused_vector head_dim=64 : BLOCK=1\n"
      "device=Device* family=fused_vector : BLOCK=2\n"
      "device=\"Device A\" driver=2.0 family=fused_vector : BLOCK=3\n"
      "device=\"Device A\" family=fused_vector : BLOCK=4\n"
      "device=\"Device A\" family=fused_vector dtype=f16 head_dim=64 : BLOCK=5\n";
  (void)state;
  struct tuning tuning = {0};
  struct told told = {0};
  assert_true(ctn_tuning_read(&tuning, shipped, sizeof shipped - 1, "a file", true, "Device A", "1.0", listen, &told));
  assert_int_equal(told.count, 0); /* nobody is told of our own table */
  assert_int_equal(found(&tuning, CLATTN_F32, 64), 1);
  assert_int_equal(found(&tuning, CLATTN_F16, 64), 5);
  assert_int_equal(found(&tuning, CLATTN_F16, 65), 4);
  /* The user's wins, though it is for more. */
  read_all(&tuning, TITLE "device=Device* family=fused_vector dtype=f32 : BLOCK=6\n", &told);
  assert_int_equal(found(&tuning, CLATTN_F32, 64), 6);
  assert_int_equal(found(&tuning, CLATTN_F16, 64), 5);
  /* Refused, it is as if it were not there. */
  atomic_store(&ctn_tuning_find(&tuning, "fused_vector", CLATTN_F32, 64)->refused, true);
  assert_int_equal(found(&tuning, CLATTN_F32, 64), 1);
  assert_null(ctn_tuning_find(&tuning, "softmax", CLATTN_F32, 64));
  ctn_tuning_free(&tuning);
}

static char *updated(const char *old, long items, const char *driver) {
  struct text out = {0};
  struct tuning_entry entry = {.device = (char *)(uintptr_t) "Device A", .driver = (char *)(uintptr_t)driver, .count = 1};
  entry.family = ctn_tuning_family("softmax");
  entry.values[0] = (struct tuning_value){entry.family->parameters[0], items};
  ctn_tuning_update(&out, old, &entry, "fast");
  assert_false(out.failed);
  return out.data;
}

static void test_write(void **state) {
  (void)state;
  struct tuning tuning = {0};
  struct told told;
  char *first = updated(NULL, 2, "1.0"), *second = updated(first, 4, "1.0"), *third = updated(second, 8, "2.0");
  read_all(&tuning, second, &told);
  assert_int_equal(told.count, 0);
  assert_int_equal(tuning.count, 1); /* in the place of the first */
  assert_int_equal(tuning.entries[0].values[0].value, 4);
  ctn_tuning_free(&tuning);
  assert_non_null(strstr(third, "driver=\"1.0\" family=softmax : ITEMS=4  # fast\n"));
  assert_non_null(strstr(third, "driver=\"2.0\" family=softmax : ITEMS=8  # fast\n"));
  char *mine = updated("# mine\n" TITLE "device=X family=softmax : ITEMS=1 # note\nnonsense\n", 2, "1.0");
  assert_non_null(strstr(mine, "# mine\n" TITLE "device=X family=softmax : ITEMS=1 # note\nnonsense\ndevice=\"Device A\""));
  free(mine);
  free(third);
  free(second);
  free(first);
}

/* The table inside the library is without a fault. */
static void test_shipped(void **state) {
  (void)state;
  struct tuning tuning = {0};
  struct told told = {0};
  size_t length = 0;
  const char *text = ctn_tuning_shipped(&length);
  assert_true(ctn_tuning_read(&tuning, text, length, "a file", true, NULL, NULL, listen, &told));
  assert_int_equal(told.count, 0);
  ctn_tuning_free(&tuning);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),   cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_unknown_parameter),
      cmocka_unit_test(test_foreign), cmocka_unit_test(test_damage),    cmocka_unit_test(test_precedence),
      cmocka_unit_test(test_write),   cmocka_unit_test(test_shipped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
