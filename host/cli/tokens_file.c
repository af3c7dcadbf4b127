/* Reads a vocabulary and sentences: see tokens_file.h. */
#include "tokens_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

/* A word of the vocabulary, in the order of words. */
struct entry {
  const char *word;
  int32_t id;
};

/* Where reading stands. */
struct reader {
  struct tokens_file *file;
  const char *name;
  const char *end;
  int line;
  const struct entry *sorted;
};

/* A word as the file has it. */
struct piece {
  const char *start;
  size_t length;
  int column;
};

/* ------------------------------------------------------------------------------------------------------------ characters */

/* The length of the character at text, or 0 where the bytes are no UTF-8: overlong forms, surrogates and codes past U+10FFFF
 * are none. */
static size_t character(const char *text, const char *end, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char first = (unsigned char)*text;
  const size_t length = first < 0x80 ? 1 : first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf8 || (size_t)(end - text) < length) return 0;
  *code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    const unsigned char next = (unsigned char)text[i];
    if ((next & 0xc0u) != 0x80) return 0;
    *code = *code << 6 | (next & 0x3fu);
  }
  if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) return 0;
  return length;
}

/* Spaces, tabs, and the no-break and ideographic spaces that editors put in. */
static bool is_blank(uint32_t code) {
  return code == ' ' || code == '\t' || code == 0xa0 || code == 0x3000;
}

static clattn_status check_character(const struct reader *reader, const char *at, size_t length, uint32_t code, int column,
                                     clattn_error *error) {
  if (length == 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d, column %d: byte 0x%02x is not UTF-8; save the file as UTF-8",
                    reader->name, reader->line, column, (unsigned)(unsigned char)*at);
  }
  if ((code < 0x20 && code != '\t') || (code >= 0x7f && code < 0xa0)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d, column %d: control character U+%04X; only text belongs here",
                    reader->name, reader->line, column, (unsigned)code);
  }
  return CLATTN_OK;
}

/* The next word of the line from *at to end, past it; length 0 where there is none. */
static clattn_status next_piece(const struct reader *reader, const char **at, const char *end, int *column, struct piece *piece,
                                clattn_error *error) {
  *piece = (struct piece){*at, 0, *column};
  while (*at < end) {
    uint32_t code = 0;
    const size_t length = character(*at, end, &code);
    const clattn_status status = check_character(reader, *at, length, code, *column, error);
    if (status != CLATTN_OK) return status;
    if (is_blank(code)) {
      if (piece->length > 0) return CLATTN_OK;
    } else {
      if (piece->length == 0) *piece = (struct piece){*at, 0, *column};
      piece->length += length;
    }
    *at += length;
    *column += 1;
  }
  return CLATTN_OK;
}

static clattn_status check_word(const struct reader *reader, const struct piece *piece, clattn_error *error) {
  if (piece->length <= TOKENS_MAX_WORD) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d, column %d: a word of %zu bytes; %d is the most", reader->name,
                  reader->line, piece->column, piece->length, (int)TOKENS_MAX_WORD);
}

/* The end of the line at text, without its LF or CRLF, and where the next one starts. */
static clattn_status cut_line(const struct reader *reader, const char *text, const char **end, const char **next,
                              clattn_error *error) {
  const char *stop = memchr(text, '\n', (size_t)(reader->end - text));
  *next = stop ? stop + 1 : reader->end;
  *end = stop ? stop : reader->end;
  if (*end > text && (*end)[-1] == '\r') *end -= 1;
  if (*end - text <= TOKENS_MAX_LINE) return CLATTN_OK;
  return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d: %zu bytes; %d is the most", reader->name, reader->line,
                  (size_t)(*end - text), (int)TOKENS_MAX_LINE);
}

/* ------------------------------------------------------------------------------------------------------------ vocabulary */

static int compare_entries(const void *a, const void *b) {
  return strcmp(((const struct entry *)a)->word, ((const struct entry *)b)->word);
}

