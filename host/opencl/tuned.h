/* The lines of the tuning tables that are for a runtime's device: the user's own file, and the table inside the library. */
#ifndef CTN_TUNED_H
#define CTN_TUNED_H

#include "runtime.h"

/* Reads them into runtime->tuning; the device is known. What is wrong with the user's file goes to the log and costs the lines
 * concerned, a file that is not there is no fault. OUT_OF_MEMORY alone fails. */
clattn_status ctn_tuned_load(struct runtime *runtime, const clattn_context_options *options, clattn_error *error);

/* From now on the entry is not found any more; the log is told why, and what happens instead: the sizes that are built in. Only
 * the first time. Thread safe. */
void ctn_tuned_refuse(struct runtime *runtime, struct tuning_entry *entry, const char *why);

/* Appends "NAME=value ... (FILE:LINE)". */
void ctn_tuned_print(const struct tuning_entry *entry, struct text *text);

#endif
