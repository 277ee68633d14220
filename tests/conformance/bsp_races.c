/* HPVM_CHECK finds accesses of one superstep to the same bytes whose outcome the standard leaves open. The argument says what
 * is wrong; without one everything is allowed that the standard defines. */
#include "bsp_check.h"

enum { WORDS = 8192 };

static long own[WORDS], block[WORDS], got[WORDS];
static int me, n;

static void wrong(const char *what)
{
    long value = me;
    if (strcmp(what, "puts") == 0)
        bsp_put(0, &value, block, 24, sizeof value);
    if (strcmp(what, "blocks") == 0)
        bsp_put(0, own, block, me * 1000, 40000);
    if (strcmp(what, "hpputs") == 0 && me == 0) {
        bsp_hpput(1, own, block, 0, 16);
        bsp_hpput(1, own, block, 8, 16);
    }
    if (strcmp(what, "hpput_get") == 0) {
        if (me == 0)
            bsp_hpput(1, own, block, 16, 8);
        else
            bsp_get(1, block, 0, got, 24);
    }
    if (strcmp(what, "put_hpget") == 0) {
        if (me == 0)
            bsp_put(0, own, block, 40000, 8);
        else
            bsp_hpget(0, block, 0, got, 40008);
    }
    bsp_sync();
}

static void right(void)
{
    int next = (me + 1) % n;
    for (int round = 0; round < 3; round++) {
        long value = 100 * round + me;
        /* Gets are read before anything is written; puts of one process are written in their order. */
        bsp_get(next, block, 0, got, sizeof *got);
        bsp_put(next, own, block, 0, sizeof own / 2);
        bsp_put(next, &value, block, 0, sizeof value);
        /* Side by side. */
        bsp_hpget(next, block, sizeof own - 8, got + 1, 8);
        bsp_sync();
        CHECK_EQ(block[0], 100 * round + (me + n - 1) % n);
        CHECK_EQ(got[0], round == 0 ? next : 100 * (round - 1) + me);
        bsp_put(0, own, block, me * 64, 64);
        bsp_sync();
        bsp_put(next, &value, block, 0, sizeof value);
        bsp_sync();
    }
}

int main(int argc, char **argv)
{
    setenv("HPVM_CHECK", "1", 1);
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    me = bsp_pid();
    n = bsp_nprocs();
    block[0] = me;
    bsp_push_reg(block, sizeof block);
    bsp_sync();
    if (argc > 1)
        wrong(argv[1]);
    else
        right();
    return bsp_check_finish();
}
