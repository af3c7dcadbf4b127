/* One attention case through the staged path, in every way it can multiply and be called, against the reference path. */
#ifndef CTN_STAGED_CHECK_H
#define CTN_STAGED_CHECK_H

#include "attention.h"
#include "on_device.h"

/* Which products: the device's own kernels in each of their widths, CLBlast, or both. */
enum products { OWN_PRODUCTS = 1, CLBLAST_PRODUCT = 2, ALL_PRODUCTS = 3 };

/* Whether the device gets the vector kernels, whose width can be chosen, or tiles. The former runs the tests in full. */
bool staged_has_vectors(void);

/* Fails the test, with the case in full. */
void staged_check(const struct attention_case *c, enum products products);

/* The same for problems whose stage tensors are too large: only out and lse, whose
 * scores stay below `largest`. */
void staged_check_large(const struct attention_case *c, enum products products, double largest);

#endif
