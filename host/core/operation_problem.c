/* Validates the descriptors of embedding, position, projection and merge. */
#include <math.h>

#include "checked.h"
#include "descriptor.h"
#include "half.h"

clattn_status ctn_problem_embedding(struct problem *out, const clattn_embedding *public_problem, clattn_error *error) {
  clattn_embedding in = CLATTN_EMBEDDING_INIT;
  clattn_status status = ctn_descriptor_read(&in, sizeof in, public_problem, "embedding", error);
  if (status == CLATTN_OK) status = ctn_check_storage(in.dtype, error);
  if (status == CLATTN_OK) status = ctn_check_size(in.vocabulary, "vocabulary", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.dim, "dim", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.count, "count", error);
  if (status != CLATTN_OK) return status;
  if (in.token_dtype != CLATTN_I32 && in.token_dtype != CLATTN_I64) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "token_dtype: %s (%d): use i32 or i64", ctn_dtype_name(in.token_dtype),
                    (int)in.token_dtype);
  }
  if (in.padding_id < -1 || in.padding_id >= in.vocabulary) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "padding_id: %lld is not in the table of %lld rows (-1: none)",
                    (long long)in.padding_id, (long long)in.vocabulary);
  }
  if (in.scale_given && !isfinite(in.scale)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "scale: %g is not finite", (double)in.scale);
  }
  *out = (struct problem){.operation = OP_EMBEDDING};
  out->as.embedding = (struct embedding){
      .dtype = in.dtype,
      .token_dtype = in.token_dtype,
      .vocabulary = in.vocabulary,
      .dim = in.dim,
      .count = in.count,
      .padding_id = in.padding_id,
      .scale = in.scale_given ? in.scale : (float)sqrt((double)in.dim),
  };
  const int64_t table[2] = {in.vocabulary, in.dim}, result[2] = {in.count, in.dim};
  status = ctn_tensor_dense(out, T_TOKENS, ctn_dtype_size(in.token_dtype), &in.count, 1, error);
  if (status == CLATTN_OK) status = ctn_tensor_dense(out, T_TABLE, ctn_dtype_size(in.dtype), table, 2, error);
  if (status == CLATTN_OK) status = ctn_tensor_dense(out, T_OUT, ctn_dtype_size(in.dtype), result, 2, error);
  return status;
}

clattn_status ctn_problem_position(struct problem *out, const clattn_position *public_problem, clattn_error *error) {
  clattn_position in = CLATTN_POSITION_INIT;
  clattn_status status = ctn_descriptor_read(&in, sizeof in, public_problem, "position", error);
  if (status == CLATTN_OK) status = ctn_check_storage(in.dtype, error);
  if (status == CLATTN_OK) status = ctn_check_size(in.batch, "batch", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.length, "length", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.dim, "dim", error);
  if (status != CLATTN_OK) return status;
  if (in.start < 0 || in.start >= (int64_t)1 << 40) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "start: %lld is not in [0, 2^40)", (long long)in.start);
  }
  if (!(isfinite(in.base) && in.base > 1)) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "base: %g is not a finite number over 1", in.base);
  }
  *out = (struct problem){.operation = OP_POSITION};
  out->as.position = (struct position){
      .dtype = in.dtype,
      .batch = in.batch,
      .length = in.length,
      .dim = in.dim,
      .start = in.start,
      .has_x = in.has_x != 0,
      .base = in.base,
  };
  const int64_t shape[3] = {in.batch, in.length, in.dim};
  if (in.has_x) status = ctn_tensor_dense(out, T_X, ctn_dtype_size(in.dtype), shape, 3, error);
  if (status == CLATTN_OK) status = ctn_tensor_dense(out, T_OUT, ctn_dtype_size(in.dtype), shape, 3, error);
  return status;
}

