/* Philox and SHA-256 against published answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "philox.h"
#include "sha256.h"

/* The answers that come with the generator's paper: all zeros, all ones, and digits of pi. */
static void test_philox(void **state) {
  (void)state;
  static const struct {
    uint64_t seed, offset, block;
    uint32_t words[4];
  } known[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {UINT64_C(0x299f31d0a4093822),
       UINT64_C(0x0370734413198a2e),
       UINT64_C(0x85a308d3243f6a88),
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    uint32_t words[4];
    ctn_philox(known[i].seed, known[i].offset, known[i].block, words);
    assert_memory_equal(words, known[i].words, sizeof words);
  }
}

/* Words 0 to 3 for seed 0, offset 0, over 2^32: 0.399, 0.881, 0.736, 0.605. */
static void test_dropout(void **state) {
  (void)state;
  assert_false(ctn_dropout_keeps(0, 0, 0, 0.4f));
  assert_true(ctn_dropout_keeps(0, 0, 0, 0.39f));
  assert_true(ctn_dropout_keeps(0, 0, 1, 0.88f));
  assert_false(ctn_dropout_keeps(0, 0, 2, 0.74f));
  assert_true(ctn_dropout_keeps(0, 0, 3, 0.6f));
  /* u equal to the probability is kept: 0x6627e8 * 2^-24 is a float. */
  assert_true(ctn_dropout_keeps(0, 0, 0, 0x6627e8 * 0x1p-24f));
  int kept = 0;
  for (uint64_t n = 0; n < 10000; n++) {
    kept += ctn_dropout_keeps(7, 3, n + (UINT64_C(1) << 40), 0.25f);
  }
  assert_in_range(kept, 7350, 7650); /* 7500 and 3.5 deviations of 43 */
}

static void digest_of(const char *data, size_t length, size_t step, char text[65]) {
  struct sha256 hash;
  uint8_t digest[32];
  ctn_sha256_start(&hash);
  for (size_t at = 0; at < length; at += step) {
    ctn_sha256_add(&hash, data + at, length - at < step ? length - at : step);
  }
  ctn_sha256_finish(&hash, digest);
  ctn_sha256_hex(digest, text);
}

/* FIPS 180-4's examples, fed in one go and a few bytes at a time. */
static void test_sha256(void **state) {
  (void)state;
  static const struct {
    const char *message, *digest;
  } known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    for (size_t step = 1; step <= 64; step++) {
      char text[65];
      digest_of(known[i].message, strlen(known[i].message), step, text);
      assert_string_equal(text, known[i].digest);
    }
  }
}

static void test_sha256_million(void **state) {
  (void)state;
  struct sha256 hash;
  uint8_t digest[32];
  char text[65], thousand[1000];
  memset(thousand, 'a', sizeof thousand);
  ctn_sha256_start(&hash);
  for (int i = 0; i < 1000; i++) {
    ctn_sha256_add(&hash, thousand, sizeof thousand);
  }
  ctn_sha256_finish(&hash, digest);
  ctn_sha256_hex(digest, text);
  assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox),
      cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_sha256),
      cmocka_unit_test(test_sha256_million),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
