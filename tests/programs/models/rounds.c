/* Rounds of a one-sided model, each of which crosses all hosts: compiled with SHMEM, ARMCI, BSP, PORTALS or SAM defined. In
 * each round a process writes a block into the memory of its neighbour and reads back what it wrote in the round before; all
 * is checked. In the middle process 0 says "half" and waits for a line, so that a test may change the network meanwhile.
 * The first argument changes that:
 *   straight        it does not wait
 *   compute FOLDER  after the rounds process 0 calls nothing until each other one has put a file there, which they do when
 *                   they have put to, got from and counted at process 0
 *   barrier, lock, transfer
 *                   the last process kills itself, for which the others wait in a barrier, for a lock of its, or to which
 *                   they put and get without end */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 40
#define TOUCHES 50
#define TURNS 5 /* of each process, with the lock */
#define LEN 4000 /* longs of a block: more than a packet */

static long mine[LEN], back[LEN], sum;

#ifdef PORTALS
#include "../../portals/ptl.h"
#else
static int me, n, errors;
#endif

static long value(int process, int round, int i)
{
    return process * 1000003L + round * 997L + i;
}

#if defined(SHMEM)
#include <shmem.h>
#define GUARDED
static long block[2][LEN], count, lock, guarded;
static void start(void) { shmem_init(), me = shmem_my_pe(), n = shmem_n_pes(); }
static void finish(void) { shmem_finalize(); }
static void meet(void) { shmem_barrier_all(); }
static void take_lock(void) { shmem_set_lock(&lock); }
static void give_lock(void) { shmem_clear_lock(&lock); }
static long read_guarded(void) { return shmem_long_g(&guarded, 0); }
static void write_guarded(long number) { shmem_long_p(&guarded, number, 0), shmem_quiet(); }
static void touch(int process)
{
    shmem_long_put(block[0], mine, LEN, process);
    shmem_quiet();
    shmem_long_get(back, block[1], LEN, process);
    shmem_long_atomic_inc(&count, process);
    shmem_long_atomic_fetch_add(&count, 1, process);
}
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
#define GUARDED
static void **blocks, **counts, **guarded;
static void start(void)
{
    ARMCI_Init();
    me = armci_msg_me(), n = armci_msg_nproc();
    blocks = calloc((size_t)n, sizeof *blocks), counts = calloc((size_t)n, sizeof *counts);
    guarded = calloc((size_t)n, sizeof *guarded);
    ARMCI_Malloc(blocks, 2 * sizeof mine), ARMCI_Malloc(counts, sizeof(long)), ARMCI_Malloc(guarded, sizeof(long));
    ARMCI_Create_mutexes(1);
    *(long *)counts[me] = *(long *)guarded[me] = 0;
    ARMCI_Barrier();
}
static void finish(void)
{
    ARMCI_Destroy_mutexes();
    ARMCI_Free(blocks[me]), ARMCI_Free(counts[me]), ARMCI_Free(guarded[me]);
    ARMCI_Finalize();
}
static void meet(void) { ARMCI_Barrier(); }
static void take_lock(void) { ARMCI_Lock(0, n - 1); }
static void give_lock(void) { ARMCI_Unlock(0, n - 1); }
static long read_guarded(void)
{
    long number;
    ARMCI_Get(guarded[0], &number, sizeof number, 0);
    return number;
}
static void write_guarded(long number)
{
    ARMCI_Put(&number, guarded[0], sizeof number, 0);
    ARMCI_Fence(0);
}
static void touch(int process)
{
    long one = 1, old;
    ARMCI_Put(mine, blocks[process], sizeof mine, process);
    ARMCI_Fence(process);
    ARMCI_Get((long *)blocks[process] + LEN, back, sizeof back, process);
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, counts[process], sizeof one, process);
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, counts[process], 1, process);
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
#elif defined(PORTALS)
static long block[2 * LEN], count, one;
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ct_t done;
static ptl_handle_md_t from_mine, from_one, to_back, to_sum;
static ptl_pt_index_t blocks, counts;
static ptl_size_t operations;
static void start(void)
{
    const unsigned int all = PTL_ME_OP_PUT | PTL_ME_OP_GET, counted = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
    begin();
    one = me + 1;
    ptl_handle_ni_t ni = open_ni(kind, NULL, NULL);
    done = new_ct(ni);
    blocks = new_pt(ni, 0, PTL_EQ_NONE, 1), counts = new_pt(ni, 0, PTL_EQ_NONE, 2);
    append_to(ni, 1, blocks, block, sizeof block, all, PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, NULL);
    append_to(ni, 1, counts, &count, sizeof count, all, PTL_CT_NONE, 0, 0, PTL_PRIORITY_LIST, NULL);
    from_mine = new_md(ni, mine, sizeof mine, counted, PTL_EQ_NONE, done);
    from_one = new_md(ni, &one, sizeof one, counted, PTL_EQ_NONE, done);
    to_back = new_md(ni, back, sizeof back, counted, PTL_EQ_NONE, done);
    to_sum = new_md(ni, &sum, sizeof sum, counted, PTL_EQ_NONE, done);
    MUST(runtime_barrier());
}
static void finish(void) { PtlFini(); }
static void meet(void) { MUST(runtime_barrier()); }
static void put(int process, ptl_size_t offset)
{
    MUST(PtlPut(from_mine, 0, sizeof mine, PTL_ACK_REQ, name_of(kind, process), blocks, 0, offset, NULL, 0));
    operations++;
}
static void get(int process, ptl_size_t offset)
{
    MUST(PtlGet(to_back, 0, sizeof back, name_of(kind, process), blocks, 0, offset, NULL));
    operations++;
}
static void add(int process)
{
    MUST(PtlAtomic(from_one, 0, sizeof one, PTL_ACK_REQ, name_of(kind, process), counts, 0, 0, NULL, 0, PTL_SUM,
                   PTL_INT64_T));
    operations++;
}
static void complete(void)
{
    CHECK_EQ(reach(done, operations).failure, 0);
}
static void touch(int process)
{
    put(process, 0), get(process, sizeof mine), add(process);
    complete();
}
static void exchange(int round)
{
    int right = (me + 1) % n;
    put(right, round % 2 * sizeof mine);
    add(0);
    if (round > 0)
        get(right, (round - 1) % 2 * sizeof mine);
    complete();
    meet();
    MUST(PtlGet(to_sum, 0, sizeof sum, name_of(kind, 0), counts, 0, 0, NULL));
    operations++;
    complete();
    meet();
}
#elif defined(SAM)
#include <sam.h>
#define FROM left
static int left;
static sam_name total, held;
static sam_name numbers(int process) { return sam_name_of(2, process); }
static sam_name counter(int process) { return sam_name_of(3, process); }
static void accumulator(sam_name name)
{
    *(long *)sam_accumulator_begin(name, sizeof(long)) = 0;
    sam_end_update(name);
}
static void start(void)
{
    sam_init();
    me = sam_rank(), n = sam_ranks(), left = (me + n - 1) % n;
    total = sam_name_of(1, 0), held = sam_name_of(1, 1);
    if (me == 0)
        accumulator(total);
    if (me == n - 1)
        accumulator(held);
    accumulator(counter(me));
    memset(sam_value_begin(numbers(me), sizeof mine), me, sizeof mine);
    sam_value_end(numbers(me), SAM_STAYS);
    sam_barrier();
}
static void finish(void) { sam_finish(); }
static void meet(void) { sam_barrier(); }
static void take_lock(void) { sam_update(held, NULL); }
static long add(sam_name name, long more)
{
    long *at = sam_update(name, NULL), now = *at += more;
    sam_end_update(name);
    return now;
}
static void touch(int process)
{
    const char *bytes = sam_use(numbers(process), NULL);
    errors += bytes[0] != process || bytes[sizeof mine - 1] != process;
    sam_end_use(numbers(process));
    add(counter(process), 1);
}
static void exchange(int round)
{
    memcpy(sam_value_begin(sam_name_of(100 + me, round), sizeof mine), mine, sizeof mine);
    sam_value_end(sam_name_of(100 + me, round), 1);
    if (round > 0) {
        sam_name before = sam_name_of(100 + left, round - 1);
        memcpy(back, sam_use(before, NULL), sizeof back);
        sam_end_use(before);
    }
    add(total, me + 1);
    sam_barrier();
    sum = add(total, 0);
    sam_barrier();
}
#else
#include <bsp.h>
static long block[2 * LEN], *counts;
static void start(void)
{
    bsp_begin(bsp_nprocs());
    me = bsp_pid(), n = bsp_nprocs();
    counts = calloc((size_t)n, sizeof *counts);
    bsp_push_reg(block, sizeof block), bsp_push_reg(counts, n * (int)sizeof *counts);
    bsp_sync();
}
static void finish(void) { bsp_end(); }
static void meet(void) { bsp_sync(); }
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

