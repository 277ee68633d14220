/* Accumulates of all types, and that none gets lost when all processes update the same elements. */
#include "arm.h"

#define LEN 3000
#define ROUNDS 10

#define ONE(type, code, factor, x)                                                             \
    do {                                                                                       \
        type *mine = there[me], source[LEN], scale = factor;                                   \
        for (int i = 0; i < LEN; i++) {                                                        \
            mine[i] = (type)1;                                                                 \
            source[i] = (type)(i % 50) + x;                                                    \
        }                                                                                      \
        ARMCI_Barrier();                                                                       \
        for (int round = 0; round < ROUNDS; round++)                                           \
            for (int process = 0; process < n; process++)                                      \
                ARMCI_Acc(code, &scale, source, there[process], sizeof source, process);       \
        ARMCI_Barrier();                                                                       \
        for (int i = 0; i < LEN; i++)                                                          \
            CHECK(mine[i] == (type)1 + (type)(ROUNDS * n) * scale * source[i]);                \
        ARMCI_Barrier();                                                                       \
    } while (0)

/* All processes add to and take from one place at a time, in pieces of a few elements. */
static void contended(void **there)
{
    double *counts = there[0], one = 1.0, ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    memset(there[me], 0, LEN * sizeof(double));
    ARMCI_Barrier();
    int count[2] = { 8, 4 }, here[1] = { 8 }, apart[1] = { 24 };
    for (int round = 0; round < 200; round++) {
        ARMCI_Acc(ARMCI_ACC_DBL, &one, ones, counts, sizeof ones, 0);
        ARMCI_AccS(ARMCI_ACC_DBL, &one, ones, here, counts, apart, count, 1, 0);
    }
    ARMCI_Barrier();
    for (int i = 0; i < 12 && me == 0; i++)
        CHECK(counts[i] == n * 200.0 * ((i < 8) + (i % 3 == 0)));
    ARMCI_Barrier();
}

/* Whole numbers may be accumulated and read and modified at the same time. */
static void mixed(void **there)
{
    long *number = there[0], add = 2, scale = 3, old, last = -1;
    int *narrow = (int *)(number + 1), few = 1, factor = 1, before;
    memset(there[me], 0, 64);
    ARMCI_Barrier();
    for (int round = 0; round < 300; round++) {
        ARMCI_Acc(ARMCI_ACC_LNG, &scale, &add, number, sizeof add, 0);
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, number, 1, 0);
        CHECK(old > last);
        last = old;
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &before, narrow, 5, 0);
        ARMCI_Acc(ARMCI_ACC_INT, &factor, &few, narrow, sizeof few, 0);
    }
    ARMCI_Barrier();
    if (me == 0) {
        CHECK_EQ(*number, n * 300L * 7);
        CHECK_EQ(*narrow, n * 300 * 6);
    }
    ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    void **there = need(LEN * sizeof(double _Complex));
    ONE(int, ARMCI_ACC_INT, 1, 0);
    ONE(int, ARMCI_ACC_INT, -3, 1);
    ONE(long, ARMCI_ACC_LNG, 1, 1);
    ONE(long, ARMCI_ACC_LNG, 7, 0);
    ONE(float, ARMCI_ACC_FLT, 1, 0);
    ONE(float, ARMCI_ACC_FLT, 0.5f, 2);
    ONE(double, ARMCI_ACC_DBL, 1, 0.25);
    ONE(double, ARMCI_ACC_DBL, -2, 0);
    ONE(float _Complex, ARMCI_ACC_CPL, 1, 2 * I);
    ONE(float _Complex, ARMCI_ACC_CPL, 2 + I, -I);
    ONE(double _Complex, ARMCI_ACC_DCP, 1, I);
    ONE(double _Complex, ARMCI_ACC_DCP, 1 - 2 * I, 3 * I);
    contended(there);
    mixed(there);
    give_back(there);
    return end();
}
