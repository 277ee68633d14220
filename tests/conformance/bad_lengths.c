/* Collectives whose members do not agree on lengths are wrong programs (MPI 5.0, 6.2): whoever gets more
 * than it has room for says so, nobody writes beyond any end, and what comes later is as it should be. */
#include "check.h"

enum { LONG = 300000, MIDDLE = 40000, SHORT = 10000 };

static char *out, *in;

/* The other collectives on the communicator, and on another one, still work. */
static void others_are_right(MPI_Comm comm, MPI_Comm other)
{
    for (int i = 0; i < 6; i++) {
        int mine = check_rank + i, sum = 0, want = check_size * (check_size - 1) / 2 + check_size * i;
        CHECK_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQ(sum, want);
        sum = 0;
        CHECK_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, other));
        CHECK_EQ(sum, want);
    }
}

/* Every member sends blocks of `sent` bytes where there is room for `room`. */
static void longer(int sent, int room, MPI_Comm comm, MPI_Comm other)
{
    memset(in, 7, (size_t)room * (size_t)check_size + 1);
    CHECK_CLASS(MPI_Allgather(out, sent, MPI_BYTE, in, room, MPI_BYTE, comm), MPI_ERR_TRUNCATE);
    CHECK_EQ(in[room * check_size], 7);
    others_are_right(comm, other);
    CHECK_CLASS(MPI_Alltoall(out, sent, MPI_BYTE, in, room, MPI_BYTE, comm), MPI_ERR_TRUNCATE);
    CHECK_EQ(in[room * check_size], 7);
    others_are_right(comm, other);
}

/* The last member has more elements than the others. Who notices depends on the way that they go. */
static void uneven(int count, MPI_Comm comm, MPI_Comm other)
{
    int last = check_rank == check_size - 1, mine = count + last;
    for (int i = 0; i < mine; i++)
        ((double *)out)[i] = 1;
    int code = MPI_Allreduce(out, in, mine, MPI_DOUBLE, MPI_SUM, comm);
    int noticed = code != MPI_SUCCESS, any = 0;
    CHECK_MPI(MPI_Allreduce(&noticed, &any, 1, MPI_INT, MPI_MAX, other));
    CHECK(any);
    others_are_right(comm, other);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm comm, other;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    out = calloc((size_t)check_size, LONG);
    in = calloc((size_t)check_size, LONG);
    others_are_right(comm, other);
    longer(LONG, 1, comm, other);
    longer(LONG, 8192 / check_size, comm, other);
    longer(LONG, SHORT, comm, other);
    longer(LONG, MIDDLE, comm, other);
    if (check_size > 1)
        uneven(8000, comm, other);
    if (check_size > 1)
        uneven(30000, comm, other);
    free(out);
    free(in);
    CHECK_MPI(MPI_Comm_free(&comm));
    CHECK_MPI(MPI_Comm_free(&other));
    return check_finish();
}
