/* The symmetric heap: same offsets on all PEs, alignment, growth, what is not to be had, and what comes back. */
#include "osh.h"

/* All PEs must have the same distance between two allocations. */
static void same_distance(char *a, char *b)
{
    static long distance;
    distance = b - a;
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&distance, 0), distance);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        setenv("HPVM_CHECK", argv[1], 1);
    setenv("SHMEM_SYMMETRIC_SIZE", "1.5m", 1);
    begin();
    CHECK(shmem_malloc(0) == NULL);
    CHECK(shmem_malloc((size_t)-1) == NULL && shmem_malloc(2 << 20) == NULL);
    CHECK(shmem_calloc((size_t)1 << 62, 8) == NULL);
    char *whole = shmem_malloc(1536 << 10);
    CHECK(whole != NULL && shmem_malloc(1) == NULL);
    shmem_free(whole);
    shmem_free(NULL);

    char *blocks[100];
    unsigned seed = 12345;
    for (int i = 0; i < 100; i++) {
        seed = seed * 1103515245 + 12345;
        size_t len = 1 + seed / 65536 % 5000;
        blocks[i] = i % 3 ? shmem_malloc(len) : shmem_align((size_t)1 << i % 13, len);
        CHECK(blocks[i] != NULL);
        CHECK(i % 3 || ((uintptr_t)blocks[i] & (((uintptr_t)1 << i % 13) - 1)) == 0);
        memset(blocks[i], i, len);
        if (i)
            same_distance(blocks[i - 1], blocks[i]);
        if (i % 4 == 3) {
            shmem_free(blocks[i - 2]);
            blocks[i - 2] = NULL;
        }
    }
    for (int i = 0; i < 100; i++)
        if (blocks[i])
            CHECK_EQ(blocks[i][0], i);
    for (int i = 99; i >= 0; i--)
        shmem_free(blocks[i]);

    long *grows = shmem_malloc(10 * sizeof *grows);
    for (int i = 0; i < 10; i++)
        grows[i] = me * 100 + i;
    char *behind = shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    for (size_t len = 20; len < 20000; len *= 3) {
        grows = shmem_realloc(grows, len * sizeof *grows);
        CHECK(grows != NULL);
        same_distance(behind, (char *)grows);
        shmem_long_p(&grows[len - 1], me, (me + 1) % n);
        shmem_barrier_all();
        CHECK_EQ(grows[len - 1], (me + n - 1) % n);
        for (int i = 0; i < 10; i++)
            CHECK_EQ(grows[i], me * 100 + i);
    }
    CHECK(shmem_realloc(grows, 1 << 30) == NULL);
    CHECK_EQ(grows[9], me * 100 + 9);
    grows = shmem_realloc(grows, 5 * sizeof *grows);
    CHECK_EQ(grows[4], me * 100 + 4);
    CHECK(shmem_realloc(grows, 0) == NULL);
    shmem_free(behind);

    /* Everything came back, in one piece; calloc writes zeros over what was there. */
    whole = shmem_align((size_t)1 << 21, 1536 << 10);
    CHECK(whole != NULL);
    memset(whole, 0x55, 1536 << 10);
    shmem_free(whole);
    CHECK(shmem_align((size_t)1 << 30, 8) == NULL);
    whole = shmem_calloc(1536, 1 << 10);
    for (int i = 0; i < 1536 << 10; i += 511)
        CHECK_EQ(whole[i], 0);
    shmem_free(whole);
    return end();
}
