/* MPI 5.0, 3.8.2: matching probes are for threads: all threads take messages of unknown length from
 * one stream, each message goes to exactly one of them. */
#include "thread.h"

#define MESSAGES 200

static int taken[MESSAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *taker(void *argument)
{
    (void)argument;
    for (;;) {
        MPI_Message message;
        MPI_Status status;
        int count = -1, data[4000];
        CHECK_MPI(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_MPI(MPI_Mrecv(data, count, MPI_INT, &message, &status));
        if (status.MPI_TAG == MESSAGES)
            return NULL;
        CHECK_EQ(count, 1 + (status.MPI_TAG * 37) % 4000);
        CHECK(data[0] == status.MPI_TAG && data[count - 1] == status.MPI_TAG);
        pthread_mutex_lock(&lock);
        taken[status.MPI_TAG]++;
        pthread_mutex_unlock(&lock);
    }
}

static void *sender(void *argument)
{
    int me = *(int *)argument, data[4000];
    for (int i = me; i < MESSAGES; i += THREADS) {
        int count = 1 + (i * 37) % 4000;
        for (int k = 0; k < count; k++)
            data[k] = i;
        CHECK_MPI(MPI_Send(data, count, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
    CHECK_MPI(MPI_Send(data, 1, MPI_INT, 0, MESSAGES, MPI_COMM_WORLD));
    return NULL;
}

int main(int argc, char **argv)
{
    thread_init(&argc, &argv);
    CHECK_NEEDS(2);
    if (check_rank == 0)
        thread_run(taker);
    else if (check_rank == 1)
        thread_run(sender);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    /* A taker may end on the end mark of one sender while another sender still sends; the other
     * takers get the rest, for each takes one end mark only. */
    for (int i = 0; i < MESSAGES && check_rank == 0; i++)
        CHECK_EQ(taken[i], 1);
    return check_finish();
}
