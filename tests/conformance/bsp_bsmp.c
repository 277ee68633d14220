/* BSPlib, message passing: sizes of tags, the queue, both ways to take a message. The argument is the number of doubles
 * in a long payload (8): many travel by themselves. */
#include "bsp_check.h"

static int n = 8, p, s;

/* A message from every process to every process: tag and payload say who sent it and how long it is. */
static void all_to_all(int messages)
{
    double *data = malloc((size_t)n * sizeof *data);
    for (int i = 0; i < messages; i++) {
        int tag[2] = {s, i}, length = i % 3 == 2 ? n : i % 3;
        for (int j = 0; j < length; j++)
            data[j] = 1000.0 * s + i + j;
        for (int to = 0; to < p; to++)
            bsp_send(to, tag, data, length * (int)sizeof *data);
        memset(data, 0, (size_t)n * sizeof *data);
    }
    int status = 0;
    bsp_get_tag(&status, NULL);
    CHECK_EQ(status, -1);
    bsp_sync();
    free(data);
}

static void take_all(int messages)
{
    int count, bytes, seen = 0, *next = calloc((size_t)p, sizeof *next);
    double *data = malloc((size_t)n * sizeof *data);
    bsp_qsize(&count, &bytes);
    CHECK_EQ(count, p * messages);
    while (count > 0) {
        int status, tag[2] = {-1, -1}, left, left_bytes;
        void *tag_at, *payload;
        bsp_get_tag(&status, tag);
        int length = tag[1] % 3 == 2 ? n : tag[1] % 3;
        CHECK_EQ(status, length * (int)sizeof *data);
        if (tag[0] < 0 || tag[0] >= p)
            bsp_abort("a tag of process %d\n", tag[0]);
        /* Of one process they come in the order of its calls, here. */
        CHECK_EQ(tag[1], next[tag[0]]++);
        if (seen++ % 2 == 0) {
            bsp_move(data, status);
        } else {
            CHECK_EQ(bsp_hpmove(&tag_at, &payload), status);
            CHECK_EQ(memcmp(tag_at, tag, sizeof tag), 0);
            CHECK_EQ((intptr_t)payload % 8, 0);
            memcpy(data, payload, (size_t)status);
        }
        for (int j = 0; j < length; j++)
            CHECK(data[j] == 1000.0 * tag[0] + tag[1] + j);
        bsp_qsize(&left, &left_bytes);
        CHECK_EQ(left, count - 1);
        /* Who does not ask for the bytes gives NULL, as programs for MulticoreBSP do. */
        left = -1;
        bsp_qsize(&left, NULL);
        CHECK_EQ(left, count - 1);
        CHECK_EQ(left_bytes, bytes - status);
        count = left, bytes = left_bytes;
    }
    free(data), free(next);
}

/* A size that is set is that of messages sent from the next superstep on; what is not taken is gone. */
static void tag_sizes(void)
{
    int size = 1, status, count, bytes;
    char tag[4] = "abc", got[4] = "---", cut[2] = "--";
    bsp_set_tagsize(&size);
    CHECK_EQ(size, 2 * (int)sizeof(int));
    size = 3;
    bsp_set_tagsize(&size);
    CHECK_EQ(size, 1);
    int old[2] = {s, 0};
    bsp_send((s + 1) % p, old, "x", 1);
    bsp_sync();
    bsp_send((s + 1) % p, tag, "long text", 9);
    bsp_send((s + 1) % p, tag, NULL, 0);
    int mine[2] = {-1, -1};
    bsp_get_tag(&status, mine);
    CHECK_EQ(status, 1);
    CHECK_EQ(mine[0], (s + p - 1) % p);
    bsp_sync();
    bsp_get_tag(&status, got);
    CHECK_EQ(status, 9);
    CHECK_EQ(strncmp(got, "abc", 4), 0);
    bsp_move(cut, 2);
    CHECK(cut[0] == 'l' && cut[1] == 'o');
    bsp_qsize(&count, &bytes);
    CHECK_EQ(count, 1);
    CHECK_EQ(bytes, 0);
    bsp_sync();
    void *a, *b;
    bsp_qsize(&count, &bytes);
    CHECK_EQ(count, 0);
    CHECK_EQ(bsp_hpmove(&a, &b), -1);
}

int main(int argc, char **argv)
{
    bsp_begin(bsp_nprocs());
    bsp_check_init();
    if (argc > 1)
        n = atoi(argv[1]);
    p = bsp_nprocs(), s = bsp_pid();
    int size = 2 * sizeof(int);
    bsp_set_tagsize(&size);
    CHECK_EQ(size, 0);
    bsp_sync();
    for (int messages = 1; messages < 12; messages += 5) {
        all_to_all(messages);
        take_all(messages);
    }
    tag_sizes();
    return bsp_check_finish();
}
