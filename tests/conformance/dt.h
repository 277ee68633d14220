/* For datatype programs: a type's data goes through every path - messages to itself and to another
 * rank, pack and unpack, against its typemap told by hand as a list of byte offsets. */
#ifndef DT_H
#define DT_H

#include "check.h"

#define DT_ROOM 60000

/* Checks a committed type whose single item covers the ints at these byte offsets, in order,
 * relative to the buffer, and whose items follow at `extent`. All offsets must lie in the room. */
static inline void dt_check(MPI_Datatype type, const MPI_Aint *offsets, int n, MPI_Aint lb,
                            MPI_Aint extent, int count)
{
    static union { char bytes[DT_ROOM]; int align; } in, out;
    static int flat[DT_ROOM / 4], back[DT_ROOM / 4];
    int size = -1, got = -1, position = 0, pack_size = -1, total = n * count;
    MPI_Aint got_lb = -99, got_extent = -99;
    MPI_Status status;
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, n * 4);
    CHECK_MPI(MPI_Type_get_extent(type, &got_lb, &got_extent));
    CHECK_EQ(got_lb, lb);
    CHECK_EQ(got_extent, extent);
    for (int i = 0; i < DT_ROOM; i++)
        in.bytes[i] = (char)(i * 31 + i / 256 + check_rank);
    /* The flat form that the typemap says. */
    char *base = in.bytes + DT_ROOM / 3, *target = out.bytes + DT_ROOM / 3;
    for (int c = 0; c < count; c++)
        for (int i = 0; i < n; i++)
            memcpy(&flat[c * n + i], base + c * extent + offsets[i], 4);
    /* Typed out, flat in. */
    memset(back, 0, sizeof back);
    CHECK_MPI(MPI_Sendrecv(base, count, type, 0, 1, back, total, MPI_INT, 0, 1, MPI_COMM_SELF,
                           &status));
    CHECK(!memcmp(back, flat, (size_t)total * 4));
    /* Flat out, typed in; what is not in the typemap stays. */
    memset(out.bytes, 0x5b, sizeof out.bytes);
    CHECK_MPI(MPI_Sendrecv(flat, total, MPI_INT, 0, 1, target, count, type, 0, 1, MPI_COMM_SELF,
                           &status));
    CHECK_MPI(MPI_Get_count(&status, type, &got));
    CHECK_EQ(got, n ? count : 0);
    CHECK_MPI(MPI_Get_elements(&status, type, &got));
    CHECK_EQ(got, total);
    static char want[DT_ROOM];
    memset(want, 0x5b, sizeof want);
    for (int c = 0; c < count; c++)
        for (int i = 0; i < n; i++)
            memcpy(want + DT_ROOM / 3 + c * extent + offsets[i], &flat[c * n + i], 4);
    CHECK(!memcmp(want, out.bytes, sizeof want));
    /* Typed to typed, to the next rank. */
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    memset(out.bytes, 0x5b, sizeof out.bytes);
    CHECK_MPI(MPI_Sendrecv(base, count, type, right, 2, target, count, type, left, 2,
                           MPI_COMM_WORLD, &status));
    memset(want, 0x5b, sizeof want);
    for (int c = 0; c < count; c++)
        for (int i = 0; i < n; i++)
            for (int b = 0; b < 4; b++) {
                long at = DT_ROOM / 3 + c * extent + offsets[i] + b;
                want[at] = (char)(at * 31 + at / 256 + left);
            }
    CHECK(!memcmp(want, out.bytes, sizeof want));
    /* Pack and unpack. */
    CHECK_MPI(MPI_Pack_size(count, type, MPI_COMM_SELF, &pack_size));
    CHECK(pack_size >= total * 4);
    char *packed = malloc((size_t)pack_size + 1);
    CHECK_MPI(MPI_Pack(base, count, type, packed, pack_size, &position, MPI_COMM_SELF));
    CHECK(position >= total * 4 && position <= pack_size);
    int end = position;
    position = 0;
    memset(back, 0, sizeof back);
    CHECK_MPI(MPI_Unpack(packed, end, &position, back, total, MPI_INT, MPI_COMM_SELF));
    CHECK_EQ(position, end);
    CHECK(!memcmp(back, flat, (size_t)total * 4));
    free(packed);
}

/* Commits, checks and frees a type. */
static inline void dt_check_free(MPI_Datatype type, const MPI_Aint *offsets, int n, MPI_Aint lb,
                                 MPI_Aint extent, int count)
{
    CHECK_MPI(MPI_Type_commit(&type));
    dt_check(type, offsets, n, lb, extent, count);
    CHECK_MPI(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
}

#endif
