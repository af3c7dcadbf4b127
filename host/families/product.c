/* Choosing a matrix product for a device. */
#include "product.h"

#include "checked.h"
#include "loops.h"
#include "parameters.h"
#include "tuned_sizes.h"

/* As the kernels' defaults: PATCH and DEPTH of common/product_tile.clh, ROWS of common/product_vector.clh. */
enum {
  PATCH = 4,
  DEPTH = 16,
  PATCH_TERMS = PATCH * DEPTH,
  VECTOR_ROWS = 96,
  VECTOR_LOCAL_MEMORY = 96 * 1024,
  VECTOR_MINIMUM_WIDTH = 8
};

/* Vector kernels suit devices whose work-items are not vectorised for them: those that report wide native vectors. A GPU-style
 * device that is of type CPU (llvmpipe) reports 1 and takes tiles. One work-item does much there, and nobody counts its turns.
 */
bool ctn_wide_vectors(const struct request *request) {
  const bool wanted =
      request->runtime->device.info.native_float_width >= VECTOR_MINIMUM_WIDTH || request->options.vector_width != 0;
  return wanted && ctn_loop_limit(request->runtime, INT64_MAX) == INT64_MAX;
}

bool ctn_refuse_vectors(const struct request *request, struct text *reason) {
  if (request->options.vector_width == 0 || ctn_wide_vectors(request)) return false;
  ctn_text_printf(reason,
                  "a vector width was asked for, whose kernels have long loops, and the device ends loops after %lld turns",
                  (long long)ctn_loop_limit(request->runtime, INT64_MAX));
  return true;
}

long ctn_vector_width(const struct request *request) {
  if (request->options.vector_width != 0) return request->options.vector_width;
  return request->runtime->device.info.native_float_width < 16 ? 8 : 16;
}

enum product_kind ctn_product_kind(const struct request *request) {
  const clattn_device_info *info = &request->runtime->device.info;
  if (request->options.product == CLATTN_PRODUCT_CLBLAST) return PRODUCT_CLBLAST;
  if (request->options.product == CLATTN_PRODUCT_AUTO && info->type == CLATTN_DEVICE_GPU) return PRODUCT_CLBLAST;
  return ctn_wide_vectors(request) && info->local_memory >= VECTOR_LOCAL_MEMORY ? PRODUCT_VECTOR : PRODUCT_TILE;
}

enum product_kind ctn_product_possible(const struct request *request,
                                       bool (*refuse_clblast)(const struct request *request, struct text *reason)) {
  const enum product_kind kind = ctn_product_kind(request);
  if (kind != PRODUCT_CLBLAST || request->options.product == CLATTN_PRODUCT_CLBLAST) return kind;
  struct text ignored = {0};
  const bool refused = refuse_clblast(request, &ignored);
  ctn_text_free(&ignored);
  if (!refused) return kind;
  struct request own = *request;
  own.options.product = CLATTN_PRODUCT_OWN;
  return ctn_product_kind(&own);
}

/* kernels/common/product_vector.clh: ROW_BLOCK is 6 or 8, projection_vector.cl has two panels of columns at VEC 8. */
static const char *vector_fault(const struct tuning_entry *entry, const struct request *request) {
  const bool projection = request->problem->operation == OP_PROJECTION;
  const long rows = ctn_tuning_value(entry, "ROWS", projection ? 384 : VECTOR_ROWS);
  const long depth = ctn_tuning_value(entry, "DEPTH", 256);
  if (rows < 24 || rows > 1536 || rows % 24 != 0) return "ROWS is a multiple of 24 from 24 to 1536";
  if (depth < 16 || depth > 512) return "DEPTH is 16 to 512";
  const uint64_t bytes = (uint64_t)(128 * (depth + rows) + 32 * depth);
  return bytes > request->runtime->device.info.local_memory ? "ROWS and DEPTH need more local memory than the device has"
                                                            : NULL;
}

/* kernels/common/product_tile.clh: two tiles of DEPTH terms in local memory. */
static const char *tile_fault(const struct tuning_entry *entry, const struct request *request) {
  const clattn_device_info *info = &request->runtime->device.info;
  const long side = ctn_tuning_value(entry, "SIDE", 8);
  if (side != 2 && side != 4 && side != 8 && side != 16) return "SIDE is 2, 4, 8 or 16";
  if ((uint64_t)(side * side) > info->max_work_group)
    return "SIDE * SIDE work-items are more than the device's work-groups have";
  const uint64_t bytes = (uint64_t)(side * PATCH + 1) * (sizeof(float) * 2 * DEPTH) + 1024;
  return bytes > info->local_memory ? "SIDE needs more local memory than the device has" : NULL;
}

struct product ctn_product_choose(const struct request *request, enum product_kind kind) {
  const clattn_device_info *info = &request->runtime->device.info;
  struct product product = {.kind = kind, .local = {1, 1, 1}, .side = 1, .vector = 16};
  if (kind == PRODUCT_VECTOR) {
    product.vector = ctn_vector_width(request);
    const bool projection = request->problem->operation == OP_PROJECTION;
    product.tuned = ctn_tuned(request, projection ? "projection_vector" : "product_vector", vector_fault);
    product.rows = ctn_tuning_value(product.tuned, "ROWS", VECTOR_ROWS);
    product.columns = 2 * product.vector;
  } else if (kind == PRODUCT_TILE) {
    product.tuned = ctn_tuned(request, "product_tile", tile_fault);
    product.side = ctn_tuning_value(product.tuned, "SIDE", 8);
    while (product.side > 1 && (uint64_t)(product.side * product.side) > info->max_work_group)
      product.side /= 2;
    product.rows = product.columns = product.side * PATCH;
    product.local[0] = product.local[1] = (size_t)product.side;
  }
  return product;
}

/* kernels/common/product_tile.clh: for each DEPTH terms two loads of a tile, the terms, the loop itself; each loop's end is a
 * turn. The rest is the loops over a patch when it is stored. CLBlast gets few terms at a time (gemm.c). */
int64_t ctn_product_turns(const struct product *product, int64_t terms) {
  if (product->kind != PRODUCT_TILE) return 0;
  const int64_t load = PATCH_TERMS / product->side + 1;
  return ctn_ceil_div(terms, DEPTH) * (2 * load + DEPTH + 2) + 64;
}

void ctn_product_define(const struct product *product, clattn_dtype dtype, struct specialisation *spec) {
  ctn_define(spec, "DTYPE", ctn_dtype_macro(dtype));
  if (product->kind == PRODUCT_VECTOR) {
    ctn_define(spec, "VEC", product->vector);
    const long rows = ctn_tuning_value(product->tuned, "ROWS", 0), depth = ctn_tuning_value(product->tuned, "DEPTH", 0);
    if (rows != 0) ctn_define(spec, "ROWS", rows);
    if (depth != 0) ctn_define(spec, "DEPTH", depth);
  } else {
    ctn_define(spec, "SIDE", product->side);
  }
}

void ctn_product_describe(const struct product *product, struct text *text) {
  if (product->kind == PRODUCT_CLBLAST) {
    ctn_text_printf(text, "CLBlast");
  } else if (product->kind == PRODUCT_VECTOR) {
    ctn_text_printf(text, "own kernel, blocks of %lld rows x %lld columns, vectors of %ld", (long long)product->rows,
                    (long long)product->columns, product->vector);
  } else {
    ctn_text_printf(text, "own kernel, tiles of %lld x %lld, %ld x %ld work-items", (long long)product->rows,
                    (long long)product->columns, product->side, product->side);
  }
}
