/* MPI 5.0, 11.6 "MPI and Threads": MPI_Init_thread gives at least the level asked for or the
 * highest it has, MPI_Query_thread agrees, MPI_Is_thread_main tells the main thread. Argument:
 * level asked for (single, funneled, serialized, multiple). */
#include "check.h"
#include <pthread.h>

static void *other(void *flag)
{
    MPI_Is_thread_main(flag);
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *names[] = { "single", "funneled", "serialized", "multiple" };
    static const int levels[] = { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                  MPI_THREAD_MULTIPLE };
    int wanted = MPI_THREAD_MULTIPLE, provided = -1, query = -2, flag = 0, flag2 = 1;
    for (int i = 0; i < 4; i++)
        if (argc > 1 && !strcmp(argv[1], names[i]))
            wanted = levels[i];
    CHECK_MPI(MPI_Init_thread(&argc, &argv, wanted, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    CHECK(provided >= wanted && provided <= MPI_THREAD_MULTIPLE);
    CHECK_MPI(MPI_Query_thread(&query));
    CHECK_EQ(query, provided);
    CHECK_MPI(MPI_Is_thread_main(&flag));
    CHECK(flag);
    if (provided > MPI_THREAD_SINGLE) {
        pthread_t thread;
        pthread_create(&thread, NULL, other, &flag2);
        pthread_join(thread, NULL);
        CHECK(!flag2);
    }
    return check_finish();
}
