/* The thread pool: every piece once, one thread a worker index, turns between callers, calls from inside a task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "pool.h"

enum { PIECES = 1000, MOST_WORKERS = 8, ROUNDS = 50 };

struct job {
  struct pool *pool;
  int counts[PIECES];              /* each piece is written by one task: no atomics needed */
  atomic_int inside[MOST_WORKERS]; /* threads that hold a worker index at this moment */
  long scratch[MOST_WORKERS];      /* plain memory by worker index: a data race, were an index held twice */
  atomic_int trouble;
};

static void count_piece(void *argument, int64_t piece, int worker) {
  struct job *job = argument;
  if (worker < 0 || worker >= ctn_pool_size(job->pool)) {
    atomic_fetch_add(&job->trouble, 1);
    return;
  }
  if (atomic_fetch_add(&job->inside[worker], 1) != 0) atomic_fetch_add(&job->trouble, 1);
  job->counts[piece]++;
  job->scratch[worker]++;
  atomic_fetch_sub(&job->inside[worker], 1);
}

static void check_once(const struct job *job, int64_t count, int times) {
  long sum = 0;
  assert_int_equal(atomic_load(&job->trouble), 0);
  for (int64_t i = 0; i < PIECES; i++) {
    assert_int_equal(job->counts[i], i < count ? times : 0);
  }
  for (int i = 0; i < MOST_WORKERS; i++) {
    sum += job->scratch[i];
  }
  assert_int_equal(sum, count * times);
}

static void test_every_piece_once(void **state) {
  (void)state;
  const int64_t counts[] = {0, 1, 2, 7, PIECES};
  for (int threads = 1; threads <= MOST_WORKERS; threads++) {
    struct pool *pool = NULL;
    assert_int_equal(ctn_pool_create(&pool, threads, NULL), CLATTN_OK);
    assert_int_equal(ctn_pool_size(pool), threads);
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
      struct job job = {.pool = pool};
      ctn_pool_run(pool, counts[n], count_piece, &job);
      check_once(&job, counts[n], 1);
    }
    ctn_pool_destroy(pool);
  }
}

static void test_many_short_jobs(void **state) {
  (void)state;
  struct pool *pool = NULL;
  struct job job = {0};
  assert_int_equal(ctn_pool_create(&pool, 3, NULL), CLATTN_OK);
  job.pool = pool;
  for (int i = 0; i < 1000; i++) {
    ctn_pool_run(pool, 3, count_piece, &job);
  }
  ctn_pool_destroy(pool);
  check_once(&job, 3, 1000);
}

static void *run_rounds(void *argument) {
  struct job *job = argument;
  for (int i = 0; i < ROUNDS; i++) {
    ctn_pool_run(job->pool, PIECES, count_piece, job);
  }
  return NULL;
}

static void test_callers_take_turns(void **state) {
  (void)state;
  struct pool *pool = NULL;
  static struct job jobs[2];
  pthread_t threads[2];
  memset(jobs, 0, sizeof jobs);
  assert_int_equal(ctn_pool_create(&pool, 4, NULL), CLATTN_OK);
  for (int i = 0; i < 2; i++) {
    jobs[i].pool = pool;
    assert_int_equal(pthread_create(&threads[i], NULL, run_rounds, &jobs[i]), 0);
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  ctn_pool_destroy(pool);
  check_once(&jobs[0], PIECES, ROUNDS);
  check_once(&jobs[1], PIECES, ROUNDS);
}

struct nested {
  struct pool *pool;
  atomic_int sum;
  atomic_int trouble;
};

struct inner {
  struct nested *outer;
  int worker;
};

static void inner_piece(void *argument, int64_t piece, int worker) {
  struct inner *inner = argument;
  if (worker != inner->worker) atomic_fetch_add(&inner->outer->trouble, 1);
  atomic_fetch_add(&inner->outer->sum, (int)piece + 1);
}

static void outer_piece(void *argument, int64_t piece, int worker) {
  struct inner inner = {argument, worker};
  (void)piece;
  ctn_pool_run(inner.outer->pool, 4, inner_piece, &inner);
}

static void *run_nested(void *argument) {
  struct nested *nested = argument;
  for (int i = 0; i < ROUNDS; i++) {
    ctn_pool_run(nested->pool, 20, outer_piece, nested);
  }
  return NULL;
}

/* From two threads at once: 20 pieces, each of them 1 + 2 + 3 + 4. */
static void test_nesting(void **state) {
  (void)state;
  struct pool *pool = NULL;
  struct nested nested[2];
  pthread_t threads[2];
  memset(nested, 0, sizeof nested);
  assert_int_equal(ctn_pool_create(&pool, 3, NULL), CLATTN_OK);
  for (int i = 0; i < 2; i++) {
    nested[i].pool = pool;
    assert_int_equal(pthread_create(&threads[i], NULL, run_nested, &nested[i]), 0);
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&nested[i].sum), ROUNDS * 200);
    assert_int_equal(atomic_load(&nested[i].trouble), 0);
  }
  ctn_pool_destroy(pool);
}

static void test_sizes(void **state) {
  (void)state;
  clattn_error error = CLATTN_ERROR_INIT;
  struct pool *pool = NULL;
  assert_int_equal(ctn_pool_create(&pool, 0, &error), CLATTN_OK);
  assert_in_range(ctn_pool_size(pool), 1, 1024);
  ctn_pool_destroy(pool);
  assert_int_equal(ctn_pool_create(&pool, -1, &error), CLATTN_INVALID_ARGUMENT);
  assert_null(pool);
  assert_non_null(strstr(error.text, "threads: -1"));
  ctn_pool_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_piece_once),
      cmocka_unit_test(test_many_short_jobs),
      cmocka_unit_test(test_callers_take_turns),
      cmocka_unit_test(test_nesting),
      cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
