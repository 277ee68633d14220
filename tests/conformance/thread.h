/* For programs under MPI_THREAD_MULTIPLE: start, and run a function in several threads. */
#ifndef THREAD_H
#define THREAD_H

#include "check.h"
#include <pthread.h>

#define THREADS 4

static inline void thread_init(int *argc, char ***argv)
{
    int provided = -1;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
}

/* Runs body in THREADS threads, each with a pointer to its number. */
static inline void thread_run(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    static int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, body, &numbers[i]) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

#endif
