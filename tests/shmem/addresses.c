/* The symmetric heap lies at one address on all PEs: an address that a PE finds in another PE's memory is its own, too. Where a
   PE has something at that address all PEs take another one, and where they find none in common each takes any. */
#include "osh.h"
#include <sys/mman.h>

struct node {
    struct node *next;
    long value;
};

static struct node *head; /* of each PE, in its own heap */

/* Whether all PEs have the same value. */
static int same(uintptr_t mine)
{
    uintptr_t *all = need((size_t)n * sizeof *all);
    shmem_putmem(&all[me], &mine, sizeof mine, 0);
    shmem_barrier_all();
    shmem_getmem(all, all, (size_t)n * sizeof *all, 0);
    int equal = 1;
    for (int pe = 0; pe < n; pe++)
        equal &= all[pe] == mine;
    shmem_barrier_all();
    shmem_free(all);
    return equal;
}

/* Follows the list of each PE by the pointers that lie there. */
static void follow(void)
{
    struct node *nodes = need(16 * sizeof *nodes);
    for (int i = 0; i < 16; i++) {
        int at = (i * 5 + me) % 16;
        nodes[at].next = head;
        nodes[at].value = me * 100 + i;
        head = &nodes[at];
    }
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        struct node *next, node;
        shmem_getmem(&next, &head, sizeof next, pe);
        for (int i = 15; i >= 0; i--) {
            shmem_getmem(&node, next, sizeof node, pe);
            CHECK_EQ(node.value, pe * 100 + i);
            next = node.next;
        }
        CHECK(next == NULL);
    }
    shmem_barrier_all();
    head = NULL;
    shmem_free(nodes);
}

/* Puts reach the neighbour wherever the heaps lie. */
static void ring(long value)
{
    long *cell = need(sizeof *cell);
    shmem_long_p(cell, value, (me + 1) % n);
    shmem_barrier_all();
    CHECK_EQ(*cell, value);
    shmem_free(cell);
}

/* Something of the last PE lies at the first places where the heap could lie, which are those of crates/shmem-abi/src/place.rs. */
static void take(int places)
{
    static const uintptr_t candidates[] = { 0x2a0000000000, 0x3a0000000000, 0x460000000000, 0x2000000000 };
    const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    CHECK(rank && size);
    if (!rank || !size || atoi(rank) != atoi(size) - 1)
        return;
    for (int i = 0; i < places; i++) {
        void *place = (char *)candidates[i] + 4096;
        CHECK(mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == place);
    }
}

int main(int argc, char **argv)
{
    int places = argc > 1 ? atoi(argv[1]) : 0;
    if (places)
        take(places);
    for (int round = 0; round < 3; round++) {
        begin();
        char *block = shmem_malloc(1000);
        int equal = same((uintptr_t)block);
        shmem_free(block);
        block = shmem_malloc_with_hints(100000, SHMEM_MALLOC_ATOMICS_REMOTE);
        CHECK_EQ(same((uintptr_t)block), equal);
        shmem_free(block);
        if (places < 4)
            CHECK(equal);
        if (equal)
            follow();
        ring(round);
        shmem_finalize();
    }
    begin();
    return end();
}
