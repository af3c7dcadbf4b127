/* A multi-head attention layer with the weights of a checkpoint, or with weights of its own: 03_multi_head_layer [FILE PREFIX
 * HEADS]
 *
 * Without arguments it builds a causal layer of two heads from packed weights, as PyTorch's nn.MultiheadAttention stores them.
 */
#include <stdio.h>
#include <stdlib.h>

#include <clattn/clattn_layer.h>

enum { ROWS = 4, FEATURES = 6 };

/* Some weights: a diagonal with a little beside it. */
static void fill(float *weight, int rows) {
  for (int row = 0; row < rows; row++) {
    for (int column = 0; column < FEATURES; column++)
      weight[row * FEATURES + column] = row % FEATURES == column ? 1.0f : 0.1f * (float)((row + 2 * column) % 3 - 1);
  }
}

int main(int argc, char **argv) {
  static float in_weight[3 * FEATURES * FEATURES], in_bias[3 * FEATURES], out_weight[FEATURES * FEATURES];
  clattn_context *context = NULL;
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  float *x = NULL, *y = NULL, *attended = NULL;

  clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
  problem.q_len = ROWS;
  problem.causal = 1;
  problem.outputs |= CLATTN_OUTPUT_WEIGHTS;
  clattn_status status = clattn_context_create(&context, NULL, &error);
  if (status == CLATTN_OK && argc == 4) {
    problem.dtype = CLATTN_F32; /* whatever the file has */
    problem.q_heads = strtol(argv[3], NULL, 10);
    status = clattn_layer_load(&layer, context, &problem, argv[1], argv[2], NULL, &error);
  } else if (status == CLATTN_OK) {
    problem.q_heads = 2;
    problem.d_model = FEATURES;
    fill(in_weight, 3 * FEATURES);
    fill(out_weight, FEATURES);
    clattn_layer_weights weights = CLATTN_LAYER_WEIGHTS_INIT;
    weights.in_weight = in_weight, weights.in_bias = in_bias, weights.out_weight = out_weight;
    status = clattn_layer_create(&layer, context, &problem, &weights, NULL, &error);
  }
  if (status != CLATTN_OK) goto done;

  /* Sizes that the checkpoint decided are filled in. */
  const clattn_layer_problem *sizes = clattn_layer_get_problem(layer);
  x = calloc((size_t)(ROWS * sizes->d_model), sizeof *x);
  y = calloc((size_t)(ROWS * sizes->out_features), sizeof *y);
  attended = calloc((size_t)(sizes->q_heads * ROWS * ROWS), sizeof *attended);
  if (x == NULL || y == NULL || attended == NULL) goto done;
  for (int row = 0; row < ROWS; row++)
    x[row * sizes->d_model + row % sizes->d_model] = 1.0f;
  clattn_layer_arrays arrays = CLATTN_LAYER_ARRAYS_INIT;
  arrays.query = x, arrays.out = y, arrays.weights = attended;
  status = clattn_layer_execute(layer, &arrays, &error);
  if (status != CLATTN_OK) goto done;

  printf("%s", clattn_layer_describe(layer));
  for (int row = 0; row < ROWS; row++) {
    printf("row %d attends", row);
    for (int key = 0; key < ROWS; key++)
      printf(" %.4f", attended[row * ROWS + key]);
    printf(" and gives %.4f %.4f ...\n", y[row * sizes->out_features], y[row * sizes->out_features + 1]);
  }

done:
  if (status != CLATTN_OK) fprintf(stderr, "%s: %s\n", clattn_status_name(status), error.text);
  free(attended);
  free(y);
  free(x);
  clattn_layer_destroy(layer);
  clattn_context_destroy(context);
  return status == CLATTN_OK ? 0 : 1;
}
