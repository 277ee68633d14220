/* MPI 5.0, 7.4 "Communicator Management": compare, dup, idup, dup_with_info, create, create_group,
 * split with undefined colours and keys, split_type, names. */
#include "check.h"

/* The communicator works and has these world ranks in order. */
static void works(MPI_Comm comm, const int *ranks, int n)
{
    int size = -1, rank = -1, *all = malloc((size_t)check_size * sizeof(int));
    CHECK_MPI(MPI_Comm_size(comm, &size));
    CHECK_EQ(size, n);
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    CHECK_EQ(ranks[rank], check_rank);
    CHECK_MPI(MPI_Allgather(&check_rank, 1, MPI_INT, all, 1, MPI_INT, comm));
    CHECK(!memcmp(all, ranks, (size_t)n * sizeof(int)));
    free(all);
}

static void compare(const int *identity)
{
    MPI_Comm dup, reversed, part;
    int result = -1;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    works(dup, identity, check_size);
    CHECK_MPI(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, MPI_IDENT);
    CHECK_MPI(MPI_Comm_compare(MPI_COMM_WORLD, dup, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed));
    CHECK_MPI(MPI_Comm_compare(dup, reversed, &result));
    CHECK_EQ(result, check_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &part));
    CHECK_MPI(MPI_Comm_compare(part, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, check_size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);
    CHECK_MPI(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL);
    CHECK_MPI(MPI_Comm_free(&reversed));
    CHECK_MPI(MPI_Comm_free(&part));
}

static void split(void)
{
    MPI_Comm part;
    int *want = malloc((size_t)check_size * sizeof(int)), n = 0;
    /* Every third rank stays out; keys reverse; equal keys keep the old order. */
    int out = check_rank % 3 == 2;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, out ? MPI_UNDEFINED : check_rank % 3, -check_rank,
                             &part));
    if (out) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        for (int r = check_size - 1; r >= 0; r--)
            if (r % 3 == check_rank % 3)
                want[n++] = r;
        works(part, want, n);
        CHECK_MPI(MPI_Comm_free(&part));
    }
    n = 0;
    for (int r = 0; r < check_size; r++)
        want[n++] = r;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 1 << 30, 5, &part));
    works(part, want, n);
    CHECK_MPI(MPI_Comm_free(&part));
    int size = -1;
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    CHECK_MPI(MPI_Comm_size(part, &size));
    CHECK(size >= 1 && size <= check_size);
    CHECK_MPI(MPI_Barrier(part));
    CHECK_MPI(MPI_Comm_free(&part));
    CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL);
    free(want);
}

static void create(void)
{
    MPI_Group world, even;
    MPI_Comm comm;
    int *want = malloc((size_t)check_size * sizeof(int)), n = 0;
    for (int r = check_size - 1; r >= 0; r--)
        if (r % 2 == 0)
            want[n++] = r;
    CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_MPI(MPI_Group_incl(world, n, want, &even));
    CHECK_MPI(MPI_Comm_create(MPI_COMM_WORLD, even, &comm));
    CHECK((comm != MPI_COMM_NULL) == (check_rank % 2 == 0));
    if (comm != MPI_COMM_NULL) {
        works(comm, want, n);
        CHECK_MPI(MPI_Comm_free(&comm));
    }
    /* Only the members call this one. */
    if (check_rank % 2 == 0) {
        CHECK_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, even, 3, &comm));
        works(comm, want, n);
        CHECK_MPI(MPI_Comm_free(&comm));
    }
    CHECK_MPI(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK_MPI(MPI_Group_free(&even));
    CHECK_MPI(MPI_Group_free(&world));
    free(want);
}

static void duplicates(const int *identity)
{
    MPI_Comm comms[3];
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++)
        CHECK_MPI(MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]));
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 2; i >= 0; i--) {
        works(comms[i], identity, check_size);
        CHECK_MPI(MPI_Comm_free(&comms[i]));
    }
    CHECK_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comms[0]));
    works(comms[0], identity, check_size);
    CHECK_MPI(MPI_Comm_free(&comms[0]));
    int me = check_rank;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comms[0]));
    works(comms[0], &me, 1);
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    CHECK_MPI(MPI_Comm_get_name(comms[0], name, &length));
    CHECK(length == 0 && name[0] == 0);
    CHECK_MPI(MPI_Comm_set_name(comms[0], "only me"));
    CHECK_MPI(MPI_Comm_get_name(comms[0], name, &length));
    CHECK(!strcmp(name, "only me") && length == 7);
    CHECK_MPI(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(!strcmp(name, "MPI_COMM_WORLD"));
    CHECK_MPI(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK(!strcmp(name, "MPI_COMM_SELF"));
    CHECK_MPI(MPI_Comm_free(&comms[0]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int *identity = malloc((size_t)check_size * sizeof(int));
    for (int i = 0; i < check_size; i++)
        identity[i] = i;
    works(MPI_COMM_WORLD, identity, check_size);
    compare(identity);
    split();
    create();
    duplicates(identity);
    free(identity);
    return check_finish();
}
