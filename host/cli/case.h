/* A case file as a clattn_problem with its arrays, and the results that can be asked for. */
#ifndef CTN_CASE_H
#define CTN_CASE_H

#include <stdbool.h>

#include <clattn/clattn.h>

#include "safetensors.h"

/* Results by name, in the order in which they are told. */
enum result {
  RESULT_OUT,
  RESULT_LSE,
  RESULT_WEIGHTS,
  RESULT_SCORES_RAW,
  RESULT_SCORES_SOFTCAPPED,
  RESULT_SCORES_MASKED,
  RESULT_PRESENT_K,
  RESULT_PRESENT_V,
  RESULT_DQ, /* from here on: gradients, which this version does not compute */
  RESULT_DK,
  RESULT_DV,
  RESULT_DMASK,
  RESULT_DSINKS,
  RESULT_COUNT
};

/* Sets of results are bits. */
#define RESULT_BIT(result) (1u << (unsigned)(result))
#define RESULTS_COMPUTED (RESULT_BIT(RESULT_PRESENT_K) - 1) /* those that a plan computes: clattn_problem.outputs */
#define RESULTS_KNOWN (RESULT_BIT(RESULT_DQ) - 1)           /* and those that this version has */

const char *ctn_result_name(enum result result);
/* The result called name, or RESULT_COUNT. */
enum result ctn_result_find(const char *name);

struct case_file {
  const char *path; /* borrowed */
  struct st_file file;
  bool rotary; /* op is rotary_embedding: nothing below is filled in */
  clattn_problem problem;
  clattn_arrays arrays; /* inputs alone */
  double rtol, atol;
  int q_rank;
  struct st_tensor present_k, present_v; /* rank 0 until ctn_case_present, or where past_* were joined */
  void *owned[16];                       /* what was converted or joined */
  int owned_count;
};

/* Reads and checks everything but what the library checks itself. Errors are one line that names the file. path must stay. */
clattn_status ctn_case_read(struct case_file *c, const char *path, clattn_error *error);
void ctn_case_clear(struct case_file *c);

/* Fills in present_k, present_v [batch, kv_heads, kv_len, dim]; UNSUPPORTED where sequences are packed. */
clattn_status ctn_case_present(struct case_file *c, clattn_error *error);

/* Parts of ctn_case_read: the metadata with every value checked; the tensors with every shape checked. */
clattn_status ctn_case_metadata(struct case_file *c, clattn_error *error);
clattn_status ctn_case_tensors(struct case_file *c, clattn_error *error);
/* A metadata value as an integer in [least, most]; *value is left where the key is not given. */
clattn_status ctn_case_integer(const struct case_file *c, const char *key, int64_t least, int64_t most, int64_t *value,
                               clattn_error *error);
/* bytes aligned to 64, released with the case; NULL with an error where there is no memory. */
void *ctn_case_allocate(struct case_file *c, size_t bytes, clattn_error *error);

#endif
