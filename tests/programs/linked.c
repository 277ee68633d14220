/* Three linked jobs, one of which fails inside MPI_Comm_disconnect when another has heard all that it needs, and the third has
 * not.
 *
 *   linked
 *
 * Two processes (0 and 1) spawn two more (2 and 3), and all of them another one (4). Process 3 fills what 4 has room for, so
 * that what it says in MPI_Comm_disconnect reaches all but 4, and is stopped there; then 4 enters the call, too, and 3 is
 * killed. All three jobs have to end. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VICTIM = 3, LAST = 4 };

#define STOPPED "stops itself"

static MPI_Comm all;

static MPI_Comm with_children(const char *program, MPI_Comm comm, int n)
{
    MPI_Comm inter, merged;
    MPI_Comm_spawn(program, MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
    MPI_Comm_free(&inter);
    return merged;
}

static void *stop(void *nothing)
{
    FILE *name = fopen("/proc/self/comm", "w");
    usleep(300000);
    fputs(STOPPED, name);
    fclose(name);
    kill(getpid(), SIGSTOP);
    return nothing;
}

/* Sends until nothing goes out any more. */
static void fill(void)
{
    MPI_Request request;
    for (int n = 0, done = 1; done; n++) {
        MPI_Isend(&n, 1, MPI_INT, LAST, 1, all, &request);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void victim(void)
{
    pthread_t thread;
    int pid = getpid();
    MPI_Send(&pid, 1, MPI_INT, LAST, 0, all);
    MPI_Recv(&pid, 1, MPI_INT, LAST, 0, all, MPI_STATUS_IGNORE);
    fill();
    pthread_create(&thread, NULL, stop, NULL);
}

/* Stopped by itself: others stop processes, too. */
static int stopped(int pid)
{
    char path[40], name[20] = "", state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    if (fscanf(file, "%*d (%19[^)]) %c", name, &state) != 2)
        state = 0;
    fclose(file);
    return state == 'T' && strcmp(name, STOPPED) == 0;
}

static void last(void)
{
    int pid;
    MPI_Recv(&pid, 1, MPI_INT, VICTIM, 0, all, MPI_STATUS_IGNORE);
    MPI_Send(&pid, 1, MPI_INT, VICTIM, 0, all);
    while (!stopped(pid))
        usleep(1000);
    if (fork() == 0) {
        usleep(300000);
        kill(pid, SIGKILL);
        _exit(0);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL) {
        all = with_children(argv[0], MPI_COMM_WORLD, 2);
    } else {
        MPI_Intercomm_merge(parents, 1, &all);
        MPI_Comm_free(&parents);
    }
    MPI_Comm_size(all, &size);
    if (size < LAST + 1) {
        MPI_Comm first = all;
        all = with_children(argv[0], first, 1);
        MPI_Comm_free(&first);
    }
    MPI_Comm_rank(all, &rank);
    MPI_Barrier(all);
    if (rank == VICTIM)
        victim();
    if (rank == LAST)
        last();
    MPI_Comm_disconnect(&all);
    printf("%d is out\n", rank);
    MPI_Finalize();
    return 0;
}
