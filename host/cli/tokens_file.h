/* The file of `walkthrough --tokens`: a vocabulary line, then sentences made of its words, one a line. */
#ifndef CTN_TOKENS_FILE_H
#define CTN_TOKENS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <clattn/clattn.h>

/* What a file may hold. A word's limit is in bytes. */
enum {
  TOKENS_MAX_VOCABULARY = 65536,
  TOKENS_MAX_SENTENCES = 4096,
  TOKENS_MAX_LENGTH = 1024,
  TOKENS_MAX_WORD = 64,
  TOKENS_MAX_LINE = 1 << 20,
  TOKENS_MAX_FILE = 1 << 24
};

#define TOKENS_PADDING "[PAD]"

struct tokens_file {
  const char **words; /* by token id */
  int word_count;
  int64_t padding_id; /* of "[PAD]": its place in the vocabulary, or 0 where the file's vocabulary lacks it */
  int batch;          /* sentences */
  int length;         /* words of the longest */
  int32_t *ids;       /* [batch, length], filled up with padding_id */
  char *text;         /* behind words */
};

/* UTF-8, with or without a byte order mark, lines ended by LF or CRLF; empty lines between and after sentences count for
 * nothing. Errors name the file, and the line and column (in characters) of what is wrong. */
clattn_status ctn_tokens_read(struct tokens_file *file, const char *path, clattn_error *error);
/* The same from bytes in memory; name is for messages. */
clattn_status ctn_tokens_parse(struct tokens_file *file, const char *name, const char *bytes, size_t length,
                               clattn_error *error);
void ctn_tokens_clear(struct tokens_file *file);

#endif
