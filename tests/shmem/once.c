/* A put stores each element once: who has seen it and has written something else there never sees it again. PE 0 puts numbers to each other PE, which
 * takes them away as they come. */
#include "osh.h"

enum { ELEMENTS = 7 };
static int rounds; /* of 2 PEs many: only where each has a processor is a second store seen often */
static long ack, cells[ELEMENTS];
static int narrow[ELEMENTS];
static short narrower[ELEMENTS];

/* Takes `number` away. The number before, which has been taken away, must not be there again. */
#define TAKE(type, cell, number)                                                                                \
    do {                                                                                                        \
        shmem_##type##_wait_until(&(cell), SHMEM_CMP_NE, 0);                                                    \
        if ((cell) != (number)) {                                                                               \
            CHECK(!"an element was stored again");                                                              \
            shmem_##type##_wait_until(&(cell), SHMEM_CMP_EQ, number);                                           \
        }                                                                                                       \
        (cell) = 0;                                                                                             \
    } while (0)

#define PLAY(type, cells, count)                                                                                \
    do {                                                                                                        \
        type source[ELEMENTS];                                                                                  \
        for (int round = 1; round <= rounds; round++) {                                          \
            for (int i = 0; i < (count); i++)                                                                   \
                source[i] = (type)round;                                                                        \
            for (int pe = 1; me == 0 && pe < n; pe++)                                                           \
                shmem_##type##_put(cells, source, count, pe);                                                   \
            for (int i = 0; me > 0 && i < (count); i++)                                                         \
                TAKE(type, cells[i], source[i]);                                                                \
            if (me > 0)                                                                                         \
                shmem_long_atomic_inc(&ack, 0);                                                                 \
            else                                                                                                \
                shmem_long_wait_until(&ack, SHMEM_CMP_EQ, (long)round * (n - 1));                               \
        }                                                                                                       \
        shmem_barrier_all();                                                                                    \
        ack = 0;                                                                                                \
        shmem_barrier_all();                                                                                    \
    } while (0)

int main(void)
{
    begin();
    rounds = n == 2 ? 10000 : 1000;
    PLAY(long, cells, 1);
    PLAY(int, narrow, 1);
    PLAY(short, narrower, 1);
    PLAY(long, cells, 3);
    PLAY(long, cells, ELEMENTS);
    PLAY(int, narrow, 3);
    return end();
}
