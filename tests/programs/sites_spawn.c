/* Spawns copies of itself in a job over several sites and counts with them.
 *
 *   sites_spawn world COUNT HOSTS   all ranks spawn COUNT processes on HOSTS
 *   sites_spawn self COUNT HOSTS    rank 0 alone does
 *   sites_spawn chain HOSTS MORE    as world with one process, which spawns another one on MORE
 *   sites_spawn each HOSTS MORE     as spawn_multiple: one process on HOSTS, one on MORE
 *   sites_spawn refuse COUNT HOSTS  the call fails: its text is printed
 *   sites_spawn port HOW            ranks connect by a port: the first two with the others ("halves"), the even with the odd ("both")
 *   sites_spawn jobs HOSTS MORE     two spawned jobs, of a process on each of HOSTS and of MORE, connect by a port
 *   sites_spawn accept FILE         writes a port's name to FILE; MPI_Comm_accept fails on all ranks: its text is printed
 *   sites_spawn connect FILE        in another job: connects to it, which fails
 *   sites_spawn closed              MPI_Comm_connect to a port that was closed fails on all ranks: its text is printed
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

/* In one of two spawned jobs that connect: the first one has the port, and their parents pass its name on. */
static void connected_child(MPI_Comm parent, int first)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between;
    int rank, size, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && first) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, parent);
    } else if (rank == 0) {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, parent, MPI_STATUS_IGNORE);
    }
    if (first)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    count(between, !first, 100, &size, &all);
    count(between, !first, 100, &size, &all);
    MPI_Comm_disconnect(&between);
    int both[2] = {size, all};
    if (rank == 0 && first)
        MPI_Send(both, 2, MPI_INT, 0, 2, parent);
    MPI_Comm_disconnect(&parent);
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
    if (argc > 1 && (strcmp(argv[1], "accept") == 0 || strcmp(argv[1], "connect") == 0)) {
        connected_child(parent, strcmp(argv[1], "accept") == 0);
        return;
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

/* Two groups of the ranks connect, more than once by the same port. */
static void between_ranks(int mixed, int *size, int *all)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, between;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int second = mixed ? rank % 2 : rank / 2;
    MPI_Comm_split(MPI_COMM_WORLD, second, 0, &half);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        if (second)
            MPI_Comm_connect(port, MPI_INFO_NULL, 1, half, &between);
        else
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
        count(between, second, 1, size, all);
        MPI_Comm_disconnect(&between);
    }
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

/* Two jobs that were started apart; the name goes by a file that is whole once it is there. */
static void apart(const char *file, int accepts)
{
    char port[MPI_MAX_PORT_NAME] = "", text[MPI_MAX_ERROR_STRING], early[4096];
    MPI_Comm between;
    int rank, length, code;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    snprintf(early, sizeof early, "%s.early", file);
    if (accepts && rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        FILE *made = fopen(early, "w");
        if (!made || fputs(port, made) < 0 || fclose(made) != 0 || rename(early, file) != 0)
            die("cannot write the port's name");
    } else if (!accepts) {
        while (access(file, R_OK) != 0)
            usleep(10000);
        FILE *made = fopen(file, "r");
        if (!made || !fgets(port, sizeof port, made))
            die("cannot read the port's name");
        fclose(made);
    }
    if (accepts)
        code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    else
        code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    if (code == MPI_SUCCESS)
        die("connected");
    MPI_Error_string(code, text, &length);
    printf("%s\n", text);
}

static int number_of(const char *hosts)
{
    int number = 1;
    for (; *hosts; hosts++)
        number += *hosts == ',';
    return number;
}

static void between_jobs(char **argv, int *size, int *all)
{
    char port[MPI_MAX_PORT_NAME], *accept[] = {"accept", NULL}, *connect[] = {"connect", NULL};
    MPI_Comm first, second;
    int rank, both[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_spawn(argv[0], accept, number_of(argv[2]), on(argv[2]), 0, MPI_COMM_WORLD, &first, MPI_ERRCODES_IGNORE);
    MPI_Comm_spawn(argv[0], connect, number_of(argv[3]), on(argv[3]), 0, MPI_COMM_WORLD, &second, MPI_ERRCODES_IGNORE);
    if (rank == 0) {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, first, MPI_STATUS_IGNORE);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, second);
        MPI_Recv(both, 2, MPI_INT, 0, 2, first, MPI_STATUS_IGNORE);
        *size = both[0];
        *all = both[1];
    }
    MPI_Comm_disconnect(&first);
    MPI_Comm_disconnect(&second);
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
        between_ranks(strcmp(argv[2], "both") == 0, &size, &all);
    } else if (strcmp(what, "jobs") == 0) {
        between_jobs(argv, &size, &all);
    } else if (strcmp(what, "accept") == 0) {
        apart(argv[2], 1);
    } else if (strcmp(what, "connect") == 0) {
        apart(argv[2], 0);
    } else if (strcmp(what, "closed") == 0) {
        char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Close_port(port);
        code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
        if (code == MPI_SUCCESS)
            die("connected");
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
