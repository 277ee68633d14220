/* Mistakes end the job with a text that names function and numbers. The argument says which mistake. */
#include "arm.h"

static const char *what;

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static void groups(void)
{
    ARMCI_Group group, world;
    int list[2] = { 0, 0 };
    ARMCI_Group_get_world(&world);
    if (is("member")) {
        list[1] = n;
        ARMCI_Group_create(2, list, &group);
    }
    if (is("twice"))
        ARMCI_Group_create(2, list, &group);
    list[0] = me;
    ARMCI_Group_create(1, list, &group);
    if (is("free_world"))
        ARMCI_Group_free(&world);
    ARMCI_Group_free(&group);
    if (is("freed"))
        armci_msg_group_barrier(&group);
}

/* Null in place of memory of this process. */
static void nulls(void *there, void *mine, int other)
{
    void *null = NULL;
    long one = 1;
    int count[2] = { 8, 2 }, stride[1] = { 16 };
    armci_giov_t vector = { .src_ptr_array = &null, .dst_ptr_array = &there, .bytes = 4, .ptr_array_len = 1 };
    if (is("null_put"))
        ARMCI_Put(null, there, 8, other);
    if (is("null_get"))
        ARMCI_NbGet(there, null, 8, other, NULL);
    if (is("null_puts"))
        ARMCI_PutS(null, stride, there, stride, count, 1, other);
    if (is("null_gets"))
        ARMCI_GetS(there, stride, null, stride, count, 1, other);
    if (is("null_putv"))
        ARMCI_PutV(&vector, 1, other);
    if (is("null_acc"))
        ARMCI_Acc(ARMCI_ACC_LNG, &one, null, there, 8, other);
    if (is("null_accs"))
        ARMCI_AccS(ARMCI_ACC_LNG, &one, null, stride, there, stride, count, 1, other);
    if (is("null_accv"))
        ARMCI_AccV(ARMCI_ACC_INT, &one, &vector, 1, other);
    if (is("null_rmw"))
        ARMCI_Rmw(ARMCI_SWAP_LONG, null, there, 1, other);
    if (is("null_copy"))
        ARMCI_Copy(null, mine, 8);
    if (is("null_nothing")) {
        ARMCI_Put(null, there, 0, other);
        ARMCI_Copy(null, mine, 0);
    }
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "";
    long local[4] = { 0 }, one = 1;
    void *null = NULL;
    if (is("early"))
        ARMCI_PutValueLong(1, local, 0);
    begin(&argc, &argv);
    int other = (me + 1) % n;
    void **all = need(64);
    char *there = all[other];
    if (is("process"))
        ARMCI_Put(local, there, 8, n);
    if (is("negative_process"))
        ARMCI_Get(there, local, 8, -1);
    if (is("length"))
        ARMCI_Put(local, there, -8, other);
    if (is("end"))
        ARMCI_Put(local, there + 60, 8, other);
    if (is("begin"))
        ARMCI_Get(there - 4096 * 1000, local, 8, other);
    if (is("stack"))
        ARMCI_Acc(ARMCI_ACC_LNG, &one, local, (void *)(uintptr_t)16, 8, other);
    int count[2] = { 8, 9 }, stride[1] = { 8 };
    if (is("strided"))
        ARMCI_PutS(local, stride, there, stride, count, 1, other);
    count[1] = -2;
    if (is("count"))
        ARMCI_GetS(there, stride, local, stride, count, 1, other);
    if (is("levels"))
        ARMCI_GetS(there, stride, local, stride, count, 9, other);
    void *to = there + 64;
    armci_giov_t vector = { .src_ptr_array = all, .dst_ptr_array = &to, .bytes = 4, .ptr_array_len = 1 };
    if (is("vector"))
        ARMCI_PutV(&vector, 1, other);
    if (is("type"))
        ARMCI_Acc(17, &one, local, there, 8, other);
    if (is("part"))
        ARMCI_Acc(ARMCI_ACC_DBL, &one, local, there, 12, other);
    if (is("scale"))
        ARMCI_Acc(ARMCI_ACC_DBL, null, local, there, 8, other);
    if (is("rmw"))
        ARMCI_Rmw(12, local, there, 1, other);
    if (is("aligned"))
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, local, there + 4, 1, other);
    nulls(there, all[me], other);
    if (is("no_mutexes"))
        ARMCI_Lock(0, 0);
    ARMCI_Create_mutexes(2);
    if (is("mutexes"))
        ARMCI_Create_mutexes(2);
    if (is("mutex"))
        ARMCI_Lock(2, other);
    if (is("unlock"))
        ARMCI_Unlock(1, other);
    if (is("lock")) {
        ARMCI_Lock(me % 2, other);
        ARMCI_Lock(me % 2, other);
    }
    if (is("free"))
        ARMCI_Free((char *)all[me] + 8);
    if (is("free_local"))
        ARMCI_Free_local(local);
    if (is("malloc"))
        ARMCI_Malloc(all, -1);
    if (is("operation"))
        armci_msg_lgop(local, 1, "most");
    if (is("fraction"))
        armci_msg_dgop((double *)local, 1, "or");
    if (is("tag"))
        armci_msg_snd(-5, local, 8, other);
    if (is("domain"))
        armci_domain_nprocs(ARMCI_DOMAIN_SMP, n);
    if (is("error"))
        ARMCI_Error("the program says", 17);
    groups();
    return end();
}
