/* Programs that leave something behind, or whose ranks disagree about a collective: `left WAY`.
 * For the tests of HPVM_CHECK; without it, those that leave something behind end well. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void nothing(void) {
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Group group;
    int x = rank, sum;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void sum(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
}

static void objects(void) {
    static char space[10000];
    MPI_Comm comm;
    MPI_Datatype row;
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler errors;
    void *memory;
    MPI_Alloc_mem(12345, MPI_INFO_NULL, &memory);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "forgotten");
    MPI_Type_contiguous(3, MPI_INT, &row);
    MPI_Type_set_name(row, "row of three");
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Op_create(sum, 1, &op);
    MPI_Info_create(&info);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Buffer_attach(space, sizeof space);
}

static void messages(void) {
    static int x, y[4];
    MPI_Request r;
    if (rank == 0) {
        MPI_Send(y, 4, MPI_INT, size - 1, 42, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        MPI_Irecv(&x, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &r);
        MPI_Recv_init(&x, 1, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &r);
    }
}

/* More of one kind than a report names. */
static void many(void) {
    MPI_Group all, one;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < 999; i++) MPI_Group_incl(all, 1, (int[]){ 0 }, &one);
}

static void functions_differ(void) {
    int x = 1, y;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void roots_differ(void) {
    int x = 0;
    MPI_Bcast(&x, 1, MPI_INT, rank == size - 1 ? 1 : 0, MPI_COMM_WORLD);
}

static void lengths_differ(void) {
    int x[4] = { 0 };
    MPI_Bcast(x, rank == size - 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
}

static void ops_differ(void) {
    int x = 0, y;
    MPI_Allreduce(&x, &y, 1, MPI_INT, rank == size - 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

/* Calls that do not wait, started where the others are not there yet; the second differs. */
static void later_differ(void) {
    int x = 1, y = 0, z = 0;
    MPI_Request request[2];
    MPI_Ibcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Iallreduce(&y, &z, rank == size - 1 ? 2 : 1, rank == size - 1 ? MPI_SHORT : MPI_INT,
                   rank == size - 1 ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

/* The even ranks and the odd ones. */
static MPI_Comm two_groups(void) {
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &both);
    MPI_Comm_free(&half);
    return both;
}

static void between_roots_differ(void) {
    int x = 0;
    MPI_Comm both = two_groups();
    MPI_Bcast(&x, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank % 2 ? 1 : MPI_PROC_NULL, both);
}

static void between_functions_differ(void) {
    int x = 0, y = 0;
    MPI_Request request;
    MPI_Comm both = two_groups();
    if (rank % 2)
        MPI_Ibarrier(both, &request);
    else
        MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* All that belongs together, in an order in which waiting for each other too early would end in a deadlock. */
static void fit(void) {
    int x = rank, y = 0;
    MPI_Request request;
    MPI_Comm both = two_groups();
    for (int i = 0; i < 20; i++) {
        if (rank == 0) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            for (int to = 1; to < size; to++) MPI_Ssend(&i, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&y, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
        }
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Bcast(&x, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank % 2 ? 0 : MPI_PROC_NULL, both);
        MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, both, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&both);
}

static const struct { const char *name; void (*run)(void); } WAYS[] = {
    { "nothing", nothing }, { "objects", objects }, { "messages", messages }, { "many", many },
    { "functions", functions_differ }, { "roots", roots_differ }, { "lengths", lengths_differ },
    { "ops", ops_differ }, { "later", later_differ }, { "between-roots", between_roots_differ },
    { "between-functions", between_functions_differ }, { "fit", fit },
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(argv[1], WAYS[i].name) == 0) WAYS[i].run();
    MPI_Finalize();
    return 0;
}
