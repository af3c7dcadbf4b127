/* One attention case through the fused path, in each of the device's ways, against the reference path. */
#ifndef CTN_FUSED_CHECK_H
#define CTN_FUSED_CHECK_H

#include "attention.h"
#include "on_device.h"

enum { CHECK_TEXT = 400 };

/* Whether the device gets the vector kernel, in two widths, or the tile kernel. The former takes more cases in the same time.
 */
bool fused_has_vectors(void);

/* True, or false with what is wrong in text: the way, the result, and how far off. widths: vector widths to try (16, 8, or 0
 * for none) where the device has vectors. */
bool fused_agrees(const struct attention_case *c, const int widths[2], char text[CHECK_TEXT]);
/* In both widths; fails the test, with the case in full. */
void fused_check(const struct attention_case *c);

/* The case with the reference path's results, the stages among them, which tell how large the scores are. */
void fused_reference(struct setup *want, const struct attention_case *c);

/* The case's data with the reference path's results, as a case file for `clattn verify`; the layouts become dense. */
void fused_write_case(const struct attention_case *c, const char *path);

#endif