/* The id of the word, or -1. */
static int32_t find_word(const struct reader *reader, const char *word, size_t length) {
  int low = 0, high = reader->file->word_count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const char *other = reader->sorted[middle].word;
    const int order = strncmp(other, word, length);
    if (order == 0 && other[length] == '\0') return reader->sorted[middle].id;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

/* Splits the vocabulary's line into words in file->text, which has room for the line, a terminator for each, and "[PAD]". */
static clattn_status split_vocabulary(struct reader *reader, const char *at, const char *end, clattn_error *error) {
  struct tokens_file *file = reader->file;
  char *to = file->text;
  int column = 1, count = 1;
  file->padding_id = -1;
  for (;;) {
    struct piece piece;
    clattn_status status = next_piece(reader, &at, end, &column, &piece, error);
    if (status == CLATTN_OK) status = check_word(reader, &piece, error);
    if (status != CLATTN_OK) return status;
    if (piece.length == 0) break;
    if (count > TOKENS_MAX_VOCABULARY) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d, column %d: the vocabulary has more than %d words",
                      reader->name, reader->line, piece.column, (int)TOKENS_MAX_VOCABULARY);
    }
    memcpy(to, piece.start, piece.length);
    to[piece.length] = '\0';
    if (strcmp(to, TOKENS_PADDING) == 0 && file->padding_id < 0) file->padding_id = count - 1;
    file->words[count++] = to;
    to += piece.length + 1;
  }
  if (count == 1) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line 1 has no words; it is the vocabulary, words separated by blanks",
                    reader->name);
  }
  /* The first place was kept for "[PAD]". */
  if (file->padding_id < 0) {
    memcpy(to, TOKENS_PADDING, sizeof TOKENS_PADDING);
    file->words[0] = to;
    file->padding_id = 0;
    file->word_count = count;
  } else {
    memmove(file->words, file->words + 1, (size_t)(count - 1) * sizeof *file->words);
    file->word_count = count - 1;
  }
  return CLATTN_OK;
}

static clattn_status sort_vocabulary(struct reader *reader, struct entry *sorted, clattn_error *error) {
  const struct tokens_file *file = reader->file;
  for (int i = 0; i < file->word_count; i++)
    sorted[i] = (struct entry){file->words[i], i};
  qsort(sorted, (size_t)file->word_count, sizeof *sorted, compare_entries);
  for (int i = 1; i < file->word_count; i++) {
    if (strcmp(sorted[i - 1].word, sorted[i].word) != 0) continue;
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line 1: the vocabulary has \"%s\" twice", reader->name,
                    sorted[i].word);
  }
  reader->sorted = sorted;
  return CLATTN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- sentences */

/* The words of one line as ids, at most TOKENS_MAX_LENGTH; NULL only counts them. */
static clattn_status read_sentence(const struct reader *reader, const char *at, const char *end, int32_t *ids, int *count,
                                   clattn_error *error) {
  int column = 1;
  *count = 0;
  for (;;) {
    struct piece piece;
    clattn_status status = next_piece(reader, &at, end, &column, &piece, error);
    if (status == CLATTN_OK) status = check_word(reader, &piece, error);
    if (status != CLATTN_OK || piece.length == 0) return status;
    if (*count == TOKENS_MAX_LENGTH) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d, column %d: the sentence has more than %d words",
                      reader->name, reader->line, piece.column, (int)TOKENS_MAX_LENGTH);
    }
    const int32_t id = find_word(reader, piece.start, piece.length);
    if (id < 0) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      "%s: line %d, column %d: \"%.*s\" is not in the vocabulary; add it to line 1, or correct it",
                      reader->name, reader->line, piece.column, (int)piece.length, piece.start);
    }
    if (ids) ids[*count] = id;
    *count += 1;
  }
}

