/* Read-modify-write: every number of a shared counter is given out once; swaps lose nothing. */
#include "arm.h"

#define ROUNDS 500

static void counters(void **there)
{
    for (int owner = 0; owner < n; owner++) {
        int *counter = there[owner];
        long *wide = (long *)there[owner] + 1;
        char *seen = calloc((size_t)(n * ROUNDS), 1);
        for (int round = 0; round < ROUNDS; round++) {
            int number = -1;
            long number_wide = -1;
            ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &number, counter, 1, owner);
            CHECK(number >= 0 && number < n * ROUNDS);
            if (number >= 0 && number < n * ROUNDS)
                seen[number]++;
            ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &number_wide, wide, -1, owner);
            CHECK(number_wide <= 0 && number_wide > -n * (long)ROUNDS);
        }
        int given = 0;
        for (int i = 0; i < n * ROUNDS; i++) {
            CHECK(seen[i] <= 1);
            given += seen[i];
        }
        armci_msg_igop(&given, 1, "+");
        CHECK_EQ(given, n * ROUNDS);
        ARMCI_Barrier();
        if (owner == me) {
            CHECK_EQ(*counter, n * ROUNDS);
            CHECK_EQ(*wide, -(long)n * ROUNDS);
        }
        free(seen);
    }
}

/* Tokens go round by swaps with a place: their sum stays the same. */
static void swaps(void **there)
{
    memset(there[me], 0, 64);
    ARMCI_Barrier();
    int *place = there[0], token = me + 1;
    long *wide = (long *)there[n - 1] + 1, token_wide = (long)(me + 1) << 33;
    for (int round = 0; round < ROUNDS; round++) {
        ARMCI_Rmw(ARMCI_SWAP, &token, place, 0, 0);
        ARMCI_Rmw(ARMCI_SWAP_LONG, &token_wide, wide, 0, n - 1);
    }
    ARMCI_Barrier();
    long sum = token + (me == 0 ? *(int *)there[0] : 0);
    long sum_wide = token_wide + (me == n - 1 ? *((long *)there[me] + 1) : 0);
    armci_msg_lgop(&sum, 1, "+");
    armci_msg_lgop(&sum_wide, 1, "+");
    CHECK_EQ(sum, n * (n + 1) / 2);
    CHECK_EQ(sum_wide, (long)(n * (n + 1) / 2) << 33);
    ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    void **there = need(64);
    counters(there);
    swaps(there);
    give_back(there);
    return end();
}
