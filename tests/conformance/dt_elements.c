/* MPI 5.0, 5.1.11 "Use of General Datatypes in Communication": MPI_Get_count and
 * MPI_Get_elements of partial receives; different typemaps of one signature match. */
#include "check.h"
#include <stddef.h>

struct item { int a; double b; };

static MPI_Datatype item_type(void)
{
    MPI_Datatype t;
    MPI_Datatype parts[2] = { MPI_INT, MPI_DOUBLE };
    MPI_Aint at[2] = { 0, offsetof(struct item, b) };
    CHECK_MPI(MPI_Type_create_struct(2, (int[]){ 1, 1 }, at, parts, &t));
    CHECK_MPI(MPI_Type_commit(&t));
    return t;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Datatype item = item_type(), pair, doubles;
    MPI_Status status;
    struct item out[4], in[4];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int count = -1, elements = -1;
    CHECK_MPI(MPI_Type_contiguous(2, item, &pair));
    CHECK_MPI(MPI_Type_commit(&pair));
    for (int i = 0; i < 4; i++)
        out[i] = (struct item){ check_rank * 10 + i, i + 0.5 };
    /* n items received as pairs: a half pair makes the count undefined, the elements not. */
    for (int n = 0; n <= 4; n++) {
        memset(in, 0, sizeof in);
        CHECK_MPI(MPI_Sendrecv(out, n, item, right, n, in, 2, pair, left, n, MPI_COMM_WORLD,
                               &status));
        CHECK_MPI(MPI_Get_count(&status, pair, &count));
        CHECK_EQ(count, n % 2 ? MPI_UNDEFINED : n / 2);
        CHECK_MPI(MPI_Get_elements(&status, pair, &elements));
        CHECK_EQ(elements, 2 * n);
        CHECK_MPI(MPI_Get_count(&status, item, &count));
        CHECK_EQ(count, n);
        for (int i = 0; i < n; i++)
            CHECK(in[i].a == left * 10 + i && in[i].b == i + 0.5);
        for (int i = n; i < 4; i++)
            CHECK_EQ(in[i].a, 0);
    }
    /* Just the int of an item: one element of the struct. */
    CHECK_MPI(MPI_Sendrecv(&out[2].a, 1, MPI_INT, right, 9, in, 4, item, left, 9, MPI_COMM_WORLD,
                           &status));
    CHECK_MPI(MPI_Get_elements(&status, item, &elements));
    CHECK_EQ(elements, 1);
    CHECK_MPI(MPI_Get_count(&status, item, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    CHECK_EQ(in[0].a, left * 10 + 2);
    MPI_Count many = -1;
    CHECK_MPI(MPI_Get_elements_c(&status, item, &many));
    CHECK_EQ(many, 1);
    /* One signature, two typemaps: a column here, a row there. */
    double matrix[10][10], row[10];
    for (int i = 0; i < 100; i++)
        matrix[i / 10][i % 10] = check_rank * 1000 + i;
    CHECK_MPI(MPI_Type_vector(10, 1, 10, MPI_DOUBLE, &doubles));
    CHECK_MPI(MPI_Type_commit(&doubles));
    CHECK_MPI(MPI_Sendrecv(&matrix[0][3], 1, doubles, right, 10, row, 10, MPI_DOUBLE, left, 10,
                           MPI_COMM_WORLD, &status));
    for (int i = 0; i < 10; i++)
        CHECK(row[i] == left * 1000 + i * 10 + 3);
    CHECK_MPI(MPI_Type_free(&item));
    CHECK_MPI(MPI_Type_free(&pair));
    CHECK_MPI(MPI_Type_free(&doubles));
    return check_finish();
}
