/*
 * Embedding lookup: out[n, d] = table[tokens[n], d] * scale, zeros where tokens[n] is the padding id, NaN where the token lies outside
 * the table (host arrays are checked before; a caller's buffer cannot be).
 *
 * One work-item an element: global (dim, count). TOKEN64: tokens are 64-bit integers.
 */
#include "common/types.clh"

#ifndef TOKEN64
#define TOKEN64 0 /* 32-bit tokens */
#endif
#if TOKEN64
typedef long token;
#else
typedef int token;
#endif

__kernel void embedding(const __global token *tokens, const long tokens_offset, const __global storage *table,
                        const long table_offset, __global storage *out, const long out_offset, const long dim,
                        const long vocabulary, const long padding_id, const float scale) {
  const long d = (long)get_global_id(0);
  const long n = (long)get_global_id(1);
  const long id = tokens[tokens_offset + n];
  float value = 0.0f;
  if (id < 0 || id >= vocabulary) {
    value = NAN;
  } else if (id != padding_id) {
    value = load(table, table_offset + id * dim + d) * scale;
  }
  store(out, out_offset + n * dim + d, value);
}
