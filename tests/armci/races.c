/* HPVM_CHECK finds accesses of several processes to the same bytes that nothing orders, and none in programs that order
 * theirs. The argument says what is wrong; without one all orders that the check knows or does not follow are used. */
#include "arm.h"

static void wrong(const char *what, void **there)
{
    double values[8] = {0}, factor = 1, *memory = there[0];
    int pitch[1] = {16}, count[2] = {8, 4};
    if (strcmp(what, "puts") == 0)
        ARMCI_Put(values, memory + me, 16, 0);
    if (strcmp(what, "put_get") == 0 && me == 0)
        ARMCI_Put(values, memory, 8, 0);
    if (strcmp(what, "put_get") == 0 && me == 1)
        ARMCI_Get(memory, values, 16, 0);
    if (strcmp(what, "put_acc") == 0 && me == 0)
        ARMCI_PutValueDouble(1, memory + 2, 0);
    if (strcmp(what, "put_acc") == 0 && me == 1)
        ARMCI_AccS(ARMCI_ACC_DBL, &factor, values, pitch, memory, pitch, count, 1, 0);
    if (strcmp(what, "strided") == 0)
        /* Every second number, of both the same. */
        ARMCI_PutS(values, pitch, memory, pitch, count, 1, 0);
    if (strcmp(what, "vector") == 0) {
        void *from[2] = {values, values + 1}, *to[2] = {memory + me, memory + 4};
        armci_giov_t vector = {.src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = 2, .bytes = 8};
        ARMCI_PutV(&vector, 1, 0);
    }
    /* Parts of one transfer. */
    int close[1] = {4};
    if (strcmp(what, "own_rows") == 0 && me == 0)
        ARMCI_PutS(values, pitch, memory, close, count, 1, 0);
    if (strcmp(what, "own_got") == 0 && me == 0)
        ARMCI_GetS(memory, pitch, values, close, count, 1, 0);
    if (strcmp(what, "own_segments") == 0 && me == 0) {
        void *from[3] = {values, values + 1, values + 2}, *to[3] = {memory + 2, memory + 1, memory + 2};
        armci_giov_t vector = {.src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = 3, .bytes = 8};
        ARMCI_PutV(&vector, 1, 0);
    }
    if (strcmp(what, "rmw") == 0 && me == 0) {
        int before;
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &before, memory, 1, 0);
    }
    if (strcmp(what, "rmw") == 0 && me == 1)
        ARMCI_Put(values, memory, 8, 0);
    if (strcmp(what, "free") == 0) {
        ARMCI_Put(values, memory, 8, 0);
        give_back(there);
    }
    ARMCI_Barrier();
}

/* One after the other: by barriers, a fence and messages, notifications, a mutex, a counter. */
static void right(void **there)
{
    double values[8] = {0}, factor = 1, *memory = there[0];
    int next = (me + 1) % n, before = (me + n - 1) % n, tag = 7, got, token = 0;
    if (me == 0) {
        /* The same bytes twice: as sums, and read. */
        int pitch[1] = {16}, close[1] = {0}, count[2] = {8, 4};
        ARMCI_AccS(ARMCI_ACC_DBL, &factor, values, pitch, memory, close, count, 1, 0);
        ARMCI_PutS(values, close, memory, pitch, count, 1, 0);
    }
    ARMCI_Barrier();
    for (int round = 0; round < 3; round++) {
        /* One process keeps its order; others are beside it. */
        ARMCI_Put(values, (double *)there[next], 64, next);
        ARMCI_Get((double *)there[next], values, 64, next);
        ARMCI_Barrier();
        ARMCI_Acc(ARMCI_ACC_DBL, &factor, values, memory, 64, 0);
        ARMCI_Barrier();
        ARMCI_Get(memory, values, 64, 0);
        ARMCI_Barrier();
    }
    if (me > 0)
        MPI_Recv(&token, 1, MPI_INT, me - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ARMCI_Put(values, memory, 64, 0);
    ARMCI_Fence(0);
    if (me + 1 < n)
        MPI_Send(&token, 1, MPI_INT, me + 1, tag, MPI_COMM_WORLD);
    ARMCI_Barrier();
    if (me > 0)
        armci_msg_rcv(tag, &token, sizeof token, &got, me - 1);
    ARMCI_Put(values, memory, 64, 0);
    if (me + 1 < n)
        armci_msg_snd(tag, &token, sizeof token, me + 1);
    ARMCI_Barrier();
    if (n > 1) {
        if (me > 0)
            armci_notify_wait(before, &got);
        ARMCI_Put(values, memory, 64, 0);
        if (me + 1 < n)
            armci_notify(next);
        ARMCI_Barrier();
    }
    ARMCI_Create_mutexes(1);
    ARMCI_Lock(0, 0);
    ARMCI_Put(values, memory, 64, 0);
    ARMCI_Unlock(0, 0);
    ARMCI_Barrier();
    ARMCI_Destroy_mutexes();
    int turn = 0, *counter = (int *)(memory + 16);
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &turn, counter, 1, 0);
    CHECK(turn >= 0 && turn < n);
    ARMCI_Put(values, memory, 64, 0);
    ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    setenv("HPVM_CHECK", "1", 1);
    begin(&argc, &argv);
    void **there = need(256);
    if (argc > 1)
        wrong(argv[1], there);
    else
        right(there);
    if (argc < 2 || strcmp(argv[1], "free") != 0)
        give_back(there);
    return end();
}
