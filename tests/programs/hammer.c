/* Threads that all talk at once, each with its own tag and its own copy of the world, for some
 * seconds: hammer SECONDS. Needs MPI_THREAD_MULTIPLE. Prints the number of rounds. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LONGEST = 60000 };

static int rank, size;
static double until;
static atomic_int wrong;
static atomic_long rounds;
static MPI_Comm comms[THREADS];

static void exchange(int me, int round, unsigned char *out, unsigned char *in)
{
    int bytes = round % 7 == 0 ? LONGEST - round % 100 : (round * 13) % 300;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < bytes; i++)
        out[i] = (unsigned char)(i + round + me * 3 + rank);
    MPI_Request requests[2];
    MPI_Status status[2];
    MPI_Irecv(in, LONGEST, MPI_BYTE, round % 2 ? from : MPI_ANY_SOURCE, me, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, to, me, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, status);
    int count;
    MPI_Get_count(&status[0], MPI_BYTE, &count);
    int bad = count != bytes || status[0].MPI_TAG != me || status[0].MPI_SOURCE != from;
    for (int i = 0; !bad && i < bytes; i++)
        bad = in[i] != (unsigned char)(i + round + me * 3 + from);
    wrong += bad;
}

static void together(int me, int round)
{
    long mine = rank + round, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comms[me]);
    wrong += sum != (long)size * (size - 1) / 2 + (long)size * round;
    int root = round % size, word = rank == root ? round * 8 + me : -1;
    MPI_Bcast(&word, 1, MPI_INT, root, comms[me]);
    wrong += word != round * 8 + me;
    if (round % 10 == 0)
        MPI_Barrier(comms[me]);
}

static void *work(void *argument)
{
    int me = (int)(size_t)argument, go = 1;
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int round = 0; go; round++) {
        exchange(me, round, out, in);
        together(me, round);
        rounds++;
        /* All ranks stop after the same round, and none before it has done some. */
        go = MPI_Wtime() < until || round < 10;
        MPI_Bcast(&go, 1, MPI_INT, 0, comms[me]);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE || argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    until = MPI_Wtime() + atof(argv[1]);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    int mine = wrong, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%ld rounds, %d wrong\n", (long)rounds, all);
    return all != 0;
}
