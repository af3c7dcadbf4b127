/* The common part of the contenders in C: the problem, its numbers, the dialogue. */
#include "peer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Numbers from -0.5 to 0.5 that depend on their index alone, so that every contender has the same. */
static float number(uint32_t index, uint32_t stream) {
  uint32_t x = index * 2654435761u + stream * 40503u;
  x ^= x >> 16;
  x *= 0x45d9f3bu;
  x ^= x >> 16;
  return (float)(x >> 8) * 0x1p-24f - 0.5f;
}

static float *numbers(size_t count, uint32_t stream) {
  float *data = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  for (size_t i = 0; data != NULL && i < count; i++)
    data[i] = number((uint32_t)i, stream);
  return data;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void check(const struct peer_problem *p) {
  const size_t count = (size_t)(p->batch * p->heads * p->q_len * p->head_dim);
  double weighted = 0, magnitude = 0;
  for (size_t i = 0; i < count; i++) {
    weighted += (double)p->out[i] * (double)number((uint32_t)i, 9);
    magnitude += fabs((double)p->out[i]);
  }
  printf("%.9e %.9e\n", weighted, magnitude);
}

int main(int argc, char **argv) {
  struct peer_problem p = {0};
  char line[64];
  if (argc < 7) {
    fprintf(stderr, "usage: %s BATCH HEADS Q_LEN KV_LEN HEAD_DIM CAUSAL [WORD]\n", argv[0]);
    return 2;
  }
  long *const sizes[5] = {&p.batch, &p.heads, &p.q_len, &p.kv_len, &p.head_dim};
  for (int i = 0; i < 5; i++)
    *sizes[i] = strtol(argv[i + 1], NULL, 10);
  p.causal = atoi(argv[6]);
  p.word = argc > 7 ? argv[7] : "";
  const size_t rows = (size_t)(p.batch * p.heads * p.head_dim);
  p.q = numbers(rows * (size_t)p.q_len, 1);
  p.k = numbers(rows * (size_t)p.kv_len, 2);
  p.v = numbers(rows * (size_t)p.kv_len, 3);
  p.out = numbers(rows * (size_t)p.q_len, 4);
  if (p.q == NULL || p.k == NULL || p.v == NULL || p.out == NULL) {
    puts("unable no memory");
    return 1;
  }
  const char *name = peer_prepare(&p);
  if (name == NULL) return 1;
  printf("ready %s\n", name);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "run\n") == 0) {
      const double start = now();
      const int done = peer_run();
      const double seconds = now() - start;
      if (!done) return 1;
      printf("%.9e\n", seconds);
    } else if (strcmp(line, "check\n") == 0) {
      if (!peer_fetch()) return 1;
      check(&p);
    } else {
      return 2;
    }
    fflush(stdout);
  }
  return 0;
}
