/* Sizes from the tuning table, for the problem of a request. */
#ifndef CTN_TUNED_SIZES_H
#define CTN_TUNED_SIZES_H

#include "family.h"

/*
 * The line in force for the request in a family of the table, or NULL. fault gives a reason where the line's values can never
 * be used on this device, or NULL: such a line is refused, which the log is told, and the next best is taken.
 */
typedef const char *(*tuned_fault)(const struct tuning_entry *entry, const struct request *request);
struct tuning_entry *ctn_tuned(const struct request *request, const char *family, tuned_fault fault);

/* Appends a line "tuned: FAMILY NAME=value ... (FILE:LINE)"; nothing where entry is NULL. */
void ctn_tuned_describe(const struct tuning_entry *entry, struct text *text);

/* For self-tests: appends what the family of kernels takes from the table for the request, and refuses all of it: false where
 * that is nothing. */
void ctn_tuned_list(const struct family *family, const struct request *request, struct text *text);
bool ctn_tuned_drop(const struct family *family, const struct request *request, const char *why);

#endif
