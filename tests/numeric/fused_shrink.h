/* Making a failing case small. */
#ifndef CTN_FUSED_SHRINK_H
#define CTN_FUSED_SHRINK_H

#include "attention.h"

/* Puts right what the sizes and options of a case ask of each other. */
void fused_repair(struct attention_case *c);

/* The smallest case found that still fails: halves sizes and drops options one by one, as long as fails() says yes; at most
 * `attempts` questions are asked. */
struct attention_case fused_shrink(struct attention_case c, bool (*fails)(const struct attention_case *c), int attempts);

#endif
