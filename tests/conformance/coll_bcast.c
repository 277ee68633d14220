/* MPI 5.0, 6.4 "Broadcast": from every root, many sizes; the signature counts, not the type.
 * Argument: form. */
#include "coll.h"

int main(int argc, char **argv)
{
    static const int counts[] = { 0, 1, 5, 6, 130, 1000, 8191, 20001, 100000 };
    coll_init(&argc, &argv);
    for (int c = 0; c < 9; c++) {
        int count = counts[c];
        for (int root = 0; root < check_size; root++) {
            if (count > 1000 && root != c % check_size)
                continue;
            int64_t *data = coll_buffer(count);
            if (check_rank == root)
                coll_fill(data, root, count, count);
            COLL(Bcast, bcast, data, count, MPI_INT64_T, root, MPI_COMM_WORLD);
            CHECK(coll_holds(data, root, count, count));
            CHECK_EQ(data[count], -1);
            free(data);
        }
    }
    /* The root broadcasts 12 items, the others take them as 4 of a contiguous type of 3. */
    MPI_Datatype three;
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT64_T, &three));
    CHECK_MPI(MPI_Type_commit(&three));
    int64_t *data = coll_buffer(12);
    if (check_rank == 0)
        coll_fill(data, 0, 0, 12);
    COLL(Bcast, bcast, data, check_rank == 0 ? 12 : 4, check_rank == 0 ? MPI_INT64_T : three, 0,
         MPI_COMM_WORLD);
    CHECK(coll_holds(data, 0, 0, 12));
    free(data);
    CHECK_MPI(MPI_Type_free(&three));
    return check_finish();
}
