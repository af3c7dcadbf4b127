/* Philox4x32-10, the counter-based generator behind dropout (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"). */
#ifndef CTN_PHILOX_H
#define CTN_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

/* The four words of the block with counter (low, high) = (block, offset) and the given key. */
void ctn_philox(uint64_t seed, uint64_t offset, uint64_t block, uint32_t words[4]);

/* Whether weight number n is kept: lane n & 3 of block n >> 2, u = (word >> 8) * 2^-24, kept when u >= probability. */
bool ctn_dropout_keeps(uint64_t seed, uint64_t offset, uint64_t n, float probability);

#endif
