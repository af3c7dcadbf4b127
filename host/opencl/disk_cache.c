/*
 * Compiled programs on disk, CACHE_DIR/<key in hexadecimal>.program, and verdicts of self-tests, <key>.verdict, each
 *
 *   8 bytes magic | 32 key | 8 payload length, little endian | 32 SHA-256 of the payload | payload
 *
 * The payload is machine code that drivers run unchecked (PoCL dies of a damaged one), so an entry is used only when every
 * field fits and the file is this user's.
 */
#include "disk_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "sha256.h"
#include "text.h"

static const char magic[8] = {'c', 'l', 'a', 't', 't', 'n', 'P', '1'};

/* What an entry is, and what happens instead of using it. */
struct kind {
  const char *extension, *instead;
};
static const struct kind programs = {"program", "compiling"}, verdicts = {"verdict", "testing"};
static const char passed[] = "passed";

enum { KEY_AT = 8, LENGTH_AT = 40, HASH_AT = 48, PAYLOAD_AT = 80 };
#define ENTRY_LIMIT ((size_t)1 << 30)

static void put_u64(uint8_t bytes[8], uint64_t value) {
  for (int i = 0; i < 8; i++)
    bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_u64(const uint8_t bytes[8]) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; i--)
    value = value << 8 | bytes[i];
  return value;
}

/* A field of the key with its length before it, so that neighbours cannot trade bytes. */
static void add_field(struct sha256 *hash, const void *bytes, size_t length) {
  uint8_t prefix[8];
  put_u64(prefix, length);
  ctn_sha256_add(hash, prefix, sizeof prefix);
  ctn_sha256_add(hash, bytes, length);
}

void ctn_cache_key(uint8_t key[32], const struct runtime *runtime, const char *source, size_t length, const char *options) {
  const clattn_device_info *info = &runtime->device.info;
  const char *fields[] = {options,      info->platform_name,  info->platform_version, info->name,
                          info->vendor, info->device_version, info->driver_version};
  struct sha256 hash;
  ctn_sha256_start(&hash);
  add_field(&hash, magic, sizeof magic);
  add_field(&hash, source, length);
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    add_field(&hash, fields[i], strlen(fields[i]));
  ctn_sha256_finish(&hash, key);
}

static void hash_payload(const unsigned char *payload, size_t size, uint8_t digest[32]) {
  struct sha256 hash;
  ctn_sha256_start(&hash);
  ctn_sha256_add(&hash, payload, size);
  ctn_sha256_finish(&hash, digest);
}

static void entry_path(struct text *path, const struct runtime *runtime, const struct kind *kind, const uint8_t key[32]) {
  char hex[65];
  ctn_sha256_hex(key, hex);
  ctn_text_printf(path, "%s/%s.%s", runtime->cache_dir, hex, kind->extension);
}

/* NULL, or what is wrong with the entry. */
static const char *entry_fault(const unsigned char *entry, size_t size, const uint8_t key[32]) {
  uint8_t digest[32];
  if (size < PAYLOAD_AT) return "is cut short";
  if (memcmp(entry, magic, sizeof magic) != 0) return "is of another version";
  if (memcmp(entry + KEY_AT, key, 32) != 0) return "belongs to another key";
  if (get_u64(entry + LENGTH_AT) != size - PAYLOAD_AT) return "has the wrong length";
  if (size == PAYLOAD_AT) return "is empty";
  hash_payload(entry + PAYLOAD_AT, size - PAYLOAD_AT, digest);
  return memcmp(entry + HASH_AT, digest, sizeof digest) != 0 ? "is damaged" : NULL;
}

static unsigned char *load_entry(const struct runtime *runtime, const struct kind *kind, const uint8_t key[32], size_t *size) {
  struct text path = {0};
  unsigned char *entry = NULL;
  if (runtime->cache_dir == NULL) return NULL;
  entry_path(&path, runtime, kind, key);
  if (path.failed) goto cleanup;
  int code = ctn_file_read(path.data, ENTRY_LIMIT, true, &entry, size);
  if (code == ENOENT) goto cleanup;
  const char *fault = code != 0 ? strerror(code) : entry_fault(entry, *size, key);
  if (fault != NULL) {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "cache: %s %s%s; %s instead", path.data, code != 0 ? "cannot be read: " : "",
                    fault, kind->instead);
    free(entry);
    entry = NULL;
    goto cleanup;
  }
  *size -= PAYLOAD_AT;
  memmove(entry, entry + PAYLOAD_AT, *size);
