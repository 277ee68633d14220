/* MPI 5.0, 3.2.2 "Message Data": every basic C datatype travels with its own size and comes back
 * bit for bit; MPI_Type_size agrees with sizeof. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

struct float_int { float a; int b; };
struct double_int { double a; int b; };
struct long_int { long a; int b; };
struct short_int { short a; int b; };
struct two_int { int a; int b; };

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    const struct { MPI_Datatype type; size_t size; } table[] = {
        { MPI_CHAR, 1 }, { MPI_SIGNED_CHAR, 1 }, { MPI_UNSIGNED_CHAR, 1 }, { MPI_BYTE, 1 },
        { MPI_SHORT, sizeof(short) }, { MPI_UNSIGNED_SHORT, sizeof(short) },
        { MPI_INT, sizeof(int) }, { MPI_UNSIGNED, sizeof(int) },
        { MPI_LONG, sizeof(long) }, { MPI_UNSIGNED_LONG, sizeof(long) },
        { MPI_LONG_LONG, 8 }, { MPI_LONG_LONG_INT, 8 }, { MPI_UNSIGNED_LONG_LONG, 8 },
        { MPI_FLOAT, 4 }, { MPI_DOUBLE, 8 }, { MPI_LONG_DOUBLE, sizeof(long double) },
        { MPI_WCHAR, sizeof(wchar_t) }, { MPI_C_BOOL, sizeof(bool) },
        { MPI_INT8_T, 1 }, { MPI_INT16_T, 2 }, { MPI_INT32_T, 4 }, { MPI_INT64_T, 8 },
        { MPI_UINT8_T, 1 }, { MPI_UINT16_T, 2 }, { MPI_UINT32_T, 4 }, { MPI_UINT64_T, 8 },
        { MPI_AINT, sizeof(MPI_Aint) }, { MPI_COUNT, sizeof(MPI_Count) },
        { MPI_OFFSET, sizeof(MPI_Offset) },
        { MPI_C_COMPLEX, sizeof(float complex) }, { MPI_C_FLOAT_COMPLEX, sizeof(float complex) },
        { MPI_C_DOUBLE_COMPLEX, sizeof(double complex) },
        { MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex) },
    };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        unsigned char out[33 * 32], in[33 * 32 + 1];
        int size = -1;
        CHECK_MPI(MPI_Type_size(table[t].type, &size));
        CHECK_EQ(size, table[t].size);
        for (int count = 0; count <= 33; count += 11) {
            size_t bytes = (size_t)count * table[t].size;
            MPI_Status status;
            pattern_fill(out, bytes, (unsigned)(check_rank + (int)t));
            memset(in, 0x77, sizeof in);
            CHECK_MPI(MPI_Sendrecv(out, count, table[t].type, right, (int)t, in, 33,
                                   table[t].type, left, (int)t, MPI_COMM_WORLD, &status));
            CHECK(pattern_holds(in, bytes, (unsigned)(left + (int)t)));
            CHECK_EQ(in[bytes], 0x77);
            int got = -1;
            CHECK_MPI(MPI_Get_count(&status, table[t].type, &got));
            CHECK_EQ(got, count);
        }
    }
    /* The pair types of 6.9.4 have the extent of the C struct and lose no value. */
#define PAIR(T, type, x)                                                                       \
    do {                                                                                       \
        T s[3] = { { x, 1 }, { (x) + 1, 2 }, { (x) + 2, 3 } }, r[3] = { { 0, 0 } };            \
        MPI_Aint lb = -1, extent = -1;                                                         \
        CHECK_MPI(MPI_Type_get_extent(type, &lb, &extent));                                    \
        CHECK_EQ(lb, 0);                                                                       \
        CHECK_EQ(extent, sizeof(T));                                                           \
        CHECK_MPI(MPI_Sendrecv(s, 3, type, right, 5, r, 3, type, left, 5, MPI_COMM_WORLD,      \
                               MPI_STATUS_IGNORE));                                            \
        for (int i = 0; i < 3; i++)                                                            \
            CHECK(r[i].a == (x) + i && r[i].b == i + 1);                                       \
    } while (0)
    PAIR(struct float_int, MPI_FLOAT_INT, 2.5f);
    PAIR(struct double_int, MPI_DOUBLE_INT, 2.5);
    PAIR(struct long_int, MPI_LONG_INT, 123456789012L);
    PAIR(struct short_int, MPI_SHORT_INT, 77);
    PAIR(struct two_int, MPI_2INT, -5);
    return check_finish();
}
