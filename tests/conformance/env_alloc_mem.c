/* MPI 5.0, 9.2 "Memory Allocation": MPI_Alloc_mem, MPI_Free_mem, the alignment hint, errors; and
 * messages from, to and between such memory, whole and in parts, with and without gaps. */
#include "check.h"

#include <stdint.h>

enum { MOST = 3 << 20 };

static int rank, size;

static unsigned char mark(long i, int from, int round)
{
    return (unsigned char)(i * 31 + (i >> 12) * 7 + from * 53 + round * 101 + 1);
}

static void *get(MPI_Aint bytes, MPI_Info info)
{
    void *memory = NULL;
    CHECK_MPI(MPI_Alloc_mem(bytes, info, &memory));
    CHECK(memory != NULL || bytes == 0);
    return memory;
}

static void sizes_and_hints(void)
{
    static const MPI_Aint sizes[] = {0, 1, 100, 4096, 32767, 32768, 100000, 1 << 20, 5 << 20};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    unsigned char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = get(sizes[i], MPI_INFO_NULL);
        memset(blocks[i], i + 1, (size_t)sizes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        for (MPI_Aint k = 0; k < sizes[i]; k += 997)
            CHECK_EQ(blocks[i][k], i + 1);
        CHECK_MPI(MPI_Free_mem(blocks[i]));
    }
    MPI_Info info;
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_set(info, "nobody_knows_this", "1"));
    for (long alignment = 8; alignment <= 1 << 16; alignment *= 2) {
        char text[20];
        snprintf(text, sizeof text, "%ld", alignment);
        CHECK_MPI(MPI_Info_set(info, "mpi_minimum_memory_alignment", text));
        for (MPI_Aint bytes = 10; bytes < 1000000; bytes *= 100) {
            void *memory = get(bytes, info);
            CHECK_EQ((uintptr_t)memory % (uintptr_t)alignment, 0);
            memset(memory, 1, (size_t)bytes);
            CHECK_MPI(MPI_Free_mem(memory));
        }
    }
    CHECK_MPI(MPI_Info_free(&info));
}

/* `bytes` from one memory to the right neighbour's other, at an offset in both. */
static void pass(unsigned char *from, unsigned char *to, long bytes, int gaps, int round)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long offset = round % 3 * 64 + round % 2;
    MPI_Datatype type = MPI_BYTE;
    int count = (int)bytes;
    if (gaps) {
        count = (int)(bytes / 128);
        bytes = (long)count * 128;
        MPI_Type_vector(count, 128, 192, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        count = 1;
    }
    for (long i = 0; i < bytes; i++)
        from[offset + i] = mark(i, rank, round);
    memset(to, 0, MOST);
    MPI_Request requests[2];
    CHECK_MPI(MPI_Irecv(to + offset, count, type, left, round, MPI_COMM_WORLD, &requests[0]));
    if (round % 4 == 3)
        CHECK_MPI(MPI_Issend(from + offset, (int)bytes, MPI_BYTE, right, round, MPI_COMM_WORLD,
                             &requests[1]));
    else
        CHECK_MPI(MPI_Isend(from + offset, (int)bytes, MPI_BYTE, right, round, MPI_COMM_WORLD,
                            &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    long wrong = 0;
    for (long i = 0; i < bytes; i++) {
        long at = gaps ? i / 128 * 192 + i % 128 : i;
        wrong += to[offset + at] != mark(i, left, round);
    }
    CHECK_EQ(wrong, 0);
    if (gaps) {
        CHECK_EQ(to[offset + 128], 0);
        MPI_Type_free(&type);
    }
}

static void messages(void)
{
    static const long sizes[] = {1000, 17000, 70000, 600000, 1200000};
    unsigned char *heap[2] = {malloc(MOST), malloc(MOST)};
    int round = 0;
    /* Freed and taken again, the same addresses hold other data. */
    for (int turn = 0; turn < 2; turn++) {
        unsigned char *lent[2] = {get(MOST, MPI_INFO_NULL), get(MOST, MPI_INFO_NULL)};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int way = 0; way < 4; way++) {
                unsigned char *from = way & 1 ? lent[0] : heap[0];
                unsigned char *to = way & 2 ? lent[1] : heap[1];
                pass(from, to, sizes[i], (int)i % 2 ^ turn, round++);
            }
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_MPI(MPI_Free_mem(lent[turn]));
        CHECK_MPI(MPI_Free_mem(lent[!turn]));
    }
    free(heap[0]);
    free(heap[1]);
}

/* A message longer than its receive leaves what comes behind it alone. */
static void truncated(void)
{
    if (size < 2 || rank > 1)
        return;
    unsigned char *memory = get(MOST, MPI_INFO_NULL);
    memset(memory, rank + 5, MOST);
    if (rank == 0) {
        CHECK_MPI(MPI_Send(memory, MOST, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    } else {
        int code = MPI_Recv(memory, MOST / 2, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_CLASS(code, MPI_ERR_TRUNCATE);
        CHECK_EQ(memory[MOST / 2 - 1], 5);
        CHECK_EQ(memory[MOST / 2], 6);
    }
    CHECK_MPI(MPI_Free_mem(memory));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sizes_and_hints();
    messages();
    truncated();
    void *memory = NULL;
    CHECK_CLASS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_ARG);
    if (argc > 1) { /* what an MPI may, but need not, notice */
        char *block = get(100000, MPI_INFO_NULL);
        CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
        CHECK_CLASS(MPI_Free_mem(block + 4096), MPI_ERR_BASE);
        CHECK_CLASS(MPI_Free_mem(&memory), MPI_ERR_BASE);
        CHECK_MPI(MPI_Free_mem(block));
        CHECK_CLASS(MPI_Free_mem(block), MPI_ERR_BASE);
    }
    return check_finish();
}
