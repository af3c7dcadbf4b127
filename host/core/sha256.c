/* SHA-256 as FIPS 180-4 writes it down. */
#include "sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n) {
  return (x >> n) | (x << (32 - n));
}

/* The message schedule W of one block. */
static void schedule(const uint8_t block[64], uint32_t w[64]) {
  for (int t = 0; t < 16; t++) {
    const uint8_t *bytes = block + 4 * (size_t)t;
    w[t] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
  }
  for (int t = 16; t < 64; t++) {
    const uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
}

static void compress(uint32_t state[8], const uint8_t block[64]) {
  uint32_t w[64], s[8];
  schedule(block, w);
  memcpy(s, state, sizeof s);
  for (int t = 0; t < 64; t++) {
    const uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    const uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t t1 = s[7] + sum1 + choose + constants[t] + w[t];
    const uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    memmove(s + 1, s, 7 * sizeof s[0]);
    s[4] += t1;
    s[0] = t1 + sum0 + majority;
  }
  for (int i = 0; i < 8; i++) {
    state[i] += s[i];
  }
}

void ctn_sha256_start(struct sha256 *hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, start, sizeof start);
  hash->length = 0;
}

void ctn_sha256_add(struct sha256 *hash, const void *data, size_t length) {
  const uint8_t *bytes = data;
  while (length > 0) {
    const size_t used = (size_t)(hash->length % 64);
    const size_t step = length < 64 - used ? length : 64 - used;
    memcpy(hash->block + used, bytes, step);
    hash->length += step;
    bytes += step;
    length -= step;
    if (used + step == 64) compress(hash->state, hash->block);
  }
}

void ctn_sha256_finish(struct sha256 *hash, uint8_t digest[32]) {
  static const uint8_t padding[64] = {0x80};
  const uint64_t bits = hash->length * 8;
  const size_t used = (size_t)(hash->length % 64);
  uint8_t length[8];
  for (int i = 0; i < 8; i++) {
    length[i] = (uint8_t)(bits >> (56 - 8 * i));
  }
  ctn_sha256_add(hash, padding, used < 56 ? 56 - used : 120 - used);
  ctn_sha256_add(hash, length, sizeof length);
  for (int i = 0; i < 32; i++) {
    digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
  }
}

void ctn_sha256_hex(const uint8_t digest[32], char text[65]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < 32; i++) {
    text[2 * i] = digits[digest[i] >> 4];
    text[2 * i + 1] = digits[digest[i] & 15];
  }
  text[64] = '\0';
}
