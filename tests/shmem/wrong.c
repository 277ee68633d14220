/* Mistakes end the job with a text that names function and numbers. The argument says which mistake. */
#include "osh.h"

static long cell;

static void misuse_handles(const char *what)
{
    shmem_ctx_t ctx;
    shmem_team_t team;
    shmem_ctx_create(0, &ctx);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    if (strcmp(what, "ctx") == 0) {
        shmem_ctx_destroy(ctx);
        shmem_ctx_long_p(ctx, &cell, 1, 0);
    }
    if (strcmp(what, "team") == 0) {
        shmem_team_destroy(team);
        shmem_team_sync(team);
    }
    if (strcmp(what, "noctx") == 0)
        shmem_ctx_long_p(SHMEM_CTX_INVALID, &cell, 1, 0);
    if (strcmp(what, "world") == 0)
        shmem_team_destroy(SHMEM_TEAM_WORLD);
    if (strcmp(what, "place_ctx") == 0)
        shmem_ctx_create(0, NULL);
    if (strcmp(what, "place_team") == 0)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, NULL);
    if (strcmp(what, "place_2d") == 0)
        shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &team, NULL, 0, NULL);
}

static void misuse_locks(const char *what, char *bytes)
{
    if (strcmp(what, "lock_twice") == 0)
        shmem_set_lock(&cell), shmem_set_lock(&cell);
    if (strcmp(what, "lock_free") == 0)
        shmem_clear_lock(&cell);
    if (strcmp(what, "lock_aligned") == 0)
        shmem_set_lock((long *)(bytes + 4));
    if (strcmp(what, "lock_other") == 0) {
        if (me == 0)
            shmem_set_lock(&cell);
        shmem_barrier_all();
        if (me == 1)
            shmem_clear_lock(&cell);
        shmem_barrier_all();
    }
}

