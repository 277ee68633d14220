/* Open MPI's own types of MPI_Comm_split_type: split_ompi PROCESSOR,... binds rank I to the I-th of them ("-": to none). Each
 * rank says for each type "RANK TYPE RANKS". */
#define _GNU_SOURCE
#include "bound.h"
#include <stdio.h>

enum { HWTHREAD = 1, CORE, L1CACHE, L2CACHE, L3CACHE, SOCKET, NUMA, BOARD, HOST, CU, CLUSTER, BEYOND = 14 };

static int rank, size;

static void split(int type, const char *name, int key)
{
    MPI_Comm part = MPI_COMM_NULL;
    int code = MPI_Comm_split_type(MPI_COMM_WORLD, type, key, MPI_INFO_NULL, &part);
    if (part == MPI_COMM_NULL) {
        printf("%d %s %s\n", rank, name, code == MPI_SUCCESS ? "none" : "error");
        return;
    }
    int members[64], count;
    char text[200] = "";
    MPI_Comm_size(part, &count);
    MPI_Allgather(&rank, 1, MPI_INT, members, 1, MPI_INT, part);
    for (int i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%d", i ? "," : "", members[i]);
    printf("%d %s %s\n", rank, name, text);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 1)
        bind_to(argv[1], rank);
    split(HWTHREAD, "hwthread", 0);
    split(CORE, "core", -rank);
    split(L1CACHE, "l1cache", 0);
    split(L3CACHE, "l3cache", 0);
    split(SOCKET, "socket", 0);
    split(NUMA, "numa", 0);
    split(BOARD, "board", 0);
    split(HOST, "host", 0);
    split(CU, "cu", 0);
    split(CLUSTER, "cluster", 0);
    split(rank == 1 ? MPI_UNDEFINED : NUMA, "without", 0);
    split(BEYOND, "beyond", 0);
    MPI_Finalize();
    return 0;
}
