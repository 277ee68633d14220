/* One rank computes without calling MPI while all others wait for it.
 *
 *   compute SECONDS [LARGE]
 *
 * The last rank computes; every other one sends it 8 bytes and, with LARGE, rank 0 a megabyte, and
 * waits for an answer. Rank 0 prints "right" at the end. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGE = 1 << 20 };
static char large[LARGE];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Without MPI; it leaves the processor to the others, who share it with this rank in tests. */
static void compute(double seconds)
{
    double end = now() + seconds;
    struct timespec pause = {0, 1000000};
    while (now() < end)
        nanosleep(&pause, NULL);
}

static void wrong(const char *what)
{
    fprintf(stderr, "compute: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int last = ranks - 1, with_large = argc > 2;
    if (rank == last) {
        printf("computing\n"), fflush(stdout);
        compute(atof(argv[1]));
        for (int from = 0; from < last; from++) {
            long number = -1;
            MPI_Recv(&number, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (number != 1000 + from)
                wrong("another number came");
            if (with_large && from == 0) {
                MPI_Recv(large, LARGE, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int i = 0; i < LARGE; i++)
                    if (large[i] != (char)(i * 7))
                        wrong("other bytes came");
            }
            MPI_Send(&number, 1, MPI_LONG, from, 3, MPI_COMM_WORLD);
        }
    } else {
        long number = 1000 + rank, back = -1;
        MPI_Send(&number, 1, MPI_LONG, last, 1, MPI_COMM_WORLD);
        if (with_large && rank == 0) {
            for (int i = 0; i < LARGE; i++)
                large[i] = (char)(i * 7);
            MPI_Send(large, LARGE, MPI_CHAR, last, 2, MPI_COMM_WORLD);
        }
        MPI_Recv(&back, 1, MPI_LONG, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (back != number)
            wrong("another answer came");
    }
    MPI_Finalize();
    if (rank == 0)
        printf("right\n");
    return 0;
}
