/* Static data that others reach: contents survive shmem_init and shmem_finalize, loads and stores by shmem_ptr mean the
 * variables themselves, and a child of fork has its own. */
#include "osh.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 300, WORDS = PAGES * 512 };

static long before = 4711;           /* .data */
static long sparse[WORDS];           /* .bss, most of it never touched */
static volatile long of_parent = 1;  /* what the child changes is its own, and the other way round */
static volatile long go_on;
static char text[] = "as it was";
static long *inside = &sparse[WORDS / 2];

/* What a child finds and does. */
static void forks(void)
{
    int up[2], down[2];
    char byte = 0;
    of_parent = 1;
    CHECK(pipe(up) == 0 && pipe(down) == 0);
    pid_t child = fork();
    if (child == 0) {
        int right = of_parent == 1 && before == 4711 + me && *inside == 77;
        of_parent = 2;
        sparse[3 * 512] = -1;
        right = right && write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1;
        right = right && go_on == 0 && of_parent == 2;
        _exit(right ? 0 : 1);
    }
    CHECK(child > 0 && read(up[0], &byte, 1) == 1);
    CHECK(of_parent == 1 && sparse[3 * 512] == 0);
    go_on = 1;
    CHECK(write(down[1], &byte, 1) == 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    go_on = 0;
    close(up[0]), close(up[1]), close(down[0]), close(down[1]);
}

int main(int argc, char **argv)
{
    int mapped = argc > 1 && strcmp(argv[1], "mapped") == 0;
    sparse[5] = 5;
    *inside = 77;
    for (int round = 0; round < 3; round++) {
        begin();
        before = 4711 + me;
        CHECK(strcmp(text, "as it was") == 0 && sparse[5] == 5 && *inside == 77);
        int right = (me + 1) % n, left = (me + n - 1) % n;
        shmem_barrier_all();
        CHECK_EQ(shmem_long_g(&before, right), 4711 + right);
        shmem_long_p(&sparse[WORDS - 1], 100 * round + me, right);
        shmem_long_atomic_add(&sparse[WORDS - 2], 1, 0);
        long *there = shmem_ptr(&sparse[1000], right);
        CHECK(there || !mapped);
        if (there)
            *there = me + 1;
        else
            shmem_long_p(&sparse[1000], me + 1, right);
        CHECK(shmem_ptr(&before, me) == NULL || shmem_ptr(&before, me) == (void *)&before);
        shmem_barrier_all();
        CHECK_EQ(sparse[WORDS - 1], 100 * round + left);
        CHECK_EQ(sparse[1000], left + 1);
        CHECK_EQ(shmem_long_atomic_fetch(&sparse[WORDS - 2], 0), (long)n * (round + 1));
        forks();
        shmem_barrier_all();
        if (round < 2)
            shmem_finalize();
        CHECK(before == 4711 + me && sparse[WORDS - 1] == 100 * round + left && *inside == 77);
    }
    return end();
}
