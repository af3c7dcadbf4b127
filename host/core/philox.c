/* Philox4x32-10: ten rounds of two 32 x 32 bit products on a four-word counter. */
#include "philox.h"

enum { ROUNDS = 10 };

void ctn_philox(uint64_t seed, uint64_t offset, uint64_t block, uint32_t words[4]) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = (uint32_t)offset, c3 = (uint32_t)(offset >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t p0 = UINT64_C(0xD2511F53) * c0;
    const uint64_t p1 = UINT64_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; /* golden ratio */
    k1 += 0xBB67AE85u; /* square root of 3, less 1 */
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

bool ctn_dropout_keeps(uint64_t seed, uint64_t offset, uint64_t n, float probability) {
  uint32_t words[4];
  ctn_philox(seed, offset, n >> 2, words);
  /* 24 bits are exact in float. */
  return (float)(words[n & 3] >> 8) * 0x1p-24f >= probability;
}
