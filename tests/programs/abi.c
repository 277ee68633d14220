/* Whose library it is, and that handles, constants, the status and callbacks mean the same to
 * program and library. Rank 0 prints the library's version and "N errors". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, errors, deleted;

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "abi: rank %d line %d: %s is not so\n", rank, __LINE__, #condition); \
            errors++;                                                                 \
        }                                                                             \
    } while (0)

static void product(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MUST(*type == MPI_DOUBLE);
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] *= ((double *)in)[i];
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key;
    deleted += value == &rank && extra == &size;
    return MPI_SUCCESS;
}

static void statuses(void)
{
    MPI_Status status;
    int values[4] = { rank, 2, 3, 4 }, got[8] = { 0 }, count;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Sendrecv(values, 4, MPI_INT32_T, to, 17, got, 8, MPI_INT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT32_T, &count);
    MUST(status.MPI_SOURCE == from && status.MPI_TAG == 17 && count == 4 && got[0] == from);
    MPI_Sendrecv(values, 1, MPI_INT, MPI_PROC_NULL, 0, got, 1, MPI_INT, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &status);
    MUST(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void callbacks(void)
{
    MPI_Op op;
    double mine = rank + 1, all = 0, expected = 1;
    for (int i = 1; i <= size; i++)
        expected *= i;
    MPI_Op_create(product, 1, &op);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MUST(all == expected);
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MUST(mine == size * (size + 1) / 2);
    int key;
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, &size);
    MPI_Comm_set_attr(copy, key, &rank);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);
    MUST(deleted == 1 && copy == MPI_COMM_NULL && key == MPI_KEYVAL_INVALID);
}

static void types_and_errors(void)
{
    MPI_Datatype type;
    MPI_Aint low, extent;
    int bytes, class;
    MPI_Type_create_struct(2, (int[]){ 1, 2 }, (MPI_Aint[]){ 0, 8 },
                           (MPI_Datatype[]){ MPI_CHAR, MPI_DOUBLE }, &type);
    MPI_Type_get_extent(type, &low, &extent);
    MPI_Type_size(type, &bytes);
    MUST(low == 0 && extent == 24 && bytes == 17);
    MPI_Type_free(&type);
    MUST(type == MPI_DATATYPE_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(&bytes, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    MUST(class == MPI_ERR_RANK);
    int *upper, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &flag);
    MUST(flag && *upper >= 32767);
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &length);
    MUST((int)strlen(version) == length);
    statuses();
    callbacks();
    types_and_errors();
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%s\n%d ranks, %d errors\n", version, size, all);
    return all != 0;
}
