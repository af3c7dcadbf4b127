/* Who multiplies matrices on a device, and in which blocks: the own kernels (tiles for GPUs, vectors for CPU devices) or
 * CLBlast. */
#ifndef CTN_PRODUCT_H
#define CTN_PRODUCT_H

#include "family.h"
#include "program.h"

enum product_kind { PRODUCT_TILE, PRODUCT_VECTOR, PRODUCT_CLBLAST };

struct product {
  enum product_kind kind;
  int64_t rows, columns;            /* of the result that one work-group computes; own kernels only */
  size_t local[3];                  /* work-group size */
  long side, vector;                /* macros SIDE and VEC */
  const struct tuning_entry *tuned; /* where its sizes come from; NULL: those built in. CLBlast's: see gemm.h */
};

/* Whether one work-item with explicit vectors suits the device, which must not end loops early, and the width to use: the
 * options', or the device's. */
bool ctn_wide_vectors(const struct request *request);
long ctn_vector_width(const struct request *request);

/* The default for the device, or what the options force. */
enum product_kind ctn_product_kind(const struct request *request);
/* The same, but the own kernels where CLBlast is the default and refuses. Forced, the family's refuse() has said no already. */
enum product_kind ctn_product_possible(const struct request *request,
                                       bool (*refuse_clblast)(const struct request *request, struct text *reason));
/* Turns that the loops of a work-item make at most over a sum of so many terms, for ctn_refuse_loops. */
int64_t ctn_product_turns(const struct product *product, int64_t terms);
/* Whether vectors are asked for that the device cannot take, because it ends loops early; then with the reason. */
bool ctn_refuse_vectors(const struct request *request, struct text *reason);
/* Sizes for the kind, from the device's capabilities: never asks for more work-items or local memory than there is. */
struct product ctn_product_choose(const struct request *request, enum product_kind kind);
/* Adds DTYPE and the product's macros. */
void ctn_product_define(const struct product *product, clattn_dtype dtype, struct specialisation *spec);
/* "32 x 32 tiles, 8 x 8 work-items" */
void ctn_product_describe(const struct product *product, struct text *text);

#endif
