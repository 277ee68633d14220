/* Values of all lengths: written, read by all, pushed, prefetched, counted, renamed, freed. */
#include "check.h"

static unsigned char byte_of(int rank, size_t at) { return (unsigned char)(rank * 31 + at * 7 + (at >> 8)); }

static const size_t lengths[] = {0, 1, 8, 100, 4000, 4048, 4049, 5000, 70000, 1000003, 5 << 20};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

static sam_name value(int set, int which, int rank)
{
    return sam_name_of(set, (uint64_t)which << 32 | (unsigned)rank);
}

static void write_all(int set, uint64_t uses)
{
    for (int i = 0; i < LENGTHS; i++) {
        unsigned char *to = sam_value_begin(value(set, i, me), lengths[i]);
        CHECK((uintptr_t)to % 64 == 0);
        for (size_t at = 0; at < lengths[i]; at++) {
            if (to[at] != 0) {
                CHECK(!"zero at first");
                break;
            }
            to[at] = byte_of(me, at);
        }
        sam_value_end(value(set, i, me), uses);
    }
}

static int right(const unsigned char *bytes, size_t length, int rank)
{
    for (size_t at = 0; at < length; at++)
        if (bytes[at] != byte_of(rank, at))
            return 0;
    return 1;
}

static void read_all(int set)
{
    for (int i = 0; i < LENGTHS; i++)
        for (int step = 0; step < n; step++) {
            int rank = (me + step) % n;
            size_t length = 1;
            const unsigned char *bytes = sam_use(value(set, i, rank), &length);
            CHECK_EQ(length, lengths[i]);
            CHECK(right(bytes, length, rank));
            CHECK(sam_use(value(set, i, rank), NULL) == bytes); /* uses nest */
            sam_end_use(value(set, i, rank));
            sam_end_use(value(set, i, rank));
        }
}

int main(void)
{
    begin();
    write_all(1, SAM_STAYS);
    read_all(1);
    sam_counters counters;
    sam_get_counters(&counters);
    CHECK_EQ(counters.misses, (n - 1) * LENGTHS);
    read_all(1);
    sam_get_counters(&counters);
    CHECK_EQ(counters.misses, (n - 1) * LENGTHS);

    /* Counted: two uses of every rank. The writers' cache must be empty afterwards, which a finish could not tell; a
     * second write of a name that is gone is an error, and tested in wrong.c. */
    write_all(2, 2 * n);
    read_all(2);

    /* Asked for before they are written. */
    for (int i = 0; i < LENGTHS; i++)
        sam_prefetch(value(3, i, (me + 1) % n));
    sam_barrier();
    write_all(3, SAM_STAYS);
    int next = (me + 1) % n;
    for (int i = 0; i < LENGTHS; i++) {
        const unsigned char *bytes;
        while (!(bytes = sam_try_use(value(3, i, next), NULL)))
            sam_wait();
        CHECK(right(bytes, lengths[i], next));
        sam_end_use(value(3, i, next));
    }

    /* What sam_try_use has handled is no reason to wait: no message follows. */
    sam_barrier();
    if (me == 1) {
        int *nine = sam_value_begin(value(9, 0, 1), sizeof *nine);
        *nine = 9;
        sam_value_end(value(9, 0, 1), SAM_STAYS);
    }
    if (me == 0 && n > 1) {
        const int *nine;
        while (!(nine = sam_try_use(value(9, 0, 1), NULL)))
            ;
        CHECK_EQ(*nine, 9);
        sam_end_use(value(9, 0, 1));
        sam_wait();
    }
    sam_barrier();

    /* Pushed: here without having been asked for, after a barrier and a message of the same rank. */
    write_all(4, SAM_STAYS);
    for (int i = 0; i < LENGTHS; i++)
        sam_push(value(4, i, me), next);
    int *last = sam_value_begin(sam_name_of(5, me), sizeof(int));
    *last = me;
    sam_value_end(sam_name_of(5, me), 1);
    int before = (me + n - 1) % n;
    CHECK_EQ(*(const int *)sam_use(sam_name_of(5, before), NULL), before);
    sam_end_use(sam_name_of(5, before));
    sam_get_counters(&counters);
    uint64_t misses = counters.misses;
    for (int i = 0; i < LENGTHS; i++) {
        CHECK(right(sam_use(value(4, i, before), NULL), lengths[i], before));
        sam_end_use(value(4, i, before));
    }
    sam_get_counters(&counters);
    CHECK_EQ(counters.misses, misses);

    /* Renamed: each in the memory of the one before. */
    long *x = sam_value_begin(value(6, 0, me), 1000 * sizeof *x);
    for (int i = 0; i < 1000; i++)
        x[i] = me;
    sam_value_end(value(6, 0, me), 2);
    for (int step = 0; step < 20; step++) {
        const long *theirs = sam_use(value(6, step, next), NULL);
        CHECK_EQ(theirs[999], next + step);
        sam_end_use(value(6, step, next));
        size_t bytes;
        x = sam_rename(value(6, step, me), value(6, step + 1, me), &bytes);
        CHECK_EQ(bytes, 1000 * sizeof *x);
        CHECK_EQ(x[0], me + step);
        for (int i = 0; i < 1000; i++)
            x[i]++;
        sam_value_end(value(6, step + 1, me), 2);
    }
    sam_use(value(6, 20, next), NULL);
    sam_end_use(value(6, 20, next));

    /* Freed by another than who wrote it. */
    sam_barrier();
    for (int i = 0; i < LENGTHS; i++)
        sam_free(value(1, i, next));
    sam_barrier();

    /* A cache that holds almost nothing. */
    sam_set_cache(100000);
    read_all(3);
    read_all(3);
    sam_get_counters(&counters);
    CHECK(n == 1 || counters.evictions > 0);
    return end();
}
