/* armci_msg_*: messages, also to itself; broadcasts, reductions, choices, trees, addresses. */
#include "arm.h"

static void messages(void)
{
    int right = (me + 1) % n, left = (me + n - 1) % n, got = -1;
    static char out[100000], in[100000];
    memset(out, 'a' + me, sizeof out);
    for (int len = 0; len <= (int)sizeof out; len = len * 7 + 1) {
        if (me % 2 == 0 || n == 1)
            armci_msg_snd(7, out, len, right);
        armci_msg_rcv(7, in, sizeof in, &got, left);
        if (me % 2 && n > 1)
            armci_msg_snd(7, out, len, right);
        CHECK_EQ(got, len);
        CHECK(len == 0 || (in[0] == 'a' + left && in[len - 1] == 'a' + left));
    }
    armci_msg_barrier();
    if (me != 0)
        armci_msg_snd(8, &me, sizeof me, 0);
    for (int i = 1, sum = 0; me == 0 && i < n; i++) {
        int from = armci_msg_rcvany(8, in, sizeof in, &got);
        CHECK_EQ(from, *(int *)in);
        sum += from;
        CHECK(i < n - 1 || sum == n * (n - 1) / 2);
    }
    armci_msg_snd(9, &me, sizeof me, me);
    armci_msg_rcv(9, in, sizeof in, NULL, me);
    CHECK_EQ(*(int *)in, me);
}

static void reductions(void)
{
    int i[3] = { me, -me, 1 };
    armci_msg_igop(i, 3, "+");
    CHECK_EQ(i[0], n * (n - 1) / 2);
    CHECK_EQ(i[1], -i[0]);
    CHECK_EQ(i[2], n);
    long l[2] = { me, 3 };
    armci_msg_lgop(l, 2, "max");
    CHECK_EQ(l[0], n - 1);
    long long ll = 1LL << me;
    armci_msg_llgop(&ll, 1, "or");
    CHECK_EQ(ll, (1LL << n) - 1);
    float f = (float)(me + 1);
    armci_msg_fgop(&f, 1, "min");
    CHECK(f == 1);
    double d[2] = { -(me + 1), 2 };
    armci_msg_dgop(d, 1, "absmax");
    CHECK(d[0] == n && d[1] == 2);
    d[0] = -(me + 1);
    armci_msg_dgop(d, 2, "absmin");
    CHECK(d[0] == 1 && d[1] == 2);
    armci_msg_dgop(&d[1], 1, "*");
    CHECK(d[1] == (double)(1L << n));
    int bits = me == 0 ? 5 : 7;
    armci_msg_gop_scope(SCOPE_ALL, &bits, 1, "&", ARMCI_INT);
    CHECK_EQ(bits, 5);
    int true_anywhere = me == n - 1 ? 8 : 0;
    armci_msg_reduce(&true_anywhere, 1, "||", ARMCI_INT);
    CHECK(true_anywhere != 0);
    int here = 1;
    armci_msg_clus_igop(&here, 1, "+");
    CHECK_EQ(here, armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1));
    int hosts = 1, mine = armci_domain_my_id(ARMCI_DOMAIN_SMP);
    armci_msg_gop_scope(SCOPE_MASTERS, &hosts, 1, "+", ARMCI_INT);
    int master = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, mine, 0) == me;
    CHECK_EQ(hosts, master ? armci_domain_count(ARMCI_DOMAIN_SMP) : 1);
    armci_msg_clus_brdcst(&hosts, sizeof hosts);
    CHECK_EQ(hosts, armci_domain_count(ARMCI_DOMAIN_SMP));
}

static void choices(void)
{
    struct { double value; int from; char name[20]; } x = { (me * 7 + 3) % n, me, "" };
    snprintf(x.name, sizeof x.name, "process %d", me);
    armci_msg_sel(&x, sizeof x, "max", ARMCI_DOUBLE, 1);
    CHECK(x.value <= n - 1);
    char name[20];
    snprintf(name, sizeof name, "process %d", x.from);
    CHECK(strcmp(x.name, name) == 0 && (x.from * 7 + 3) % n == (int)x.value);
    struct { int value, from; } y = { me, me };
    armci_msg_sel(&y, sizeof y, "min", ARMCI_INT, me == n - 1);
    CHECK_EQ(y.from, n - 1);
}

static void others(void)
{
    for (int root = 0; root < n; root++) {
        long word = me == root ? root + 100 : -1;
        armci_msg_brdcst(&word, sizeof word, root);
        CHECK_EQ(word, root + 100);
        armci_msg_bcast(&word, 0, root);
    }
    int root, up, left, right;
    armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
    CHECK_EQ(root, 0);
    CHECK_EQ(up, me ? (me - 1) / 2 : -1);
    CHECK_EQ(left, 2 * me + 1 < n ? 2 * me + 1 : -1);
    CHECK_EQ(right, 2 * me + 2 < n ? 2 * me + 2 : -1);
    void *all[64] = { NULL };
    all[me] = (void *)(uintptr_t)(0x1000 + me);
    armci_exchange_address(all, n);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == (void *)(uintptr_t)(0x1000 + i));
    double then = armci_timer();
    CHECK(then >= 0 && armci_timer() >= then);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    messages();
    reductions();
    choices();
    others();
    return end();
}
