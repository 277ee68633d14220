/* MPI 5.0, 5.1.9 and 6.9.5: datatypes and operations that are freed while a reduction uses them.
 * The program's function still gets a datatype that it can ask about. */
#include "check.h"

enum { COUNT = 10 };
static int calls, strange;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int size = 0;
    calls++;
    if (*type == MPI_DATATYPE_NULL || MPI_Type_size(*type, &size) != MPI_SUCCESS
        || size != 2 * (int)sizeof(int))
        strange++;
    for (int i = 0; i < 2 * *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int a[2 * COUNT], once[2 * COUNT], often[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++)
        a[i] = check_rank + i;
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Request running, kept;
    CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_MPI(MPI_Type_commit(&pair));
    CHECK_MPI(MPI_Op_create(add, 1, &op));
    CHECK_MPI(MPI_Iallreduce(a, once, COUNT, pair, op, MPI_COMM_WORLD, &running));
    CHECK_MPI(MPI_Allreduce_init(a, often, COUNT, pair, op, MPI_COMM_WORLD, MPI_INFO_NULL, &kept));
    CHECK_MPI(MPI_Type_free(&pair));
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Wait(&running, MPI_STATUS_IGNORE));
    for (int round = 0; round < 3; round++) {
        CHECK_MPI(MPI_Start(&kept));
        CHECK_MPI(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_Request_free(&kept));
    int sum = check_size * (check_size - 1) / 2;
    for (int i = 0; i < 2 * COUNT; i++) {
        CHECK_EQ(once[i], check_size * i + sum);
        CHECK_EQ(often[i], check_size * i + sum);
    }
    CHECK_EQ(strange, 0);
    /* Which ranks call it is the library's choice. */
    int all_calls = 0;
    CHECK_MPI(MPI_Allreduce(&calls, &all_calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all_calls > 0 || check_size == 1);
    return check_finish();
}
