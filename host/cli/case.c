/* Reading a case file: which operation it is, which names it may hold, then metadata and tensors. */
#include "case.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

static const char *const result_names[RESULT_COUNT] = {
    [RESULT_OUT] = "out",
    [RESULT_LSE] = "lse",
    [RESULT_WEIGHTS] = "weights",
    [RESULT_SCORES_RAW] = "scores_raw",
    [RESULT_SCORES_SOFTCAPPED] = "scores_softcapped",
    [RESULT_SCORES_MASKED] = "scores_masked",
    [RESULT_PRESENT_K] = "present_k",
    [RESULT_PRESENT_V] = "present_v",
    [RESULT_DQ] = "dq",
    [RESULT_DK] = "dk",
    [RESULT_DV] = "dv",
    [RESULT_DMASK] = "dmask",
    [RESULT_DSINKS] = "dsinks",
};

/* What a file may hold beside expected.*; a name that is none of these would otherwise be ignored in silence. */
static const char *const attention_tensors[] = {"q",
                                                "k",
                                                "v",
                                                "mask",
                                                "kv_len",
                                                "query_offset",
                                                "sinks",
                                                "alibi_slopes",
                                                "past_k",
                                                "past_v",
                                                "cu_seqlens_q",
                                                "cu_seqlens_kv",
                                                "dout",
                                                NULL};
static const char *const attention_keys[] = {"scale",        "softcap",        "causal",   "window_left",
                                             "window_right", "q_heads",        "kv_heads", "dropout",
                                             "dropout_seed", "dropout_offset", NULL};
static const char *const rotary_tensors[] = {"x", "cos_cache", "sin_cache", "position_ids", NULL};
static const char *const rotary_keys[] = {"interleaved", "heads", "rotary_dim", NULL};
static const char *const common_keys[] = {"op", "dtype", "rtol", "atol", "origin", "format", NULL};

const char *ctn_result_name(enum result result) {
  return result_names[result];
}

enum result ctn_result_find(const char *name) {
  int result = 0;
  while (result < RESULT_COUNT && strcmp(result_names[result], name) != 0)
    result++;
  return (enum result)result;
}

static bool listed(const char *const *names, const char *name) {
  for (; *names; names++) {
    if (strcmp(*names, name) == 0) return true;
  }
  return false;
}

static clattn_status check_names(const struct case_file *c, clattn_error *error) {
  for (size_t i = 0; i < c->file.count; i++) {
    const char *name = c->file.tensors[i].name;
    if (listed(c->rotary ? rotary_tensors : attention_tensors, name)) continue;
    if (strncmp(name, "expected.", 9) == 0 && ctn_result_find(name + 9) != RESULT_COUNT) continue;
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "%s: tensor '%.100s': no such tensor in a case of this operation; remove it", c->path, name);
  }
  for (size_t i = 0; i < c->file.metadata_count; i++) {
    const char *key = c->file.keys[i];
    if (listed(c->rotary ? rotary_keys : attention_keys, key) || listed(common_keys, key)) continue;
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: metadata '%.100s': no such key in a case of this operation; remove it",
                    c->path, key);
  }
  return CLATTN_OK;
}

void *ctn_case_allocate(struct case_file *c, size_t bytes, clattn_error *error) {
  size_t rounded = (bytes / 64 + 1) * 64;
  void *memory = c->owned_count < (int)(sizeof c->owned / sizeof *c->owned) ? aligned_alloc(64, rounded) : NULL;
  if (memory) {
    c->owned[c->owned_count++] = memory;
  } else {
    ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", c->path, bytes);
  }
  return memory;
}

clattn_status ctn_case_read(struct case_file *c, const char *path, clattn_error *error) {
  memset(c, 0, sizeof *c);
  c->path = path;
  clattn_status status = ctn_st_read(&c->file, path, error);
  if (status) return status;
  const char *op = ctn_st_metadata(&c->file, "op");
  c->rotary = op && strcmp(op, "rotary_embedding") == 0;
  if (op && !c->rotary && strcmp(op, "attention") != 0) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: op: '%.100s' is neither attention nor rotary_embedding", path, op);
  }
  if (status == CLATTN_OK) status = check_names(c, error);
  if (status == CLATTN_OK) status = ctn_case_metadata(c, error);
  if (status == CLATTN_OK && !c->rotary) status = ctn_case_tensors(c, error);
  if (status)
    ctn_case_clear(c);
  else
    ctn_clear(error);
  return status;
}

void ctn_case_clear(struct case_file *c) {
  for (int i = 0; i < c->owned_count; i++)
    free(c->owned[i]);
  ctn_st_clear(&c->file);
  memset(c, 0, sizeof *c);
}
