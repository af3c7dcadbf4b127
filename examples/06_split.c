/* One problem over two devices: here the best one and the processor's own threads. Each gets a share by its measured speed. */
#include <stdio.h>
#include <stdlib.h>

#include <clattn/clattn_split.h>

enum { HEADS = 8, LENGTH = 256, DIM = 64, NUMBERS = HEADS * LENGTH * DIM };

int main(void) {
  static float q[NUMBERS], k[NUMBERS], v[NUMBERS], out[NUMBERS];
  for (int i = 0; i < NUMBERS; i++) {
    q[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    k[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    v[i] = 1; /* weights add up to 1, and so each result is 1 */
  }
  clattn_context *contexts[2] = {NULL, NULL};
  clattn_split *split = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context_options host = CLATTN_CONTEXT_OPTIONS_INIT;
  host.device_type = CLATTN_DEVICE_HOST;
  clattn_problem problem = CLATTN_PROBLEM_INIT;
  problem.q_heads = problem.kv_heads = HEADS;
  problem.q_len = problem.kv_len = LENGTH;
  problem.head_dim = problem.head_dim_v = DIM;
  clattn_arrays arrays = CLATTN_ARRAYS_INIT;
  arrays.q = q, arrays.k = k, arrays.v = v, arrays.out = out;

  if (clattn_context_create(&contexts[0], NULL, &error) == CLATTN_OK &&
      clattn_context_create(&contexts[1], &host, &error) == CLATTN_OK &&
      clattn_split_create(&split, contexts, 2, &problem, NULL, &error) == CLATTN_OK &&
      clattn_split_execute(split, &arrays, &error) == CLATTN_OK) {
    printf("%sfirst and last result: %.4f %.4f\n", clattn_split_describe(split), (double)out[0], (double)out[NUMBERS - 1]);
  } else {
    fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  }
  clattn_split_destroy(split);
  clattn_context_destroy(contexts[0]);
  clattn_context_destroy(contexts[1]);
  return error.status == CLATTN_OK ? 0 : 1;
}
