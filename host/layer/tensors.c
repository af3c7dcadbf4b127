/* The layer's tensors: names, and places in the public structs. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "layer.h"

#define ROW(tensor, field) [tensor] = {#field, offsetof(clattn_layer_arrays, field), offsetof(clattn_layer_buffers, field)}

static const struct {
  const char *name;
  size_t array, buffer;
} rows[LAYER_TENSOR_COUNT] = {
    ROW(L_QUERY, query),
    ROW(L_KEY, key),
    ROW(L_VALUE, value),
    ROW(L_MASK, mask),
    ROW(L_KV_LEN, kv_len),
    ROW(L_QUERY_OFFSET, query_offset),
    ROW(L_SINKS, sinks),
    ROW(L_ALIBI, alibi_slopes),
    ROW(L_OUT, out),
    ROW(L_LSE, lse),
    ROW(L_SCORES_RAW, scores_raw),
    ROW(L_SCORES_SOFTCAPPED, scores_softcapped),
    ROW(L_SCORES_MASKED, scores_masked),
    ROW(L_WEIGHTS, weights),
};

const char *ctn_layer_tensor_name(enum layer_tensor tensor) {
  return rows[tensor].name;
}

void ctn_layer_arrays_table(const clattn_layer_arrays *arrays, void *table[LAYER_TENSOR_COUNT]) {
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++)
    memcpy(&table[i], (const char *)arrays + rows[i].array, sizeof table[i]);
}

void ctn_layer_buffers_table(const clattn_layer_buffers *buffers, clattn_buffer table[LAYER_TENSOR_COUNT]) {
  for (int i = 0; i < LAYER_TENSOR_COUNT; i++)
    memcpy(&table[i], (const char *)buffers + rows[i].buffer, sizeof table[i]);
}

clattn_status ctn_layer_in(const char *step, clattn_status status, clattn_error *error) {
  if (status == CLATTN_OK || error == NULL) return status;
  char text[sizeof error->text];
  memcpy(text, error->text, sizeof text);
  const int cl_code = error->cl_code;
  ctn_fail(error, status, "%s: %s", step, text);
  error->cl_code = cl_code;
  return status;
}
