/* Compiled programs on disk, and which of them passed a self-test. Nothing here fails a call: trouble is logged, and the
 * program is compiled instead. */
#ifndef CTN_DISK_CACHE_H
#define CTN_DISK_CACHE_H

#include <stdint.h>

#include "runtime.h"

/* What a program depends on: format of the entry, spliced source, options, platform, device, driver. */
void ctn_cache_key(uint8_t key[32], const struct runtime *runtime, const char *source, size_t length, const char *options);

/* The payload stored under key, malloced, when its entry is whole and of this key; else NULL. */
unsigned char *ctn_cache_load(const struct runtime *runtime, const uint8_t key[32], size_t *size);

/* Stores payload under key, in one step as seen by other processes. */
void ctn_cache_store(const struct runtime *runtime, const uint8_t key[32], const unsigned char *payload, size_t size);

/* Whether what key stands for has passed its self-test before, and that it has now. */
bool ctn_cache_has_passed(const struct runtime *runtime, const uint8_t key[32]);
void ctn_cache_store_passed(const struct runtime *runtime, const uint8_t key[32]);

#endif
