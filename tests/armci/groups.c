/* Groups: their numbers, memory, messages and communicators; groups of groups; the default group. */
#include "arm.h"

static void within(ARMCI_Group *group, int members, int (*process)(int, int), int key)
{
    int rank = -2, size = -2;
    ARMCI_Group_rank(group, &rank);
    ARMCI_Group_size(group, &size);
    CHECK_EQ(size, members);
    for (int i = 0; i < size; i++)
        CHECK_EQ(ARMCI_Absolute_id(group, i), process(i, key));
    if (rank < 0)
        return;
    CHECK_EQ(ARMCI_Absolute_id(group, rank), me);

    void *memory[64];
    CHECK_EQ(ARMCI_Malloc_group(memory, rank == 0 && size > 1 ? 0 : 64, group), 0);
    CHECK(size == 1 || memory[0] == NULL);
    int last = size - 1;
    if (rank == last)
        *(long *)memory[last] = 0;
    armci_msg_group_barrier(group);
    long before;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, memory[last], rank + 1, ARMCI_Absolute_id(group, last));
    ARMCI_GroupFence(group);
    armci_msg_group_barrier(group);
    if (rank == last)
        CHECK_EQ(*(long *)memory[last], size * (size + 1) / 2);
    armci_msg_group_barrier(group);
    CHECK_EQ(ARMCI_Free_group(memory[rank], group), 0);

    int sum = me;
    double most = -me;
    armci_msg_group_igop(&sum, 1, "+", group);
    armci_msg_group_dgop(&most, 1, "max", group);
    int expected = 0, least = 1 << 20;
    for (int i = 0; i < size; i++) {
        expected += process(i, key);
        least = process(i, key) < least ? process(i, key) : least;
    }
    CHECK_EQ(sum, expected);
    CHECK(most == -least);
    int word = rank == last ? 4711 : 0;
    armci_msg_group_bcast_scope(SCOPE_ALL, &word, sizeof word, process(last, key), group);
    CHECK_EQ(word, 4711);
    int here = 1;
    armci_msg_group_gop_scope(SCOPE_NODE, &here, 1, "+", ARMCI_INT, group);
    CHECK(here >= 1 && here <= size);

    int comm_rank, comm_size;
    MPI_Comm_rank(group->comm, &comm_rank);
    MPI_Comm_size(group->comm, &comm_size);
    CHECK_EQ(comm_rank, rank);
    CHECK_EQ(comm_size, size);
}

static int every(int i, int key)
{
    (void)key;
    return i;
}

static int backwards(int i, int key)
{
    return key - 1 - i;
}

static int other(int i, int key)
{
    return 2 * i + key;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ARMCI_Group world, turned, half, child, now;
    ARMCI_Group_get_world(&world);
    within(&world, n, every, 0);
    int list[64];
    for (int i = 0; i < n; i++)
        list[i] = n - 1 - i;
    ARMCI_Group_create(n, list, &turned);
    within(&turned, n, backwards, n);

    /* Only members make the groups of even and of odd processes. */
    int parity = me % 2, members = (n + 1 - parity) / 2;
    for (int i = 0; i < members; i++)
        list[i] = 2 * i + parity;
    ARMCI_Group_create(members, list, &half);
    within(&half, members, other, parity);

    /* Processes of a child are counted in its parent; here all call, and the last ones are in. */
    list[0] = 0;
    ARMCI_Group_create_child(1, list, &child, &turned);
    int rank;
    ARMCI_Group_rank(&child, &rank);
    CHECK_EQ(rank, me == n - 1 ? 0 : -1);
    if (rank == 0)
        within(&child, 1, backwards, n);

    ARMCI_Group_set_default(&half);
    ARMCI_Group_get_default(&now);
    int size;
    ARMCI_Group_size(&now, &size);
    CHECK_EQ(size, members);
    int sum = 1;
    armci_msg_igop(&sum, 1, "+");
    CHECK_EQ(sum, members);
    ARMCI_Group_set_default(&world);
    sum = 1;
    armci_msg_igop(&sum, 1, "+");
    CHECK_EQ(sum, n);
    ARMCI_Barrier();
    ARMCI_Group_free(&child);
    ARMCI_Group_free(&half);
    ARMCI_Group_free(&turned);
    for (int i = 0; i < 50; i++) {
        list[0] = me;
        ARMCI_Group_create(1, list, &child);
        ARMCI_Group_free(&child);
    }
    return end();
}
