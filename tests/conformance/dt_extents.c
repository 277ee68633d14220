/* MPI 5.0, 5.1.6 to 5.1.8: the bounds of random nested types, many at displacements that suit no alignment,
 * against the standard's formula over the type map: from the first to the last byte of data, rounded up to the
 * strictest alignment; the markers of MPI_Type_create_resized instead, where there are any. */
#include "check.h"

static uint64_t state;

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)n);
}

/* First byte and the one behind the last, of data and of markers. */
typedef struct {
    MPI_Aint data[2], marks[2], align;
    int has_data, has_marks;
} bounds;

static void join(MPI_Aint into[2], int *has, const MPI_Aint range[2], int other, MPI_Aint disp)
{
    if (!other)
        return;
    MPI_Aint low = range[0] + disp, high = range[1] + disp;
    into[0] = *has && into[0] < low ? into[0] : low;
    into[1] = *has && into[1] > high ? into[1] : high;
    *has = 1;
}

static MPI_Aint extent(const bounds *b, MPI_Aint *lb)
{
    const MPI_Aint *range = b->has_marks ? b->marks : b->data;
    *lb = range[0];
    MPI_Aint bytes = range[1] - range[0];
    return b->has_marks ? bytes : (bytes + b->align - 1) / b->align * b->align;
}

/* `n` copies of `old`, one behind the other, from `disp` on. */
static void add(bounds *b, const bounds *old, MPI_Aint disp, int n)
{
    MPI_Aint lb, step = extent(old, &lb);
    for (int i = 0; i < n; i++) {
        join(b->data, &b->has_data, old->data, old->has_data, disp + i * step);
        join(b->marks, &b->has_marks, old->marks, old->has_marks, disp + i * step);
    }
    if (old->align > b->align)
        b->align = old->align;
}

static MPI_Datatype basic(bounds *b)
{
    MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_DOUBLE_INT}, type;
    int sizes[] = {1, 2, 4, 8, 12}, aligns[] = {1, 2, 4, 8, 8}, k = draw(5);
    *b = (bounds){.data = {0, sizes[k]}, .align = aligns[k], .has_data = 1};
    CHECK_MPI(MPI_Type_dup(all[k], &type));
    return type;
}

static MPI_Datatype make(int depth, bounds *b)
{
    if (depth == 0)
        return basic(b);
    MPI_Datatype type = MPI_DATATYPE_NULL, types[3];
    MPI_Aint disps[3], lb;
    bounds old[3];
    int kind = draw(5), n = 1 + draw(3), lengths[3];
    *b = (bounds){.align = 1};
    for (int i = 0; i < n; i++) {
        lengths[i] = 1 + draw(3);
        disps[i] = draw(60) - 20;
        types[i] = kind < 2 || i == 0 ? make(depth - 1, &old[i]) : types[0];
    }
    if (kind < 2) {
        CHECK_MPI(MPI_Type_create_struct(n, lengths, disps, types, &type));
        for (int i = 0; i < n; i++)
            add(b, &old[i], disps[i], lengths[i]);
    } else if (kind == 2) {
        CHECK_MPI(MPI_Type_create_hindexed(n, lengths, disps, types[0], &type));
        for (int i = 0; i < n; i++)
            add(b, &old[0], disps[i], lengths[i]);
    } else if (kind == 3) {
        CHECK_MPI(MPI_Type_vector(n, lengths[0], (int)disps[0], types[0], &type));
        for (int i = 0; i < n; i++)
            add(b, &old[0], i * disps[0] * extent(&old[0], &lb), lengths[0]);
    } else {
        MPI_Aint bytes = draw(50);
        CHECK_MPI(MPI_Type_create_resized(types[0], disps[0], bytes, &type));
        *b = old[0];
        b->has_marks = 1;
        b->marks[0] = disps[0];
        b->marks[1] = disps[0] + bytes;
    }
    for (int i = 0; i < (kind < 2 ? n : 1); i++)
        CHECK_MPI(MPI_Type_free(&types[i]));
    return type;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int i = 0; i < 4000; i++) {
        state = (uint64_t)i * 7919 + 13;
        draw(2);
        bounds b;
        MPI_Aint lb, bytes, true_lb, true_bytes, want_lb;
        MPI_Datatype type = make(1 + i % 3, &b);
        MPI_Aint want = extent(&b, &want_lb);
        CHECK_MPI(MPI_Type_get_extent(type, &lb, &bytes));
        CHECK_MPI(MPI_Type_get_true_extent(type, &true_lb, &true_bytes));
        CHECK_EQ(lb, want_lb);
        CHECK_EQ(bytes, want);
        CHECK_EQ(true_lb, b.data[0]);
        CHECK_EQ(true_bytes, b.data[1] - b.data[0]);
        CHECK_MPI(MPI_Type_free(&type));
    }
    return check_finish();
}
