/* MPI 5.0, 6 with derived datatypes: vectors with gaps in broadcast, gather, all-gather and
 * reductions by columns; a matrix transposed by MPI_Alltoallw. Gaps stay untouched. */
#include "coll.h"

#define ROWS 40

static void bcast_column(int root)
{
    int matrix[ROWS][5];
    MPI_Datatype column;
    CHECK_MPI(MPI_Type_vector(ROWS, 2, 5, MPI_INT, &column));
    CHECK_MPI(MPI_Type_commit(&column));
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 5; k++)
            matrix[i][k] = check_rank * 1000 + i * 5 + k;
    CHECK_MPI(MPI_Bcast(&matrix[0][1], 1, column, root, MPI_COMM_WORLD));
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 5; k++)
            CHECK_EQ(matrix[i][k],
                     (k == 1 || k == 2 ? root : check_rank) * 1000 + i * 5 + k);
    CHECK_MPI(MPI_Type_free(&column));
}

/* Each rank's row becomes a column at every rank: the receive type is resized to one int. */
static void gather_columns(void)
{
    int *matrix = malloc((size_t)(ROWS * check_size) * sizeof(int)), row[ROWS];
    MPI_Datatype strided, column;
    CHECK_MPI(MPI_Type_vector(ROWS, 1, check_size, MPI_INT, &strided));
    CHECK_MPI(MPI_Type_create_resized(strided, 0, sizeof(int), &column));
    CHECK_MPI(MPI_Type_commit(&column));
    for (int i = 0; i < ROWS; i++)
        row[i] = check_rank * 100 + i;
    for (int in_all = 0; in_all < 2; in_all++) {
        memset(matrix, 0xff, (size_t)(ROWS * check_size) * sizeof(int));
        if (in_all)
            CHECK_MPI(MPI_Allgather(row, ROWS, MPI_INT, matrix, 1, column, MPI_COMM_WORLD));
        else
            CHECK_MPI(MPI_Gather(row, ROWS, MPI_INT, matrix, 1, column, 0, MPI_COMM_WORLD));
        for (int i = 0; i < ROWS; i++)
            for (int r = 0; r < check_size && (in_all || check_rank == 0); r++)
                CHECK_EQ(matrix[i * check_size + r], r * 100 + i);
    }
    /* And back: the columns are scattered to rows. */
    memset(row, 0, sizeof row);
    CHECK_MPI(MPI_Scatter(matrix, 1, column, row, ROWS, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < ROWS; i++)
        CHECK_EQ(row[i], check_rank * 100 + i);
    CHECK_MPI(MPI_Type_free(&strided));
    CHECK_MPI(MPI_Type_free(&column));
    free(matrix);
}

/* Every rank holds 3 rows of a matrix with 3 * size columns and gets its transpose's rows. */
static void transpose(void)
{
    int n = check_size, width = 3 * n;
    int *in = malloc((size_t)(3 * width) * sizeof(int)), *out = calloc((size_t)(3 * width), sizeof(int));
    int *ones = malloc((size_t)n * sizeof(int)), *places = malloc((size_t)n * sizeof(int));
    MPI_Datatype block, column, turned, *from = malloc((size_t)n * sizeof *from);
    MPI_Datatype *to = malloc((size_t)n * sizeof *to);
    CHECK_MPI(MPI_Type_vector(3, 3, width, MPI_INT, &block)); /* 3 x 3, row by row */
    CHECK_MPI(MPI_Type_commit(&block));
    CHECK_MPI(MPI_Type_vector(3, 1, width, MPI_INT, &column));
    CHECK_MPI(MPI_Type_create_hvector(3, 1, sizeof(int), column, &turned)); /* by columns */
    CHECK_MPI(MPI_Type_commit(&turned));
    for (int r = 0; r < n; r++) {
        ones[r] = 1;
        places[r] = 3 * r * (int)sizeof(int);
        from[r] = block;
        to[r] = turned;
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < width; k++)
            in[i * width + k] = (3 * check_rank + i) * 1000 + k;
    CHECK_MPI(MPI_Alltoallw(in, ones, places, from, out, ones, places, to, MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < width; k++)
            CHECK_EQ(out[i * width + k], k * 1000 + 3 * check_rank + i);
    CHECK_MPI(MPI_Type_free(&block));
    CHECK_MPI(MPI_Type_free(&column));
    CHECK_MPI(MPI_Type_free(&turned));
    free(in);
    free(out);
    free(ones);
    free(places);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int root = 0; root < check_size; root++)
        bcast_column(root);
    gather_columns();
    transpose();
    return check_finish();
}
