/* Choosing a matrix product for a device. */
#include "product.h"

#include "checked.h"
#include "loops.h"
#include "parameters.h"

/* As the kernels' defaults: PATCH and DEPTH of common/product_tile.clh, ROWS of common/product_vector.clh. */
enum { PATCH = 4, DEPTH = 16, VECTOR_ROWS = 96, VECTOR_LOCAL_MEMORY = 96 * 1024, VECTOR_MINIMUM_WIDTH = 8 };

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

struct product ctn_product_choose(const struct request *request, enum product_kind kind) {
  const clattn_device_info *info = &request->runtime->device.info;
  struct product product = {.kind = kind, .local = {1, 1, 1}, .side = 1, .vector = 16};
  if (kind == PRODUCT_VECTOR) {
    product.vector = ctn_vector_width(request);
    product.rows = VECTOR_ROWS;
    product.columns = 2 * product.vector;
  } else {
    product.side = 8;
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
  const int64_t load = PATCH * DEPTH / product->side + 1;
  return ctn_ceil_div(terms, DEPTH) * (2 * load + DEPTH + 2) + 64;
}

void ctn_product_define(const struct product *product, clattn_dtype dtype, struct specialisation *spec) {
  ctn_define(spec, "DTYPE", ctn_dtype_macro(dtype));
  if (product->kind == PRODUCT_VECTOR) {
    ctn_define(spec, "VEC", product->vector);
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
