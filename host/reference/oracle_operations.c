/* The float64 oracle of embedding, position, projection and merge: plain loops. */
#include <math.h>

#include "half.h"
#include "reference.h"

void ctn_oracle_embedding(const struct embedding *e, const clattn_arrays *arrays) {
  for (int64_t n = 0; n < e->count; n++) {
    const int64_t token =
        e->token_dtype == CLATTN_I32 ? ((const int32_t *)arrays->tokens)[n] : ((const int64_t *)arrays->tokens)[n];
    for (int64_t d = 0; d < e->dim; d++) {
      const double value = ctn_load_f64(e->dtype, arrays->table, token * e->dim + d) * (double)e->scale;
      ctn_store_f64(e->dtype, arrays->out, n * e->dim + d, token == e->padding_id ? 0 : value);
    }
  }
}

/* pe[pos, 2i] = sin(pos * base^(-2i/dim)), pe[pos, 2i+1] = cos(the same). long double, because the angle may be large and its
 * absolute error counts. */
static double encoding(const struct position *p, int64_t pos, int64_t column) {
  const int64_t i = column / 2;
  const long double angle = (long double)pos * powl((long double)p->base, -2.0L * (long double)i / (long double)p->dim);
  return (double)(column % 2 == 0 ? sinl(angle) : cosl(angle));
}

void ctn_oracle_position(const struct position *p, const clattn_arrays *arrays) {
  for (int64_t s = 0; s < p->length; s++) {
    for (int64_t d = 0; d < p->dim; d++) {
      const double pe = encoding(p, p->start + s, d);
      for (int64_t b = 0; b < p->batch; b++) {
        const int64_t index = (b * p->length + s) * p->dim + d;
        const double x = p->has_x ? ctn_load_f64(p->dtype, arrays->x, index) : 0;
        ctn_store_f64(p->dtype, arrays->out, index, x + pe);
      }
    }
  }
}

/* y[b, s, f] = sum_c x[b, s, c] * weight[f, c] + bias[f], feature f = h * head_dim + d. */
void ctn_oracle_projection(const struct projection *p, const clattn_arrays *arrays) {
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t s = 0; s < p->length; s++) {
      for (int64_t f = 0; f < p->heads * p->head_dim; f++) {
        const int64_t x = b * p->x.batch + s * p->x.row;
        const int64_t out = b * p->out.batch + f / p->head_dim * p->out.head + s * p->out.row + f % p->head_dim;
        double y = 0;
        for (int64_t c = 0; c < p->in_features; c++) {
          y += ctn_load_f64(p->dtype, arrays->x, x + c) * ctn_load_f64(p->dtype, arrays->weight, f * p->in_features + c);
        }
        if (p->has_bias) y += ctn_load_f64(p->dtype, arrays->bias, f);
        ctn_store_f64(p->dtype, arrays->out, out, y);
      }
    }
  }
}

/* lse = m + log sum_n exp(lse_n - m), out = sum_n exp(lse_n - m) out_n / sum; parts whose lse is -inf are not there. */
void ctn_oracle_merge(const struct merge *m, const clattn_arrays *arrays) {
  for (int64_t row = 0; row < m->rows; row++) {
    double largest = -INFINITY, sum = 0;
    bool attends = false;
    for (int64_t n = 0; n < m->parts; n++) {
      const double lse = (double)arrays->part_lse[n * m->rows + row];
      if (lse > largest) largest = lse;
      if (lse != -INFINITY) attends = true;
    }
    for (int64_t n = 0; n < m->parts; n++) {
      const double lse = (double)arrays->part_lse[n * m->rows + row];
      if (lse != -INFINITY) sum += exp(lse - largest);
    }
    if (arrays->lse != NULL) arrays->lse[row] = attends ? (float)(largest + log(sum)) : -INFINITY;
    for (int64_t d = 0; d < m->dim && arrays->out != NULL; d++) {
      double out = 0;
      for (int64_t n = 0; n < m->parts; n++) {
        const double lse = (double)arrays->part_lse[n * m->rows + row];
        if (lse == -INFINITY) continue;
        out += exp(lse - largest) / sum * ctn_load_f64(m->part_dtype, arrays->part_out, (n * m->rows + row) * m->dim + d);
      }
      ctn_store_f64(m->dtype, arrays->out, row * m->dim + d, out);
    }
  }
}
