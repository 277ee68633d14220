/* What MPI 3.0 removed (MPI 2.2, 4.1 and 15.1): datatypes of MPI 1 with MPI_LB and MPI_UB, MPI_Address,
 * MPI_Type_extent and its kin. */
#include "check.h"

typedef struct {
    char kind;
    double value;
    int number[3];
} Record;

static void extents(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Aint got = -1;
    CHECK_MPI(MPI_Type_lb(type, &got));
    CHECK_EQ(got, lb);
    CHECK_MPI(MPI_Type_extent(type, &got));
    CHECK_EQ(got, extent);
    CHECK_MPI(MPI_Type_ub(type, &got));
    CHECK_EQ(got, lb + extent);
    CHECK_MPI(PMPI_Type_lb(type, &got));
    CHECK_EQ(got, lb);
    CHECK_MPI(PMPI_Type_extent(type, &got));
    CHECK_EQ(got, extent);
    CHECK_MPI(PMPI_Type_ub(type, &got));
    CHECK_EQ(got, lb + extent);
}

/* The way in which textbooks of MPI 1 send a structure. */
static void structure(void)
{
    Record out[4], in[4];
    int lengths[5] = {1, 1, 1, 3, 1}, i;
    MPI_Datatype types[5] = {MPI_LB, MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_UB}, type;
    MPI_Aint places[5], base;
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    CHECK_MPI(MPI_Address(&out[0], &base));
    CHECK_MPI(MPI_Address(&out[0].kind, &places[1]));
    CHECK_MPI(PMPI_Address(&out[0].value, &places[2]));
    CHECK_MPI(MPI_Address(out[0].number, &places[3]));
    CHECK_MPI(MPI_Address(&out[1], &places[4]));
    places[0] = base;
    for (i = 0; i < 5; i++)
        places[i] -= base;
    CHECK_MPI(MPI_Type_struct(5, lengths, places, types, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    extents(type, 0, sizeof(Record));
    for (i = 0; i < 4; i++) {
        out[i].kind = (char)('a' + i);
        out[i].value = 1.5 * i;
        out[i].number[2] = 100 + i;
    }
    CHECK_MPI(MPI_Sendrecv(out, 4, type, check_rank, 1, in, 4, type, check_rank, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    for (i = 0; i < 4; i++) {
        CHECK_EQ(in[i].kind, 'a' + i);
        CHECK(in[i].value == 1.5 * i);
        CHECK_EQ(in[i].number[2], 100 + i);
    }
    CHECK_MPI(MPI_Type_free(&type));
}

/* Several marks: the lowest and the highest count, those of length 0 do not; nothing but marks. */
static void marks(void)
{
    int one[3] = {1, 1, 1}, not_last[3] = {1, 1, 0};
    MPI_Aint places[3] = {8, -4, 40};
    MPI_Datatype type, with_ub[3] = {MPI_INT, MPI_UB, MPI_UB};
    MPI_Datatype with_lb[3] = {MPI_INT, MPI_LB, MPI_LB}, bare[2] = {MPI_LB, MPI_UB};
    CHECK_MPI(MPI_Type_struct(3, one, places, with_ub, &type));
    extents(type, 8, 32);
    CHECK_MPI(MPI_Type_free(&type));
    places[1] = 20;
    CHECK_MPI(MPI_Type_struct(3, not_last, places, with_ub, &type));
    extents(type, 8, 12);
    CHECK_MPI(MPI_Type_free(&type));
    places[1] = -4;
    CHECK_MPI(PMPI_Type_struct(3, one, places, with_lb, &type));
    extents(type, -4, 16);
    CHECK_MPI(MPI_Type_free(&type));
    places[1] = 24;
    CHECK_MPI(MPI_Type_struct(2, one, places, bare, &type));
    extents(type, 8, 16);
    CHECK_MPI(MPI_Type_free(&type));
}

static void vectors(void)
{
    int lengths[2] = {2, 1}, size = -1, combiner = -1, i, a, d;
    MPI_Aint places[2] = {0, 16};
    MPI_Datatype type;
    CHECK_MPI(MPI_Type_hvector(3, 1, 12, MPI_INT, &type));
    extents(type, 0, 28);
    CHECK_MPI(MPI_Type_get_envelope(type, &i, &a, &d, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_HVECTOR);
    CHECK(combiner != MPI_COMBINER_HVECTOR_INTEGER);
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type));
    extents(type, 0, 20);
    CHECK_MPI(MPI_Type_size(type, &size));
    CHECK_EQ(size, 12);
    CHECK(MPI_COMBINER_HINDEXED_INTEGER != MPI_COMBINER_STRUCT_INTEGER);
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(PMPI_Type_hvector(2, 1, 8, MPI_INT, &type));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(PMPI_Type_hindexed(2, lengths, places, MPI_INT, &type));
    CHECK_MPI(MPI_Type_free(&type));
    /* Errors are those of the functions that took their place. */
    CHECK_CLASS(MPI_Type_hvector(-1, 1, 8, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_extent(MPI_DATATYPE_NULL, &places[0]), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_ub(MPI_DATATYPE_NULL, &places[0]), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    structure();
    marks();
    vectors();
    return check_finish();
}
