/*
 * One contender of scripts/peers: a program that computes one attention problem whenever it is told to, and says how long it
 * took.
 *
 *     PROGRAM BATCH HEADS Q_LEN KV_LEN HEAD_DIM CAUSAL [WORD]
 *
 * It prints "ready NAME" or "unable REASON", and then answers lines of its standard input: "run" with the seconds of one
 * execution, "check" with two sums over its last result that all contenders must agree on. peer.py is the same for contenders
 * in Python.
 */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

struct peer_problem {
  long batch, heads, q_len, kv_len, head_dim;
  int causal;       /* key j is excluded for query i where j > i */
  const char *word; /* what else the contender wants to know, or "" */
  float *q, *k, *v; /* [batch, heads, len, head_dim] */
  float *out;
};

/* Implemented by each contender: ready to run, or prints "unable ..." and returns NULL. What it returns names the contender. */
const char *peer_prepare(struct peer_problem *problem);
/* Computes the result. Whether that succeeded. */
int peer_run(void);
/* Brings the last result into out, outside the time taken. */
int peer_fetch(void);

#endif
