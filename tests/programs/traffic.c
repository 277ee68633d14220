/* Sends in many ways and counts what it has sent to whom, as one who knows only the calls. Each rank prints a line for
 * each peer, then waits for ever. How: traffic ring | alltoall | small. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long long messages[64], bytes[64];
static char from[1 << 21], to[1 << 21];

static void sent(int peer, long long n) {
    messages[peer]++;
    bytes[peer] += n;
}

/* Everybody to both neighbours. */
static void ring(void) {
    static const int lengths[] = {0, 1, 40, 104, 105, 4096, 5000, 9000, 70000, 600000, 2000000};
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        MPI_Sendrecv(from, n, MPI_CHAR, right, 1, to, n, MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent(right, n);
        MPI_Request request[2];
        MPI_Irecv(to, n, MPI_CHAR, right, 2, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(from, n, MPI_CHAR, left, 2, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        sent(left, n);
        MPI_Irecv(to, n, MPI_CHAR, left, 3, MPI_COMM_WORLD, &request[0]);
        MPI_Issend(from, n, MPI_CHAR, right, 3, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        sent(right, n);
    }
    /* Persistent, buffered, with gaps, to ourselves. */
    MPI_Request request;
    MPI_Send_init(from, 10, MPI_INT, right, 4, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Recv(to, 10, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent(right, 40);
    }
    MPI_Request_free(&request);
    static char room[1000 + MPI_BSEND_OVERHEAD];
    void *back;
    int n;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(from, 900, MPI_CHAR, right, 5, MPI_COMM_WORLD);
    MPI_Recv(to, 900, MPI_CHAR, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&back, &n);
    sent(right, 900);
    MPI_Datatype gaps;
    MPI_Type_vector(50, 1, 3, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Sendrecv(from, 1, gaps, left, 6, to, 50, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sent(left, 400);
    MPI_Type_free(&gaps);
    MPI_Sendrecv(from, 8, MPI_CHAR, rank, 7, to, 8, MPI_CHAR, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sent(rank, 8);
    /* Many at once, so that some wait for credits. */
    enum { MANY = 2000 };
    static MPI_Request many[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(to + i, 1, MPI_CHAR, left, 8, MPI_COMM_WORLD, &many[i]);
        MPI_Isend(from, 1, MPI_CHAR, right, 8, MPI_COMM_WORLD, &many[MANY + i]);
        sent(right, 1);
    }
    MPI_Waitall(2 * MANY, many, MPI_STATUSES_IGNORE);
}

static void to_all_others(long long n) {
    for (int peer = 0; peer < size; peer++)
        if (peer != rank) sent(peer, n);
}

static void alltoall(void) {
    for (int i = 0; i < 5; i++) {
        MPI_Alltoall(from, 16, MPI_CHAR, to, 16, MPI_CHAR, MPI_COMM_WORLD);
        to_all_others(16);
    }
}

/* What the documentation says of collectives in shared memory. */
static void small(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(to, 24, MPI_CHAR, 1, MPI_COMM_WORLD);
    if (rank == 1) to_all_others(24);
    MPI_Gather(from, 3, MPI_INT, to, 3, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) sent(0, 12);
    MPI_Scatter(from, 2, MPI_INT, to, 2, MPI_INT, 2, MPI_COMM_WORLD);
    if (rank == 2) to_all_others(8);
    MPI_Allgather(from, 5, MPI_CHAR, to, 5, MPI_CHAR, MPI_COMM_WORLD);
    to_all_others(5);
    MPI_Allreduce(from, to, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    to_all_others(8);
    MPI_Reduce(from, to, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) sent(0, 4);
    alltoall();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *how = argc > 1 ? argv[1] : "";
    if (size > 64) return 2;
    if (strcmp(how, "ring") == 0) ring();
    else if (strcmp(how, "alltoall") == 0) alltoall();
    else if (strcmp(how, "small") == 0) small();
    else return 2;
    for (int peer = 0; peer < size; peer++)
        if (messages[peer]) printf("sent %d %d %lld %lld\n", rank, peer, messages[peer], bytes[peer]);
    printf("done\n");
    fflush(stdout);
    MPI_Recv(to, 1, MPI_CHAR, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
