/* A string that grows by doubling. */
#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for extra more bytes and the terminator, or failed. */
static bool reserve(struct text *text, size_t extra) {
  if (text->failed) return false;
  if (extra >= SIZE_MAX / 2 - text->length) {
    text->failed = true;
    return false;
  }
  const size_t needed = text->length + extra + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity < 64 ? 64 : text->capacity;
  while (capacity < needed) {
    capacity *= 2;
  }
  char *data = realloc(text->data, capacity);
  if (data == NULL) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void ctn_text_append(struct text *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  if (length > 0) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void ctn_text_printf(struct text *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) {
    text->failed = true;
  } else if (reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

void ctn_text_free(struct text *text) {
  free(text->data);
  *text = (struct text){0};
}
