/* SHMEM_THREAD_MULTIPLE: threads put, update and wait at the same time, each on its own context. */
#include "osh.h"
#include <pthread.h>

#define THREADS 4
#define ROUNDS 200

static long sum, static_cells[THREADS];
static long *heap;

static void *work(void *argument)
{
    long t = (long)argument;
    int right = (me + 1) % n;
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
    for (long i = 1; i <= ROUNDS; i++) {
        shmem_atomic_add(ctx, &sum, 1, 0);
        shmem_ctx_long_p(ctx, &static_cells[t], i, right);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_atomic_set(ctx, &heap[t], i, right);
        shmem_long_wait_until(&heap[t], SHMEM_CMP_GE, i);
        CHECK(shmem_long_g(&static_cells[t], me) >= i);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void)
{
    int provided = -1, again = -1;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
    shmem_query_thread(&again);
    CHECK_EQ(again, provided);
    me = shmem_my_pe();
    n = shmem_n_pes();
    heap = need(THREADS * sizeof *heap);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&sum, 0), (long)THREADS * ROUNDS * n);
    return end();
}