#ifndef FROM
#define FROM me /* whose numbers come back */
#endif
#if defined(PORTALS) || defined(BSP)
#define take_lock() _Exit(2) /* they have none */
#endif
#ifdef BSP
#define touch(process) _Exit(2) /* nothing moves within a superstep */
#endif

static void rounds(int pauses)
{
    for (int round = 0; round < ROUNDS; round++) {
        char line[16];
        if (pauses && round == ROUNDS / 2 && me == 0) {
            printf("half\n");
            fflush(stdout);
            if (!fgets(line, sizeof line, stdin))
                errors++;
        }
        for (int i = 0; i < LEN; i++)
            mine[i] = value(me, round, i);
        exchange(round);
        for (int i = 0; round > 0 && i < LEN; i++)
            errors += back[i] != value(FROM, round - 1, i);
        errors += sum != (long)n * (n + 1) / 2 * (round + 1);
    }
}

static int exists(const char *folder, int process)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder, process);
    return access(path, F_OK) == 0;
}

static void compute(const char *folder)
{
    for (int process = 1; process < n; process++)
        while (!exists(folder, process)) {
#ifdef SAM
            sam_poll(); /* its pages say that progress is made in calls alone */
#endif
        }
}

static void touch_and_tell(const char *folder)
{
    char path[4096];
    for (int i = 0; i < TOUCHES; i++)
        touch(0);
    snprintf(path, sizeof path, "%s/%d", folder, me);
    FILE *file = fopen(path, "w");
    if (!file || fclose(file))
        errors++;
}

