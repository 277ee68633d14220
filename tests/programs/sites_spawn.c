/* Spawns copies of itself in a job over several sites and counts with them.
 *
 *   sites_spawn world COUNT HOSTS   all ranks spawn COUNT processes on HOSTS
 *   sites_spawn self COUNT HOSTS    rank 0 alone does
 *   sites_spawn chain HOSTS MORE    as world with one process, which spawns another one on MORE
 *   sites_spawn each HOSTS MORE     as spawn_multiple: one process on HOSTS, one on MORE
 *   sites_spawn refuse COUNT HOSTS  the call fails: its text is printed
 *   sites_spawn port                MPI_Comm_accept is refused on all ranks
 *   sites_spawn hold HOSTS FILE     as world with one process; makes FILE and counts once more when that is gone
 *   sites_spawn part HOSTS FILE     as world with two processes, which make FILE and go on alone: they count once more when it is gone
 *
 * HOSTS "-": nothing is said of hosts. The last line is "right PROCESSES SUM", of processes that go on alone "alone PROCESSES". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* All members of both groups add what they have, send a long message round, and ask a barrier. */
static void count(MPI_Comm between, int high, int value, int *size, int *all)
{
    enum { LONG = 300000 };
    static char out[LONG], in[LONG];
    MPI_Comm merged;
    int rank;
    MPI_Intercomm_merge(between, high, &merged);
    MPI_Comm_size(merged, size);
    MPI_Comm_rank(merged, &rank);
    MPI_Allreduce(&value, all, 1, MPI_INT, MPI_SUM, merged);
    memset(out, rank + 1, LONG);
    int next = (rank + 1) % *size, before = (rank + *size - 1) % *size;
    MPI_Sendrecv(out, LONG, MPI_BYTE, next, 5, in, LONG, MPI_BYTE, before, 5, merged, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++)
        if (in[i] != (char)(before + 1))
            die("a byte is wrong");
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
}

static void wait_for_end_of(const char *file)
{
    while (access(file, F_OK) == 0)
        usleep(10000);
}

static void make(const char *file)
{
    FILE *made = fopen(file, "w");
    if (!made)
        die("cannot make the file");
    fclose(made);
}

static MPI_Info on(const char *hosts)
{
    MPI_Info info = MPI_INFO_NULL;
    if (strcmp(hosts, "-") != 0) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "hosts", hosts);
    }
    return info;
}

static void child(MPI_Comm parent, int argc, char **argv)
{
    MPI_Comm below;
    int size, all, rank, sum = 0, one = 1, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    /* Inside the new job, wherever its processes are. */
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != world)
        die("the new job counts wrong");
    printf("child %d on %s\n", rank, getenv("HPVM_DOOR") ? strchr(getenv("HPVM_DOOR"), ',') + 1 : "?");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "chain") == 0) {
        char *words[] = {"last", NULL};
        MPI_Comm_spawn(argv[0], words, 1, on(argv[2]), 0, MPI_COMM_WORLD, &below, MPI_ERRCODES_IGNORE);
        count(below, 0, 1, &size, &all);
        MPI_Comm_disconnect(&below);
        if (all != 101)
            die("the chain counts wrong");
    }
    count(parent, 1, 100, &size, &all);
    if (argc > 1 && strcmp(argv[1], "hold") == 0)
        count(parent, 1, 100, &size, &all);
    MPI_Comm_disconnect(&parent);
    if (argc > 1 && strcmp(argv[1], "part") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            make(argv[2]);
        MPI_Barrier(MPI_COMM_WORLD);
        wait_for_end_of(argv[2]);
        for (int i = 0; i < 20; i++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0)
            printf("alone %d\n", sum);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    int rank, size = 0, all = 0, code;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&between);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (between != MPI_COMM_NULL) {
        child(between, argc, argv);
        MPI_Finalize();
        return 0;
    }
    const char *what = argv[1];
    if (strcmp(what, "port") == 0) {
        char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Open_port(MPI_INFO_NULL, port);
        code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
        if (code == MPI_SUCCESS)
            die("accepted");
        MPI_Error_string(code, text, &length);
        printf("%s\n", text);
    } else if (strcmp(what, "refuse") == 0) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[2]), on(argv[3]), 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        if (code == MPI_SUCCESS)
            die("spawned");
        MPI_Error_string(code, text, &length);
        printf("%s\n", text);
    } else if (strcmp(what, "self") == 0) {
        if (rank == 0) {
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[2]), on(argv[3]), 0, MPI_COMM_SELF, &between, MPI_ERRCODES_IGNORE);
            count(between, 0, 1, &size, &all);
            MPI_Comm_disconnect(&between);
        }
    } else {
        char *chain[] = {"chain", argv[3], NULL}, *hold[] = {"hold", NULL}, *part[] = {"part", argv[3], NULL};
        if (strcmp(what, "world") == 0) {
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[2]), on(argv[3]), 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        } else if (strcmp(what, "chain") == 0) {
            MPI_Comm_spawn(argv[0], chain, 1, on(argv[2]), 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        } else if (strcmp(what, "each") == 0) {
            char *commands[] = {argv[0], argv[0]};
            int most[] = {1, 1};
            MPI_Info infos[] = {on(argv[2]), on(argv[3])};
            MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most, infos, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        } else if (strcmp(what, "part") == 0) {
            MPI_Comm_spawn(argv[0], part, 2, on(argv[2]), 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        } else {
            MPI_Comm_spawn(argv[0], hold, 1, on(argv[2]), 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        }
        count(between, 0, 1, &size, &all);
        if (strcmp(what, "hold") == 0) {
            if (rank == 0) {
                make(argv[3]);
                wait_for_end_of(argv[3]);
            }
            count(between, 0, 1, &size, &all);
        }
        MPI_Comm_disconnect(&between);
    }
    int both[2] = {size, all};
    MPI_Bcast(both, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("right %d %d\n", both[0], both[1]);
    MPI_Finalize();
    return 0;
}
