/* A beam, clamped at one end: linear elasticity in three dimensions with cubes of eight nodes.
 *
 * It is a matrix of the kind of BCSSTK15, the stiffness of a module of an offshore platform. */
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 8, UNKNOWNS = 3 * CORNERS };

/* Lame's constants of Young's modulus 1 and Poisson's ratio 0.3. */
static const double LAMBDA = 0.3 / (1.3 * 0.4), MU = 0.5 / 1.3;

/* Derivatives of the eight corners' shape functions at a point of the unit cube. */
static void slopes(const double at[3], double slope[CORNERS][3])
{
    for (int c = 0; c < CORNERS; c++)
        for (int d = 0; d < 3; d++) {
            slope[c][d] = 1;
            for (int e = 0; e < 3; e++) {
                int far = c >> e & 1;
                slope[c][d] *= e == d ? (far ? 1 : -1) : far ? at[e] : 1 - at[e];
            }
        }
}

/* Stiffness of a cube: Gauss' rule of two points per direction. */
static void stiffness(double k[UNKNOWNS][UNKNOWNS])
{
    memset(k, 0, UNKNOWNS * sizeof *k);
    for (int g = 0; g < 8; g++) {
        double at[3], s[CORNERS][3];
        for (int d = 0; d < 3; d++)
            at[d] = 0.5 + (g >> d & 1 ? 0.5 : -0.5) / sqrt(3);
        slopes(at, s);
        for (int u = 0; u < UNKNOWNS; u++)
            for (int v = 0; v < UNKNOWNS; v++) {
                int a = u / 3, i = u % 3, b = v / 3, j = v % 3;
                double both = s[a][0] * s[b][0] + s[a][1] * s[b][1] + s[a][2] * s[b][2];
                k[u][v] += (LAMBDA * s[a][i] * s[b][j] + MU * s[a][j] * s[b][i] + (i == j ? MU * both : 0)) / 8;
            }
    }
}

/* First unknown of a node; negative at the clamped end. */
static int unknown(int x, int y, int z, int ny, int nz)
{
    return 3 * (((x - 1) * (ny + 1) + y) * (nz + 1) + z);
}

static struct entry *add_cube(struct entry *to, double k[UNKNOWNS][UNKNOWNS], const int cube[3], int ny, int nz)
{
    int rows[UNKNOWNS];
    for (int u = 0; u < UNKNOWNS; u++) {
        int c = u / 3, x = cube[0] + (c & 1);
        rows[u] = x == 0 ? -1 : unknown(x, cube[1] + (c >> 1 & 1), cube[2] + (c >> 2), ny, nz) + u % 3;
    }
    for (int u = 0; u < UNKNOWNS; u++)
        for (int v = 0; v < UNKNOWNS; v++)
            if (rows[u] >= rows[v] && rows[v] >= 0)
                *to++ = (struct entry){rows[u], rows[v], k[u][v]};
    return to;
}

struct matrix matrix_beam(int nx, int ny, int nz)
{
    double k[UNKNOWNS][UNKNOWNS];
    stiffness(k);
    size_t most = (size_t)nx * (size_t)ny * (size_t)nz * UNKNOWNS * (UNKNOWNS + 1) / 2;
    struct entry *entries = app_memory(most, sizeof *entries), *end = entries;
    for (int x = 0; x < nx; x++)
        for (int y = 0; y < ny; y++)
            for (int z = 0; z < nz; z++)
                end = add_cube(end, k, (const int[3]){x, y, z}, ny, nz);
    struct matrix a = matrix_of(3 * nx * (ny + 1) * (nz + 1), entries, end - entries);
    free(entries);
    return a;
}
