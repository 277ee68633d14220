/* Atomic operations of all types, on the heap and on static data, all PEs at a time. */
#include "osh.h"

#define ROUNDS 200

#define AMO(name, type)                                                                        \
    static void amo_##name(type *at)                                                           \
    {                                                                                          \
        *at = 0;                                                                               \
        shmem_barrier_all();                                                                   \
        int zero_first = 0;                                                                    \
        type last = 0, got;                                                                    \
        for (int i = 0; i < ROUNDS; i++) {                                                     \
            got = shmem_##name##_atomic_fetch_add(at, 2, 0);                                   \
            zero_first += got == 0;                                                            \
            CHECK(i == 0 || got > last);                                                       \
            last = got;                                                                        \
            shmem_atomic_inc(at, 0);                                                           \
            shmem_##name##_atomic_add(at, 3, 0);                                               \
            shmem_atomic_fetch_inc(SHMEM_CTX_DEFAULT, at, 0);                                  \
            shmem_##name##_atomic_fetch_add_nbi(&got, at, 1, 0);                               \
            shmem_atomic_fetch_inc_nbi(&got, at, 0);                                           \
        }                                                                                      \
        shmem_barrier_all();                                                                   \
        CHECK_EQ(shmem_##name##_atomic_fetch(at, 0), (long long)n * ROUNDS * 9);               \
        shmem_barrier_all();                                                                   \
        for (int i = 0; i < ROUNDS; i++) {                                                     \
            type old = shmem_atomic_fetch(at, 0), seen;                                        \
            while ((seen = shmem_##name##_atomic_compare_swap(at, old, old + 1, 0)) != old)    \
                old = seen;                                                                    \
        }                                                                                      \
        shmem_barrier_all();                                                                   \
        CHECK_EQ(shmem_##name##_atomic_fetch(at, 0), (long long)n * ROUNDS * 10);              \
        shmem_barrier_all();                                                                   \
        shmem_##name##_atomic_compare_swap_nbi(&got, at, 1, 2, 0);                             \
        CHECK_EQ(got, (long long)n * ROUNDS * 10);                                             \
        extended_##name(at);                                                                   \
    }

#define EXTENDED(name, type)                                                                   \
    static void extended_##name(type *at)                                                      \
    {                                                                                          \
        int right = (me + 1) % n, left = (me + n - 1) % n;                                     \
        type got;                                                                              \
        shmem_barrier_all();                                                                   \
        shmem_##name##_atomic_set(at, (type)(me + 3), right);                                  \
        shmem_barrier_all();                                                                   \
        CHECK(*at == (type)(left + 3));                                                        \
        shmem_barrier_all();                                                                   \
        CHECK(shmem_atomic_swap(at, (type)100, right) == (type)(me + 3));                      \
        shmem_##name##_atomic_swap_nbi(&got, at, (type)101, right);                            \
        shmem_quiet();                                                                         \
        CHECK(got == (type)100);                                                               \
        shmem_##name##_atomic_fetch_nbi(&got, at, right);                                      \
        shmem_quiet();                                                                         \
        CHECK(got == (type)101);                                                               \
        shmem_barrier_all();                                                                   \
    }

#define BITS(name, type)                                                                       \
    static void bits_##name(type *at)                                                          \
    {                                                                                          \
        type mine = (type)1 << (me % 31), all = 0, got;                                        \
        for (int pe = 0; pe < n; pe++)                                                         \
            all |= (type)1 << (pe % 31);                                                       \
        *at = 0;                                                                               \
        shmem_barrier_all();                                                                   \
        shmem_##name##_atomic_or(at, mine, 0);                                                 \
        CHECK(shmem_atomic_fetch_or(at, mine, 0) & mine);                                      \
        shmem_barrier_all();                                                                   \
        CHECK(shmem_##name##_atomic_fetch(at, 0) == all);                                      \
        shmem_barrier_all();                                                                   \
        for (int i = 0; i < 50; i++) {                                                         \
            shmem_atomic_xor(at, mine << 1, 0);                                                \
            shmem_##name##_atomic_fetch_xor_nbi(&got, at, mine << 1, 0);                       \
        }                                                                                      \
        shmem_barrier_all();                                                                   \
        CHECK(shmem_##name##_atomic_fetch(at, 0) == all);                                      \
        shmem_barrier_all();                                                                   \
        shmem_##name##_atomic_and(at, (type)~mine, 0);                                         \
        CHECK((shmem_atomic_fetch_and(at, (type)~mine, 0) & mine) == 0 || n > 31);             \
        shmem_barrier_all();                                                                   \
        CHECK(shmem_##name##_atomic_fetch(at, 0) == 0);                                        \
        shmem_barrier_all();                                                                   \
    }

#define STANDARD(X)                                                                            \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)   \
    X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define FLOATS(X) X(float, float) X(double, double)
#define BITWISE(X)                                                                             \
    X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long)                 \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

STANDARD(EXTENDED) FLOATS(EXTENDED) STANDARD(AMO) BITWISE(BITS)

#define RUN_AMO(name, type) { static type data; amo_##name(&data); amo_##name((type *)heap); }
#define RUN_EXTENDED(name, type) { static type data; extended_##name(&data); extended_##name((type *)heap); }
#define RUN_BITS(name, type) { static type data; bits_##name(&data); bits_##name((type *)heap); }

int main(void)
{
    begin();
    void *heap = need(64);
    STANDARD(RUN_AMO)
    FLOATS(RUN_EXTENDED)
    BITWISE(RUN_BITS)
    return end();
}
