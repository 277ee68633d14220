/* MPI 5.0, 6.14: many small collectives one after the other without pause, with changing roots and
 * kinds, so that fast ranks run ahead of slow ones. Argument: rounds. */
#include "coll.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, n = check_size, wrong = 0;
    int *all = malloc((size_t)n * sizeof(int));
    /* The root only sends: it may be far ahead. */
    for (int i = 0; i < rounds; i++) {
        int value = check_rank == 0 ? i : -1;
        CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
        wrong += value != i;
    }
    /* The root only receives: the others may be far ahead. */
    for (int i = 0; i < rounds; i++) {
        int value = check_rank + i, sum = -1;
        CHECK_MPI(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, n - 1, MPI_COMM_WORLD));
        wrong += check_rank == n - 1 && sum != n * i + n * (n - 1) / 2;
    }
    for (int i = 0; i < rounds; i++) {
        int root = i % n, value = check_rank * 2 + i, got = -1;
        switch (i % 5) {
        case 0:
            CHECK_MPI(MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD));
            for (int r = 0; r < n && check_rank == root; r++)
                wrong += all[r] != r * 2 + i;
            break;
        case 1:
            for (int r = 0; r < n; r++)
                all[r] = r * 5 + i;
            CHECK_MPI(MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD));
            wrong += got != check_rank * 5 + i;
            break;
        case 2:
            CHECK_MPI(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
            wrong += got != (n - 1) * 2 + i;
            break;
        case 3:
            CHECK_MPI(MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
            for (int r = 0; r < n; r++)
                wrong += all[r] != r * 2 + i;
            break;
        default:
            CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
            CHECK_MPI(MPI_Scan(&i, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            wrong += got != i * (check_rank + 1);
        }
    }
    CHECK_EQ(wrong, 0);
    free(all);
    return check_finish();
}