/* Once over all sentences: to count them (file->ids is NULL), then to keep them. */
static clattn_status read_sentences(struct reader *reader, const char *text, clattn_error *error) {
  struct tokens_file *file = reader->file;
  int sentence = 0, longest = 0;
  for (reader->line = 2; text < reader->end; reader->line++) {
    const char *end, *next;
    int count = 0;
    clattn_status status = cut_line(reader, text, &end, &next, error);
    int32_t *ids = file->ids && sentence < file->batch ? file->ids + (size_t)sentence * (size_t)file->length : NULL;
    if (status == CLATTN_OK) status = read_sentence(reader, text, end, ids, &count, error);
    if (status != CLATTN_OK) return status;
    if (count > 0 && ++sentence > TOKENS_MAX_SENTENCES) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: line %d: more than %d sentences", reader->name, reader->line,
                      (int)TOKENS_MAX_SENTENCES);
    }
    if (count > longest) longest = count;
    text = next;
  }
  if (sentence == 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                    "%s: no sentence after the vocabulary; line 2 and those after it hold one each", reader->name);
  }
  file->batch = sentence;
  file->length = longest;
  return CLATTN_OK;
}

clattn_status ctn_tokens_parse(struct tokens_file *file, const char *name, const char *bytes, size_t length,
                               clattn_error *error) {
  struct reader reader = {.file = file, .name = name, .end = bytes + length, .line = 1};
  struct entry *sorted = NULL;
  const char *end, *next;
  memset(file, 0, sizeof *file);
  if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) bytes += 3;
  if (bytes == reader.end) return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: the file is empty", name);
  clattn_status status = cut_line(&reader, bytes, &end, &next, error);
  if (status != CLATTN_OK) return status;
  /* A word takes a byte and a blank at least, and gets a terminator; "[PAD]" may join them. */
  const size_t line = (size_t)(end - bytes);
  const size_t most = line / 2 + 3 < TOKENS_MAX_VOCABULARY + 2 ? line / 2 + 3 : TOKENS_MAX_VOCABULARY + 2;
  file->text = malloc(line + 1 + sizeof TOKENS_PADDING);
  file->words = calloc(most, sizeof *file->words);
  sorted = calloc(most, sizeof *sorted);
  if (!file->text || !file->words || !sorted) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for its vocabulary", name);
    goto cleanup;
  }
  status = split_vocabulary(&reader, bytes, end, error);
  if (status == CLATTN_OK) status = sort_vocabulary(&reader, sorted, error);
  if (status == CLATTN_OK) status = read_sentences(&reader, next, error);
  if (status != CLATTN_OK) goto cleanup;
  const size_t count = (size_t)file->batch * (size_t)file->length;
  file->ids = calloc(count, sizeof *file->ids);
  if (!file->ids) {
    status = ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory for %zu tokens", name, count);
    goto cleanup;
  }
  for (size_t i = 0; i < count; i++)
    file->ids[i] = (int32_t)file->padding_id;
  status = read_sentences(&reader, next, error);
cleanup:
  free(sorted);
  if (status != CLATTN_OK) ctn_tokens_clear(file);
  return status;
}

clattn_status ctn_tokens_read(struct tokens_file *file, const char *path, clattn_error *error) {
  clattn_status status = CLATTN_OK;
  char *bytes = malloc(TOKENS_MAX_FILE + 1);
  FILE *stream = NULL;
  memset(file, 0, sizeof *file);
  if (!bytes) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "%s: no memory to read it", path);
  stream = fopen(path, "rb");
  if (!stream) {
    status = ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be opened (%s)", path, strerror(errno));
    goto cleanup;
  }
  const size_t length = fread(bytes, 1, TOKENS_MAX_FILE + 1, stream);
  if (ferror(stream)) {
    status = ctn_fail(error, CLATTN_IO_FAILED, "%s: cannot be read (%s)", path, strerror(errno));
  } else if (length > TOKENS_MAX_FILE) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT, "%s: more than %d bytes", path, (int)TOKENS_MAX_FILE);
  } else {
    status = ctn_tokens_parse(file, path, bytes, length, error);
  }
cleanup:
  if (stream) fclose(stream);
  free(bytes);
  return status;
}

void ctn_tokens_clear(struct tokens_file *file) {
  free(file->words);
  free(file->ids);
  free(file->text);
  memset(file, 0, sizeof *file);
}
