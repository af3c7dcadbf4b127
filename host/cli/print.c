/* What every command prints with: see print.h. */
#include "print.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct range {
  uint32_t first, last;
};

/* East Asian wide and fullwidth blocks of Unicode, ascending. */
static const struct range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                                    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},  {0xac00, 0xd7a3},
                                    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},  {0xffe0, 0xffe6},
                                    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
/* Combining marks, joiners, variation selectors; the vowels and finals that join a Hangul initial. */
static const struct range narrowest[] = {{0x0300, 0x036f}, {0x1160, 0x11ff}, {0x200b, 0x200f}, {0xfe00, 0xfe0f}};

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  }
  return false;
}

/* The character at text and its length in bytes; a byte that starts none stands for itself. */
static uint32_t decode(const unsigned char *text, size_t *length) {
  size_t more = text[0] >= 0xf0 && text[0] < 0xf8 ? 3 : text[0] >= 0xe0 && text[0] < 0xf0 ? 2 : text[0] >= 0xc2 ? 1 : 0;
  if (text[0] >= 0xf8) more = 0;
  uint32_t code = more == 3 ? text[0] & 0x07u : more == 2 ? text[0] & 0x0fu : more == 1 ? text[0] & 0x1fu : text[0];
  *length = 1;
  for (size_t i = 1; i <= more; i++) {
    if ((text[i] & 0xc0u) != 0x80) return '?';
    code = code << 6 | (text[i] & 0x3fu);
  }
  *length = more + 1;
  return code;
}

int ctn_display_width(const char *utf8) {
  int width = 0;
  const unsigned char *text = (const unsigned char *)utf8;
  while (*text) {
    size_t length;
    uint32_t code = decode(text, &length);
    if (in_ranges(code, wide, sizeof wide / sizeof *wide)) {
      width += 2;
    } else if (!in_ranges(code, narrowest, sizeof narrowest / sizeof *narrowest)) {
      width++;
    }
    text += length;
  }
  return width;
}

void ctn_print_padded(FILE *stream, const char *utf8, int width, bool right) {
  int fill = width - ctn_display_width(utf8);
  if (fill < 0) fill = 0;
  if (right)
    fprintf(stream, "%*s%s", fill, "", utf8);
  else
    fprintf(stream, "%s%*s", utf8, fill, "");
}

char *ctn_one_line(char *text) {
  for (char *at = text; *at; at++) {
    if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
  }
  return text;
}

static void print_error(const char *command, const char *format, va_list arguments, const char *end) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) {
    vsnprintf(text, (size_t)length + 1, format, arguments);
    ctn_one_line(text);
  }
  fflush(stdout);
  fprintf(stderr, "clattn%s%s: %s%s\n", command ? " " : "", command ? command : "", text ? text : "out of memory", end);
  free(text);
}

int ctn_fail_job(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_error(command, format, arguments, "");
  va_end(arguments);
  return CTN_EXIT_FAILED;
}

int ctn_fail_usage(const char *command, const char *format, ...) {
  char end[128];
  snprintf(end, sizeof end, "; see `clattn %s%s`", command ? command : "help", command ? " --help" : "");
  va_list arguments;
  va_start(arguments, format);
  print_error(command, format, arguments, end);
  va_end(arguments);
  return CTN_EXIT_USAGE;
}

int ctn_finish(const char *command, int code) {
  bool failed = ferror(stdout) != 0;
  if (fflush(stdout) != 0) failed = true;
  if (!failed || code == CTN_EXIT_USAGE) return code;
  clearerr(stdout);
  return ctn_fail_job(command, "standard output: could not be written to (full or closed); give it a place to go");
}

json_t *ctn_json_number(double value) {
  if (isnan(value)) return json_string("nan");
  if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
  return json_real(value);
}

int ctn_print_json(const char *command, json_t *value) {
  if (!value) return ctn_fail_job(command, "out of memory while the JSON was put together");
  int failed = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(value);
  putchar('\n');
  /* A stream that takes no more is told of by ctn_finish. */
  return failed && !ferror(stdout) ? ctn_fail_job(command, "the JSON could not be written") : CTN_EXIT_OK;
}
