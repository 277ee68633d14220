/* Threads that call MPI although the program asked for none (MPI 5.0, section 11.6): the standard
   promises nothing, but programs do it, and what each thread does by itself works. */
#include "thread.h"

/* Several times: how far each thread is in its waiting when another needs it differs from one to the next. */
enum { TIMES = 8, ROUNDS = 500 };

static MPI_Comm comms[THREADS];

static void *work(void *argument)
{
    int number = *(int *)argument;
    int next = (check_rank + 1) % check_size;
    int before = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < ROUNDS; i++) {
        int out = 1000 * i + 10 * check_rank + number, in = -1, sum = 0, one = 1;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, before, number, comms[number], &request);
        MPI_Send(&out, 1, MPI_INT, next, number, comms[number]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (in != 1000 * i + 10 * before + number) {
            CHECK_EQ(in, 1000 * i + 10 * before + number);
            break;
        }
        if (i % 16 == 0) {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[number]);
            if (sum != check_size) {
                CHECK_EQ(sum, check_size);
                break;
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level = -1;
    check_init(&argc, &argv);
    MPI_Query_thread(&level);
    CHECK_EQ(level, MPI_THREAD_SINGLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < TIMES; i++)
        thread_run(work);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return check_finish();
}
