/* MPI 5.0, 6.9.4 "MINLOC and MAXLOC": on all pair types; of equal values the lowest index wins. */
#include "check.h"

#define COUNT 23

/* A ties at every third place, B has its least at the last rank, C at the first. */
#define VALUE(r, i) ((i) % 3 == 0 ? 5 : (i) % 3 == 1 ? 100 - (r) : (r) - 50)

#define PAIR(T, type, name)                                                                    \
    struct name { T value; int index; };                                                       \
    static void test_##name(void)                                                              \
    {                                                                                          \
        struct name in[COUNT], out[COUNT];                                                     \
        memset(in, 0, sizeof in);                                                              \
        for (int i = 0; i < COUNT; i++) {                                                      \
            in[i].value = (T)VALUE(check_rank, i);                                             \
            in[i].index = 1000 + check_rank;                                                   \
        }                                                                                      \
        CHECK_MPI(MPI_Allreduce(in, out, COUNT, type, MPI_MINLOC, MPI_COMM_WORLD));            \
        for (int i = 0; i < COUNT; i++) {                                                      \
            int winner = i % 3 == 1 ? check_size - 1 : 0;                                      \
            CHECK(out[i].value == (T)VALUE(winner, i) && out[i].index == 1000 + winner);       \
        }                                                                                      \
        CHECK_MPI(MPI_Reduce(in, out, COUNT, type, MPI_MAXLOC, check_size - 1,                 \
                             MPI_COMM_WORLD));                                                 \
        for (int i = 0; i < COUNT && check_rank == check_size - 1; i++) {                      \
            int winner = i % 3 == 2 ? check_size - 1 : 0;                                      \
            CHECK(out[i].value == (T)VALUE(winner, i) && out[i].index == 1000 + winner);       \
        }                                                                                      \
        struct name a[2] = { { (T)1, 7 }, { (T)2, 9 } }, b[2] = { { (T)1, 3 }, { (T)3, 1 } };  \
        CHECK_MPI(MPI_Reduce_local(a, b, 2, type, MPI_MAXLOC));                                \
        CHECK(b[0].value == 1 && b[0].index == 3 && b[1].value == 3 && b[1].index == 1);       \
        CHECK_MPI(MPI_Scan(in, out, COUNT, type, MPI_MINLOC, MPI_COMM_WORLD));                 \
        CHECK(out[1].index == 1000 + check_rank && out[2].index == 1000);                      \
    }

PAIR(float, MPI_FLOAT_INT, of_float)
PAIR(double, MPI_DOUBLE_INT, of_double)
PAIR(long, MPI_LONG_INT, of_long)
PAIR(int, MPI_2INT, of_int)
PAIR(short, MPI_SHORT_INT, of_short)
PAIR(long double, MPI_LONG_DOUBLE_INT, of_long_double)

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    test_of_float();
    test_of_double();
    test_of_long();
    test_of_int();
    test_of_short();
    test_of_long_double();
    return check_finish();
}
