/* One mistake by the last rank, under MPI_ERRORS_ARE_FATAL: wrong CASE. The other ranks wait for
 * a message that never comes. Exit code 99: the mistake went unnoticed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int data[100000], other[100000];
static int rank, size;

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
/* No handle the library ever gave out. */
#define GARBAGE(type) ((type)(intptr_t)0x7edcba98)

static void bad_rank(void) { MPI_Send(data, 1, MPI_INT, -5, 0, WORLD); }
static void rank_too_big(void) { MPI_Send(data, 1, MPI_INT, size, 0, WORLD); }
static void bad_source(void) { MPI_Recv(data, 1, MPI_INT, size + 7, 0, WORLD, IGNORE); }
static void bad_tag(void) { MPI_Send(data, 1, MPI_INT, 0, -7, WORLD); }
static void bad_count(void) { MPI_Send(data, -3, MPI_INT, 0, 0, WORLD); }
static void null_type(void) { MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, WORLD); }
static void garbage_type(void) { MPI_Send(data, 1, GARBAGE(MPI_Datatype), 0, 0, WORLD); }
static void null_comm(void) { MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL); }
static void garbage_comm(void) { MPI_Barrier(GARBAGE(MPI_Comm)); }
static void null_buffer(void) { MPI_Send(NULL, 1, MPI_INT, 0, 0, WORLD); }
static void null_op(void) { MPI_Allreduce(data, other, 1, MPI_INT, MPI_OP_NULL, WORLD); }
static void garbage_op(void) { MPI_Allreduce(data, other, 1, MPI_INT, GARBAGE(MPI_Op), WORLD); }
static void op_of_type(void) { MPI_Allreduce(data, other, 1, MPI_FLOAT, MPI_BXOR, WORLD); }
static void bad_root(void) { MPI_Bcast(data, 1, MPI_INT, size, WORLD); }
static void free_world(void)
{
    MPI_Comm world = WORLD;
    MPI_Comm_free(&world);
}
static void free_int(void)
{
    MPI_Datatype type = MPI_INT;
    MPI_Type_free(&type);
}
static void garbage_request(void)
{
    MPI_Request request = GARBAGE(MPI_Request);
    MPI_Wait(&request, IGNORE);
}
static void garbage_group(void)
{
    int n;
    MPI_Group_size(GARBAGE(MPI_Group), &n);
}
static void used_after_free(void)
{
    MPI_Comm copy, kept;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    kept = copy;
    MPI_Comm_free(&copy);
    MPI_Barrier(kept);
}
static void uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Send(data, 1, type, 0, 0, WORLD);
}
static void truncated(void) { MPI_Recv(data, 3, MPI_INT, 0, 1, WORLD, IGNORE); }
static void truncated_large(void) { MPI_Recv(data, 3, MPI_INT, 0, 2, WORLD, IGNORE); }
static void truncated_wait(void)
{
    MPI_Request request;
    MPI_Irecv(data, 3, MPI_INT, 0, 1, WORLD, &request);
    MPI_Wait(&request, IGNORE);
}
static void init_twice(void) { MPI_Init(NULL, NULL); }
static void send_before(void) { MPI_Send(data, 1, MPI_INT, 0, 0, WORLD); }
static void rank_before(void) { MPI_Comm_rank(WORLD, &rank); }
static void barrier_after(void) { MPI_Barrier(WORLD); }
static void finalize_twice(void) { MPI_Finalize(); }

enum when { BETWEEN, BEFORE, AFTER };

static const struct mistake {
    const char *name;
    void (*make)(void);
    enum when when;
} mistakes[] = {
#define M(name, when) { #name, name, when }
    M(bad_rank, BETWEEN), M(rank_too_big, BETWEEN), M(bad_source, BETWEEN), M(bad_tag, BETWEEN),
    M(bad_count, BETWEEN), M(null_type, BETWEEN), M(garbage_type, BETWEEN), M(null_comm, BETWEEN),
    M(garbage_comm, BETWEEN), M(null_buffer, BETWEEN), M(null_op, BETWEEN), M(garbage_op, BETWEEN),
    M(op_of_type, BETWEEN), M(bad_root, BETWEEN), M(free_world, BETWEEN), M(free_int, BETWEEN),
    M(garbage_request, BETWEEN), M(garbage_group, BETWEEN), M(used_after_free, BETWEEN),
    M(uncommitted, BETWEEN), M(truncated, BETWEEN), M(truncated_large, BETWEEN),
    M(truncated_wait, BETWEEN), M(init_twice, BETWEEN), M(send_before, BEFORE),
    M(rank_before, BEFORE), M(barrier_after, AFTER), M(finalize_twice, AFTER),
};

static void make(const struct mistake *mistake)
{
    mistake->make();
    printf("%s went unnoticed\n", mistake->name);
    fflush(stdout);
    _Exit(99);
}

int main(int argc, char **argv)
{
    const struct mistake *mistake = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof *mistakes; i++)
        if (!strcmp(mistakes[i].name, argv[1]))
            mistake = &mistakes[i];
    const char *number = getenv("PMI_RANK"), *ranks = getenv("PMI_SIZE");
    if (!mistake || !number || !ranks)
        return 98;
    int guilty = atoi(number) == atoi(ranks) - 1;
    if (guilty && mistake->when == BEFORE)
        make(mistake);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (mistake->when == AFTER) {
        MPI_Finalize();
        if (guilty)
            make(mistake);
        return 0;
    }
    if (guilty)
        make(mistake);
    MPI_Request requests[2];
    MPI_Isend(data, 10, MPI_INT, size - 1, 1, WORLD, &requests[0]);
    MPI_Isend(data, 100000, MPI_INT, size - 1, 2, WORLD, &requests[1]);
    MPI_Recv(other, 1, MPI_INT, size - 1, 3, WORLD, IGNORE);
    return 97;
}
