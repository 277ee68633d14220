/* MPI 5.0, 3.5 "Order": messages of one sender do not overtake each other, whatever their size
 * and mode, for receives with and without wildcards, posted before or after. */
#include "check.h"

#define MESSAGES 300
#define LARGEST 100000

static int length_of(int i)
{
    static const int lengths[] = { 4, 64, 5000, 8, LARGEST, 4, 4, 20000, 1024, 40 };
    return lengths[i % 10];
}

static void send_all(void)
{
    static int out[MESSAGES][LARGEST / 4];
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        out[i][0] = i;
        if (i % 3 == 1)
            CHECK_MPI(MPI_Issend(out[i], length_of(i), MPI_BYTE, 0, i % 7, MPI_COMM_WORLD,
                                 &requests[i]));
        else
            CHECK_MPI(MPI_Isend(out[i], length_of(i), MPI_BYTE, 0, i % 7, MPI_COMM_WORLD,
                                &requests[i]));
    }
    CHECK_MPI(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
}

/* Any source, any tag: the numbers of each sender rise by one. */
static void receive_any(int posted)
{
    int total = MESSAGES * (check_size - 1);
    int *next = calloc((size_t)check_size, sizeof *next);
    static int in[64][LARGEST / 4];
    MPI_Request requests[64];
    int started = 0, window = posted ? 64 : 1;
    for (int done = 0; done < total; done++) {
        for (; started < total && started < done + window; started++)
            CHECK_MPI(MPI_Irecv(in[started % window], LARGEST, MPI_BYTE, MPI_ANY_SOURCE,
                                MPI_ANY_TAG, MPI_COMM_WORLD, &requests[started % window]));
        MPI_Status status;
        CHECK_MPI(MPI_Wait(&requests[done % window], &status));
        int number = in[done % window][0], got = -1;
        CHECK_EQ(number, next[status.MPI_SOURCE]);
        next[status.MPI_SOURCE] = number + 1;
        CHECK_EQ(status.MPI_TAG, number % 7);
        CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_EQ(got, length_of(number));
    }
    free(next);
}

/* One tag at a time, the highest first: within a tag the numbers rise. */
static void receive_by_tag(void)
{
    static int in[LARGEST / 4];
    for (int from = check_size - 1; from > 0; from--)
        for (int tag = 6; tag >= 0; tag--)
            for (int number = tag; number < MESSAGES; number += 7) {
                CHECK_MPI(MPI_Recv(in, LARGEST, MPI_BYTE, from, tag, MPI_COMM_WORLD,
                                   MPI_STATUS_IGNORE));
                CHECK_EQ(in[0], number);
            }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    for (int round = 0; round < 3; round++) {
        if (check_rank != 0)
            send_all();
        else if (round < 2)
            receive_any(round);
        else
            receive_by_tag();
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    return check_finish();
}
