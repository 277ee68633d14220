/* Chapter 11 in a program that never calls MPI_Init: ports between its processes, published names, and processes that it
 * spawns, which do. */
#define SESSIONS_ONLY
#include "check.h"

/* Words there and back over an intercommunicator, whose groups have one process and n. */
static void talk(MPI_Comm inter)
{
    int sizes[2], ours = -1, theirs = -1;
    CHECK_MPI(MPI_Comm_size(inter, &sizes[0]));
    CHECK_MPI(MPI_Comm_remote_size(inter, &sizes[1]));
    MPI_Comm all;
    CHECK_MPI(MPI_Intercomm_merge(inter, sizes[0] > sizes[1], &all));
    CHECK_MPI(MPI_Comm_rank(all, &ours));
    CHECK_MPI(MPI_Allreduce(&ours, &theirs, 1, MPI_INT, MPI_MAX, all));
    CHECK_EQ(theirs, sizes[0] + sizes[1] - 1);
    CHECK_MPI(MPI_Comm_free(&all));
    CHECK_MPI(MPI_Comm_disconnect(&inter));
}

/* Process 0 accepts the others, which look its port up. */
static void ports(void)
{
    char name[64], port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    MPI_Comm part, inter;
    long number = (long)(MPI_Wtime() * 1e6);
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "sessions %ld", number);
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, check_rank > 0, check_rank, &part));
    if (check_rank == 0) {
        CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
        CHECK_MPI(MPI_Publish_name(name, MPI_INFO_NULL, port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Lookup_name(name, MPI_INFO_NULL, found));
    if (check_size > 1) {
        if (check_rank == 0)
            CHECK_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &inter));
        else
            CHECK_MPI(MPI_Comm_connect(found, MPI_INFO_NULL, 0, part, &inter));
        talk(inter);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CHECK_MPI(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
        CHECK_MPI(MPI_Close_port(port));
    }
    CHECK_MPI(MPI_Comm_free(&part));
}

#undef MPI_Init
#undef MPI_Finalize

/* A spawned process, which has to call MPI_Init to meet its parents. */
static int child(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    CHECK(parents != MPI_COMM_NULL);
    talk(parents);
    MPI_Finalize();
    return check_errors != 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child(argc, argv);
    CHECK_MPI(check_begin_session());
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    ports();
    char *words[] = {"child", NULL};
    MPI_Comm children;
    int codes[2] = {-1, -1};
    CHECK_MPI(MPI_Comm_spawn(argv[0], words, 2 - check_size % 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes));
    CHECK_EQ(codes[0], MPI_SUCCESS);
    talk(children);
    int all = 0;
    MPI_Allreduce(&check_errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int code = check_end_session();
    if (check_rank == 0)
        printf(all || code ? "errors\n" : "No errors\n");
    return all || code;
}
