/* Filling the caller's clattn_error: the one way in which anything fails. */
#ifndef CTN_STATUS_H
#define CTN_STATUS_H

#include <clattn/clattn.h>

#if defined(__GNUC__) || defined(__clang__)
#define CTN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CTN_PRINTF(format_index, first)
#endif

/* Writes status and the formatted text (cut at the struct's size) and returns status, so that a check reads
 * `return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "q_heads: %lld is not positive", ...)`. error may be NULL. */
clattn_status ctn_fail(clattn_error *error, clattn_status status, const char *format, ...) CTN_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* It sees no other file's functions, and would go on after a failure as after CLATTN_OK. */
#define ctn_fail(error, status, ...) ((void)ctn_fail(error, status, __VA_ARGS__), (status))
#endif

/* Sets error to CLATTN_OK with an empty text. error may be NULL. */
void ctn_clear(clattn_error *error);

#endif
