/* MPI 5.0, 5.1: random nested datatypes, whose typemaps are computed beside them by the rules of
 * the standard, go through messages and packing. Argument: seed. */
#include "dt.h"

struct model { MPI_Datatype type; int n; MPI_Aint lb, ub, *offsets; };

/* Adds `count` copies of a type at byte displacement `at` to a model. */
static void add(struct model *to, const struct model *from, MPI_Aint at, int count)
{
    for (int c = 0; c < count; c++) {
        MPI_Aint shift = at + c * (from->ub - from->lb);
        int first = to->offsets == NULL || to->ub == to->lb;
        to->offsets = realloc(to->offsets, (size_t)(to->n + from->n) * sizeof(MPI_Aint));
        for (int i = 0; i < from->n; i++)
            to->offsets[to->n++] = from->offsets[i] + shift;
        to->lb = first || from->lb + shift < to->lb ? from->lb + shift : to->lb;
        to->ub = first || from->ub + shift > to->ub ? from->ub + shift : to->ub;
    }
}

static struct model derive(const struct model *old, uint64_t *dice)
{
    struct model new = { MPI_DATATYPE_NULL, 0, 0, 0, NULL };
    MPI_Aint extent = old->ub - old->lb;
    int a = 1 + (int)(check_random(dice) % 3), b = 1 + (int)(check_random(dice) % 3), places[3];
    int gap = (int)(check_random(dice) % 3), lengths[3];
    MPI_Aint bytes[3];
    switch (check_random(dice) % 6) {
    case 0:
        CHECK_MPI(MPI_Type_contiguous(a, old->type, &new.type));
        add(&new, old, 0, a);
        break;
    case 1:
        CHECK_MPI(MPI_Type_vector(a, b, b + gap, old->type, &new.type));
        for (int i = 0; i < a; i++)
            add(&new, old, i * (b + gap) * extent, b);
        break;
    case 2:
        CHECK_MPI(MPI_Type_create_hvector(a, b, b * extent + 8 * gap, old->type, &new.type));
        for (int i = 0; i < a; i++)
            add(&new, old, i * (b * extent + 8 * gap), b);
        break;
    case 3:
        for (int i = 0; i < a; i++) {
            lengths[i] = 1 + (b + i) % 3;
            places[i] = (a - 1 - i) * (4 + gap);
            add(&new, old, places[i] * extent, lengths[i]);
        }
        CHECK_MPI(MPI_Type_indexed(a, lengths, places, old->type, &new.type));
        break;
    case 4:
        for (int i = 0; i < a; i++) {
            bytes[i] = (a - 1 - i) * (2 * extent + 4 * gap);
            add(&new, old, bytes[i], 2);
        }
        CHECK_MPI(MPI_Type_create_hindexed_block(a, 2, bytes, old->type, &new.type));
        break;
    default:
        add(&new, old, 0, 1);
        new.ub = new.lb + extent + 4 * gap;
        CHECK_MPI(MPI_Type_create_resized(old->type, new.lb, extent + 4 * gap, &new.type));
        break;
    }
    return new;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    uint64_t dice = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
    static MPI_Aint zero[1] = { 0 };
    for (int round = 0; round < 60; round++) {
        struct model now = { MPI_INT, 1, 0, 4, zero };
        for (int depth = 1 + (int)(check_random(&dice) % 4); depth > 0; depth--) {
            struct model next = derive(&now, &dice);
            if (next.ub - next.lb > 8000) { /* leave room for two items */
                CHECK_MPI(MPI_Type_free(&next.type));
                free(next.offsets);
                break;
            }
            if (now.type != MPI_INT) {
                CHECK_MPI(MPI_Type_free(&now.type));
                free(now.offsets);
            }
            now = next;
        }
        if (now.type == MPI_INT)
            continue;
        CHECK_MPI(MPI_Type_commit(&now.type));
        dt_check(now.type, now.offsets, now.n, now.lb, now.ub - now.lb, 1);
        dt_check(now.type, now.offsets, now.n, now.lb, now.ub - now.lb, 2);
        CHECK_MPI(MPI_Type_free(&now.type));
        free(now.offsets);
    }
    return check_finish();
}
