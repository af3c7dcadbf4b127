/* What every command prints with: columns that count wide characters, JSON, errors on one line, the check of standard output.
 */
#ifndef CTN_PRINT_H
#define CTN_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "status.h"

/* Exit codes of the tool. */
enum { CTN_EXIT_OK = 0, CTN_EXIT_FAILED = 1, CTN_EXIT_USAGE = 2 };

/* Columns that text takes on a terminal: East Asian wide characters (Korean among them) two, combining ones none. A byte that
 * is no UTF-8 counts one. */
int ctn_display_width(const char *utf8);

/* text filled up with spaces to width columns, on its left side where right is true; longer text is printed whole. */
void ctn_print_padded(FILE *stream, const char *utf8, int width, bool right);

/* Line breaks and control characters become spaces, in place: file names and tensor names may hold them. Returns text. */
char *ctn_one_line(char *text);

/* "clattn COMMAND: TEXT" on standard error, always one line (line breaks and control characters become spaces). command may be
 * NULL. The first returns CTN_EXIT_FAILED, for a job that failed; the second CTN_EXIT_USAGE, and points to the command's help.
 */
int ctn_fail_job(const char *command, const char *format, ...) CTN_PRINTF(2, 3);
int ctn_fail_usage(const char *command, const char *format, ...) CTN_PRINTF(2, 3);

/* The end of every command: code, or CTN_EXIT_FAILED with an error where standard output could not take what was printed. */
int ctn_finish(const char *command, int code);

/* A number, or the strings "nan", "inf", "-inf", which JSON has no numbers for. */
json_t *ctn_json_number(double value);

/* Prints value and a line break on standard output and releases it. NULL (memory ran out while it was built) is a failed job:
 * returns CTN_EXIT_OK or CTN_EXIT_FAILED. */
int ctn_print_json(const char *command, json_t *value);

#endif
