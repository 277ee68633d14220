/* Tasks: each is done once, also those that tasks make; ranks without tasks take those of others; phases end. The queens
 * problem has known answers. */
#include "check.h"

static const long answers[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724};

typedef struct board {
    int size, row, phase;
    unsigned columns, left, right;
} board;

static long solve(board b)
{
    if (b.row == b.size)
        return 1;
    long found = 0;
    for (int c = 0; c < b.size; c++) {
        unsigned bit = 1u << c;
        if ((b.columns | b.left | b.right) & bit)
            continue;
        board next = {b.size, b.row + 1, b.phase, b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1};
        if (next.row <= 3)
            sam_task_add(&next, sizeof next);
        else
            found += solve(next);
    }
    return found;
}

/* Tasks of more and more of the ranks, and of fewer again, while the others wait. */
static void among_few(void)
{
    enum { TASKS = 40 };
    for (int series = 1; series < 2 * n; series++) {
        int ranks = series <= n ? series : 2 * n - series, key = 100 + series;
        sam_name sum = sam_name_of(1, key);
        if (me < ranks)
            sam_task_ranks(ranks, series);
        sam_barrier();
        if (me == 0) {
            sam_accumulator_begin(sum, sizeof(long));
            sam_end_update(sum);
        }
        for (int task = me; me < ranks && task < TASKS; task += 2 * ranks) /* the first ranks have more */
            sam_task_add(&task, sizeof task);
        int done;
        for (int phase = 0; phase < 2 && me < ranks; phase++)
            while (sam_task_next(&done, sizeof done, NULL)) {
                long *all = sam_update(sum, NULL);
                *all += 1;
                sam_end_update(sum);
                if (done < TASKS && done + ranks < TASKS) {
                    int more = TASKS + done;
                    sam_task_add(&more, sizeof more);
                }
            }
        sam_barrier();
        if (me == 0) {
            long expected = 0;
            for (int rank = 0; rank < ranks; rank++)
                for (int task = rank; task < TASKS; task += 2 * ranks)
                    expected += 1 + (task + ranks < TASKS);
            CHECK_EQ(*(long *)sam_update(sum, NULL), expected);
            sam_end_update_to_value(sum, SAM_STAYS);
        }
    }
    sam_barrier();
    sam_task_ranks(n, 2 * (uint64_t)n);
    sam_barrier();
    CHECK_EQ(sam_task_next(NULL, 0, NULL), 0);
}

int main(int argc, char **argv)
{
    int largest = argc > 1 ? atoi(argv[1]) : 8;
    begin();
    for (int size = 4; size <= largest; size++) {
        sam_name name = sam_name_of(1, size);
        if (me == size % n) {
            sam_accumulator_begin(name, sizeof(long));
            sam_end_update(name);
            board first = {size, 0, size, 0, 0, 0};
            sam_task_add(&first, sizeof first);
        }
        board b;
        size_t bytes;
        while (sam_task_next(&b, sizeof b, &bytes)) {
            CHECK_EQ(bytes, sizeof b);
            CHECK_EQ(b.phase, size);
            long found = solve(b);
            if (found > 0) {
                long *sum = sam_update(name, NULL);
                *sum += found;
                sam_end_update(name);
            }
        }
        /* All updates are over when the phase is. */
        if (me == 0) {
            long *sum = sam_update(name, NULL);
            CHECK_EQ(*sum, answers[size]);
            sam_end_update_to_value(name, SAM_STAYS);
        }
        CHECK_EQ(*(const long *)sam_use(name, NULL), answers[size]);
        sam_end_use(name);
    }
    CHECK_EQ(sam_task_next(NULL, 0, NULL), 0); /* a phase without tasks */
    among_few();
    return end();
}
