/* Arguments, the table of modes, MPI_Init and MPI_Finalize. */
#include "hpvmbench.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mode modes[] = {
    {"latency", run_latency, 2, "one-way time of a message, ranks 0 and 1"},
    {"bandwidth", run_bandwidth, 2, "bandwidth from rank 0 to 1; further ranks idle"},
    {"rate", run_rate, 2, "message rate, summed over pairs of ranks"},
    {"barrier", run_collective, 1, "time of MPI_Barrier"},
    {"bcast", run_collective, 1, "time of MPI_Bcast"},
    {"reduce", run_collective, 1, "time of MPI_Reduce"},
    {"allreduce", run_collective, 1, "time of MPI_Allreduce"},
    {"gather", run_collective, 1, "time of MPI_Gather, size per rank"},
    {"scatter", run_collective, 1, "time of MPI_Scatter, size per rank"},
    {"allgather", run_collective, 1, "time of MPI_Allgather, size per rank"},
    {"allgatherv", run_collective, 1, "time of MPI_Allgatherv, size per rank"},
    {"reduce_scatter", run_collective, 1, "time of MPI_Reduce_scatter, size per rank"},
    {"alltoall", run_collective, 1, "time of MPI_Alltoall, size per pair"},
    {"datatype", run_datatype, 2, "data with gaps: packing beside memcpy, one-way time"},
    {"rma", run_rma, 2, "windows: put, get, atomics, locks, fence, PSCW; ranks 0 and 1"},
    {"overlap", run_overlap, 2, "communication hidden behind computation, ranks 0 and 1"},
    {"pairs", run_pairs, 2, "latency and bandwidth between every two ranks, one pair at a time"},
    {"probe", run_probe, 1, "time of MPI_Iprobe that finds nothing"},
    {"files", run_files, 1, "MPI's files: writing and reading in parallel, beside write(2)"},
    {"wakeup", run_wakeup, 2, "time to reach a receiver that has waited"},
    {"memory", run_memory, 1, "memory of a rank after MPI_Init and a barrier"},
    {"spawn", run_spawn, 1, "time of MPI_Comm_spawn, by number of processes (--sizes 1,8,32)"},
    {"startup", run_startup, 1, "initialise and finalise only; to be timed from outside"},
};

static void usage(FILE *to)
{
    fputs("usage: hpvmbench MODE [options]\n\nmodes:\n", to);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        fprintf(to, "  %-14s %s\n", modes[i].name, modes[i].help);
    fputs("\noptions:\n"
          "  --min BYTES --max BYTES   sizes, doubling (0 to 4194304)\n"
          "  --sizes A,B,...           these sizes instead\n"
          "  --iters N                 repetitions in a batch (else found by time); spawn: calls (1)\n"
          "  --batches N               at most so many batches for a size (301)\n"
          "  --batch SECONDS           length of a batch (0.001)\n"
          "  --budget SECONDS          time for one size (0.3)\n"
          "  --window N                messages in flight (64)\n"
          "  --offset BYTES            move buffers off their page boundary (0)\n"
          "  --memory malloc|mpi       where buffers come from; mpi: MPI_Alloc_mem (malloc)\n"
          "  --buffers two|one         latency: one buffer, so that the data change (two)\n"
          "  --data same|random        what buffers hold, for links that compress (same)\n"
          "  --touch no|yes            latency, collectives: write all data before each call, and read\n"
          "                            all that came after it; both are timed (no)\n"
          "  --calls round|ahead|alone|late|fresh  collectives: back to back, roots in turn or one\n"
          "                            root; one at a time; to which ranks come 1 to 100 us late;\n"
          "                            on a communicator that has just been made (round)\n"
          "  --op NAME                 rma: put, get, accumulate, fetch_and_op, compare_and_swap,\n"
          "                            lock, fence, pscw, or put_busy, fetch_and_op_busy, lock_busy,\n"
          "                            whose target computes and calls MPI every millisecond, or\n"
          "                            put_test, fetch_and_op_test, whose target calls MPI_Test (all);\n"
          "                            files: write_at, read_strided, ..., as the results call them\n"
          "  --raw no|yes              print every batch (no)\n"
          "  --file FOLDER             files: write there (.)\n"
          "  --granularity BYTES       rma: mpi_accumulate_granularity of the windows (none)\n",
          to);
}

/* Every rank reads the same arguments, so all leave alike and rank 0 speaks. */
static void refuse(const struct options *opt, const char *what, const char *token)
{
    if (opt->rank == 0)
        fprintf(stderr, "hpvmbench: %s '%s'; see 'hpvmbench --help'\n", what, token);
    MPI_Finalize();
    exit(2);
}

static long whole(const struct options *opt, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        refuse(opt, "not a number in range:", text);
    return value;
}

static double positive(const struct options *opt, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 3600)
        refuse(opt, "not a number of seconds:", text);
    return value;
}

/* 0 for the first word, 1 for the second. */
static int choice(const struct options *opt, const char *text, const char *no, const char *yes)
{
    if (strcmp(text, no) != 0 && strcmp(text, yes) != 0)
        refuse(opt, "not one of the words that --help names:", text);
    return strcmp(text, yes) == 0;
}

