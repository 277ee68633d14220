/* Two ranks spawn a process each; the processes of the three jobs, of which the children do not know each other, become one
   communicator (MPI 5.0, section 7.6.2), talk, and part again. Argument: a host for each child, by commas. 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "introduced: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* A parent and its child, the parent first. */
static MPI_Comm pair(int rank, char *name, char *hosts)
{
    MPI_Comm parent, child, both;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Info info;
        MPI_Info_create(&info);
        char *host = strtok(hosts, ",");
        if (rank == 1)
            host = strtok(NULL, ",");
        if (host)
            MPI_Info_set(info, "host", host);
        MPI_Comm_spawn(name, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&info);
        MPI_Intercomm_merge(child, 0, &both);
        MPI_Comm_disconnect(&child);
    } else {
        MPI_Intercomm_merge(parent, 1, &both);
        MPI_Comm_disconnect(&parent);
    }
    return both;
}

int main(int argc, char **argv)
{
    int rank, size, me, sum, got = -1;
    char none[] = "";
    MPI_Comm parent, both, between, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    int is_child = parent != MPI_COMM_NULL;
    both = pair(rank, argv[0], argc > 1 ? argv[1] : none);
    /* The leaders are the parents, and know each other. */
    MPI_Intercomm_create(both, 0, is_child ? MPI_COMM_NULL : MPI_COMM_WORLD, 1 - rank, 7, &between);
    MPI_Comm_remote_size(between, &size);
    must(size == 2, "the size of the other side");
    /* Children to children, without a third process. */
    MPI_Comm_rank(both, &me);
    MPI_Sendrecv(&me, 1, MPI_INT, me, 0, &got, 1, MPI_INT, me, 0, between, MPI_STATUS_IGNORE);
    must(got == me, "a message between those who did not know each other");
    MPI_Intercomm_merge(between, 0, &all);
    MPI_Comm_size(all, &size);
    must(size == 4, "the size of all");
    int one = 1 + is_child;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    must(sum == 6, "a sum over three jobs");
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&between);
    MPI_Comm_disconnect(&both);
    MPI_Finalize();
    if (rank == 0 && !is_child)
        printf("introduced: well\n");
    return 0;
}
