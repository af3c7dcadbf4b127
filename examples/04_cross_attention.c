/* Cross attention: queries from a short sequence, keys and values from another one that is longer, of another width, and
 * padded; four query heads share two key/value heads. */
#include <stdio.h>

#include <clattn/clattn_layer.h>

enum { BATCH = 2, Q_LEN = 2, KV_LEN = 5, HEADS = 4, KV_HEADS = 2, HEAD_DIM = 2, D_MODEL = 8, OTHER = 6 };

/* Numbers that are easy to make again. */
static void fill(float *data, int count, float scale) {
  for (int i = 0; i < count; i++)
    data[i] = scale * (float)((i * 7 + 3) % 11 - 5);
}

int main(void) {
  static float text[BATCH * Q_LEN * D_MODEL], image[BATCH * KV_LEN * OTHER], out[BATCH * Q_LEN * D_MODEL];
  static float wq[HEADS * HEAD_DIM * D_MODEL], wk[KV_HEADS * HEAD_DIM * OTHER], wv[KV_HEADS * HEAD_DIM * OTHER];
  static float wo[D_MODEL * HEADS * HEAD_DIM], attended[BATCH * HEADS * Q_LEN * KV_LEN];
  static const int64_t lengths[BATCH] = {5, 3}; /* the second image has three parts, then padding */
  fill(text, BATCH * Q_LEN * D_MODEL, 0.2f);
  fill(image, BATCH * KV_LEN * OTHER, 0.3f);
  fill(wq, HEADS * HEAD_DIM * D_MODEL, 0.1f);
  fill(wk, KV_HEADS * HEAD_DIM * OTHER, 0.1f);
  fill(wv, KV_HEADS * HEAD_DIM * OTHER, 0.1f);
  fill(wo, D_MODEL * HEADS * HEAD_DIM, 0.1f);

  clattn_context *context = NULL;
  clattn_layer *layer = NULL;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_layer_problem problem = CLATTN_LAYER_PROBLEM_INIT;
  problem.inputs = CLATTN_LAYER_CROSS;
  problem.batch = BATCH;
  problem.q_len = Q_LEN, problem.d_model = D_MODEL;
  problem.kv_len = KV_LEN, problem.k_features = OTHER;
  problem.q_heads = HEADS, problem.kv_heads = KV_HEADS; /* head_dim is d_model / q_heads */
  problem.has_kv_len = 1;
  problem.outputs |= CLATTN_OUTPUT_WEIGHTS;
  clattn_layer_weights weights = CLATTN_LAYER_WEIGHTS_INIT;
  weights.q_weight = wq, weights.k_weight = wk, weights.v_weight = wv, weights.out_weight = wo;
  clattn_layer_arrays arrays = CLATTN_LAYER_ARRAYS_INIT;
  arrays.query = text, arrays.key = image, arrays.kv_len = lengths, arrays.out = out, arrays.weights = attended;

  if (clattn_context_create(&context, NULL, &error) == CLATTN_OK &&
      clattn_layer_create(&layer, context, &problem, &weights, NULL, &error) == CLATTN_OK &&
      clattn_layer_execute(layer, &arrays, &error) == CLATTN_OK) {
    for (int row = 0; row < BATCH * HEADS * Q_LEN; row++) {
      printf("batch %d head %d row %d attends", row / (HEADS * Q_LEN), row / Q_LEN % HEADS, row % Q_LEN);
      for (int key = 0; key < KV_LEN; key++)
        printf(" %.4f", attended[row * KV_LEN + key]);
      printf("\n");
    }
  } else {
    fprintf(stderr, "%s: %s\n", clattn_status_name(error.status), error.text);
  }
  clattn_layer_destroy(layer);
  clattn_context_destroy(context);
  return error.status == CLATTN_OK ? 0 : 1;
}
