/* CLBlast with parameters from a tuning table: right results, also where it would read an operand in place; bad lines refused.
 */
#include "opencl_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

static char folder[PATH_SIZE];
static struct support_log told;

#define XGEMM "MDIMA=1 MDIMC=1 MWG=16 NDIMB=1 NDIMC=1 NWG=8 SA=0 SB=0 STRM=0 STRN=0 VWM=8 VWN=1\n"

/* A runtime whose table has these lines for any device. */
static struct runtime *open_runtime(const char *lines) {
  char path[PATH_SIZE], text[2000] = "clattn tuning 1\n";
  clattn_context_options options = CLATTN_CONTEXT_OPTIONS_INIT;
  for (; *lines; lines += strcspn(lines, "\n") + 1) {
    const size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "device=* family=%.*s\n", (int)strcspn(lines, "\n"), lines);
  }
  memset(&told, 0, sizeof told);
  support_write(folder, "tuning", text);
  support_path(path, folder, "tuning");
  options.tuning_file = path;
  options.no_cache = 1;
  options.log = support_log;
  options.log_user = &told;
  return support_open(&options);
}

static int begin(void **state) {
  (void)state;
  support_make_folder(folder);
  return 0;
}

static int end(void **state) {
  (void)state;
  support_remove_folder(folder);
  return 0;
}

/* Lines that break CLBlast's rules, alone: they are not in force, whatever the library's own table has, and the log has the
 * reason. */
static void refused(void **state) {
  static const struct {
    const char *line, *why;
  } rows[] = {
      {"clblast_xgemm : GEMMK=1 KREG=1 KWG=32 KWI=2 " XGEMM, "GEMMK has to be 0"},
      {"clblast_xgemm : GEMMK=0 KREG=1 KWG=24 KWI=2 " XGEMM, "no power of two"},
      {"clblast_xgemm : GEMMK=0 KREG=1 KWG=32 KWI=64 " XGEMM, "KWI and VWM have to divide KWG"},
      {"clblast_xgemm : GEMMK=0 KREG=1 KWG=32 " XGEMM, "not all of its parameters"},
      {"clblast_xgemm : GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=1 MDIMC=4 MWG=16 NDIMB=1 NDIMC=1 NWG=8 SA=0 SB=0 STRM=0 STRN=0 VWM=8 "
       "VWN=1\n",
       "have to divide MWG"},
      {"clblast_xgemm : GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=128 MDIMC=128 MWG=128 NDIMB=128 NDIMC=128 NWG=128 SA=0 SB=0 STRM=0 "
       "STRN=0 VWM=1 VWN=1\n",
       "have to be whole and divide KWG"},
      {"clblast_xgemm_direct : KWID=2 MDIMAD=8 MDIMCD=8 NDIMBD=8 NDIMCD=8 PADA=1 PADB=1 VWMD=8 VWND=1 WGD=32\n",
       "have to divide WGD"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct runtime *runtime = open_runtime(rows[i].line);
    struct text text = {0};
    ctn_gemm_tune(runtime);
    ctn_gemm_describe_tuning(runtime, &text);
    const bool in_force = text.data != NULL && strstr(text.data, folder) != NULL;
    ctn_text_free(&text);
    if (in_force || told.count[CLATTN_LOG_WARNING] != 1 || strstr(told.last, rows[i].why) == NULL) {
      fail_msg("%s: %s", rows[i].line, told.last);
    }
    ctn_runtime_close(runtime);
  }
}

/* b not transposed, its rows touching, all sizes multiples of the tiles: once at an offset, once strided. */
static void in_place(void **state) {
  enum { M = 32, N = 16, K = 64, BATCH = 2, OFFSET = 8, GAP = 32 };
  (void)state;
  clattn_error error = CLATTN_ERROR_INIT;
  struct text text = {0};
  cl_int code = CL_SUCCESS;
  static float a[BATCH * M * K], b[OFFSET + BATCH * (K * N + GAP)], c[BATCH * M * N];
  struct runtime *runtime =
      open_runtime("clblast_routine : XGEMM_MIN_INDIRECT_SIZE=1\nclblast_xgemm : GEMMK=0 KREG=1 KWG=32 KWI=2 " XGEMM);
  for (size_t i = 0; i < sizeof a / sizeof *a; i++)
    a[i] = (float)(i * 7 % 13) - 6;
  for (size_t i = 0; i < sizeof b / sizeof *b; i++)
    b[i] = (float)(i * 5 % 11) - 5;
  struct gemm g = {.m = M,
                   .n = N,
                   .k = K,
                   .alpha = 1,
                   .a_row = K,
                   .a_batch = M * K,
                   .b_row = N,
                   .b_batch = K * N + GAP,
                   .c_row = N,
                   .c_batch = M * N,
                   .batch = BATCH};
  g.b.offset = OFFSET * sizeof(float);
  g.a.memory = clCreateBuffer(runtime->context, CL_MEM_COPY_HOST_PTR, sizeof a, a, &code);
  g.b.memory = clCreateBuffer(runtime->context, CL_MEM_COPY_HOST_PTR, sizeof b, b, &code);
  g.c.memory = clCreateBuffer(runtime->context, CL_MEM_READ_WRITE, sizeof c, NULL, &code);
  assert_int_equal(code, CL_SUCCESS);
  struct chain chain;
  assert_int_equal(ctn_chain_begin(&chain, runtime->queue, 0, NULL, NULL, &error), CLATTN_OK);
  if (ctn_gemm_enqueue(runtime, &chain, &g, true, &error) != CLATTN_OK) fail_msg("%s", error.text);
  ctn_chain_end(&chain);
  assert_int_equal(clEnqueueReadBuffer(runtime->queue, g.c.memory, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), CL_SUCCESS);
  for (int batch = 0; batch < BATCH; batch++) {
    for (int i = 0; i < M; i++) {
      for (int j = 0; j < N; j++) {
        float sum = 0; /* of small whole numbers: exact */
        for (int t = 0; t < K; t++)
          sum += a[batch * M * K + i * K + t] * b[OFFSET + batch * (K * N + GAP) + t * N + j];
        assert_true(sum == c[batch * M * N + i * N + j]);
      }
    }
  }
  ctn_gemm_describe_tuning(runtime, &text);
  assert_non_null(strstr(text.data, "tuned: clblast_xgemm GEMMK=0 KREG=1 KWG=32"));
  ctn_text_free(&text);
  /* The process keeps them: another table's are not set. */
  struct runtime *other = open_runtime("clblast_routine : XGEMM_MIN_INDIRECT_SIZE=2\n");
  ctn_gemm_tune(other);
  assert_non_null(strstr(told.last, "keeps them for the process"));
  ctn_runtime_close(other);
  clReleaseMemObject(g.a.memory);
  clReleaseMemObject(g.b.memory);
  clReleaseMemObject(g.c.memory);
  ctn_runtime_close(runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(in_place)};
  return cmocka_run_group_tests(tests, begin, end);
}
