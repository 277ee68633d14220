/* All models in one program: MPI, OpenSHMEM, ARMCI, BSPlib, SAM, Portals 4 and PVM, by turns, in some rounds. In each turn a rank gives its
 * number to its right neighbour in one model, and MPI sums what has come: so that one model's end is another's beginning. The
 * arguments are the models in the order in which they begin, and have their turns; they end in the opposite order. */
#include <armci.h>
#include <bsp.h>
#include <mpi.h>
#include <pvm3.h>
#include <sam.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../portals/ptl.h"

enum { ROUNDS = 20, LEN = 3000, TURN = 5, HOSTS = 64 };

static long out[LEN], in[LEN];
static int left, right;

static long value(int rank, int round)
{
    return rank * 1009L + round;
}

/* --- MPI --- */
static void begin_mpi(void) { MPI_Init(NULL, NULL); }
static void end_mpi(void) { MPI_Finalize(); }
static void turn_mpi(int round)
{
    (void)round;
    MPI_Sendrecv(out, LEN, MPI_LONG, right, TURN, in, LEN, MPI_LONG, left, TURN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* --- OpenSHMEM --- */
static long symmetric[LEN];
static void begin_shmem(void) { shmem_init(); }
static void end_shmem(void) { shmem_finalize(); }
static void turn_shmem(int round)
{
    (void)round;
    CHECK_EQ(shmem_my_pe(), me);
    shmem_long_put(symmetric, out, LEN, right);
    shmem_barrier_all();
    memcpy(in, symmetric, sizeof in);
    shmem_barrier_all();
}

/* --- ARMCI --- */
static void *blocks[64];
static void begin_armci(void)
{
    ARMCI_Init();
    ARMCI_Malloc(blocks, sizeof out);
}
static void end_armci(void)
{
    ARMCI_Free(blocks[me]);
    ARMCI_Finalize();
}
static void turn_armci(int round)
{
    (void)round;
    ARMCI_Put(out, blocks[right], sizeof out, right);
    ARMCI_Barrier();
    memcpy(in, blocks[me], sizeof in);
    ARMCI_Barrier();
}

/* --- BSPlib --- */
static void begin_bsp(void)
{
    bsp_begin(bsp_nprocs());
    bsp_push_reg(in, sizeof in);
    bsp_sync();
}
static void end_bsp(void) { bsp_end(); }
static void turn_bsp(int round)
{
    (void)round;
    CHECK_EQ(bsp_pid(), me);
    bsp_put(right, out, in, 0, sizeof out);
    bsp_sync();
}

/* --- SAM --- */
static void begin_sam(void) { sam_init(); }
static void end_sam(void) { sam_finish(); }
static void turn_sam(int round)
{
    sam_name mine = sam_name_of(1 + me, round), theirs = sam_name_of(1 + left, round);
    CHECK_EQ(sam_rank(), me);
    memcpy(sam_value_begin(mine, sizeof out), out, sizeof out);
    sam_value_end(mine, 1);
    memcpy(in, sam_use(theirs, NULL), sizeof in);
    sam_end_use(theirs);
    /* A rank that waits in another model does not answer. */
    sam_barrier();
}

/* --- Portals --- */
static const unsigned int kind = PTL_NI_MATCHING | PTL_NI_LOGICAL;
static ptl_handle_ni_t ni;
static ptl_handle_ct_t came;
static ptl_handle_md_t from_out;
static ptl_pt_index_t pt;
static void begin_portals(void)
{
    begin();
    ni = open_ni(kind, NULL, NULL);
    came = new_ct(ni);
    pt = new_pt(ni, 0, PTL_EQ_NONE, 1);
    append_to(ni, 1, pt, in, sizeof in, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, came, 0, 0, PTL_PRIORITY_LIST, NULL);
    from_out = new_md(ni, out, sizeof out, 0, PTL_EQ_NONE, PTL_CT_NONE);
    MUST(runtime_barrier());
}
static void end_portals(void)
{
    MUST(PtlNIFini(ni));
    PtlFini();
}
static void turn_portals(int round)
{
    MUST(PtlPut(from_out, 0, sizeof out, PTL_NO_ACK_REQ, name_of(kind, right), pt, 0, 0, NULL, 0));
    CHECK_EQ(reach(came, round + 1).failure, 0);
    MUST(runtime_barrier());
}

/* --- PVM: the first rank brings up a virtual machine of all hosts, before others enroll --- */
static char group[] = "ranks";
static int tids[64];
static void begin_pvm(void)
{
    char name[256] = "", *others[HOSTS], (*names)[256] = calloc((size_t)n, sizeof name);
    int infos[HOSTS], count = 0, known, i, k;
    gethostname(name, sizeof name - 1);
    MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    for (i = 1; i < n; i++) {
        known = !strcmp(names[i], names[0]);
        for (k = 0; k < count; k++)
            known |= !strcmp(names[i], others[k]);
        if (!known)
            others[count++] = names[i];
    }
    if (me == 0) {
        CHECK(pvm_mytid() > 0);
        if (count > 0)
            CHECK_EQ(pvm_addhosts(others, count, infos), count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    tids[me] = pvm_mytid();
    CHECK(tids[me] > 0 && pvm_joingroup(group) >= 0);
    MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, tids, 1, MPI_INT, MPI_COMM_WORLD);
    free(names);
}
static void end_pvm(void)
{
    CHECK_EQ(pvm_barrier(group, n), 0);
    pvm_exit();
}
static void turn_pvm(int round)
{
    pvm_initsend(PvmDataDefault);
    pvm_pklong(out, LEN, 1);
    CHECK_EQ(pvm_send(tids[right], round), 0);
    CHECK(pvm_recv(tids[left], round) > 0);
    CHECK_EQ(pvm_upklong(in, LEN, 1), 0);
    CHECK_EQ(pvm_barrier(group, n), 0);
}

static const struct model {
    const char *name;
    void (*begin)(void), (*turn)(int), (*end)(void);
} models[] = {
    {"mpi", begin_mpi, turn_mpi, end_mpi},     {"shmem", begin_shmem, turn_shmem, end_shmem},
    {"armci", begin_armci, turn_armci, end_armci}, {"bsp", begin_bsp, turn_bsp, end_bsp},
    {"sam", begin_sam, turn_sam, end_sam},     {"portals", begin_portals, turn_portals, end_portals},
    {"pvm", begin_pvm, turn_pvm, end_pvm},
};
enum { MODELS = sizeof models / sizeof *models };

static const struct model *called(const char *name)
{
    for (int i = 0; i < MODELS; i++)
        if (!strcmp(models[i].name, name))
            return &models[i];
    fprintf(stderr, "%s: no such model\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    int all;
    MPI_Session session;
    MPI_Group world;
    /* Who we are, without MPI_Init. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &me), MPI_Group_size(world, &n);
    MPI_Group_free(&world);
    right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 1; i < argc; i++)
        called(argv[i])->begin();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i < argc; i++) {
            long sum, wanted = 0;
            for (int k = 0; k < LEN; k++)
                out[k] = value(me, round) + k, in[k] = -1;
            /* What others put comes after this. */
            MPI_Barrier(MPI_COMM_WORLD);
            called(argv[i])->turn(round);
            for (int k = 0; k < LEN; k++)
                if (in[k] != value(left, round) + k) {
                    fprintf(stderr, "rank %d, %s, round %d: element %d is %ld\n", me, argv[i], round, k, in[k]);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            MPI_Allreduce(in, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            for (int k = 0; k < n; k++)
                wanted += value(k, round);
            CHECK_EQ(sum, wanted);
        }
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = argc - 1; i > 0; i--)
        called(argv[i])->end();
    MPI_Session_finalize(&session);
    if (me == 0)
        printf("%d ranks, %d models: %d errors\n", n, argc - 1, all);
    return all != 0;
}
