/* Rank 0 pushes more to the others than may wait there, while they are in MPI: what waits at rank 0 holds no message of MPI up,
 * and all of it comes. */
#include <mpi.h>
#include <stdint.h>
#include "check.h"

/* Of 4,000 bytes each, so that they are packets: 5.6 MB. Fewer wait than a call of SAM waits for. */
enum { VALUES = 1400, WORDS = 500 };

static void use_all(void)
{
    for (int i = 0; i < VALUES; i++) {
        size_t bytes;
        const uint64_t *value = sam_use(sam_name_of(9, i), &bytes);
        CHECK_EQ(bytes, WORDS * sizeof *value);
        int right = 1;
        for (int word = 0; word < WORDS; word++)
            right &= value[word] == (uint64_t)i * WORDS + word;
        CHECK_EQ(right, 1);
        sam_end_use(sam_name_of(9, i));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    begin();
    int token = 0;
    if (me == 0) {
        for (int i = 0; i < VALUES; i++) {
            uint64_t *value = sam_value_begin(sam_name_of(9, i), WORDS * sizeof *value);
            for (int word = 0; word < WORDS; word++)
                value[word] = (uint64_t)i * WORDS + word;
            sam_value_end(sam_name_of(9, i), SAM_STAYS);
            for (int rank = 1; rank < n; rank++)
                sam_push(sam_name_of(9, i), rank);
        }
        for (int rank = 1; rank < n; rank++)
            MPI_Send(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    sam_barrier();
    use_all();
    int status = end();
    MPI_Finalize();
    return status;
}
