/* Rounds of a one-sided model, each of which crosses all hosts: compiled with SHMEM, ARMCI or BSP defined. In each round a
 * process writes a block into the memory of its neighbour and reads back what it wrote in the round before; all is checked.
 * In the middle process 0 says "half" and waits for a line, so that a test may change the network meanwhile. */
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 40
#define LEN 4000 /* longs of a block: more than a packet */

static long mine[LEN], back[LEN], sum;
static int me, n, errors;

static long value(int process, int round, int i)
{
    return process * 1000003L + round * 997L + i;
}

#if defined(SHMEM)
#include <shmem.h>
static long block[2][LEN], count;
static void begin(void) { shmem_init(), me = shmem_my_pe(), n = shmem_n_pes(); }
static void end(void) { shmem_finalize(); }
static void exchange(int round)
{
    int right = (me + 1) % n;
    shmem_long_put(block[round % 2], mine, LEN, right);
    shmem_long_atomic_add(&count, me + 1, 0);
    if (round > 0)
        shmem_long_get(back, block[(round - 1) % 2], LEN, right);
    shmem_barrier_all();
    sum = shmem_long_atomic_fetch(&count, 0);
    shmem_barrier_all();
}
#elif defined(ARMCI)
#include <armci.h>
static void **blocks, **counts;
static void begin(void)
{
    ARMCI_Init();
    me = armci_msg_me(), n = armci_msg_nproc();
    blocks = calloc((size_t)n, sizeof *blocks), counts = calloc((size_t)n, sizeof *counts);
    ARMCI_Malloc(blocks, 2 * sizeof mine), ARMCI_Malloc(counts, sizeof(long));
    *(long *)counts[me] = 0;
    ARMCI_Barrier();
}
static void end(void)
{
    ARMCI_Free(blocks[me]), ARMCI_Free(counts[me]);
    ARMCI_Finalize();
}
static void exchange(int round)
{
    int right = (me + 1) % n;
    long one = me + 1, factor = 1;
    ARMCI_Put(mine, (long *)blocks[right] + round % 2 * LEN, sizeof mine, right);
    ARMCI_Acc(ARMCI_ACC_LNG, &factor, &one, counts[0], sizeof one, 0);
    if (round > 0)
        ARMCI_Get((long *)blocks[right] + (round - 1) % 2 * LEN, back, sizeof back, right);
    ARMCI_Barrier();
    ARMCI_Get(counts[0], &sum, sizeof sum, 0);
    ARMCI_Barrier();
}
#else
#include <bsp.h>
static long block[2 * LEN], *counts;
static void begin(void)
{
    bsp_begin(bsp_nprocs());
    me = bsp_pid(), n = bsp_nprocs();
    counts = calloc((size_t)n, sizeof *counts);
    bsp_push_reg(block, sizeof block), bsp_push_reg(counts, n * (int)sizeof *counts);
    bsp_sync();
}
static void end(void) { bsp_end(); }
static void exchange(int round)
{
    int right = (me + 1) % n;
    long total = (long)(me + 1) * (round + 1);
    if (round > 0)
        bsp_get(right, block, (round - 1) % 2 * (int)sizeof mine, back, sizeof back);
    bsp_put(right, mine, block, round % 2 * (int)sizeof mine, sizeof mine);
    for (int process = 0; process < n; process++)
        bsp_put(process, &total, counts, me * (int)sizeof total, sizeof total);
    bsp_sync();
    sum = 0;
    for (int process = 0; process < n; process++)
        sum += counts[process];
}
#endif

int main(void)
{
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        char line[16];
        if (round == ROUNDS / 2 && me == 0) {
            printf("half\n");
            fflush(stdout);
            if (!fgets(line, sizeof line, stdin))
                errors++;
        }
        for (int i = 0; i < LEN; i++)
            mine[i] = value(me, round, i);
        exchange(round);
        for (int i = 0; round > 0 && i < LEN; i++)
            errors += back[i] != value(me, round - 1, i);
        errors += sum != (long)n * (n + 1) / 2 * (round + 1);
    }
    if (errors > 0 || me == 0)
        printf("process %d of %d: %d errors\n", me, n, errors);
    fflush(stdout);
    end();
    return errors != 0;
}
