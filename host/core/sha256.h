/* SHA-256 (FIPS 180-4), the key and the check of cached programs. */
#ifndef CTN_SHA256_H
#define CTN_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
};

void ctn_sha256_start(struct sha256 *hash);
void ctn_sha256_add(struct sha256 *hash, const void *data, size_t length);
void ctn_sha256_finish(struct sha256 *hash, uint8_t digest[32]);
/* Lower-case hexadecimal, terminated. */
void ctn_sha256_hex(const uint8_t digest[32], char text[65]);

#endif
