/* Operations that are not waited for: handles, aggregate handles, none at all. */
#include "arm.h"

#define PARTS 40
#define LEN 500

static void fill(long *source, int round)
{
    for (int i = 0; i < PARTS * LEN; i++)
        source[i] = me * 1000000L + round * 100000 + i;
}

static void compare(const long *found, int process, int round)
{
    for (int i = 0; i < PARTS * LEN; i++)
        CHECK_EQ(found[i], process * 1000000L + round * 100000 + i);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    long **there = (long **)need(PARTS * LEN * sizeof(long));
    long *source = malloc(PARTS * LEN * sizeof *source), *back = calloc(PARTS * LEN, sizeof *back);
    int right = (me + 1) % n, left = (me + n - 1) % n, bytes = LEN * (int)sizeof(long);
    armci_hdl_t handles[PARTS], all;
    for (int round = 0; round < 4; round++) {
        fill(source, round);
        if (round == 2)
            ARMCI_SET_AGGREGATE_HANDLE(&all);
        for (int i = 0; i < PARTS; i++) {
            ARMCI_INIT_HANDLE(&handles[i]);
            armci_hdl_t *handle = round == 0 ? &handles[i] : round == 1 ? NULL : &all;
            if (round == 3) /* one after the other */
                ARMCI_INIT_HANDLE(&all);
            ARMCI_NbPut(source + i * LEN, there[right] + i * LEN, bytes, right, handle);
            if (round == 3)
                ARMCI_Wait(&all);
        }
        for (int i = 0; i < PARTS && round == 0; i++)
            CHECK_EQ(ARMCI_Wait(&handles[i]), 0);
        if (round == 1)
            ARMCI_WaitProc(right);
        if (round == 2) {
            ARMCI_Wait(&all);
            ARMCI_UNSET_AGGREGATE_HANDLE(&all);
        }
        ARMCI_Barrier();
        compare(there[me], left, round);
        ARMCI_Barrier();
        int count[2] = { bytes / 2, 2 }, stride[1] = { bytes / 2 }, apart[1] = { bytes / 2 };
        for (int i = 0; i < PARTS; i++) {
            ARMCI_INIT_HANDLE(&handles[i]);
            if (i % 2)
                ARMCI_NbGet(there[right] + i * LEN, back + i * LEN, bytes, right, &handles[i]);
            else
                ARMCI_NbGetS(there[right] + i * LEN, stride, back + i * LEN, apart, count, 1, right, &handles[i]);
        }
        for (int i = PARTS - 1; i >= 0 && round != 1; i--)
            CHECK_EQ(round ? ARMCI_Wait(&handles[i]) : ARMCI_Test(&handles[i]), 0);
        if (round == 1)
            ARMCI_WaitAll();
        compare(back, me, round);
        ARMCI_Barrier();
    }

    /* Accumulates, with a factor and without, one handle for several processes. */
    memset(there[me], 0, PARTS * LEN * sizeof(long));
    ARMCI_Barrier();
    long scales[2] = { 1, 3 };
    ARMCI_SET_AGGREGATE_HANDLE(&all);
    for (int process = 0; process < n; process++)
        for (int i = 0; i < 2; i++)
            ARMCI_NbAcc(ARMCI_ACC_LNG, &scales[i], source, there[process], bytes, process, &all);
    ARMCI_Wait(&all);
    ARMCI_Barrier();
    for (int i = 0; i < LEN; i++) {
        long sum = 0;
        for (int process = 0; process < n; process++)
            sum += 4 * (process * 1000000L + 3 * 100000 + i);
        CHECK_EQ(there[me][i], sum);
    }
    ARMCI_Barrier();

    /* Vectors and values. */
    void *from[3] = { source, source + 7, source + 9 }, *to[3];
    for (int i = 0; i < 3; i++)
        to[i] = there[right] + 20 * i;
    armci_giov_t vector = { .src_ptr_array = from, .dst_ptr_array = to, .bytes = 8, .ptr_array_len = 3 };
    ARMCI_INIT_HANDLE(&all);
    ARMCI_NbPutV(&vector, 1, right, &all);
    ARMCI_Wait(&all);
    ARMCI_NbPutValueLong(-me, there[right] + 61, right, &all);
    ARMCI_Wait(&all);
    ARMCI_Barrier();
    CHECK_EQ(there[me][20], left * 1000000L + 3 * 100000 + 7);
    CHECK_EQ(there[me][61], -left);
    free(source);
    free(back);
    give_back((void **)there);
    return end();
}
