/* Splits MPI_COMM_WORLD by parts of the machine and says what each rank gets.
 *
 *   hardware bind PROCESSOR,... | hardware bound
 *
 * With processors the ranks bind themselves to them in turn; "-" leaves a rank as it is. Each rank prints "RANK NAME RANKS"
 * for each name of a part, where RANKS are those of MPI_COMM_WORLD in its communicator or "none"; "RANK info NAME VALUE" for what
 * MPI_Get_hw_resource_info says; and "RANK step NAME RANKS" for each step of the unguided split. */
#define _GNU_SOURCE
#include "bound.h"
#include <stdio.h>

enum { RANKS_MAX = 64 };

static int rank;

static const char *members(MPI_Comm comm)
{
    static char text[RANKS_MAX * 4];
    int ranks[RANKS_MAX], size;
    if (comm == MPI_COMM_NULL)
        return "none";
    MPI_Comm_size(comm, &size);
    MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, comm);
    text[0] = 0;
    for (int i = 0; i < size; i++)
        sprintf(text + strlen(text), i ? ",%d" : "%d", ranks[i]);
    return text;
}

static void guided(int type, const char *key, const char *name)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, name);
    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &comm);
    printf("%d %s %s\n", rank, name, members(comm));
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Info_free(&info);
}

static void unguided(MPI_Comm comm)
{
    char name[MPI_MAX_INFO_VAL] = "";
    int length = sizeof name, flag;
    MPI_Info info;
    MPI_Comm part;
    MPI_Info_create(&info);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, name, &flag);
    if (flag != (part != MPI_COMM_NULL))
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (part != MPI_COMM_NULL) {
        printf("%d step %s %s\n", rank, name, members(part));
        unguided(part);
        MPI_Comm_free(&part);
    }
    MPI_Info_free(&info);
}

static void restricted(void)
{
    MPI_Info info;
    int keys;
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY], value[8];
        int length = sizeof value, flag;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get_string(info, key, &length, value, &flag);
        printf("%d info %s %s\n", rank, key, value);
    }
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    static const char *names[] = {"mpi_shared_memory", "hwloc://Machine", "hwloc://Package", "socket", "hwloc://NUMANode",
                                  "hwloc://L3Cache", "hwloc://Core", "hwloc://PU", "hwloc://Rack"};
    static const char *sets[] = {"mpi://WORLD", "mpi://SELF", "app://none"};
    MPI_Comm some;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 3)
        bind_to(argv[2], rank);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        guided(i % 2 ? MPI_COMM_TYPE_RESOURCE_GUIDED : MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", names[i]);
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", sets[i]);
    restricted();
    unguided(MPI_COMM_WORLD);
    /* Who takes no part in the result takes part in the call. */
    MPI_Comm_split_type(MPI_COMM_WORLD, rank ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &some);
    printf("%d without %s\n", rank, members(some));
    if (some != MPI_COMM_NULL)
        MPI_Comm_free(&some);
    MPI_Finalize();
    return 0;
}
