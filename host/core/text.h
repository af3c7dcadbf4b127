/* A string that grows: descriptions, reasons, spliced kernel sources. */
#ifndef CTN_TEXT_H
#define CTN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "status.h"

/* Start from {0}. data is NULL until something was added, and always terminated after. failed stays true once memory ran out;
 * later additions are then ignored, so it is enough to look at the end. */
struct text {
  char *data;
  size_t length;
  size_t capacity;
  bool failed;
};

void ctn_text_append(struct text *text, const char *bytes, size_t length);
void ctn_text_printf(struct text *text, const char *format, ...) CTN_PRINTF(2, 3);
void ctn_text_free(struct text *text);

#endif
