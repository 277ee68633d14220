/* MPI 5.0, 6.9.2 "Predefined Reduction Operations": every arithmetic, logical and bitwise
 * operation on every C datatype it is defined for, by MPI_Allreduce and MPI_Reduce_local. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>

#define COUNT 37 /* odd, so that vector code has a rest */

/* Small numbers whose product over 8 ranks fits a byte. */
#define SMALL_VALUE(T, r, i) ((T)(((r) + (i)) % 4 == 0 ? 2 : 1))
/* Numbers near the ends of the type's range. */
#define EXTREME_VALUE(T, r, i) ((i) % 2 ? (T)((T)-1 - (T)(r)) : (T)(((r) * 5 + (i)) % 11))

#define FOLD(T, VALUE, EXPR, op, type)                                                         \
    do {                                                                                       \
        T in[COUNT], out[COUNT + 1], local[COUNT];                                             \
        for (int i = 0; i < COUNT; i++) {                                                      \
            in[i] = VALUE(T, check_rank, i);                                                   \
            local[i] = VALUE(T, 1, i);                                                         \
        }                                                                                      \
        memset(&out[COUNT], 0x11, sizeof(T));                                                  \
        T guard = out[COUNT];                                                                  \
        CHECK_MPI(MPI_Allreduce(in, out, COUNT, type, op, MPI_COMM_WORLD));                    \
        CHECK_MPI(MPI_Reduce_local(in, local, COUNT, type, op));                               \
        for (int i = 0; i < COUNT; i++) {                                                      \
            T a = VALUE(T, 0, i);                                                              \
            for (int r = 1; r < check_size; r++) {                                             \
                T b = VALUE(T, r, i);                                                          \
                a = (T)(EXPR);                                                                 \
            }                                                                                  \
            if (check_size > 1 && out[i] != a)                                                 \
                check_fail(__FILE__, __LINE__, "allreduce " #op " " #type);                    \
            if (check_size == 1 && out[i] != in[i])                                            \
                check_fail(__FILE__, __LINE__, "allreduce of one " #op " " #type);             \
            a = in[i];                                                                         \
            T b = VALUE(T, 1, i);                                                              \
            if (local[i] != (T)(EXPR))                                                         \
                check_fail(__FILE__, __LINE__, "reduce_local " #op " " #type);                 \
        }                                                                                      \
        if (memcmp(&guard, &out[COUNT], 1))                                                    \
            check_fail(__FILE__, __LINE__, "written beyond the end " #op " " #type);           \
    } while (0)

#define ARITHMETIC(T, type)                                                                    \
    FOLD(T, SMALL_VALUE, a + b, MPI_SUM, type);                                                \
    FOLD(T, SMALL_VALUE, a * b, MPI_PROD, type);                                               \
    FOLD(T, EXTREME_VALUE, a > b ? a : b, MPI_MAX, type);                                      \
    FOLD(T, EXTREME_VALUE, a < b ? a : b, MPI_MIN, type)

#define BITWISE(T, type)                                                                       \
    FOLD(T, EXTREME_VALUE, a & b, MPI_BAND, type);                                             \
    FOLD(T, EXTREME_VALUE, a | b, MPI_BOR, type);                                              \
    FOLD(T, EXTREME_VALUE, a ^ b, MPI_BXOR, type)

/* Truth values: what is not 0 is true, whatever its bits; the result is 0 or 1. A single rank's
 * result is its input, so the fold starts from the input itself. */
#define TRUTH_VALUE(T, r, i) ((T)(((r) * 3 + (i)) % 3 ? 0 : 1))
#define LOGICAL(T, type)                                                                       \
    FOLD(T, TRUTH_VALUE, a && b, MPI_LAND, type);                                              \
    FOLD(T, TRUTH_VALUE, a || b, MPI_LOR, type);                                               \
    FOLD(T, TRUTH_VALUE, !a != !b, MPI_LXOR, type)

#define INTEGER(T, type)                                                                       \
    ARITHMETIC(T, type);                                                                       \
    BITWISE(T, type);                                                                          \
    LOGICAL(T, type)

#define COMPLEX(T, type)                                                                       \
    FOLD(T, COMPLEX_VALUE, a + b, MPI_SUM, type);                                              \
    FOLD(T, COMPLEX_VALUE, a * b, MPI_PROD, type)
#define COMPLEX_VALUE(T, r, i) ((T)((r) % 3 + ((i) % 3 - 1) * I))

static void c_integers(void)
{
    INTEGER(signed char, MPI_SIGNED_CHAR);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(short, MPI_SHORT);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(int, MPI_INT);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(long, MPI_LONG);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(long long, MPI_LONG_LONG);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
}

static void sized_integers(void)
{
    INTEGER(int8_t, MPI_INT8_T);
    INTEGER(int16_t, MPI_INT16_T);
    INTEGER(int32_t, MPI_INT32_T);
    INTEGER(int64_t, MPI_INT64_T);
    INTEGER(uint8_t, MPI_UINT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(uint32_t, MPI_UINT32_T);
    INTEGER(uint64_t, MPI_UINT64_T);
    ARITHMETIC(MPI_Aint, MPI_AINT);
    BITWISE(MPI_Aint, MPI_AINT);
    ARITHMETIC(MPI_Offset, MPI_OFFSET);
    BITWISE(MPI_Offset, MPI_OFFSET);
    ARITHMETIC(MPI_Count, MPI_COUNT);
    BITWISE(MPI_Count, MPI_COUNT);
}

static void others(void)
{
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    ARITHMETIC(long double, MPI_LONG_DOUBLE);
    COMPLEX(float complex, MPI_C_COMPLEX);
    COMPLEX(float complex, MPI_C_FLOAT_COMPLEX);
    COMPLEX(double complex, MPI_C_DOUBLE_COMPLEX);
    COMPLEX(long double complex, MPI_C_LONG_DOUBLE_COMPLEX);
    BITWISE(unsigned char, MPI_BYTE);
    LOGICAL(bool, MPI_C_BOOL);
}

/* Any value but 0 is true: results of truth, not of bits. */
static void truth_of_bits(void)
{
    int in[2] = { 2 << check_rank, check_rank % 2 ? 4 : 0 }, out[2];
    CHECK_MPI(MPI_Allreduce(in, out, 2, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    CHECK(out[0] && !out[1]);
    CHECK_MPI(MPI_Allreduce(in, out, 2, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    CHECK(out[0] && !out[1] == (check_size < 2));
    CHECK_MPI(MPI_Allreduce(in, out, 2, MPI_INT, MPI_LXOR, MPI_COMM_WORLD));
    CHECK_EQ(!!out[0], check_size % 2);
    CHECK_EQ(!!out[1], check_size / 2 % 2);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    c_integers();
    sized_integers();
    others();
    truth_of_bits();
    return check_finish();
}
