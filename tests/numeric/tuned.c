/* Sizes from a tuning table: unusual ones give right results and are told of, impossible ones and wrong kernels give way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attention.h"
#include "on_device.h"

static char folder[] = "/tmp/clattn-tuned-XXXXXX";
static char table[64], kernels[64], cache[64];

struct told {
  int warnings;
  char text[4000]; /* all of them */
};

static void listen(void *user, clattn_log_level level, const char *text) {
  struct told *told = user;
  if (level != CLATTN_LOG_WARNING) return;
  told->warnings++;
  const size_t length = strlen(told->text);
  snprintf(told->text + length, sizeof told->text - length, "%s\n", text);
}

static int begin(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(table, sizeof table, "%s/tuning", folder);
  snprintf(kernels, sizeof kernels, "%s/kernels", folder);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  return 0;
}

static int end(void **state) {
  char command[100];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) + support_close_device(state);
}

static clattn_context *open_context(const char *lines, const char *kernel_dir, struct told *told) {
  clattn_context *context = NULL;
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  const char *device = clattn_context_device(support_device())->name;
  FILE *file = fopen(table, "w");
  assert_non_null(file);
  fprintf(file, "clattn tuning 1\n");
  for (; *lines; lines += strcspn(lines, "\n") + 1)
    fprintf(file, "device=\"%s\" family=%.*s\n", device, (int)strcspn(lines, "\n"), lines);
  assert_int_equal(fclose(file), 0);
  memset(told, 0, sizeof *told);
  options.device_name = device;
  options.tuning_file = table;
  options.kernel_dir = kernel_dir;
  options.cache_dir = cache; /* the built-in sizes are compiled once */
  options.log = listen;
  options.log_user = told;
  if (clattn_context_create(&context, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
  return context;
}

static void run(clattn_plan *plan, struct setup *setup) {
  support_execute(plan, setup, "tuned");
  clattn_plan_destroy(plan);
}

/* Attention through a path against the reference. The description has `wanted`; NULL: no sizes from the table. */
static void check_attention(clattn_context *context, clattn_path path, clattn_product product, clattn_dtype dtype,
                            const char *wanted) {
  const struct attention_case c = {.dtype = dtype,
                                   .batch = 2,
                                   .q_heads = 4,
                                   .kv_heads = 2,
                                   .q_len = 131,
                                   .kv_len = 203,
                                   .head_dim = 37,
                                   .head_dim_v = 70,
                                   .causal = true,
                                   .offset = BOTTOM_RIGHT,
                                   .seed = 5};
  struct setup got, want;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  support_case(&got, &c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
  support_case(&want, &c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
  const clattn_problem problem = support_case_problem(&c, CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE);
  options.path = CLATTN_PATH_REFERENCE;
  run(support_attention_plan(context, &problem, &options), &want);
  options.path = path;
  options.product = product;
  clattn_plan *plan = support_attention_plan(context, &problem, &options);
  const char *told = strstr(clattn_plan_describe(plan), wanted != NULL ? wanted : "tuned: ");
  if ((told != NULL) != (wanted != NULL)) fail_msg("%s: %s", wanted != NULL ? wanted : "no sizes", clattn_plan_describe(plan));
  run(plan, &got);
  support_compare(&got, &want, 10, "tuned");
  support_free(&got);
  support_free(&want);
}

static void check_projection(clattn_context *context, const char *wanted) {
  clattn_projection p = CLATTN_PROJECTION_INIT;
  struct setup got, want;
  clattn_plan *plan = NULL;
  clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
  clattn_error error = CLATTN_ERROR_INIT;
  p.length = 131;
  p.in_features = 300;
  p.heads = 3;
  p.head_dim = 31;
  for (int turn = 0; turn < 2; turn++) {
    struct setup *setup = turn == 0 ? &want : &got;
    uint64_t seed = 1;
    support_projection(setup, &p);
    for (int64_t i = 0; i < p.length * p.in_features; i++)
      support_set(CLATTN_F32, setup->arrays.x, i, support_random(&seed));
    for (int64_t i = 0; i < p.heads * p.head_dim * p.in_features; i++)
      support_set(CLATTN_F32, setup->arrays.weight, i, support_random(&seed));
    options.path = turn == 0 ? CLATTN_PATH_REFERENCE : CLATTN_PATH_STAGED;
    options.product = CLATTN_PRODUCT_OWN;
    if (clattn_projection_plan_create(&plan, context, &p, &options, &error) != CLATTN_OK) fail_msg("%s", error.text);
    if (turn == 1 && strstr(clattn_plan_describe(plan), wanted) == NULL) fail_msg("%s", clattn_plan_describe(plan));
    run(plan, setup);
  }
  support_compare(&got, &want, 0, "tuned projection");
  support_free(&got);
  support_free(&want);
}

/* Whether the device takes the vector kernels. */
static bool vectors(void) {
  return clattn_context_device(support_device())->native_float_width >= 8;
}

/* Sizes that nobody would choose, in every family. */
static void test_unusual(void **state) {
  static const char *const lines[] = {
      "fused_vector : VECTORS=4 STEP=12 BLOCK=36 GROUPS=3\n"
      "fused_tile : CHUNK=32\n"
      "projection_vector : ROWS=24 DEPTH=48\n"
      "product_vector : ROWS=72 DEPTH=33\n"
      "product_tile : SIDE=4\n"
      "softmax : ITEMS=16\n",
      "fused_vector head_dim=128 : VECTORS=2 STEP=16 BLOCK=16 GROUPS=1\n"
      "fused_tile dtype=f32 : CHUNK=64\n"
      "projection_vector : ROWS=1008 DEPTH=512\n"
      "product_vector : ROWS=24 DEPTH=512\n"
      "product_tile : SIDE=16\n"
      "softmax : ITEMS=2\n"};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct told told;
    clattn_context *context = open_context(lines[i], NULL, &told);
    const char *fused = i == 0 ? "tuned: fused_vector VECTORS=4 STEP=12 BLOCK=36 GROUPS=3 (/tmp/clattn-tuned-"
                               : "tuned: fused_vector VECTORS=2 STEP=16 BLOCK=16 GROUPS=1 (/tmp/clattn-tuned-";
    if (!vectors()) fused = i == 0 ? "tuned: fused_tile CHUNK=32" : "tuned: fused_tile CHUNK=64";
    check_attention(context, CLATTN_PATH_FUSED, CLATTN_PRODUCT_OWN, CLATTN_F32, fused);
    check_attention(context, CLATTN_PATH_STAGED, CLATTN_PRODUCT_OWN, CLATTN_F32,
                    vectors() ? "tuned: product_vector ROWS=" : "tuned: product_tile SIDE=");
    check_attention(context, CLATTN_PATH_STAGED, CLATTN_PRODUCT_OWN, CLATTN_F16,
                    i == 0 ? "tuned: softmax ITEMS=16" : "tuned: softmax ITEMS=2");
    check_projection(context, vectors() ? "tuned: projection_vector ROWS=" : "tuned: product_tile SIDE=");
    if (told.warnings != 0) fail_msg("%s", told.text);
    clattn_context_destroy(context);
  }
}

/* Lines for other types and head dimensions are not used. */
static void test_other(void **state) {
  (void)state;
  struct told told;
  clattn_context *context = open_context(
      "fused_vector dtype=f16 : GROUPS=3\n"
      "fused_vector head_dim=69 : GROUPS=3\n"
      "fused_tile dtype=f16 : CHUNK=32\n"
      "fused_tile head_dim=69 : CHUNK=32\n",
      NULL, &told);
  check_attention(context, CLATTN_PATH_FUSED, CLATTN_PRODUCT_OWN, CLATTN_F32, NULL);
  check_attention(context, CLATTN_PATH_FUSED, CLATTN_PRODUCT_OWN, CLATTN_F16,
                  vectors() ? "tuned: fused_vector" : "tuned: fused_tile");
  assert_int_equal(told.warnings, 0);
  clattn_context_destroy(context);
}

/* Sizes that the kernels cannot take are refused once and by name, and plans get those built in. */
static void test_impossible(void **state) {
  static const struct {
    const char *lines, *text;
    clattn_path path;
  } rows[] = {
      {"fused_vector : STEP=5\nfused_tile : CHUNK=33\n", "", CLATTN_PATH_FUSED},
      {"fused_vector : VECTORS=0\nfused_tile : CHUNK=0\n", "", CLATTN_PATH_FUSED},
      {"fused_vector : BLOCK=98\nfused_tile : CHUNK=1048576\n", "", CLATTN_PATH_FUSED},
      {"fused_vector : GROUPS=1000000\nfused_tile : CHUNK=544\n", "", CLATTN_PATH_FUSED},
      {"product_vector : ROWS=100\nproduct_tile : SIDE=3\n", "", CLATTN_PATH_STAGED},
      {"product_vector : DEPTH=0\nproduct_tile : SIDE=128\n", "", CLATTN_PATH_STAGED},
      {"softmax : ITEMS=3\n", "ITEMS is a power of two", CLATTN_PATH_STAGED},
      {"softmax : ITEMS=1048576\n", "ITEMS is more than", CLATTN_PATH_STAGED},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct told told;
    clattn_context *context = open_context(rows[i].lines, NULL, &told);
    check_attention(context, rows[i].path, CLATTN_PRODUCT_OWN, CLATTN_F32, NULL);
    const int warnings = told.warnings;
    check_attention(context, rows[i].path, CLATTN_PRODUCT_OWN, CLATTN_F32, NULL);
    if (warnings == 0 || told.warnings != warnings || strstr(told.text, "is not used: ") == NULL ||
        strstr(told.text, rows[i].text) == NULL) {
      fail_msg("%s: %d: %s", rows[i].lines, told.warnings, told.text);
    }
    clattn_context_destroy(context);
  }
}

/* Copies the kernels; text comes before the first line of the file. */
static void make_kernels(const char *file, const char *text) {
  char command[600], path[200];
  snprintf(command, sizeof command, "rm -rf '%s' && cp -R '%s' '%s'", kernels, CLATTN_KERNELS, kernels);
  assert_int_equal(system(command), 0);
  snprintf(path, sizeof path, "%s/%s", kernels, file);
  FILE *stream = fopen(path, "r+");
  assert_non_null(stream);
  char *source = calloc(1, 100000);
  assert_non_null(source);
  const size_t length = fread(source, 1, 99999, stream);
  rewind(stream);
  fputs(text, stream);
  assert_int_equal(fwrite(source, 1, length, stream), length);
  assert_int_equal(fclose(stream), 0);
  free(source);
}

/* A kernel that one size makes wrong, or that does not compile with it: the line goes, the family stays. */
static void test_wrong(void **state) {
  static const char wrong[] =
      "#if (defined(GROUPS) && GROUPS == 3) || (defined(CHUNK) && CHUNK == 32)\n#define WRONG 0.75f *\n"
      "#else\n#define WRONG\n#endif\n";
  static const char broken[] = "#if (defined(GROUPS) && GROUPS == 3) || (defined(CHUNK) && CHUNK == 32)\n#error no\n#endif\n";
  (void)state;
  for (int way = 0; way < 2; way++) {
    struct told told;
    make_kernels(vectors() ? "fused_vector.cl" : "fused_tile.cl", way == 0 ? wrong : broken);
    if (way == 0) {
      char command[300];
      snprintf(command, sizeof command, "sed -i 's|seen ? shrink / sum|seen ? WRONG shrink / sum|' '%s/common/online.clh'",
               kernels);
      assert_int_equal(system(command), 0);
    }
    clattn_context *context = open_context("fused_vector : GROUPS=3\nfused_tile : CHUNK=32\n", kernels, &told);
    check_attention(context, CLATTN_PATH_FUSED, CLATTN_PRODUCT_OWN, CLATTN_F32, NULL);
    const char *why = way == 0 ? "is not used: it fails its self-test" : "is not used: its kernel does not compile";
    if (strstr(told.text, why) == NULL) fail_msg("%s: %s", why, told.text);
    check_attention(context, CLATTN_PATH_FUSED, CLATTN_PRODUCT_OWN, CLATTN_F32, NULL);
    clattn_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unusual), cmocka_unit_test(test_other),
                                     cmocka_unit_test(test_impossible), cmocka_unit_test(test_wrong)};
  cmocka_set_test_filter(getenv("CLATTN_TEST_FILTER")); /* a test's name; NULL: all */
  return cmocka_run_group_tests(tests, begin, end);
}
