/*
 * Whether the matrix engine does what common/mma.clh says: every one of its functions that passes numbers from lane to lane, on integers that
 * leave no room for rounding (host/opencl/matrix.c knows the results).
 *
 * scores = q k^T over TERMS of 16 terms; maximum of each row; out = (257 scores) v, which takes both halves of split numbers.
 * One work-group of ITEMS. q [ROWS][16], k and v [16][16]; scores and out [ROWS][16], maximum [ROWS].
 */
#include "common/matrix.clh"

#define TERMS 14 /* the last two of k are not to be read */

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matrix_probe(const __global ushort *q, const __global ushort *k,
                                                                             const __global ushort *v, __global float *scores,
                                                                             __global float *maximum, __global float *out) {
  __local ushort __attribute__((aligned(16))) tile_k[16 * PITCH(16)];
  __local ushort __attribute__((aligned(16))) tile_v[16 * PITCH(16)];
  __local uint scratch[MMA_SCRATCH];
  const int item = (int)get_local_id(0), lane = item & (WARP - 1), quad = lane / 4, member = lane & 3;
  const int first = item / WARP * 16 + quad; /* of the two rows of this work-item; the other is 8 later */

  if (item < 64) { /* two pieces of 8 columns for each of 16 rows, for k and for v */
    const int row = (item & 31) / 2, column = (item & 1) * 8;
    if (item < 32) {
      mma_copy(tile_k + row * PITCH(16) + column, k + row * 16 + column, 2 * min(8, TERMS - column));
    } else {
      mma_copy(tile_v + row * PITCH(16) + column, v + row * 16 + column, 16);
    }
  }
  uint fragment[4], high[4], low[4];
  for (int n = 0; n < 4; n++) {
    const int place = (first + (n & 1) * 8) * 16 + member * 2 + n / 2 * 8;
    fragment[n] = q[place] | (uint)q[place + 1] << 16;
  }
  mma_copied();
  barrier(CLK_LOCAL_MEM_FENCE);

  float s[2][4], total[2][4];
  for (int n = 0; n < 8; n++) s[n / 4][n & 3] = total[n / 4][n & 3] = 0.0f;
  matrix_scores(s[0], s[1], fragment, tile_k, PITCH(16), lane, scratch);
  for (int r = 0; r < 2; r++) {
    const float largest = fmax(fmax(s[0][2 * r], s[0][2 * r + 1]), fmax(s[1][2 * r], s[1][2 * r + 1]));
    const float top = matrix_row_maximum(largest, scratch);
    if (member == 3) maximum[first + 8 * r] = top;
  }
  for (int n = 0; n < 8; n++) {
    const int place = (first + (n & 2) * 4) * 16 + n / 4 * 8 + member * 2 + (n & 1);
    scores[place] = s[n / 4][n & 3];
    s[n / 4][n & 3] *= 257.0f;
  }
  matrix_split(high, low, s[0], s[1]);
  matrix_values(total[0], total[1], high, low, tile_v, PITCH(16), lane, scratch);
  for (int n = 0; n < 8; n++) {
    out[(first + (n & 2) * 4) * 16 + n / 4 * 8 + member * 2 + (n & 1)] = total[n / 4][n & 3];
  }
}
