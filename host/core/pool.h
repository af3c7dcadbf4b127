/* A small pthread pool that runs independent pieces of one job at a time. */
#ifndef CTN_POOL_H
#define CTN_POOL_H

#include <stdint.h>

#include <clattn/clattn.h>

struct pool;

/* One piece of a job. worker is 0 <= worker < ctn_pool_size and is held by one thread at a time: index scratch memory with it.
 */
typedef void (*pool_task)(void *job, int64_t piece, int worker);

/* threads 0: one a processor. The calling thread of ctn_pool_run works too, so a pool of 1 starts no thread. */
clattn_status ctn_pool_create(struct pool **out, int threads, clattn_error *error);
int ctn_pool_size(const struct pool *pool);
/* Runs task for pieces 0 to count - 1, handed out one after another to whoever is free, and returns when all are done. Callers
 * on several threads take turns; a call from inside a task runs its pieces right there, under that worker's index. */
void ctn_pool_run(struct pool *pool, int64_t count, pool_task task, void *job);
void ctn_pool_destroy(struct pool *pool);

#endif
