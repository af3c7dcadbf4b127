/* What `clattn tune` measures, and which values it tries. */
#include <string.h>

#include "tune.h"

const struct tune_problem ctn_tune_problems[] = {
    {"prefill",
     "attention D=64",
     BENCH_ATTENTION,
     "fused",
     CLATTN_PATH_FUSED,
     CLATTN_PRODUCT_OWN,
     {CLATTN_F32, 1, 8, 8, 1024, 1024, 64, 64, false, 0},
     64,
     3},
    {"prefill",
     "attention D=128",
     BENCH_ATTENTION,
     "fused",
     CLATTN_PATH_FUSED,
     CLATTN_PRODUCT_OWN,
     {CLATTN_F32, 1, 4, 4, 1024, 1024, 128, 128, false, 0},
     128,
     3},
    {"projection",
     "projection 2048 x 768 x 768",
     BENCH_PROJECTION,
     "staged",
     CLATTN_PATH_STAGED,
     CLATTN_PRODUCT_OWN,
     {CLATTN_F32, 1, 0, 0, 2048, 0, 768, 768, false, 0},
     0,
     2},
    {"staged",
     "attention in stages D=64",
     BENCH_ATTENTION,
     "staged",
     CLATTN_PATH_STAGED,
     CLATTN_PRODUCT_OWN,
     {CLATTN_F32, 1, 8, 8, 768, 768, 64, 64, false, 0},
     0,
     2},
    {"clblast",
     "CLBlast 1024 x 768 x 768",
     BENCH_PROJECTION,
     "staged",
     CLATTN_PATH_STAGED,
     CLATTN_PRODUCT_CLBLAST,
     {CLATTN_F32, 1, 0, 0, 1024, 0, 768, 768, false, 0},
     0,
     8},
    {.work = NULL},
};

#define XGEMM(mdim, ndim, m, n, k, vm, vn)                                                                             \
  "GEMMK=0 KREG=1 KWG=" #k " KWI=2 MDIMA=" #mdim " MDIMC=" #mdim " MWG=" #m " NDIMB=" #ndim " NDIMC=" #ndim " NWG=" #n \
  " SA=0 SB=0 STRM=0 STRN=0 VWM=" #vm " VWN=" #vn
#define DIRECT(mdim, ndim, tile, vm, vn)                                                                            \
  "KWID=2 MDIMAD=" #mdim " MDIMCD=" #mdim " NDIMBD=" #ndim " NDIMCD=" #ndim " PADA=1 PADB=1 VWMD=" #vm " VWND=" #vn \
  " WGD=" #tile

/* The first rows of CLBlast's are for processors with explicit vectors in one work-item, the last ones for GPUs. */
const struct tune_move ctn_tune_moves[] = {
    {"fused_vector", "VECTORS=2 STEP=8"},
    {"fused_vector", "BLOCK=192"},
    {"fused_vector", "BLOCK=48"},
    {"fused_vector", "GROUPS=4"},
    {"fused_vector", "GROUPS=8"},
    {"fused_vector", "GROUPS=24"},
    {"fused_vector", "VECTORS=2 STEP=4"},
    {"fused_vector", "BLOCK=384"},
    {"fused_tile", "CHUNK=64"},
    {"fused_tile", "CHUNK=32"},
    {"fused_tile", "CHUNK=256"},
    {"projection_vector", "DEPTH=128"},
    {"projection_vector", "ROWS=192"},
    {"projection_vector", "DEPTH=192"},
    {"projection_vector", "DEPTH=64"},
    {"projection_vector", "ROWS=768"},
    {"product_vector", "DEPTH=128"},
    {"product_vector", "ROWS=192"},
    {"product_vector", "ROWS=384"},
    {"product_vector", "DEPTH=64"},
    {"product_vector", "DEPTH=512"},
    {"product_tile", "SIDE=16"},
    {"product_tile", "SIDE=4"},
    {"softmax", "ITEMS=2"},
    {"softmax", "ITEMS=32"},
    {"softmax", "ITEMS=128"},
    {"softmax", "ITEMS=256"},
    {"clblast_routine", "XGEMM_MIN_INDIRECT_SIZE=128"},
    {"clblast_xgemm", XGEMM(1, 1, 16, 8, 32, 8, 1)},
    {"clblast_xgemm", XGEMM(1, 1, 32, 8, 32, 16, 1)},
    {"clblast_xgemm", XGEMM(1, 1, 16, 8, 64, 8, 1)},
    {"clblast_xgemm", XGEMM(1, 1, 16, 8, 32, 8, 2)},
    {"clblast_xgemm", XGEMM(8, 8, 64, 64, 32, 8, 8)},
    {"clblast_xgemm", XGEMM(8, 8, 64, 64, 32, 4, 4)},
    {"clblast_xgemm", XGEMM(16, 16, 128, 64, 32, 2, 2)},
    {"clblast_xgemm_direct", DIRECT(8, 8, 32, 2, 2)},
    {"clblast_xgemm_direct", DIRECT(16, 16, 64, 2, 2)},
    {NULL, NULL},
};

bool ctn_tune_is_work(const char *name) {
  for (const struct tune_problem *problem = ctn_tune_problems; problem->work; problem++) {
    if (strcmp(problem->work, name) == 0) return true;
  }
  return false;
}

struct bench_shape ctn_tune_awkward(const struct tune_problem *problem) {
  struct bench_shape shape = problem->shape;
  shape.q_len = 197;
  if (problem->kind == BENCH_ATTENTION) {
    shape.batch = 2;
    shape.q_heads = 4;
    shape.kv_heads = 2;
    shape.kv_len = 211;
    shape.head_dim -= 3;
    shape.head_dim_v -= 1;
    shape.causal = true;
  } else {
    shape.head_dim = 263;
    shape.head_dim_v = 130;
  }
  return shape;
}
