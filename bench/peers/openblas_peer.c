/* OpenBLAS in three steps, as one writes it by hand: S = Q K^T, softmax of its rows, O = P V; threads over the heads. */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer.h"

enum { MOST_THREADS = 256 };

static const struct peer_problem *problem;
static int threads;
static float *scores[MOST_THREADS];
static atomic_long next_head;

static void attend(long head, float *s) {
  const long q_len = problem->q_len, kv_len = problem->kv_len, dim = problem->head_dim;
  const float *q = problem->q + head * q_len * dim, *k = problem->k + head * kv_len * dim,
              *v = problem->v + head * kv_len * dim;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)q_len, (int)kv_len, (int)dim, 1.0f / sqrtf((float)dim), q, (int)dim,
              k, (int)dim, 0.0f, s, (int)kv_len);
  for (long i = 0; i < q_len; i++) {
    float *row = s + i * kv_len, top = -INFINITY, sum = 0;
    const long end = problem->causal && i + 1 < kv_len ? i + 1 : kv_len;
    for (long j = 0; j < end; j++)
      top = row[j] > top ? row[j] : top;
    for (long j = 0; j < end; j++) {
      row[j] = expf(row[j] - top);
      sum += row[j];
    }
    const float factor = 1.0f / sum;
    for (long j = 0; j < end; j++)
      row[j] *= factor;
    for (long j = end; j < kv_len; j++)
      row[j] = 0;
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)q_len, (int)dim, (int)kv_len, 1.0f, s, (int)kv_len, v, (int)dim,
              0.0f, problem->out + head * q_len * dim, (int)dim);
}

static void *work(void *memory) {
  for (long head; (head = atomic_fetch_add(&next_head, 1)) < problem->batch * problem->heads;)
    attend(head, memory);
  return NULL;
}

const char *peer_prepare(struct peer_problem *p) {
  static char name[128];
  problem = p;
  openblas_set_num_threads(1); /* of each call */
  threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (threads > p->batch * p->heads) threads = (int)(p->batch * p->heads);
  for (int i = 0; i < threads; i++) {
    scores[i] = malloc((size_t)(p->q_len * p->kv_len) * sizeof(float));
    if (scores[i] == NULL) {
      puts("unable no memory for the scores");
      return NULL;
    }
  }
  snprintf(name, sizeof name, "three steps with OpenBLAS (%s)", openblas_get_corename());
  return name;
}

int peer_run(void) {
  pthread_t thread[MOST_THREADS];
  int started = 0;
  atomic_store(&next_head, 0);
  while (started < threads - 1 && pthread_create(&thread[started], NULL, work, scores[started]) == 0)
    started++;
  work(scores[threads - 1]);
  for (int i = 0; i < started; i++)
    pthread_join(thread[i], NULL);
  return 1;
}

int peer_fetch(void) {
  return 1;
}