/* All write one number, one after another. */
static void by_turns(void)
{
#ifdef GUARDED
    for (int i = 0; i < TURNS; i++) {
        take_lock();
        write_guarded(read_guarded() + 1);
        give_lock();
    }
    meet();
    errors += read_guarded() != (long)TURNS * n;
    meet();
#endif
}

/* Never returns. */
static void last_one_dies(const char *how)
{
    int last = n - 1, lock = strcmp(how, "lock") == 0;
    if (lock && me == last)
        take_lock();
    meet();
    if (me == last) {
        usleep(300000); /* most others wait by then; the job must end, whoever does */
        raise(SIGKILL);
    }
    if (lock)
        take_lock();
    while (strcmp(how, "transfer") == 0)
        touch(last);
    meet();
    fprintf(stderr, "process %d did not wait for process %d\n", me, last);
    _Exit(2);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    start();
    rounds(!*how);
    by_turns();
    if (strcmp(how, "compute") == 0 && argc > 2) {
        if (me == 0)
            compute(argv[2]);
        else
            touch_and_tell(argv[2]);
        meet();
    } else if (*how && strcmp(how, "straight") != 0) {
        last_one_dies(how);
    }
    if (errors > 0 || me == 0)
        printf("process %d of %d: %d errors\n", me, n, errors);
    fflush(stdout);
    finish();
    return errors != 0;
}
