/* MPI 5.0, 7.4.2 MPI_Comm_idup: many at a time from one and from several parents, with collectives
 * of the parent started and finished in between; the parent may be freed before the duplicate is
 * ready; on intercommunicators; attributes, and a copy function that fails. */
#include "check.h"

enum { MANY = 12 };

/* The duplicate carries messages and collectives of its own. */
static void works(MPI_Comm comm, int number)
{
    int sum = -1, value = check_rank + number;
    CHECK_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, check_size * (check_size - 1) / 2 + check_size * number);
}

static void many(void)
{
    MPI_Comm parents[2], comms[MANY];
    MPI_Request requests[2 * MANY];
    int out[MANY], in[MANY];
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &parents[0]));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &parents[1]));
    for (int i = 0; i < MANY; i++) {
        CHECK_MPI(MPI_Comm_idup(parents[i % 2], &comms[i], &requests[2 * i]));
        out[i] = i + check_rank;
        CHECK_MPI(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_MAX, parents[i % 2],
                                 &requests[2 * i + 1]));
        if (i % 4 == 3)
            CHECK_MPI(MPI_Barrier(parents[0]));
    }
    CHECK_MPI(MPI_Comm_free(&parents[0]));
    CHECK_MPI(MPI_Comm_free(&parents[1]));
    /* Completed in the other order on every second process. */
    for (int i = 0; i < 2 * MANY; i++)
        CHECK_MPI(MPI_Wait(&requests[check_rank % 2 ? 2 * MANY - 1 - i : i], MPI_STATUS_IGNORE));
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(in[i], i + check_size - 1);
        works(comms[i], i);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Comm_free(&comms[(i * 5) % MANY]));
}

static void between_groups(void)
{
    if (check_size < 2)
        return;
    MPI_Comm local, inter, dups[3];
    MPI_Request requests[3];
    int low = check_rank < check_size / 2, remote = -1, flag = 0;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local));
    CHECK_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? check_size / 2 : 0, 3, &inter));
    for (int i = 0; i < 3; i++)
        CHECK_MPI(MPI_Comm_idup(inter, &dups[i], &requests[i]));
    CHECK_MPI(MPI_Barrier(inter));
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++) {
        CHECK_MPI(MPI_Comm_test_inter(dups[i], &flag));
        CHECK(flag);
        CHECK_MPI(MPI_Comm_remote_size(dups[i], &remote));
        int one = 1, sum = 0;
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dups[i]));
        CHECK_EQ(sum, remote);
        CHECK_MPI(MPI_Comm_free(&dups[i]));
    }
    CHECK_MPI(MPI_Comm_free(&inter));
    CHECK_MPI(MPI_Comm_free(&local));
}

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return state ? *(int *)state : MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    deletes++;
    return MPI_SUCCESS;
}

static void attributes(int strict)
{
    MPI_Comm parent, dup;
    MPI_Request request;
    int first, second, fail = MPI_SUCCESS, flag = 0;
    void *value = NULL;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_MPI(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_create_keyval(copy, delete, &first, NULL));
    CHECK_MPI(MPI_Comm_create_keyval(copy, delete, &second, &fail));
    CHECK_MPI(MPI_Comm_set_attr(parent, first, &first));
    CHECK_MPI(MPI_Comm_set_attr(parent, second, &second));
    CHECK_MPI(MPI_Comm_idup(parent, &dup, &request));
    CHECK_EQ(copies, 2); /* at the call, not later */
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Comm_get_attr(dup, second, &value, &flag));
    CHECK(flag && value == &second);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK_EQ(deletes, 2);
    if (strict) {
        /* It fails on one process; the others must not wait for it for ever. */
        if (check_rank == 0)
            fail = MPI_ERR_OTHER;
        int code = MPI_Comm_dup(parent, &dup);
        CHECK((code == MPI_SUCCESS) == (check_rank != 0));
        CHECK_EQ(deletes, check_rank ? 2 : 3); /* the first copy was made, so it is deleted */
        if (check_rank != 0)
            CHECK_MPI(MPI_Comm_free(&dup));
        fail = MPI_SUCCESS;
        for (int i = 0; i < 3; i++) {
            CHECK_MPI(MPI_Comm_dup(parent, &dup));
            works(dup, i);
            CHECK_MPI(MPI_Comm_free(&dup));
        }
    }
    CHECK_MPI(MPI_Comm_free(&parent));
    CHECK_MPI(MPI_Comm_free_keyval(&first));
    CHECK_MPI(MPI_Comm_free_keyval(&second));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int i = 0; i < 5; i++)
        many();
    between_groups();
    attributes(argc > 1 && !strcmp(argv[1], "strict"));
    return check_finish();
}
