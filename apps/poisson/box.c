/* The domain's split over the ranks, and the exchange of the boxes' faces. The three
 * directions travel in three ways: x faces lie together in memory, y faces are a vector
 * datatype, z faces (single values far apart) are packed by hand. */
#include "poisson.h"

#include <stdlib.h>

/* The split with the smallest faces: for a cube, the smallest sum of the three numbers. */
static int choose_dims(int n, int ranks, int dims[3])
{
    long best = -1;
    for (int x = 1; x <= ranks; x++) {
        for (int y = 1; ranks % x == 0 && y <= ranks / x; y++) {
            int z = ranks / x / y;
            if (z * y * x != ranks || x > n || y > n || z > n)
                continue;
            /* Among equals the largest x wins, then y: their faces are cheaper to send. */
            if (best < 0 || x + y + z < best ||
                (x + y + z == best && (x > dims[0] || (x == dims[0] && y > dims[1])))) {
                best = x + y + z;
                dims[0] = x, dims[1] = y, dims[2] = z;
            }
        }
    }
    return best > 0;
}

static int rank_at(const struct box *b, int x, int y, int z)
{
    if (x < 0 || y < 0 || z < 0 || x >= b->dims[0] || y >= b->dims[1] || z >= b->dims[2])
        return MPI_PROC_NULL;
    return (x * b->dims[1] + y) * b->dims[2] + z;
}

int box_split(int n, int rank, int ranks, struct box *b)
{
    b->rank = rank;
    b->ranks = ranks;
    if (!choose_dims(n, ranks, b->dims))
        return 0;
    int at[3] = {rank / (b->dims[1] * b->dims[2]), rank / b->dims[2] % b->dims[1],
                 rank % b->dims[2]};
    b->points = 1;
    for (int d = 0; d < 3; d++) {
        int share = n / b->dims[d], rest = n % b->dims[d];
        b->size[d] = share + (at[d] < rest);
        b->first[d] = at[d] * share + (at[d] < rest ? at[d] : rest);
        b->points *= b->size[d] + 2;
    }
    b->neighbour[LOW_X] = rank_at(b, at[0] - 1, at[1], at[2]);
    b->neighbour[HIGH_X] = rank_at(b, at[0] + 1, at[1], at[2]);
    b->neighbour[LOW_Y] = rank_at(b, at[0], at[1] - 1, at[2]);
    b->neighbour[HIGH_Y] = rank_at(b, at[0], at[1] + 1, at[2]);
    b->neighbour[LOW_Z] = rank_at(b, at[0], at[1], at[2] - 1);
    b->neighbour[HIGH_Z] = rank_at(b, at[0], at[1], at[2] + 1);
    return 1;
}

int box_init(struct box *b)
{
    size_t face = (size_t)b->size[0] * (size_t)b->size[1];
    b->pack = malloc(4 * face * BYTES_PER_VALUE);
    if (!b->pack)
        return 0;
    /* A y face: one row of z values for each x, the rows one x plane apart. */
    MPI_Type_vector(b->size[0], b->size[2], (b->size[1] + 2) * (b->size[2] + 2), MPI_DOUBLE,
                    &b->y_face);
    MPI_Type_commit(&b->y_face);
    return 1;
}

void box_free(struct box *b)
{
    MPI_Type_free(&b->y_face);
    free(b->pack);
}

static double *point(const struct box *b, double *field, int i, int j, int k)
{
    return field + ((long)i * (b->size[1] + 2) + j) * (b->size[2] + 2) + k;
}

/* Copies the plane z = k between the field and a buffer. */
static void copy_z_face(const struct box *b, double *field, int k, double *buffer, int unpack)
{
    for (int i = 1; i <= b->size[0]; i++) {
        for (int j = 1; j <= b->size[1]; j++, buffer++) {
            double *value = point(b, field, i, j, k);
            if (unpack)
                *value = *buffer;
            else
                *buffer = *value;
        }
    }
}

/* The tag is the face of the receiver, so that two faces shared with one rank differ. */
static void both_ways(const struct box *b, int face, double *send, double *receive, int count,
                      MPI_Datatype type, MPI_Request requests[2])
{
    int peer = b->neighbour[face], opposite = face ^ 1;
    MPI_Irecv(receive, count, type, peer, face, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, count, type, peer, opposite, MPI_COMM_WORLD, &requests[1]);
}

void box_exchange(const struct box *b, double *field)
{
    const int *size = b->size;
    int plane = (size[1] + 2) * (size[2] + 2), z_face = size[0] * size[1];
    double *low_out = b->pack, *high_out = low_out + z_face;
    double *low_in = high_out + z_face, *high_in = low_in + z_face;
    MPI_Request requests[2 * FACES];

    both_ways(b, LOW_X, point(b, field, 1, 0, 0), point(b, field, 0, 0, 0), plane, MPI_DOUBLE,
              requests);
    both_ways(b, HIGH_X, point(b, field, size[0], 0, 0), point(b, field, size[0] + 1, 0, 0), plane,
              MPI_DOUBLE, requests + 2);
    both_ways(b, LOW_Y, point(b, field, 1, 1, 1), point(b, field, 1, 0, 1), 1, b->y_face,
              requests + 4);
    both_ways(b, HIGH_Y, point(b, field, 1, size[1], 1), point(b, field, 1, size[1] + 1, 1), 1,
              b->y_face, requests + 6);
    if (b->neighbour[LOW_Z] != MPI_PROC_NULL)
        copy_z_face(b, field, 1, low_out, 0);
    if (b->neighbour[HIGH_Z] != MPI_PROC_NULL)
        copy_z_face(b, field, size[2], high_out, 0);
    both_ways(b, LOW_Z, low_out, low_in, z_face, MPI_DOUBLE, requests + 8);
    both_ways(b, HIGH_Z, high_out, high_in, z_face, MPI_DOUBLE, requests + 10);

    MPI_Waitall(2 * FACES, requests, MPI_STATUSES_IGNORE);
    if (b->neighbour[LOW_Z] != MPI_PROC_NULL)
        copy_z_face(b, field, 0, low_in, 1);
    if (b->neighbour[HIGH_Z] != MPI_PROC_NULL)
        copy_z_face(b, field, size[2] + 1, high_in, 1);
}
