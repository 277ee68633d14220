/* Each type by its own name and by the generic one: elements, blocks, reductions. */
#include "osh.h"
#include <complex.h>

static int right, left;

#define ELEMENTS(name, type)                                                                   \
    static void elements_##name(void)                                                          \
    {                                                                                          \
        static type data[4], from[4], one;                                                     \
        type *heap = need(4 * sizeof *heap);                                                   \
        for (int i = 0; i < 4; i++)                                                            \
            from[i] = (type)(me + i + 1);                                                      \
        shmem_barrier_all();                                                                   \
        shmem_##name##_put(data, from, 4, right);                                              \
        shmem_put(heap, from, 4, right);                                                       \
        shmem_##name##_p(&one, (type)(me + 9), right);                                         \
        shmem_barrier_all();                                                                   \
        for (int i = 0; i < 4; i++)                                                            \
            CHECK(data[i] == (type)(left + i + 1) && heap[i] == data[i]);                      \
        CHECK(one == (type)(left + 9));                                                        \
        CHECK(shmem_##name##_g(&one, right) == (type)(me + 9));                                \
        CHECK(shmem_g(&heap[3], right) == (type)(me + 4));                                     \
        CHECK(shmem_g(SHMEM_CTX_DEFAULT, &heap[2], right) == (type)(me + 3));                  \
        shmem_barrier_all();                                                                   \
        shmem_p(SHMEM_CTX_DEFAULT, &heap[1], (type)77, right);                                 \
        shmem_ctx_##name##_iput(SHMEM_CTX_DEFAULT, data, from, 2, 1, 2, right);                \
        shmem_barrier_all();                                                                   \
        CHECK(heap[1] == (type)77 && data[2] == (type)(left + 2));                             \
        type got[4];                                                                           \
        shmem_get(got, heap, 4, right);                                                        \
        CHECK(got[1] == (type)77 && got[3] == (type)(me + 4));                                 \
        shmem_get_nbi(SHMEM_CTX_DEFAULT, got, data, 4, right);                                 \
        shmem_quiet();                                                                         \
        CHECK(got[2] == (type)(me + 2));                                                       \
        shmem_barrier_all();                                                                   \
        shmem_free(heap);                                                                      \
    }

#define SUMS(name, type)                                                                       \
    static void sums_##name(void)                                                              \
    {                                                                                          \
        static type in[3], out[3];                                                             \
        type sum = 0, before = 0;                                                              \
        for (int pe = 0; pe < n; pe++) {                                                       \
            if (pe < me)                                                                       \
                before += (type)(pe + 1);                                                      \
            sum += (type)(pe + 1);                                                             \
        }                                                                                      \
        for (int i = 0; i < 3; i++)                                                            \
            in[i] = (type)(me + 1);                                                            \
        shmem_barrier_all();                                                                   \
        CHECK_EQ(shmem_##name##_sum_reduce(SHMEM_TEAM_WORLD, out, in, 3), 0);                  \
        CHECK(out[0] == sum && out[2] == sum);                                                 \
        CHECK_EQ(shmem_sum_exscan(SHMEM_TEAM_WORLD, out, in, 3), 0);                           \
        CHECK(out[0] == before && out[2] == before);                                           \
        CHECK_EQ(shmem_##name##_sum_inscan(SHMEM_TEAM_WORLD, out, in, 3), 0);                  \
        CHECK(out[1] == before + in[1]);                                                       \
        for (int i = 0; i < 3; i++)                                                            \
            in[i] = (type)(me < 3 ? 2 : 1);                                                    \
        shmem_##name##_prod_reduce(SHMEM_TEAM_WORLD, in, in, 3);                               \
        CHECK(in[1] == (type)(n == 1 ? 2 : n == 2 ? 4 : 8));                                   \
        shmem_barrier_all();                                                                   \
    }

#define ORDER(name, type)                                                                      \
    static void order_##name(void)                                                             \
    {                                                                                          \
        static type in[2], out[2];                                                             \
        in[0] = (type)(10 + me);                                                               \
        in[1] = (type)(50 - me);                                                               \
        shmem_barrier_all();                                                                   \
        shmem_##name##_max_reduce(SHMEM_TEAM_WORLD, out, in, 2);                               \
        CHECK(out[0] == (type)(9 + n) && out[1] == (type)50);                                  \
        shmem_min_reduce(SHMEM_TEAM_WORLD, out, in, 2);                                        \
        CHECK(out[0] == (type)10 && out[1] == (type)(51 - n));                                 \
        shmem_barrier_all();                                                                   \
    }

#define LOGIC(name, type)                                                                      \
    static void logic_##name(void)                                                             \
    {                                                                                          \
        static type in[1], out[1];                                                             \
        in[0] = (type)(me == 0 ? 0x51 : 0x13);                                                 \
        shmem_barrier_all();                                                                   \
        shmem_##name##_and_reduce(SHMEM_TEAM_WORLD, out, in, 1);                               \
        CHECK(out[0] == (type)(n > 1 ? 0x11 : 0x51));                                          \
        shmem_or_reduce(SHMEM_TEAM_WORLD, out, in, 1);                                         \
        CHECK(out[0] == (type)(n > 1 ? 0x53 : 0x51));                                          \
        shmem_xor_reduce(SHMEM_TEAM_WORLD, out, in, 1);                                        \
        CHECK(out[0] == (type)(0x51 ^ (n % 2 ? 0 : 0x13)));                                    \
        shmem_barrier_all();                                                                   \
    }

#define REAL(X)                                                                                \
    X(float, float) X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char)
#define WHOLE(X)                                                                               \
    X(short, short) X(int, int) X(long, long) X(longlong, long long) X(uchar, unsigned char)   \
    X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long)                        \
    X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t)       \
    X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t)                \
    X(uint64, uint64_t) X(size, size_t)
#define OTHER(X) X(ptrdiff, ptrdiff_t)
#define COMPLEX(X) X(complexf, float complex) X(complexd, double complex)

REAL(ELEMENTS) WHOLE(ELEMENTS) OTHER(ELEMENTS)
REAL(SUMS) WHOLE(SUMS) OTHER(SUMS) COMPLEX(SUMS)
REAL(ORDER) WHOLE(ORDER) OTHER(ORDER)
WHOLE(LOGIC)

#define RUN_ELEMENTS(name, type) elements_##name();
#define RUN_SUMS(name, type) sums_##name();
#define RUN_ORDER(name, type) order_##name();
#define RUN_LOGIC(name, type) logic_##name();

int main(void)
{
    begin();
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    REAL(RUN_ELEMENTS) WHOLE(RUN_ELEMENTS) OTHER(RUN_ELEMENTS)
    REAL(RUN_SUMS) WHOLE(RUN_SUMS) OTHER(RUN_SUMS) COMPLEX(RUN_SUMS)
    REAL(RUN_ORDER) WHOLE(RUN_ORDER) OTHER(RUN_ORDER)
    WHOLE(RUN_LOGIC)
    return end();
}
