/* MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI 5.0, section 11.8): the children are copies of this program. Messages,
 * collectives, merging and disconnecting; a grandchild; programs that do not exist. */
#include "check.h"
#include <string.h>

enum { CHILDREN = 3 };
static char *program;

static void merge_and_sum(MPI_Comm inter, int high)
{
    MPI_Comm all;
    CHECK_MPI(MPI_Intercomm_merge(inter, high, &all));
    int rank, size, sum = 0, one = 1;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    int here, there;
    MPI_Comm_size(inter, &here);
    MPI_Comm_remote_size(inter, &there);
    CHECK_EQ(size, here + there);
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_EQ(sum, size);
    /* Long messages around the ring, and a part of it. */
    enum { N = 200000 };
    static int out[N], in[N];
    for (int i = 0; i < N; i++)
        out[i] = rank + i;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    CHECK_MPI(MPI_Sendrecv(out, N, MPI_INT, next, 1, in, N, MPI_INT, before, 1, all, MPI_STATUS_IGNORE));
    CHECK_EQ(in[0], before);
    CHECK_EQ(in[N - 1], before + N - 1);
    MPI_Comm half;
    CHECK_MPI(MPI_Comm_split(all, rank % 2, 0, &half));
    CHECK_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, half));
    CHECK(sum % 2 == rank % 2);
    CHECK_MPI(MPI_Barrier(half));
    MPI_Comm shared;
    CHECK_MPI(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    CHECK_MPI(MPI_Comm_free(&shared));
    CHECK_MPI(MPI_Comm_free(&half));
    CHECK_MPI(MPI_Comm_free(&all));
}

static void broadcast(MPI_Comm inter, int parent, int rank)
{
    int value = rank == 0 ? 4711 : 0;
    if (parent)
        CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    else
        CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, inter));
    if (!parent)
        CHECK_EQ(value, 4711);
    CHECK_MPI(MPI_Barrier(inter));
}

static void child(MPI_Comm parent, const char *what)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "leaf") == 0) {
        CHECK_MPI(MPI_Barrier(parent));
    } else if (strcmp(what, "several") == 0) {
        int *number, flag;
        CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag));
        CHECK(flag);
        CHECK_EQ(*number, rank < 2 ? 0 : 1);
        CHECK_MPI(MPI_Send(number, 1, MPI_INT, 0, rank, parent));
    } else {
        CHECK_EQ(size, CHILDREN);
        char name[MPI_MAX_OBJECT_NAME];
        int len;
        CHECK_MPI(MPI_Comm_get_name(parent, name, &len));
        CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
        broadcast(parent, 0, rank);
        merge_and_sum(parent, 1);
        if (rank == 1) {
            char *arguments[] = { "leaf", NULL };
            MPI_Comm leaf;
            CHECK_MPI(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &leaf, MPI_ERRCODES_IGNORE));
            CHECK_MPI(MPI_Barrier(leaf));
            CHECK_MPI(MPI_Comm_disconnect(&leaf));
        }
    }
    CHECK_MPI(MPI_Comm_disconnect(&parent));
    CHECK_MPI(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    check_finish();
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    program = argv[0];
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent, argc > 1 ? argv[1] : "");
        return 0;
    }
    int rank, size, codes[CHILDREN] = { -1, -1, -1 };
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int root = size - 1;
    CHECK_MPI(MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes));
    for (int i = 0; i < CHILDREN; i++)
        CHECK_EQ(codes[i], MPI_SUCCESS);
    int remote;
    CHECK_MPI(MPI_Comm_remote_size(children, &remote));
    CHECK_EQ(remote, CHILDREN);
    broadcast(children, 1, rank);
    merge_and_sum(children, 0);
    CHECK_MPI(MPI_Comm_disconnect(&children));
    CHECK(children == MPI_COMM_NULL);

    char *commands[] = { program, program }, *several[] = { "several", NULL }, **arguments[] = { several, several };
    int numbers[] = { 2, 1 };
    MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
    CHECK_MPI(MPI_Comm_spawn_multiple(2, commands, arguments, numbers, infos, 0, MPI_COMM_WORLD, &children, codes));
    for (int i = 0; rank == 0 && i < CHILDREN; i++) {
        int number;
        CHECK_MPI(MPI_Recv(&number, 1, MPI_INT, i, i, children, MPI_STATUS_IGNORE));
        CHECK_EQ(number, i < 2 ? 0 : 1);
    }
    CHECK_MPI(MPI_Comm_disconnect(&children));
    check_finish();
    return 0;
}
