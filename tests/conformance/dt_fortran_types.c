/* MPI 5.0, 3.2.2 and 18.1: the Fortran basic datatypes that the C library knows of travel as their
 * sizes say; sized types have the size in their name. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    const struct { MPI_Datatype type; int size; } table[] = {
        { MPI_CHARACTER, 1 }, { MPI_INTEGER1, 1 }, { MPI_INTEGER2, 2 }, { MPI_INTEGER4, 4 },
        { MPI_INTEGER8, 8 },  { MPI_REAL4, 4 },    { MPI_REAL8, 8 },    { MPI_COMPLEX8, 8 },
        { MPI_COMPLEX16, 16 },
    };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        unsigned char out[80], in[80];
        int size = -1, bytes = 5 * table[t].size;
        CHECK_MPI(MPI_Type_size(table[t].type, &size));
        CHECK_EQ(size, table[t].size);
        pattern_fill(out, 80, (unsigned)(check_rank + (int)t));
        memset(in, 0, sizeof in);
        CHECK_MPI(MPI_Sendrecv(out, 5, table[t].type, right, 1, in, 5, table[t].type, left, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(pattern_holds(in, (size_t)bytes, (unsigned)(left + (int)t)));
    }
    int32_t a = check_rank + 1, sum = 0;
    CHECK_MPI(MPI_Allreduce(&a, &sum, 1, MPI_INTEGER4, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size * (check_size + 1) / 2);
    double x = check_rank, most = -1;
    CHECK_MPI(MPI_Allreduce(&x, &most, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD));
    CHECK(most == check_size - 1);
    return check_finish();
}
