/* A program in another MPI's ABI, compiled with that ABI's header: handles, statuses, sentinels and a
 * reduction of its own. Prints "R of N: good" or what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int errors, rank, size;

/* A constant handle in static memory: with Open MPI's ABI the address of a data symbol. */
static MPI_Comm world = MPI_COMM_WORLD;

#define CHECK(what)                                                                              \
    do {                                                                                         \
        if (!(what)) {                                                                           \
            printf("%d of %d: line %d: %s\n", rank, size, __LINE__, #what);                      \
            errors++;                                                                            \
        }                                                                                        \
    } while (0)

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    CHECK(*type == MPI_INT);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void reductions(void) {
    int sum = 0, own = rank, expected = size * (size - 1) / 2;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world) == MPI_SUCCESS && sum == expected);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(own == expected);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    sum = 0;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, world) == MPI_SUCCESS && sum == expected);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
}

static void messages(void) {
    int got = -1, count = -1, before = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Status status;
    memset(&status, 0x55, sizeof status);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, world);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL && got == before);
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 7);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 1);
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, world, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void objects(void) {
    MPI_Comm twin = MPI_COMM_NULL, none = MPI_COMM_SELF;
    int compared = -1, length, integers, addresses, types, combiner;
    char name[MPI_MAX_OBJECT_NAME];
    CHECK(MPI_Comm_dup(world, &twin) == MPI_SUCCESS && twin != MPI_COMM_NULL && twin != world);
    CHECK(MPI_Comm_compare(twin, world, &compared) == MPI_SUCCESS && compared == MPI_CONGRUENT);
    MPI_Comm_free(&twin);
    CHECK(twin == MPI_COMM_NULL);
    CHECK(MPI_Comm_split(world, MPI_UNDEFINED, 0, &none) == MPI_SUCCESS && none == MPI_COMM_NULL);
    MPI_Comm_get_name(world, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    MPI_Datatype pair, inside = MPI_BYTE;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_get_envelope(pair, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_CONTIGUOUS && integers == 1 && types == 1);
    MPI_Type_get_contents(pair, integers, addresses, types, &length, NULL, &inside);
    CHECK(length == 2 && inside == MPI_DOUBLE);
    MPI_Type_free(&pair);
}

/* Programs tell by the beginning which ABI this is, and people by the rest whose library. */
static void names(void) {
    const char *family = sizeof(MPI_Comm) == sizeof(int) ? "MPICH Version:" : "Open MPI v";
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = -1;
    CHECK(MPI_Get_library_version(version, &length) == MPI_SUCCESS);
    CHECK((int)strlen(version) == length && strncmp(version, family, strlen(family)) == 0);
    CHECK(strstr(version, "hpvm "));
}

static void mistakes(void) {
    int class = 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(NULL, 0, MPI_INT, size + 1, 0, world), &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Error_class(MPI_Send(&class, 1, MPI_DATATYPE_NULL, 0, 0, world), &class);
    CHECK(class == MPI_ERR_TYPE);
    MPI_Error_class(MPI_Comm_size(MPI_COMM_NULL, &class), &class);
    CHECK(class == MPI_ERR_COMM);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(world, &size);
    reductions();
    messages();
    objects();
    names();
    mistakes();
    if (!errors) printf("%d of %d: good\n", rank, size);
    MPI_Finalize();
    return errors != 0;
}
