/* Jobs linked in a row, each with the next, which part in some order; one may be killed meanwhile.
 *
 *   chain HOW FOLDER JOB JOBS ORDER [HOSTS]
 *
 * HOW: ports, every job is started on its own and connects to the one before; or spawn, every job spawns the next one,
 * on the host that HOST names if it is set, or on those of its place in HOSTS, where semicolons separate the jobs. JOB: which of the JOBS this one is, from 0. ORDER: numbers of the links that part, one
 * after the other, where link 2 is that between jobs 2 and 3. Then the file "kill-JOB" in the folder tells the last rank of
 * a job to kill itself, which the others of the job do not know of; and "end" that the others use the links that are left
 * once more, part and end. In the folder every job says how far it is: "ready-JOB", "parted-LINK-JOB", "well-JOB". While it waits for
 * a file it makes no MPI call. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE, BEHIND };

static const char *folder;
static int rank, size, job, jobs;
/* The links with the jobs before and behind this one. */
static MPI_Comm links[2] = {MPI_COMM_NULL, MPI_COMM_NULL};

static char *path(const char *what, int number)
{
    static char name[1000];
    snprintf(name, sizeof name, "%s/%s-%d", folder, what, number);
    return name;
}

/* Writes a file, whole or not at all. */
static void tell(const char *what, int number, const char *text)
{
    char final[1000], early[1100];
    strcpy(final, path(what, number));
    snprintf(early, sizeof early, "%s.%d", final, job);
    FILE *file = fopen(early, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || rename(early, final) != 0)
        MPI_Abort(MPI_COMM_WORLD, 20);
}

static int is_told(const char *what, int number)
{
    return access(path(what, number), F_OK) == 0;
}

static void await(const char *what, int number)
{
    while (!is_told(what, number))
        usleep(1000);
}

static void use(MPI_Comm link)
{
    int sum;
    if (link == MPI_COMM_NULL)
        return;
    MPI_Allreduce(&job, &sum, 1, MPI_INT, MPI_SUM, link);
    if (sum != size * (link == links[BEFORE] ? job - 1 : job + 1))
        MPI_Abort(MPI_COMM_WORLD, 21);
}

static void part(int side)
{
    char what[40];
    MPI_Comm_disconnect(&links[side]);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(what, sizeof what, "parted-%d", side == BEFORE ? job - 1 : job);
    if (rank == 0)
        tell(what, job, "");
}

static void connect_by_ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (job > 0) {
        if (rank == 0) {
            await("port", job - 1);
            FILE *file = fopen(path("port", job - 1), "r");
            if (!file || !fgets(port, sizeof port, file))
                MPI_Abort(MPI_COMM_WORLD, 22);
            fclose(file);
        }
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &links[BEFORE]);
    }
    if (job + 1 < jobs) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            tell("port", job, port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &links[BEHIND]);
        if (rank == 0)
            MPI_Close_port(port);
    }
}

static void spawn(char **argv)
{
    char next[20];
    MPI_Info info;
    MPI_Comm_get_parent(&links[BEFORE]);
    if (job + 1 == jobs)
        return;
    snprintf(next, sizeof next, "%d", job + 1);
    char *arguments[] = {argv[1], argv[2], next, argv[4], argv[5], argv[6], NULL};
    MPI_Info_create(&info);
    if (argv[6]) {
        char hosts[500] = "", *word = hosts;
        strncpy(hosts, argv[6], sizeof hosts - 1);
        for (int left = job + 1; left > 0 && word; left--)
            word = strchr(word, ';') ? strchr(word, ';') + 1 : NULL;
        if (!word)
            MPI_Abort(MPI_COMM_WORLD, 24);
        word[strcspn(word, ";")] = 0;
        MPI_Info_set(info, "host", word);
    }
    if (getenv("HOST"))
        MPI_Info_set(info, "host", getenv("HOST"));
    MPI_Comm_spawn(argv[0], arguments, size, info, 0, MPI_COMM_WORLD, &links[BEHIND], MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 7)
        return 23;
    folder = argv[2];
    job = atoi(argv[3]);
    jobs = atoi(argv[4]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "spawn") == 0)
        spawn(argv);
    else
        connect_by_ports();
    use(links[BEFORE]);
    use(links[BEHIND]);
    if (rank == 0) {
        printf("job %d is ready\n", job);
        fflush(stdout);
        tell("ready", job, "");
    }
    for (const char *link = argv[5]; *link; link++) {
        char before[40];
        if (link > argv[5]) {
            snprintf(before, sizeof before, "parted-%c", link[-1]);
            await(before, link[-1] - '0');
            await(before, link[-1] - '0' + 1);
        }
        if (*link - '0' == job)
            part(BEHIND);
        else if (*link - '0' == job - 1)
            part(BEFORE);
    }
    while (!is_told("end", 0)) {
        if (rank == size - 1 && is_told("kill", job))
            raise(SIGKILL);
        usleep(1000);
    }
    for (int side = BEFORE; side <= BEHIND; side++) {
        use(links[side]);
        if (links[side] != MPI_COMM_NULL)
            MPI_Comm_disconnect(&links[side]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        tell("well", job, "");
    MPI_Finalize();
    return 0;
}
