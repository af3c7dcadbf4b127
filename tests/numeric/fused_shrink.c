/* Making a failing case small: each step is one change; a step after which the case still fails is kept. */
#include "fused_shrink.h"

#include <string.h>

void fused_repair(struct attention_case *c) {
  if (c->placement == ONE_BUFFER) {
    c->kv_len = c->q_len;
    if (c->packed) c->batch = 1; /* sequences of keys and queries differ in length */
  }
  if (c->mask == CLATTN_NONE) {
    c->mask_rank = 0;
    c->mask_ones = 0;
    c->mask_missing = 0;
    c->mask_strided = false;
  }
  if (!c->window) c->left = c->right = 0;
  /* A bias of 2^61 leaves nothing of a float32 score. */
  if (c->offset == HUGE_OFFSETS) c->alibi = false;
  /* Where a weight underflows in float32 and not in float64, infinity times it is NaN for one and infinity for the other. */
  if (c->trouble == INFINITE_V && (c->alibi || c->spread > 1)) c->trouble = NAN_IN_V;
}

/* The sizes that shrink on their own. */
static int64_t *size_of(struct attention_case *c, int which) {
  int64_t *const sizes[] = {&c->q_len, &c->kv_len, &c->head_dim, &c->head_dim_v, &c->batch};
  return which < (int)(sizeof sizes / sizeof sizes[0]) ? sizes[which] : NULL;
}

/* Sizes: to 1, to half, by 1. */
static bool shrink_size(struct attention_case *c, int step) {
  int64_t *size = size_of(c, step / 3);
  const int64_t smaller[3] = {1, *size / 2, *size - 1};
  if (smaller[step % 3] < 1 || smaller[step % 3] >= *size) return false;
  *size = smaller[step % 3];
  return true;
}

static bool shrink_heads(struct attention_case *c, int step) {
  const int64_t group = c->q_heads / c->kv_heads, kv_heads = c->kv_heads;
  if (step == 0) c->kv_heads = 1;
  if (step == 1) c->kv_heads -= kv_heads > 1;
  c->q_heads = c->kv_heads * (step == 2 ? 1 : step == 3 ? (group + 1) / 2 : group);
  return c->kv_heads < kv_heads || c->q_heads < c->kv_heads * group;
}

/* One option fewer. */
static void drop(struct attention_case *c, int step) {
  switch (step) {
    case 0:
      c->trouble = NO_TROUBLE;
      break;
    case 1:
      c->dropout = 0;
      break;
    case 2:
      c->packed = false;
      break;
    case 3:
      c->placement = DENSE;
      break;
    case 4:
      c->mask = CLATTN_NONE;
      break;
    case 5:
      c->mask_strided = false;
      break;
    case 6:
      c->mask_missing = 0;
      break;
    case 7:
      c->mask_ones = 0;
      break;
    case 8:
      c->mask_rank = 4;
      break;
    case 9:
      c->softcap = 0;
      break;
    case 10:
      c->alibi = false;
      break;
    case 11:
      c->sinks = false;
      break;
    case 12:
      c->window = false;
      break;
    case 13:
      c->causal = false;
      break;
    case 14:
      c->offset = NO_OFFSET;
      break;
    case 15:
      c->kv_lens = false;
      break;
    case 16:
      c->scale = 0;
      break;
    case 17:
      c->spread = 1;
      break;
    case 18:
      c->mask = c->mask != CLATTN_NONE ? CLATTN_BOOL : CLATTN_NONE;
      break;
    case 19:
      c->rise = 0;
      break;
    default:
      c->dtype = CLATTN_F32;
      break;
  }
}

enum { DROPS = 21, SIZES = 5 * 3, HEADS = 4, STEPS = DROPS + SIZES + HEADS };

/* Whether the step changes anything. */
static bool take(struct attention_case *c, int step) {
  const struct attention_case before = *c;
  if (step < SIZES) {
    if (!shrink_size(c, step)) return false;
  } else if (step < SIZES + HEADS) {
    if (!shrink_heads(c, step - SIZES)) return false;
  } else {
    drop(c, step - SIZES - HEADS);
  }
  fused_repair(c);
  return memcmp(c, &before, sizeof before) != 0;
}

struct attention_case fused_shrink(struct attention_case c, bool (*fails)(const struct attention_case *c), int attempts) {
  /* Until no step does anything any more. */
  for (int idle = 0, step = 0; idle < STEPS && attempts > 0; step = (step + 1) % STEPS, idle++) {
    struct attention_case smaller = c;
    if (!take(&smaller, step)) continue;
    attempts--;
    if (!fails(&smaller)) continue;
    c = smaller;
    idle = -1;
    step--; /* the same once more */
  }
  return c;
}