clattn_status ctn_problem_projection(struct problem *out, const clattn_projection *public_problem, clattn_error *error) {
  clattn_projection in = CLATTN_PROJECTION_INIT;
  clattn_status status = ctn_descriptor_read(&in, sizeof in, public_problem, "projection", error);
  if (status == CLATTN_OK) status = ctn_check_storage(in.dtype, error);
  if (status == CLATTN_OK) status = ctn_check_size(in.batch, "batch", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.length, "length", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.in_features, "in_features", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.heads, "heads", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.head_dim, "head_dim", error);
  int64_t features = 0, x_image = 0, out_image = 0;
  if (status == CLATTN_OK) {
    if (!ctn_mul(in.heads, in.head_dim, &features)) features = INT64_MAX;
    status = ctn_check_size(features, "heads * head_dim", error);
  }
  if (status != CLATTN_OK) return status;
  if (!ctn_mul(in.length, in.in_features, &x_image) || !ctn_mul(in.length, features, &out_image)) {
    return ctn_fail(error, CLATTN_TOO_LARGE, "projection: the product of its dimensions overflows");
  }
  *out = (struct problem){.operation = OP_PROJECTION};
  struct projection *p = &out->as.projection;
  *p = (struct projection){
      .dtype = in.dtype,
      .batch = in.batch,
      .length = in.length,
      .in_features = in.in_features,
      .heads = in.heads,
      .head_dim = in.head_dim,
      .has_bias = in.has_bias != 0,
  };
  const size_t element = ctn_dtype_size(in.dtype);
  const int64_t weight[2] = {features, in.in_features};
  const struct extent x = {T_X, in.batch, 1, in.length, in.in_features};
  const struct extent y = {T_OUT, in.batch, in.heads, in.length, in.head_dim};
  status = ctn_layout_resolve(out, &p->x, &in.x, (struct layout){x_image, 0, in.in_features}, &x, error);
  if (status == CLATTN_OK) {
    status = ctn_layout_resolve(out, &p->out, &in.out, (struct layout){out_image, in.head_dim, features}, &y, error);
  }
  if (status == CLATTN_OK) status = ctn_tensor_dense(out, T_WEIGHT, element, weight, 2, error);
  if (status == CLATTN_OK && in.has_bias) status = ctn_tensor_dense(out, T_BIAS, element, &features, 1, error);
  return status;
}

clattn_status ctn_problem_merge(struct problem *out, const clattn_merge *public_problem, clattn_error *error) {
  clattn_merge in = CLATTN_MERGE_INIT;
  clattn_status status = ctn_descriptor_read(&in, sizeof in, public_problem, "merge", error);
  if (status == CLATTN_OK && in.part_dtype == CLATTN_NONE) in.part_dtype = in.dtype;
  if (status == CLATTN_OK) status = ctn_check_storage(in.dtype, error);
  if (status == CLATTN_OK) status = ctn_check_storage(in.part_dtype, error);
  if (status == CLATTN_OK) status = ctn_check_size(in.parts, "parts", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.batch, "batch", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.heads, "heads", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.rows, "rows", error);
  if (status == CLATTN_OK) status = ctn_check_size(in.head_dim_v, "head_dim_v", error);
  if (status != CLATTN_OK) return status;
  if (in.outputs == 0 || (in.outputs & ~(uint32_t)(CLATTN_OUTPUT_OUT | CLATTN_OUTPUT_LSE)) != 0) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "outputs: 0x%x: a merge gives out, lse, or both", (unsigned)in.outputs);
  }
  const int64_t rows[4] = {in.batch, in.heads, in.rows, in.head_dim_v};
  const int64_t parts[5] = {in.parts, in.batch, in.heads, in.rows, in.head_dim_v};
  int64_t count = 0;
  if (!ctn_product(rows, 3, &count)) return ctn_fail(error, CLATTN_TOO_LARGE, "merge: the product of its dimensions overflows");
  *out = (struct problem){.operation = OP_MERGE};
  out->as.merge = (struct merge){in.dtype, in.part_dtype, in.parts, count, in.head_dim_v};
  status = ctn_tensor_dense(out, T_PART_LSE, sizeof(float), parts, 4, error);
  if (status == CLATTN_OK && (in.outputs & CLATTN_OUTPUT_OUT)) {
    status = ctn_tensor_dense(out, T_PART_OUT, ctn_dtype_size(in.part_dtype), parts, 5, error);
    if (status == CLATTN_OK) status = ctn_tensor_dense(out, T_OUT, ctn_dtype_size(in.dtype), rows, 4, error);
  }
  if (status == CLATTN_OK && (in.outputs & CLATTN_OUTPUT_LSE)) {
    status = ctn_tensor_dense(out, T_LSE, sizeof(float), rows, 3, error);
  }
  return status;
}
