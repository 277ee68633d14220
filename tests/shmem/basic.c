/* Put and get of all lengths, in the heap and in static data; interleaved forms; shmem_ptr; questions. */
#include "osh.h"

#define MAX 70000

static unsigned char static_bytes[MAX];
static long static_word = 5;

static unsigned char value(int pe, size_t i, int round)
{
    return (unsigned char)(pe * 31 + i * 7 + round);
}

static void blocks(unsigned char *there, unsigned char *local, int round)
{
    static const size_t lengths[] = { 0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 4096, 4097, MAX - 5 };
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t len = lengths[k], at = k % 5;
        memset(there, 0xee, MAX);
        for (size_t i = 0; i < len; i++)
            local[i] = value(me, i, round);
        shmem_barrier_all();
        if (k % 2)
            shmem_putmem(there + at, local, len, right);
        else
            shmem_putmem_nbi(there + at, local, len, right);
        shmem_barrier_all();
        for (size_t i = 0; i < len; i++)
            CHECK(there[at + i] == value(left, i, round));
        CHECK(at == 0 || there[at - 1] == 0xee);
        CHECK(there[at + len] == 0xee);
        memset(local, 0x11, len + 1);
        if (k % 2)
            shmem_getmem_nbi(local, there + at, len, right);
        else
            shmem_getmem(local, there + at, len, right);
        shmem_quiet();
        for (size_t i = 0; i < len; i++)
            CHECK(local[i] == value(me, i, round));
        CHECK(local[len] == 0x11);
        shmem_barrier_all();
    }
}

static void interleaved(void)
{
    int *there = need(200 * sizeof *there), local[200];
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < 200; i++)
        local[i] = me * 1000 + i;
    shmem_int_iput(there, local, 3, 2, 50, right);
    shmem_barrier_all();
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(there[3 * i], left * 1000 + 2 * i);
        CHECK(there[3 * i + 1] == 0);
    }
    memset(local, 0, sizeof local);
    shmem_int_iget(local, there, 2, 3, 50, me);
    for (int i = 0; i < 50; i++)
        CHECK_EQ(local[2 * i], left * 1000 + 2 * i);
    shmem_barrier_all();
    for (int i = 0; i < 200; i++)
        local[i] = me * 1000 + i;
    memset(there, 0, 200 * sizeof *there);
    shmem_barrier_all();
    shmem_ibput32(there, local, 7, 5, 4, 10, right);
    shmem_barrier_all();
    for (int i = 0; i < 70; i++)
        CHECK_EQ(there[i], i % 7 < 4 ? left * 1000 + i / 7 * 5 + i % 7 : 0);
    memset(local, 0, sizeof local);
    shmem_int_ibget(local, there, 4, 7, 4, 10, right);
    for (int i = 0; i < 40; i++)
        CHECK_EQ(local[i], me * 1000 + i / 4 * 5 + i % 4);
    shmem_free(there);
}

int main(void)
{
    int on = -1, major, minor;
    char name[SHMEM_MAX_NAME_LEN];
    shmem_query_initialized(&on);
    CHECK_EQ(on, 0);
    begin();
    shmem_query_initialized(&on);
    CHECK(on != 0);
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);

    unsigned char *heap = need(MAX), *local = malloc(MAX);
    blocks(heap, local, 1);
    blocks(static_bytes, local, 2);
    interleaved();

    int right = (me + 1) % n;
    CHECK(shmem_pe_accessible(right) && !shmem_pe_accessible(n) && !shmem_pe_accessible(-1));
    CHECK(shmem_addr_accessible(heap, right) && shmem_addr_accessible(static_bytes, right));
    CHECK(!shmem_addr_accessible(local, right) && !shmem_addr_accessible(&right, right));
    CHECK(shmem_ptr(heap, me) == heap && shmem_ptr(local, me) == NULL);
    unsigned char *there = shmem_ptr(heap, right);
    shmem_barrier_all();
    if (there)
        there[9] = (unsigned char)(200 + me);
    else
        shmem_uchar_p(&heap[9], (unsigned char)(200 + me), right);
    shmem_barrier_all();
    CHECK_EQ(heap[9], (unsigned char)(200 + (me + n - 1) % n));
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, right) == there);
    shmem_long_p(&static_word, me + 7, right);
    shmem_barrier_all();
    CHECK_EQ(static_word, (me + n - 1) % n + 7);
    CHECK_EQ(shmem_long_g(&static_word, right), me + 7);
    int targets[2] = { right, me };
    shmem_pe_quiet(targets, 2);
    free(local);
    shmem_free(heap);
    return end();
}
