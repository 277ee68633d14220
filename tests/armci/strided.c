/* Strided and vector put, get and accumulate, compared with loops over the elements. */
#include "arm.h"

#define SIDE 12
#define CELLS (SIDE * SIDE * SIDE)

/* A box of a cube: extent of each dimension, and where it begins. */
static const int boxes[][6] = {
    { 1, 1, 1, 0, 0, 0 }, { 12, 12, 12, 0, 0, 0 }, { 12, 12, 3, 0, 0, 4 }, { 12, 5, 3, 0, 2, 1 },
    { 5, 12, 4, 3, 0, 7 },  { 1, 7, 9, 11, 5, 3 },   { 4, 1, 6, 2, 8, 5 },   { 3, 4, 5, 6, 7, 4 },
};
#define BOXES ((int)(sizeof boxes / sizeof *boxes))

static int cell(const int *box, int x, int y, int z)
{
    return ((box[5] + z) * SIDE + box[4] + y) * SIDE + box[3] + x;
}

static void describe(const int *box, int *count, int *cube, int *packed)
{
    count[0] = box[0] * 8;
    count[1] = box[1];
    count[2] = box[2];
    cube[0] = SIDE * 8;
    cube[1] = SIDE * SIDE * 8;
    packed[0] = count[0];
    packed[1] = count[0] * count[1];
}

static void one(void **there, const int *box, int way)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    int count[3], cube[2], packed[2];
    double *mine = there[me], *its = there[right], local[CELLS], back[CELLS];
    describe(box, count, cube, packed);
    int cells = box[0] * box[1] * box[2];
    for (int i = 0; i < cells; i++)
        local[i] = me * 10000 + i;
    for (int i = 0; i < CELLS; i++)
        mine[i] = -i;
    ARMCI_Barrier();
    double scale = way == 1 ? 1 : 2.5, *at = its + cell(box, 0, 0, 0);
    if (way == 0)
        ARMCI_PutS(local, packed, at, cube, count, 2, right);
    else
        ARMCI_AccS(ARMCI_ACC_DBL, &scale, local, packed, at, cube, count, 2, right);
    ARMCI_Barrier();
    double expected[CELLS];
    for (int i = 0; i < CELLS; i++)
        expected[i] = -i;
    for (int z = 0, i = 0; z < box[2]; z++)
        for (int y = 0; y < box[1]; y++)
            for (int x = 0; x < box[0]; x++, i++) {
                double *to = &expected[cell(box, x, y, z)], from = left * 10000 + i;
                *to = way == 0 ? from : *to + scale * from;
            }
    for (int i = 0; i < CELLS; i++)
        CHECK(mine[i] == expected[i]);
    memset(back, 0, sizeof back);
    ARMCI_GetS(at, cube, back, packed, count, 2, right);
    for (int z = 0, i = 0; z < box[2]; z++)
        for (int y = 0; y < box[1]; y++)
            for (int x = 0; x < box[0]; x++, i++)
                CHECK(back[i] == (way == 0 ? local[i] : scale * local[i] - cell(box, x, y, z)));
    for (int i = cells; i < CELLS; i++)
        CHECK(back[i] == 0);
    ARMCI_Barrier();

    /* The same inside of this process. */
    memset(back, 0, sizeof back);
    armci_write_strided(mine + cell(box, 0, 0, 0), 2, cube, count, (char *)back);
    for (int z = 0, i = 0; z < box[2]; z++)
        for (int y = 0; y < box[1]; y++)
            for (int x = 0; x < box[0]; x++, i++)
                CHECK(back[i] == expected[cell(box, x, y, z)]);
    memset(mine, 0, CELLS * sizeof *mine);
    armci_read_strided(mine + cell(box, 0, 0, 0), 2, cube, count, (char *)back);
    CHECK(mine[cell(box, box[0] - 1, box[1] - 1, box[2] - 1)] == back[cells - 1]);
    ARMCI_Barrier();
}

/* Segments in two allocations, from the last to the first. */
static void vectors(void **a, void **b)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    int source[60], back[60];
    void *from[60], *to[60];
    for (int i = 0; i < 60; i++) {
        source[i] = me * 1000 + i;
        from[59 - i] = &source[i];
        to[59 - i] = (int *)(i % 3 ? a[right] : b[right]) + 2 * i;
    }
    memset(a[me], 0, 120 * sizeof(int));
    memset(b[me], 0, 120 * sizeof(int));
    ARMCI_Barrier();
    armci_giov_t two[2] = {
        { .src_ptr_array = from, .dst_ptr_array = to, .bytes = sizeof(int), .ptr_array_len = 25 },
        { .src_ptr_array = from + 25, .dst_ptr_array = to + 25, .bytes = sizeof(int), .ptr_array_len = 35 },
    };
    CHECK_EQ(ARMCI_PutV(two, 2, right), 0);
    ARMCI_Barrier();
    for (int i = 0; i < 60; i++) {
        CHECK_EQ(((int *)(i % 3 ? a[me] : b[me]))[2 * i], left * 1000 + i);
        CHECK_EQ(((int *)(i % 3 ? b[me] : a[me]))[2 * i], 0);
    }
    ARMCI_Barrier();
    int scale = 3;
    ARMCI_AccV(ARMCI_ACC_INT, &scale, two, 2, right);
    ARMCI_Barrier();
    void *here[60];
    for (int i = 0; i < 60; i++)
        here[59 - i] = &back[i];
    armci_giov_t get = { .src_ptr_array = to, .dst_ptr_array = here, .bytes = sizeof(int), .ptr_array_len = 60 };
    ARMCI_GetV(&get, 1, right);
    for (int i = 0; i < 60; i++)
        CHECK_EQ(back[i], 4 * (me * 1000 + i));
    ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    void **there = need(CELLS * sizeof(double)), **more = need(CELLS * sizeof(double));
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < BOXES; i++)
            one(there, boxes[i], way);
    vectors(there, more);
    int nothing[3] = { 8, 0, 3 }, strides[2] = { 8, 8 };
    ARMCI_PutS(there, strides, there[0], strides, nothing, 2, 0);
    give_back(more);
    give_back(there);
    return end();
}
