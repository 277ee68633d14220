/* Accesses to a window that meet, and synchronisation that does not fit: `epochs WAY`. For the tests of HPVM_CHECK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 64

static int rank, size;
static MPI_Win win;
static MPI_Aint *memory;

static void put(int target, MPI_Aint disp, int words) {
    static MPI_Aint values[WORDS];
    MPI_Put(values, words, MPI_AINT, target, disp, words, MPI_AINT, win);
}

static void get(int target, MPI_Aint disp, int words) {
    static MPI_Aint values[WORDS];
    MPI_Get(values, words, MPI_AINT, target, disp, words, MPI_AINT, win);
}

static void add(int target, MPI_Aint disp, MPI_Op op) {
    MPI_Aint one = 1, before;
    MPI_Fetch_and_op(&one, &before, MPI_AINT, target, disp, op, win);
}

/* Everything that is allowed. */
static void fit(void) {
    MPI_Datatype column;
    MPI_Group all;
    MPI_Aint one = 1, before, values[4] = {0};
    MPI_Request request;
    MPI_Win_fence(0, win);
    put(0, rank, 1);
    put((rank + 1) % size, 32, 4);
    MPI_Win_fence(0, win);
    get(0, 0, WORDS);
    get(0, 0, WORDS);
    MPI_Win_fence(0, win);
    add(0, 5, MPI_SUM);
    add(0, 5, MPI_SUM);
    add(0, 5, MPI_NO_OP);
    MPI_Compare_and_swap(&one, &one, &before, MPI_AINT, 0, 5, win);
    /* Columns of a matrix: they lie between each other, and have no byte in common. */
    MPI_Type_vector(4, 1, size, MPI_AINT, &column);
    MPI_Type_commit(&column);
    MPI_Put(values, 4, MPI_AINT, 0, 16 + rank, 1, column, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    put(0, 16 + rank, 1);
    MPI_Win_flush(0, win);
    get(0, 16 + rank, 1);
    MPI_Win_flush_local(0, win);
    put(0, 16 + rank, 1);
    MPI_Win_unlock_all(win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Rget(values, 1, MPI_AINT, 0, 16 + rank, 1, MPI_AINT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    put(0, 16 + rank, 1);
    MPI_Win_unlock(0, win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_post(all, 0, win);
    MPI_Win_start(all, 0, win);
    put((rank + 1) % size, 0, 1);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&all);
    MPI_Type_free(&column);
}

static void two_puts(void) {
    MPI_Win_fence(0, win);
    if (rank > 0) put(0, rank, 2);
    MPI_Win_fence(0, win);
}

static void two_operations(void) {
    MPI_Win_fence(0, win);
    add(0, 5, rank == 1 ? MPI_SUM : MPI_NO_OP);
    if (rank == 2) add(0, 5, MPI_REPLACE);
    MPI_Win_fence(0, win);
}

static void read_too_early(void) {
    MPI_Win_lock_all(0, win);
    if (rank == 1) {
        put(0, 8, 4);
        get(0, 11, 1);
    }
    MPI_Win_unlock_all(win);
}

static void different_calls(void) {
    if (rank == 2) MPI_Win_free(&win);
    else MPI_Win_fence(0, win);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        {"fit", fit},
        {"two-puts", two_puts},
        {"two-operations", two_operations},
        {"read-too-early", read_too_early},
        {"different-calls", different_calls},
    };
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, WORDS * sizeof *memory);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(way, ways[i].name) == 0) ways[i].run();
    if (win != MPI_WIN_NULL) MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
