/* Mutexes keep others out; notifications come in pairs. */
#include "arm.h"

#define ROUNDS 100

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    long **there = (long **)need(4 * sizeof(long));
    for (int again = 0; again < 2; again++) {
        /* Each process has as many as its number, and one more. */
        CHECK_EQ(ARMCI_Create_mutexes(me + 1), 0);
        for (int owner = 0; owner < n; owner++)
            for (int round = 0; round < ROUNDS / n; round++) {
                ARMCI_Lock(owner, owner);
                long x[2];
                ARMCI_Get(there[owner], x, sizeof x, owner);
                CHECK_EQ(x[0], x[1]);
                x[0]++;
                ARMCI_Put(&x[0], &there[owner][0], sizeof x[0], owner);
                x[1]++;
                ARMCI_Put(&x[1], &there[owner][1], sizeof x[1], owner);
                ARMCI_Unlock(owner, owner);
            }
        ARMCI_Barrier();
        CHECK_EQ(there[me][0], (again + 1) * (ROUNDS / n) * n);
        CHECK_EQ(ARMCI_Destroy_mutexes(), 0);
    }
    ARMCI_Barrier();

    /* What was put before a notification is there. */
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int round = 1; round <= ROUNDS; round++) {
        long value = me * 1000 + round;
        ARMCI_Put(&value, &there[right][3], sizeof value, right);
        CHECK_EQ(armci_notify(right), round);
        int count = 0;
        armci_notify_wait(left, &count);
        CHECK_EQ(count, round);
        CHECK_EQ(there[me][3], left * 1000 + round);
        /* The other way, so that nobody is overtaken. */
        armci_notify(left);
        armci_notify_wait(right, &count);
        if (left == right) { /* two of each then, from one process */
            armci_notify(right);
            armci_notify_wait(right, &count);
        }
        ARMCI_Barrier();
        if (left == right)
            break;
    }
    give_back((void **)there);
    return end();
}
