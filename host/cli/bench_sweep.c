/* --sweep: one size that takes several values, written as a range or a list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { LARGEST = 1 << 24 };

enum { SEQ, HEAD_DIM, BATCH, HEADS, KV_HEADS, WINDOW };
const char *const ctn_bench_axes[] = {
    [SEQ] = "seq", [HEAD_DIM] = "head-dim", [BATCH] = "batch", [HEADS] = "heads", [KV_HEADS] = "kv-heads", [WINDOW] = "window",
    NULL};

/* The number at *at, which moves past it; 0 where there is none from 1 to LARGEST. */
static long number(const char **at) {
  char *end = NULL;
  if (**at < '0' || **at > '9') return 0;
  errno = 0;
  const long value = strtol(*at, &end, 10);
  *at = end;
  return errno || value > LARGEST ? 0 : value;
}

static bool add(struct bench_sweep *sweep, long value, char *text, size_t room) {
  if (sweep->count == BENCH_VALUES) {
    snprintf(text, room, "more than %d values", (int)BENCH_VALUES);
    return false;
  }
  sweep->values[sweep->count++] = value;
  return true;
}

static bool wrong(const char *values, char *text, size_t room) {
  snprintf(text, room, "%s is no range like 128:16384 (doubling) or 100:500:100, and no list like 64,100 (of 1 to %d)", values,
           (int)LARGEST);
  return false;
}

static bool parse_range(struct bench_sweep *sweep, const char *values, char *text, size_t room) {
  const char *at = values;
  const long first = number(&at);
  if (!first || *at++ != ':') return wrong(values, text, room);
  const long last = number(&at);
  if (!last || last < first) return wrong(values, text, room);
  long step = 0;
  if (*at == ':') {
    at++;
    step = number(&at);
    if (!step) return wrong(values, text, room);
  }
  if (*at) return wrong(values, text, room);
  for (long value = first; value <= last; value = step ? value + step : 2 * value) {
    if (!add(sweep, value, text, room)) return false;
  }
  return true;
}

static bool parse_list(struct bench_sweep *sweep, const char *values, char *text, size_t room) {
  for (const char *at = values;; at++) {
    const long value = number(&at);
    if (!value || (*at && *at != ',')) return wrong(values, text, room);
    if (sweep->count && value <= sweep->values[sweep->count - 1]) {
      snprintf(text, room, "%s: the values must grow", values);
      return false;
    }
    if (!add(sweep, value, text, room)) return false;
    if (!*at) return true;
  }
}

bool ctn_bench_sweep_parse(struct bench_sweep *sweep, const char *spec, char *text, size_t room) {
  const char *equals = strchr(spec, '=');
  const size_t length = equals ? (size_t)(equals - spec) : 0;
  memset(sweep, 0, sizeof *sweep);
  for (int i = 0; ctn_bench_axes[i] && equals; i++) {
    if (strlen(ctn_bench_axes[i]) != length || strncmp(ctn_bench_axes[i], spec, length) != 0) continue;
    sweep->axis = ctn_bench_axes[i];
    sweep->axis_index = i;
  }
  if (!equals || !sweep->axis) {
    snprintf(text, room, "%s is none of seq=, head-dim=, batch=, heads=, kv-heads=, window= and values", spec);
    return false;
  }
  return strchr(equals, ':') ? parse_range(sweep, equals + 1, text, room) : parse_list(sweep, equals + 1, text, room);
}

struct bench_sizes ctn_bench_sweep_sizes(const struct bench_sweep *sweep, struct bench_sizes sizes, int index) {
  long *const sizes_of[] = {[SEQ] = &sizes.seq,     [HEAD_DIM] = &sizes.head_dim, [BATCH] = &sizes.batch,
                            [HEADS] = &sizes.heads, [KV_HEADS] = &sizes.kv_heads, [WINDOW] = &sizes.window};
  *sizes_of[sweep->axis_index] = sweep->values[index];
  return sizes;
}
