/* The thread pool: workers join whichever job is open, and share its pieces through one counter. */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "status.h"

enum { MOST_THREADS = 1024 };

struct worker {
  pthread_t thread;
  struct pool *pool;
  int index; /* 1 and up: 0 is the caller of ctn_pool_run */
};

struct pool {
  pthread_mutex_t turn; /* held by the caller whose job runs */
  pthread_mutex_t lock; /* guards all that follows but next_piece */
  pthread_cond_t wake;  /* a job was opened, or stop was set */
  pthread_cond_t idle;  /* joined went back to 0 */
  struct worker *workers;
  int size;    /* workers and the caller */
  int started; /* threads that run */
  bool stop;
  bool open;         /* whether workers may join the job */
  uint64_t sequence; /* number of the job: a worker joins each one once */
  int joined;        /* workers inside the job */
  pthread_t caller;  /* who holds the turn, while open or joined */
  bool running;
  pool_task task;
  void *job;
  int64_t count;
  atomic_int_fast64_t next_piece;
};

static void work(struct pool *pool, pool_task task, void *job, int64_t count, int worker) {
  for (;;) {
    const int64_t piece = atomic_fetch_add_explicit(&pool->next_piece, 1, memory_order_relaxed);
    if (piece >= count) return;
    task(job, piece, worker);
  }
}

static void *worker_main(void *argument) {
  const struct worker *worker = argument;
  struct pool *pool = worker->pool;
  uint64_t seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (!pool->stop && !(pool->open && pool->sequence != seen)) {
      pthread_cond_wait(&pool->wake, &pool->lock);
    }
    if (pool->stop) break;
    seen = pool->sequence;
    const pool_task task = pool->task;
    void *job = pool->job;
    const int64_t count = pool->count;
    pool->joined++;
    pthread_mutex_unlock(&pool->lock);
    work(pool, task, job, count, worker->index);
    pthread_mutex_lock(&pool->lock);
    if (--pool->joined == 0) pthread_cond_signal(&pool->idle);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/* Threads of a library leave the process's signals to the threads of the program. */
static bool start_workers(struct pool *pool) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < pool->size - 1; i++) {
    pool->workers[i] = (struct worker){.pool = pool, .index = i + 1};
    if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) break;
    pool->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pool->started == pool->size - 1;
}

clattn_status ctn_pool_create(struct pool **out, int threads, clattn_error *error) {
  *out = NULL;
  if (threads < 0 || threads > MOST_THREADS) {
    return ctn_fail(error, CLATTN_INVALID_ARGUMENT, "threads: %d is not in 0 to %d (0: one a processor)", threads,
                    MOST_THREADS);
  }
  if (threads == 0) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    threads = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (int)processors;
  }
  struct pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "thread pool: no memory for %d threads", threads);
  pool->size = threads;
  atomic_init(&pool->next_piece, 0);
  pthread_mutex_init(&pool->turn, NULL);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->idle, NULL);
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  if (pool->workers == NULL || !start_workers(pool)) {
    ctn_fail(error, CLATTN_OUT_OF_MEMORY, "thread pool: only %d of %d threads could be started: ask for fewer",
             pool->started + 1, threads);
    ctn_pool_destroy(pool);
    return CLATTN_OUT_OF_MEMORY;
  }
  *out = pool;
  return CLATTN_OK;
}

int ctn_pool_size(const struct pool *pool) {
  return pool->size;
}

/* The index of the calling thread where it is inside a job of this pool already, else -1. */
static int inside(struct pool *pool) {
  const pthread_t self = pthread_self();
  int index = -1;
  pthread_mutex_lock(&pool->lock);
  if (pool->running && pthread_equal(pool->caller, self)) index = 0;
  for (int i = 0; i < pool->started && index < 0; i++) {
    if (pthread_equal(pool->workers[i].thread, self)) index = pool->workers[i].index;
  }
  pthread_mutex_unlock(&pool->lock);
  return index;
}

static void open_job(struct pool *pool, int64_t count, pool_task task, void *job) {
  atomic_store_explicit(&pool->next_piece, 0, memory_order_relaxed);
  pthread_mutex_lock(&pool->lock);
  pool->caller = pthread_self();
  pool->running = true;
  pool->task = task;
  pool->job = job;
  pool->count = count;
  pool->sequence++;
  pool->open = true;
  if (count > 1) pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
}

/* No worker joins any more; those inside finish their piece. */
static void close_job(struct pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->open = false;
  while (pool->joined > 0) {
    pthread_cond_wait(&pool->idle, &pool->lock);
  }
  pool->running = false;
  pthread_mutex_unlock(&pool->lock);
}

void ctn_pool_run(struct pool *pool, int64_t count, pool_task task, void *job) {
  if (count <= 0) return;
  const int nested = inside(pool);
  if (nested >= 0) { /* waiting for a turn would be waiting for oneself */
    for (int64_t piece = 0; piece < count; piece++) {
      task(job, piece, nested);
    }
    return;
  }
  pthread_mutex_lock(&pool->turn);
  open_job(pool, count, task, job);
  work(pool, task, job, count, 0);
  close_job(pool);
  pthread_mutex_unlock(&pool->turn);
}

void ctn_pool_destroy(struct pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 0; i < pool->started; i++) {
    pthread_join(pool->workers[i].thread, NULL);
  }
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->lock);
  pthread_mutex_destroy(&pool->turn);
  free(pool->workers);
  free(pool);
}