/* Each ends behind the heap. */
static void misuse_collectives(const char *what, long *heap)
{
    const size_t many = (size_t)1 << 40;
    if (strcmp(what, "fcollect") == 0)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, &cell, many);
    if (strcmp(what, "collect") == 0)
        shmem_long_collect(SHMEM_TEAM_WORLD, heap, heap, many);
    if (strcmp(what, "alltoall") == 0)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, heap, heap, many);
    if (strcmp(what, "alltoalls") == 0)
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap, 1, many, 1);
    if (strcmp(what, "broadcast") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, heap, many, 0);
    if (strcmp(what, "reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, many);
    if (strcmp(what, "to_all") == 0)
        shmem_long_sum_to_all(heap, heap, 1 << 30, 0, 0, n, NULL, NULL);
    if (strcmp(what, "scan") == 0)
        shmem_long_sum_exscan(SHMEM_TEAM_WORLD, heap, heap, many);
    if (strcmp(what, "check_reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 9);
}

/* Results that are not symmetric; with check_ in front the source. */
static void misuse_places(const char *what, long *heap)
{
    long own[64] = {0}, *to = own;
    const long *from = heap;
    if (strncmp(what, "check_", 6) == 0)
        what += 6, to = heap, from = own;
    if (strcmp(what, "own_fcollect") == 0)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, to, from, 1);
    if (strcmp(what, "own_collect") == 0)
        shmem_long_collect(SHMEM_TEAM_WORLD, to, from, 1);
    if (strcmp(what, "own_alltoall") == 0)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, to, from, 1);
    if (strcmp(what, "own_alltoalls") == 0)
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, to, from, 1, 1, 1);
    if (strcmp(what, "own_broadcast") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, 1, 0);
    if (strcmp(what, "own_reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1);
    if (strcmp(what, "own_to_all") == 0)
        shmem_long_sum_to_all(to, (long *)from, 1, 0, 0, n, NULL, NULL);
    if (strcmp(what, "own_scan") == 0)
        shmem_long_sum_exscan(SHMEM_TEAM_WORLD, to, from, 1);
    if (strcmp(what, "own_source") == 0) /* accepted */
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, own, 1);
}

/* Null in place of memory of this PE. */
static void misuse_null(const char *what, long *heap)
{
    uint64_t *signal = (uint64_t *)heap + 8;
    if (strcmp(what, "null_put") == 0)
        shmem_putmem(heap, NULL, 24, n - 1);
    if (strcmp(what, "null_get") == 0)
        shmem_long_get_nbi(NULL, heap, 3, n - 1);
    if (strcmp(what, "null_static") == 0)
        shmem_long_get(NULL, &cell, 1, n - 1);
    if (strcmp(what, "null_iput") == 0)
        shmem_long_iput(heap, NULL, 1, 2, 3, n - 1);
    if (strcmp(what, "null_iget") == 0)
        shmem_long_iget(NULL, heap, 2, 1, 3, n - 1);
    if (strcmp(what, "null_signal") == 0)
        shmem_long_put_signal(heap, NULL, 3, signal, 1, SHMEM_SIGNAL_SET, n - 1);
    if (strcmp(what, "null_fetch") == 0)
        shmem_long_atomic_fetch_add_nbi(NULL, heap, 1, n - 1);
    if (strcmp(what, "null_swap") == 0)
        shmem_long_atomic_compare_swap_nbi(NULL, heap, 1, 1, n - 1);
    if (strcmp(what, "null_reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, NULL, 1);
    if (strcmp(what, "null_nothing") == 0) {
        shmem_putmem(heap, NULL, 0, n - 1);
        shmem_getmem(NULL, heap, 0, n - 1);
        shmem_long_iput(heap, NULL, 1, 1, 0, n - 1);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long local = 0;
    if (strcmp(what, "early") == 0)
        shmem_long_p(&cell, 1, 0);
    if (strcmp(what, "size") == 0)
        setenv("SHMEM_SYMMETRIC_SIZE", "much", 1);
    if (strncmp(what, "check", 5) == 0)
        setenv("HPVM_CHECK", "1", 1);
    begin();
    long *heap = need(64);
    char *bytes = (char *)heap;
    if (strcmp(what, "pe") == 0)
        shmem_long_p(&cell, 1, n);
    if (strcmp(what, "negative") == 0)
        shmem_long_get(&local, heap, 1, -1);
    if (strcmp(what, "stack") == 0)
        shmem_long_p(&local, 1, 0);
    if (strcmp(what, "long") == 0)
        shmem_putmem(heap, heap, (size_t)1 << 40, 0);
    if (strcmp(what, "overflow") == 0)
        shmem_put128(heap, heap, SIZE_MAX / 2, 0);
    if (strcmp(what, "aligned") == 0)
        shmem_long_atomic_add((long *)(bytes + 4), 1, 0);
    if (strcmp(what, "wait") == 0)
        shmem_long_wait_until((long *)(bytes + 4), SHMEM_CMP_EQ, 1);
    if (strcmp(what, "cmp") == 0)
        shmem_long_wait_until(heap, 9, 1);
    if (strcmp(what, "free") == 0)
        shmem_free(heap + 1);
    if (strcmp(what, "stride") == 0)
        shmem_long_iput(heap, &local, -1, 1, 2, 0);
    if (strcmp(what, "root") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, heap, 1, n);
    if (strcmp(what, "set") == 0)
        shmem_barrier(0, 0, n + 1, &cell);
    if (strcmp(what, "set_member") == 0)
        shmem_barrier(n - 1, 0, 1, &cell);
    if (strcmp(what, "check_wait") == 0)
        shmem_long_wait_until(&local, SHMEM_CMP_EQ, 0);
    if (strcmp(what, "check_signal") == 0)
        shmem_signal_wait_until((uint64_t *)&local, SHMEM_CMP_EQ, 0);
    if (strcmp(what, "check_end") == 0)
        shmem_putmem(heap, heap, 65, 0);
    if (strcmp(what, "check_freed") == 0) {
        shmem_free(heap);
        shmem_long_p(heap, 1, 0);
    }
    if (strcmp(what, "check_sizes") == 0)
        shmem_malloc((size_t)(100 + me));
    misuse_handles(what);
    misuse_locks(what, bytes);
    misuse_collectives(what, heap);
    misuse_places(what, heap);
    misuse_null(what, heap);
    return end();
}
