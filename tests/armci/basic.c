/* Put and get of all lengths, values, flags, memory of several allocations, questions. */
#include "arm.h"

#define MAX 70000

static unsigned char value(int process, size_t i, int round)
{
    return (unsigned char)(process * 31 + i * 7 + round);
}

static void blocks(void **there, unsigned char *local, int round)
{
    static const int lengths[] = { 0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 4096, 4097, MAX - 5 };
    int right = (me + 1) % n, left = (me + n - 1) % n;
    unsigned char *mine = there[me];
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int len = lengths[k];
        size_t at = k % 5;
        memset(mine, 0xee, MAX);
        for (int i = 0; i < len; i++)
            local[i] = value(me, (size_t)i, round);
        ARMCI_Barrier();
        CHECK_EQ(ARMCI_Put(local, (char *)there[right] + at, len, right), 0);
        ARMCI_Barrier();
        for (int i = 0; i < len; i++)
            CHECK(mine[at + (size_t)i] == value(left, (size_t)i, round));
        CHECK(at == 0 || mine[at - 1] == 0xee);
        CHECK(mine[at + (size_t)len] == 0xee);
        memset(local, 0x11, (size_t)len + 1);
        CHECK_EQ(ARMCI_Get((char *)there[right] + at, local, len, right), 0);
        for (int i = 0; i < len; i++)
            CHECK(local[i] == value(me, (size_t)i, round));
        CHECK(local[len] == 0x11);
        ARMCI_Barrier();
    }
}

static void values(void **there)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    struct { int i; float f; long l; double d; } *mine = there[me], *its = there[right];
    ARMCI_PutValueInt(-7 - me, &its->i, right);
    ARMCI_PutValueFloat(0.5f + (float)me, &its->f, right);
    ARMCI_PutValueLong(1L << 40 | me, &its->l, right);
    ARMCI_PutValueDouble(-0.25 * me, &its->d, right);
    ARMCI_Barrier();
    CHECK_EQ(mine->i, -7 - left);
    CHECK(mine->f == 0.5f + (float)left);
    CHECK_EQ(mine->l, 1L << 40 | left);
    CHECK(mine->d == -0.25 * left);
    CHECK_EQ(ARMCI_GetValueInt(&its->i, right), -7 - me);
    CHECK(ARMCI_GetValueFloat(&its->f, right) == 0.5f + (float)me);
    CHECK_EQ(ARMCI_GetValueLong(&its->l, right), 1L << 40 | me);
    CHECK(ARMCI_GetValueDouble(&its->d, right) == -0.25 * me);
    ARMCI_Barrier();
}

/* What is put before a flag is there when the flag is. */
static void flags(void **there)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    int *mine = there[me], *its = there[right];
    int source[1000];
    memset(mine, 0, MAX);
    ARMCI_Barrier();
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 1000; i++)
            source[i] = me * 100000 + round * 1000 + i;
        ARMCI_Put_flag(source, its + 1, sizeof source, its, round, right);
        while (*(volatile int *)mine < round)
            ARMCIX_Progress();
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        for (int i = 0; i < 1000; i++)
            CHECK_EQ(mine[1 + i], left * 100000 + round * 1000 + i);
        ARMCI_Barrier();
    }
}

int main(int argc, char **argv)
{
    CHECK_EQ(ARMCI_Initialized(), 0);
    begin(&argc, &argv);
    CHECK_EQ(ARMCI_Initialized(), 1);
    CHECK_EQ(armci_msg_me(), me);
    CHECK_EQ(armci_msg_nproc(), n);
    void **there = need(MAX), **more = need(MAX);
    unsigned char *local = ARMCI_Malloc_local(MAX);
    blocks(there, local, 1);
    blocks(more, local, 2);
    give_back(there);
    blocks(more, local, 3);
    values(more);
    flags(more);

    /* Memory of this process is as good as any. */
    int from = 5, to = 0;
    ARMCI_Put(&from, &to, sizeof from, me);
    CHECK_EQ(to, 5);
    ARMCI_Copy(&to, &from, 0);
    give_back(more);
    ARMCI_Free_local(local);

    /* Hosts. */
    int here = armci_domain_my_id(ARMCI_DOMAIN_SMP), seen = 0;
    for (int host = 0; host < armci_domain_count(ARMCI_DOMAIN_SMP); host++)
        for (int i = 0; i < armci_domain_nprocs(ARMCI_DOMAIN_SMP, host); i++, seen++) {
            int process = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, host, i);
            CHECK_EQ(armci_domain_id(ARMCI_DOMAIN_SMP, process), host);
            CHECK_EQ(armci_domain_same_id(ARMCI_DOMAIN_SMP, process), host == here);
            CHECK_EQ(ARMCI_Same_node(process), host == here);
        }
    CHECK_EQ(seen, n);
    CHECK(ARMCI_Same_node(me));
    return end();
}
