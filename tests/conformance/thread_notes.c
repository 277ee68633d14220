/* MPI 5.0, 11.6: one thread sleeps for a message while another sleeps in small collectives, which may
 * go by another road but ring the same bell. A wake-up that gets lost costs half a second, and the time
 * limit of the test allows few of them. The window is narrow: passing proves little, failing much. */
#include "thread.h"
#include <unistd.h>

enum { ROUNDS = 200, PAUSE = 3000 /* microseconds */ };

static MPI_Comm own;

/* Answers every message. */
static void *answer(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        int in = -1;
        CHECK_MPI(MPI_Recv(&in, 1, MPI_INT, 1, 1, own, MPI_STATUS_IGNORE));
        CHECK_EQ(in, i);
        CHECK_MPI(MPI_Send(&in, 1, MPI_INT, 1, 2, own));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    thread_init(&argc, &argv);
    CHECK_NEEDS(2);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    if (check_rank == 0)
        pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        int one = 1, sum = 0;
        if (check_rank == 1)
            usleep(PAUSE); /* rank 0 waits for so long that it sleeps */
        CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ(sum, check_size);
        if (check_rank == 1) {
            int back = -1;
            usleep(PAUSE);
            CHECK_MPI(MPI_Send(&i, 1, MPI_INT, 0, 1, own));
            CHECK_MPI(MPI_Recv(&back, 1, MPI_INT, 0, 2, own, MPI_STATUS_IGNORE));
            CHECK_EQ(back, i);
        } else {
            usleep(3 * PAUSE); /* only the other thread is in MPI */
        }
    }
    if (check_rank == 0)
        pthread_join(thread, NULL);
    CHECK_MPI(MPI_Comm_free(&own));
    return check_finish();
}