static int calls(const struct options *opt, const char *text)
{
    static const char *const words[CALLS] = {"round", "ahead", "alone", "late", "fresh"};
    int found = 0;
    while (found < CALLS && strcmp(text, words[found]) != 0)
        found++;
    if (found == CALLS)
        refuse(opt, "not one of the words that --help names:", text);
    return found;
}

static const char *operation(const struct options *opt, const char *text)
{
    int known = strcmp(opt->mode, "files") == 0 ? is_files_operation(text) : is_rma_operation(text);
    if (!known)
        refuse(opt, "not one of the words that --help names:", text);
    return text;
}

static void parse_sizes(struct options *opt, const char *text)
{
    char part[32];
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (length >= sizeof part || opt->size_count == MAX_SIZES)
            refuse(opt, "bad list of sizes:", text);
        memcpy(part, text, length);
        part[length] = '\0';
        opt->sizes[opt->size_count++] = whole(opt, part, 0, 1L << 30);
        text += length + (text[length] == ',');
    }
}

static void parse_option(struct options *opt, const char *name, const char *value)
{
    if (strcmp(name, "--min") == 0)
        opt->min_size = whole(opt, value, 0, 1L << 30);
    else if (strcmp(name, "--max") == 0)
        opt->max_size = whole(opt, value, 0, 1L << 30);
    else if (strcmp(name, "--sizes") == 0)
        parse_sizes(opt, value);
    else if (strcmp(name, "--iters") == 0)
        opt->iters = whole(opt, value, 1, LONG_MAX);
    else if (strcmp(name, "--calls") == 0)
        opt->calls = calls(opt, value);
    else if (strcmp(name, "--batches") == 0)
        opt->batches = (int)whole(opt, value, 1, MAX_BATCHES);
    else if (strcmp(name, "--batch") == 0)
        opt->batch = positive(opt, value);
    else if (strcmp(name, "--budget") == 0)
        opt->budget = positive(opt, value);
    else if (strcmp(name, "--window") == 0)
        opt->window = (int)whole(opt, value, 1, 65536);
    else if (strcmp(name, "--offset") == 0)
        opt->offset = whole(opt, value, 0, 4095);
    else if (strcmp(name, "--memory") == 0)
        opt->mpi_memory = choice(opt, value, "malloc", "mpi");
    else if (strcmp(name, "--buffers") == 0)
        opt->one_buffer = choice(opt, value, "two", "one");
    else if (strcmp(name, "--data") == 0)
        opt->noise = choice(opt, value, "same", "random");
    else if (strcmp(name, "--touch") == 0)
        opt->touch = choice(opt, value, "no", "yes");
    else if (strcmp(name, "--raw") == 0)
        opt->raw = choice(opt, value, "no", "yes");
    else if (strcmp(name, "--file") == 0)
        opt->file = value;
    else if (strcmp(name, "--granularity") == 0)
        opt->granularity = whole(opt, value, 0, LONG_MAX) >= 0 ? value : NULL;
    else if (strcmp(name, "--op") == 0)
        opt->op = operation(opt, value);
    else
        refuse(opt, "unknown option", name);
}

static const struct mode *parse(struct options *opt, int argc, char **argv)
{
    const struct mode *mode = NULL;
    if (argc < 2)
        refuse(opt, "which measurement? no MODE after", argv[0]);
    opt->mode = argv[1];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, opt->mode) == 0)
            mode = &modes[i];
    if (!mode)
        refuse(opt, "unknown mode", opt->mode);
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 >= argc)
            refuse(opt, "no value after", argv[i]);
        parse_option(opt, argv[i], argv[i + 1]);
    }
    if (opt->touch && opt->calls != CALLS_ROUND && opt->calls != CALLS_AHEAD)
        refuse(opt, "--calls must be round or ahead with", "--touch yes");
    if (opt->ranks < mode->min_ranks)
        refuse(opt, "at least two ranks are needed (mpirun -n 2) for", opt->mode);
    return mode;
}

/* Who is measured: the library's own words, kept on one line and safe inside JSON. */
static void header(const struct options *opt)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0, major = 0, minor = 0;
    MPI_Get_library_version(version, &length);
    MPI_Get_version(&major, &minor);
    MPI_Get_processor_name(host, &length);
    version[strcspn(version, "\r\n")] = '\0';
    for (char *c = version; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = ' ';
    if (opt->rank == 0 && strcmp(opt->mode, "startup") != 0) {
        printf("{\"mode\":\"header\",\"library\":\"%s\",\"standard\":\"%d.%d\",\"ranks\":%d,"
               "\"host\":\"%s\",\"window\":%d}\n",
               version, major, minor, opt->ranks, host, opt->window);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct options opt = {.max_size = 4L << 20, .batches = 301, .batch = 0.001, .budget = 0.3};
    opt.window = 64;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &opt.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &opt.ranks);
    const struct mode *mode = parse(&opt, argc, argv);
    header(&opt);
    int status = mode->run(&opt);
    /* Where idle ranks wait while others measure; left out when only start-up is timed. */
    if (mode->run != run_startup)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
