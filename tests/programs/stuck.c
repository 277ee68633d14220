/* Programs that hang, each in its own way: `stuck WAY`. For the tests of `hpvm jobs`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, right, left;

static void recv_ring(void) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ssend_ring(void) {
    int x = 0;
    MPI_Ssend(&x, 1, MPI_INT, right, 6, MPI_COMM_WORLD);
}

static void large_ring(void) {
    enum { BYTES = 1 << 20 };
    char *x = calloc(1, BYTES);
    MPI_Send(x, BYTES, MPI_BYTE, right, 7, MPI_COMM_WORLD);
    free(x);
}

static void wrong_tag(void) {
    int x = 0;
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, rank == 0 ? 1 : 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void two_collectives(void) {
    int x = 0, *all = calloc(size, sizeof *all);
    if (rank == 0)
        MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(all);
}

static void one_in_barrier(void) {
    int x;
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Recv(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void any_on_named(void) {
    MPI_Comm halo;
    double x[10];
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &halo);
    MPI_Comm_set_name(halo, "halo exchange");
    if (rank == 0)
        MPI_Recv(x, 10, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, halo, MPI_STATUS_IGNORE);
    else
        MPI_Recv(x, 10, MPI_DOUBLE, size - 1, 3, halo, MPI_STATUS_IGNORE);
}

/* Rank 0 lets the others in, and only rank 1 comes. */
static void half_an_epoch(void) {
    MPI_Win win;
    MPI_Group all, others;
    int zero = 0, *memory;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "shared counters");
    if (rank == 0) {
        MPI_Group_excl(all, 1, &zero, &others);
        MPI_Win_post(others, 0, win);
        MPI_Win_wait(win);
    } else if (rank == 1) {
        MPI_Group_incl(all, 1, &zero, &others);
        MPI_Win_start(others, 0, win);
        MPI_Win_complete(win);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void probing(void) {
    MPI_Probe(right, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void several(void) {
    int x, y;
    MPI_Request r[2];
    MPI_Irecv(&x, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&y, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void ended(void) {
    int x;
    if (rank == 0) MPI_Recv(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The last rank computes: nobody is stuck for good. */
static void one_computes(void) {
    int x;
    volatile double work = 0;
    while (rank == size - 1) work += 1;
    MPI_Recv(&x, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct { const char *name; void (*run)(void); } WAYS[] = {
    { "recv", recv_ring }, { "ssend", ssend_ring }, { "large", large_ring },
    { "tag", wrong_tag }, { "collectives", two_collectives }, { "barrier", one_in_barrier },
    { "named", any_on_named }, { "probe", probing }, { "several", several }, { "ended", ended },
    { "computes", one_computes }, { "threads", recv_ring }, { "epoch", half_an_epoch },
};

int main(int argc, char **argv) {
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0, level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (size_t i = 0; argc > 1 && i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(argv[1], WAYS[i].name) == 0) WAYS[i].run();
    MPI_Finalize();
    return 0;
}
