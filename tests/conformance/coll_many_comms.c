/* MPI 5.0, 7.4: hundreds of communicators that overlap, live for a few calls or for long, and are made
 * and freed in between. On each of them random collectives with roots that run ahead, and ranks that are late. A
 * communicator that follows another one on its context must not see anything of it. Argument: rounds. */
#include "coll.h"
#include <unistd.h>

enum { LIVE = 200, MOST = 5000 };

static uint64_t state;

/* The same numbers on all ranks. */
static unsigned pick(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static int wrong;
static int64_t mine[MOST], all[MOST];

static void move(MPI_Comm comm, int kind, int n, int root, int rank, int size)
{
    for (int i = 0; i < n * size; i++) {
        mine[i] = coll_value(rank, i);
        all[i] = -1;
    }
    switch (kind) {
    case 0:
        CHECK_MPI(MPI_Barrier(comm));
        break;
    case 1:
        if (rank != root)
            memset(mine, 0, (size_t)n * 8);
        CHECK_MPI(MPI_Bcast(mine, n, MPI_INT64_T, root, comm));
        for (int i = 0; i < n; i++)
            wrong += mine[i] != coll_value(root, i);
        break;
    case 2:
        CHECK_MPI(MPI_Gather(mine, n, MPI_INT64_T, all, n, MPI_INT64_T, root, comm));
        for (int i = 0; rank == root && i < n * size; i++)
            wrong += all[i] != coll_value(i / n, i % n);
        break;
    case 3:
        CHECK_MPI(MPI_Scatter(mine, n, MPI_INT64_T, all, n, MPI_INT64_T, root, comm));
        for (int i = 0; i < n; i++)
            wrong += all[i] != coll_value(root, rank * n + i);
        break;
    case 4:
        CHECK_MPI(MPI_Allgather(mine, n, MPI_INT64_T, all, n, MPI_INT64_T, comm));
        for (int i = 0; i < n * size; i++)
            wrong += all[i] != coll_value(i / n, i % n);
        break;
    case 5:
        CHECK_MPI(MPI_Alltoall(mine, n, MPI_INT64_T, all, n, MPI_INT64_T, comm));
        for (int i = 0; i < n * size; i++)
            wrong += all[i] != coll_value(i / n, rank * n + i % n);
        break;
    default:
        if (kind == 6)
            CHECK_MPI(MPI_Reduce(mine, all, n, MPI_INT64_T, MPI_SUM, root, comm));
        else
            CHECK_MPI(MPI_Allreduce(mine, all, n, MPI_INT64_T, MPI_SUM, comm));
        for (int i = 0; (kind == 7 || rank == root) && i < n; i++) {
            int64_t sum = 0;
            for (int r = 0; r < size; r++)
                sum += coll_value(r, i);
            wrong += all[i] != sum;
        }
    }
}

/* Some collectives in a row. All members take the same steps; who is no member takes the numbers alone. */
static void use(MPI_Comm comm, unsigned calls)
{
    int rank = -1, size = 1;
    if (comm != MPI_COMM_NULL) {
        CHECK_MPI(MPI_Comm_rank(comm, &rank));
        CHECK_MPI(MPI_Comm_size(comm, &size));
    }
    while (calls-- > 0) {
        static const int lengths[] = { 0, 1, 3, 14, 15, 40, 300 };
        int kind = (int)pick(8), n = lengths[pick(7)], late = (int)pick(64);
        unsigned root = pick(1000);
        if (comm == MPI_COMM_NULL)
            continue;
        if (late == rank)
            usleep(200);
        move(comm, kind, n * size > MOST ? 1 : n, (int)(root % (unsigned)size), rank, size);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    static MPI_Comm live[LIVE];
    static int seen[LIVE];
    for (int i = 0; i < LIVE; i++)
        live[i] = MPI_COMM_NULL;
    for (int round = 0; round < rounds; round++) {
        int at = (int)pick(LIVE), how = (int)pick(3), colours = 1 + (int)pick(3);
        if (live[at] != MPI_COMM_NULL) {
            /* A root has posted what others read only when they come. */
            use(live[at], 3);
            CHECK_MPI(MPI_Comm_free(&live[at]));
        } else if (seen[at]) {
            use(MPI_COMM_NULL, 3);
        }
        seen[at] = 1;
        MPI_Comm fresh;
        if (how == 0)
            CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &fresh));
        else
            CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD,
                                     how == 1 && check_rank % 3 == 2 ? MPI_UNDEFINED : check_rank % colours,
                                     round % 2 ? check_rank : -check_rank, &fresh));
        live[at] = fresh;
        use(fresh, 1 + pick(4));
        unsigned other = pick(LIVE);
        if (seen[other])
            use(live[other], 2);
        if (pick(4) == 0) {
            /* One that lives for a single call, on the context that the next one gets. */
            MPI_Comm brief;
            CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank % (1 + (int)pick(3)), 0, &brief));
            use(brief, 1);
            CHECK_MPI(MPI_Comm_free(&brief));
        }
    }
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < LIVE; i++)
        if (live[i] != MPI_COMM_NULL)
            CHECK_MPI(MPI_Comm_free(&live[i]));
    return check_finish();
}