cleanup:
  ctn_text_free(&path);
  return entry;
}

/* mkdir -p with mode 0700. Returns 0 or an errno value. */
static int make_folder(const char *folder) {
  struct text path = {0};
  int code = 0;
  ctn_text_printf(&path, "%s", folder);
  if (path.failed) code = ENOMEM;
  for (size_t i = 1; code == 0 && i <= path.length; i++) {
    if (path.data[i] != '/' && path.data[i] != 0) continue;
    char kept = path.data[i];
    path.data[i] = 0;
    struct stat info;
    /* Existing folders are not touched: on the way may be some that only let us pass. */
    if (stat(path.data, &info) != 0 && mkdir(path.data, 0700) != 0 && errno != EEXIST) code = errno;
    path.data[i] = kept;
  }
  ctn_text_free(&path);
  return code;
}

static int write_all(int file, const unsigned char *bytes, size_t size) {
  while (size > 0) {
    ssize_t count = write(file, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes += count;
    size -= (size_t)count;
  }
  return 0;
}

/* Writes header and payload to a file beside path and renames it. Returns 0 or an errno value. */
static int write_entry(const char *path, const unsigned char header[PAYLOAD_AT], const unsigned char *payload, size_t size) {
  struct text temporary = {0};
  int code = 0;
  ctn_text_printf(&temporary, "%s.XXXXXX", path);
  if (temporary.failed) {
    code = ENOMEM;
    goto cleanup;
  }
  int file = mkstemp(temporary.data); /* mode 0600 */
  if (file < 0) {
    code = errno;
    goto cleanup;
  }
  code = write_all(file, header, PAYLOAD_AT);
  if (code == 0) code = write_all(file, payload, size);
  if (close(file) != 0 && code == 0) code = errno;
  if (code == 0 && rename(temporary.data, path) != 0) code = errno;
  if (code != 0) unlink(temporary.data);
cleanup:
  ctn_text_free(&temporary);
  return code;
}

static void store_entry(const struct runtime *runtime, const struct kind *kind, const uint8_t key[32],
                        const unsigned char *payload, size_t size) {
  unsigned char header[PAYLOAD_AT];
  struct text path = {0};
  if (runtime->cache_dir == NULL || size == 0 || size > ENTRY_LIMIT - PAYLOAD_AT) return;
  memcpy(header, magic, sizeof magic);
  memcpy(header + KEY_AT, key, 32);
  put_u64(header + LENGTH_AT, size);
  hash_payload(payload, size, header + HASH_AT);
  entry_path(&path, runtime, kind, key);
  int code = path.failed ? ENOMEM : make_folder(runtime->cache_dir);
  if (code == 0) code = write_entry(path.data, header, payload, size);
  if (code != 0) {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "cache: nothing kept in %s: %s", runtime->cache_dir, strerror(code));
  }
  ctn_text_free(&path);
}

unsigned char *ctn_cache_load(const struct runtime *runtime, const uint8_t key[32], size_t *size) {
  return load_entry(runtime, &programs, key, size);
}

void ctn_cache_store(const struct runtime *runtime, const uint8_t key[32], const unsigned char *payload, size_t size) {
  store_entry(runtime, &programs, key, payload, size);
}

bool ctn_cache_has_passed(const struct runtime *runtime, const uint8_t key[32]) {
  size_t size = 0;
  unsigned char *verdict = load_entry(runtime, &verdicts, key, &size);
  const bool has = verdict != NULL && size == sizeof passed && memcmp(verdict, passed, sizeof passed) == 0;
  free(verdict);
  return has;
}

void ctn_cache_store_passed(const struct runtime *runtime, const uint8_t key[32]) {
  store_entry(runtime, &verdicts, key, (const unsigned char *)passed, sizeof passed);
}
