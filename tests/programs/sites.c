/* One collective with 8 bytes of each rank, whose result is looked at, and a barrier, again and again: sites NAME PEERS... Each
 * rank prints with how many ranks of other hosts it has talked once those of all are as many as PEERS says, or after 300 turns: a
 * rank shows its counters when it sleeps. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void must(int good, const char *what, int turn)
{
    if (good)
        return;
    fprintf(stderr, "%s, turn %d: rank %d of %d has a wrong result\n", what, turn, rank, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t value(int of, int turn)
{
    return (int64_t)of * 1000 + turn;
}

static void once(const char *name, int turn)
{
    int root = 0;
    int64_t own = value(rank, turn), sum = 0, all[64] = {0}, one = -1;
    for (int i = 0; i < size; i++)
        sum += value(i, turn);
    if (!strcmp(name, "barrier")) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (!strcmp(name, "bcast")) {
        one = rank == root ? own : -1;
        MPI_Bcast(&one, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
        must(one == value(root, turn), name, turn);
    } else if (!strcmp(name, "reduce")) {
        MPI_Reduce(&own, &one, 1, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
        must(rank != root || one == sum, name, turn);
    } else if (!strcmp(name, "allreduce")) {
        MPI_Allreduce(&own, &one, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        must(one == sum, name, turn);
    } else if (!strcmp(name, "allgather")) {
        MPI_Allgather(&own, 1, MPI_INT64_T, all, 1, MPI_INT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            must(all[i] == value(i, turn), name, turn);
    } else {
        fprintf(stderr, "there is no collective '%s'\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* A counter of this rank, from when it was opened on. */
struct counter { MPI_T_pvar_session session; MPI_T_pvar_handle handle; };

static struct counter open_counter(const char *name)
{
    int index, count;
    struct counter c;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&c.session) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(c.session, index, NULL, &c.handle, &count) != MPI_SUCCESS ||
        MPI_T_pvar_start(c.session, c.handle) != MPI_SUCCESS) {
        fprintf(stderr, "there is no counter '%s'\n", name);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return c;
}

static unsigned long long counted(struct counter *c)
{
    unsigned long long value = 0;
    if (MPI_T_pvar_read(c->session, c->handle, &value) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    return value;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2 + size || size > 64)
        MPI_Abort(MPI_COMM_WORLD, 2);
    struct counter peers = open_counter("net_peers");
    unsigned long long wanted = strtoull(argv[2 + rank], NULL, 10);
    for (int turn = 0, all = 0; turn < 300 && !all; turn++) {
        /* The others sleep meanwhile. */
        if (turn % size == rank)
            usleep(20000);
        once(argv[1], turn);
        MPI_Barrier(MPI_COMM_WORLD);
        int enough = counted(&peers) >= wanted;
        MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    printf("%d %llu\n", rank, counted(&peers));
    MPI_T_pvar_session_free(&peers.session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
