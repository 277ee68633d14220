/* The main paths, one function each, for counting their instructions: see
 * src/instructions.rs. `paths --names` lists them with the ranks each needs and the operations it
 * makes. With one rank the paths of a process alone, with two those between ranks: rank 0 comes last
 * to each, after rank 1 has done its part, so that it never waits and the count is the same each
 * time. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline)) static void

enum { MANY = 100, PAIRS = 64, WORDS = 512, CALLS = 3, CALLS_BETWEEN = 15 };

static double out[2 * WORDS], in[3 * WORDS];
static MPI_Request requests[2 * PAIRS], persistent[2];
static MPI_Datatype stride2, nested;
static int rank, nested_count;

PATH path_send_recv_self(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Send(out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

PATH path_isend_irecv_waitall(void)
{
    for (int i = 0; i < PAIRS; i++)
        MPI_Irecv(in + i, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < PAIRS; i++)
        MPI_Isend(out + i, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[PAIRS + i]);
    MPI_Waitall(2 * PAIRS, requests, MPI_STATUSES_IGNORE);
}

PATH path_persistent_pair(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    }
}

PATH path_iprobe_nothing(void)
{
    for (int i = 0, flag; i < MANY; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

PATH path_allreduce_alone(void)
{
    for (int i = 0; i < MANY; i++)
        MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

PATH path_barrier_alone(void)
{
    for (int i = 0; i < MANY; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

PATH path_pack_8_bytes(void)
{
    for (int i = 0; i < MANY; i++) {
        int position = 0;
        MPI_Pack(out, 1, MPI_DOUBLE, in, sizeof in, &position, MPI_COMM_WORLD);
    }
}

PATH path_pack_stride2(void)
{
    int position = 0;
    MPI_Pack(out, 1, stride2, in, sizeof in, &position, MPI_COMM_WORLD);
}

PATH path_unpack_nested(void)
{
    int position = 0;
    MPI_Unpack(in, sizeof in, &position, out, nested_count, nested, MPI_COMM_WORLD);
}

PATH path_send(void)
{
    MPI_Send(out, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
}

PATH path_recv(void)
{
    MPI_Recv(in, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

PATH path_allreduce(void)
{
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

PATH path_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

PATH path_bcast(void)
{
    MPI_Bcast(out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

PATH path_gather(void)
{
    MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

PATH path_scatter(void)
{
    MPI_Scatter(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

PATH path_alltoall(void)
{
    MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* Not asleep in MPI when the message comes: waking it is another path. */
static void other_recv(void)
{
    const struct timespec longer = {0, 30000000};
    nanosleep(&longer, NULL);
    MPI_Recv(in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other_send(void)
{
    MPI_Send(out, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
    void (*other)(void); /* what rank 1 does; NULL: a path of one rank */
    int operations;
} paths[] = {
    {"path_send_recv_self", path_send_recv_self, NULL, MANY},
    {"path_isend_irecv_waitall", path_isend_irecv_waitall, NULL, PAIRS},
    {"path_persistent_pair", path_persistent_pair, NULL, MANY},
    {"path_iprobe_nothing", path_iprobe_nothing, NULL, MANY},
    {"path_allreduce_alone", path_allreduce_alone, NULL, MANY},
    {"path_barrier_alone", path_barrier_alone, NULL, MANY},
    {"path_pack_8_bytes", path_pack_8_bytes, NULL, MANY},
    {"path_pack_stride2", path_pack_stride2, NULL, 1},
    {"path_unpack_nested", path_unpack_nested, NULL, 1},
    {"path_send", path_send, other_recv, 1},
    {"path_recv", path_recv, other_send, 1},
    {"path_allreduce", path_allreduce, path_allreduce, 1},
    {"path_barrier", path_barrier, path_barrier, 1},
    {"path_bcast", path_bcast, path_bcast, 1},
    {"path_gather", path_gather, path_gather, 1},
    {"path_scatter", path_scatter, path_scatter, 1},
    {"path_alltoall", path_alltoall, path_alltoall, 1},
};

static void prepare(void)
{
    MPI_Datatype inner;
    MPI_Type_vector(WORDS, 1, 2, MPI_DOUBLE, &stride2);
    MPI_Type_commit(&stride2);
    MPI_Type_vector(4, 2, 4, MPI_DOUBLE, &inner);
    MPI_Type_vector(2, 2, 3, inner, &nested);
    MPI_Type_commit(&nested);
    MPI_Type_free(&inner);
    nested_count = 12;
    MPI_Recv_init(in, 1, MPI_DOUBLE, 0, 5, MPI_COMM_SELF, &persistent[0]);
    MPI_Send_init(out, 1, MPI_DOUBLE, 0, 5, MPI_COMM_SELF, &persistent[1]);
}

/* Rank 1 goes on, and rank 0 some time later: what rank 1 does now is done by then, and nothing else
 * that would have to be kept meanwhile. */
static void meet(void)
{
    const struct timespec nap = {0, 10000000};
    char go = 1;
    if (rank == 1) {
        MPI_Recv(&go, 1, MPI_CHAR, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Send(&go, 1, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
    nanosleep(&nap, NULL);
}

static int ranks_of(size_t path)
{
    return paths[path].other ? 2 : 1;
}

int main(int argc, char **argv)
{
    int size;
    if (argc > 1 && strcmp(argv[1], "--names") == 0) {
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
            printf("%s %d %d\n", paths[p].name, ranks_of(p), paths[p].operations);
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prepare();
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        if (ranks_of(p) != size)
            continue;
        for (int i = 0; i < (size == 2 ? CALLS_BETWEEN : CALLS); i++) {
            if (size == 2)
                meet();
            (rank == 0 ? paths[p].run : paths[p].other)();
        }
    }
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
    MPI_Type_free(&stride2);
    MPI_Type_free(&nested);
    MPI_Finalize();
    return 0;
}
