/* Windows whose ranks outlive one that is killed in the middle of an update: outlive_update CASE, on 3 ranks with
 * --enable-recovery.
 *
 * Rank 1 updates elements of rank 0 with operands of which the last cannot be read, and is killed with SIGKILL there:
 *
 * shared: by the processor, beside others, who then want the memory for long updates
 * exclusive: a long update, under the lock
 * wide: elements that no processor knows, under the lock
 * created: memory that is reached through the kernel, under the lock
 * slot: as created, of few elements, which rank 0 is asked for
 * target: it dies after updates that it has not been told to be done
 *
 * The others update the same elements. No call may hang. One that finds the lock with the dead rank ends with MPI_ERR_PROC_ABORTED,
 * once in all; later ones go on. What needs the dead rank itself ends, too.
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEAD = 1, BYTES = 1 << 20, TIMES = 200, LENGTHY = 4096, SHORT = 4 };

static int rank;
static MPI_Comm world, living;
static MPI_Win window, posted;

static void fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    printf("rank %d: %s: %s\n", rank, what, text);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Success, or what says that a process has died: then 1. */
static int died(const char *what, int code)
{
    int class = class_of(code);
    if (class != MPI_SUCCESS && class != MPI_ERR_PROC_ABORTED) fail(what, code);
    return class != MPI_SUCCESS;
}

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

/* `bytes` bytes of operands, the last `hidden` of which cannot be read. */
static char *operands(size_t bytes, size_t hidden)
{
    char *memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap", MPI_ERR_NO_MEM);
    mprotect(memory + BYTES, BYTES, PROT_NONE);
    return memory + BYTES - bytes + hidden;
}

static int update(const void *from, int count, MPI_Datatype type, int target)
{
    int code = MPI_Accumulate(from, count, type, target, 0, count, type, MPI_SUM, window);
    int flushed = MPI_Win_flush(target, window);
    return code != MPI_SUCCESS ? code : flushed;
}

/* What needs the dead rank itself. In packets it cannot be done. */
static void needs_the_dead(int in_packets)
{
    int64_t one = 1, old = 0;
    MPI_Request request;
    int lost = 0;
    lost += died("put", MPI_Put(&one, 1, MPI_INT64_T, DEAD, 0, 1, MPI_INT64_T, window)) | died("flush", MPI_Win_flush(DEAD, window));
    lost += died("get", MPI_Get(&old, 1, MPI_INT64_T, DEAD, 0, 1, MPI_INT64_T, window)) | died("flush", MPI_Win_flush(DEAD, window));
    lost += died("fetch", MPI_Fetch_and_op(&one, &old, MPI_INT64_T, DEAD, 0, MPI_SUM, window)) | died("flush", MPI_Win_flush(DEAD, window));
    int code = MPI_Rput(&one, 1, MPI_INT64_T, DEAD, 0, 1, MPI_INT64_T, window, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    lost += died("rput", code) | died("flush", MPI_Win_flush_all(window));
    if (in_packets && lost != 4) fail("operations at the dead rank were done", MPI_SUCCESS);
    /* It never completes its epoch. */
    MPI_Group all, dead;
    int ranks[1] = {DEAD}, flag = 0;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, ranks, &dead);
    code = MPI_Win_post(dead, 0, posted);
    while (code == MPI_SUCCESS && !flag) code = MPI_Win_test(posted, &flag);
    if (!died("test", code)) fail("the dead rank has completed", MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int is_shared = strcmp(name, "shared") == 0, is_exclusive = strcmp(name, "exclusive") == 0, is_wide = strcmp(name, "wide") == 0;
    int is_slot = strcmp(name, "slot") == 0, is_target = strcmp(name, "target") == 0, is_created = strcmp(name, "created") == 0 || is_slot;
    MPI_Datatype type = is_wide ? MPI_LONG_DOUBLE : MPI_INT64_T;
    size_t size = is_wide ? sizeof(long double) : sizeof(int64_t);
    int count = is_shared || is_slot || is_wide ? SHORT : is_created ? BYTES / 8 : LENGTHY;
    char *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, rank == DEAD, 0, &living);
    if (is_created) {
        memory = calloc(1, BYTES);
        MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, world, &window);
    } else {
        MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, world, &memory, &window);
    }
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, world, &posted);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(posted, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    char *whole = operands(count * size, 0), *part = operands(count * size, is_target ? 0 : size);
    if (is_exclusive || is_target) update(whole, count, type, rank == DEAD ? 2 : 0);
    MPI_Barrier(world);
    if (rank == DEAD) {
        signal(SIGSEGV, die);
        signal(SIGBUS, die);
        update(part, count, type, 0);
        die(0);
    }
    char byte;
    int told = 0, all = 0;
    if (!died("receive", MPI_Recv(&byte, 1, MPI_BYTE, DEAD, 0, world, MPI_STATUS_IGNORE))) fail("it lives", MPI_SUCCESS);
    /* Those who share the memory with a dead rank want it for themselves. */
    if (is_shared) count = LENGTHY, whole = operands(count * size, 0);
    for (int i = 0; i < TIMES; i++) told += died("update", update(whole, count, type, 0));
    MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_SUM, living);
    int holds = is_exclusive || is_wide || is_created;
    /* Where rank 0 has been busy the kernel has done what it was asked for, under the lock. */
    if (all != holds && !(is_slot && all == 0)) {
        printf("rank %d: %d of %d updates were told that the lock was a dead rank's\n", rank, all, 2 * TIMES);
        fail(name, MPI_SUCCESS);
    }
    const char *ways = getenv("HPVM_ONESIDED");
    needs_the_dead(ways != NULL && strcmp(ways, "messages") == 0);
    printf("rank %d has seen it\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
