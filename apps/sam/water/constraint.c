/* Bonds of fixed length. The three constraints of a molecule are coupled by a matrix of 3 x 3; velocities are one solution of
 * equations with it, positions some by Newton's method. */
#include "water.h"

#include <math.h>
#include <string.h>

static const int ENDS[3][2] = {{0, 1}, {0, 2}, {1, 2}};
/* Relative error of a bond's square, and how often Newton's method may try: it takes three or four. */
static const double TOLERANCE = 4e-15, ROUNDING = 1e-10;
enum { MOST_TRIES = 30 };

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void bonds(const double x[NUMBERS], double out[3][3])
{
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            out[k][d] = x[3 * ENDS[k][0] + d] - x[3 * ENDS[k][1] + d];
}

/* How much of a push along bond l moves the ends of bond k apart. */
static double coupling(int k, int l)
{
    double sum = 0;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            if (ENDS[k][a] == ENDS[l][b])
                sum += (a == b ? 1 : -1) / MASS[ENDS[k][a]];
    return sum;
}

/* Cramer's rule. */
static void solve(const double m[3][3], const double right[3], double out[3])
{
    double c[3] = {m[1][1] * m[2][2] - m[1][2] * m[2][1], m[1][2] * m[2][0] - m[1][0] * m[2][2],
                   m[1][0] * m[2][1] - m[1][1] * m[2][0]};
    double whole = m[0][0] * c[0] + m[0][1] * c[1] + m[0][2] * c[2];
    for (int n = 0; n < 3; n++) {
        double a[3][3];
        memcpy(a, m, sizeof a);
        for (int k = 0; k < 3; k++)
            a[k][n] = right[k];
        out[n] = (a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) + a[0][1] * (a[1][2] * a[2][0] - a[1][0] * a[2][2]) +
                  a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0])) / whole;
    }
}

/* Adds so much of each bond to its ends. */
static void push(double to[NUMBERS], const double bond[3][3], const double strength[3], double times)
{
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++) {
            to[3 * ENDS[k][0] + d] += times * strength[k] * bond[k][d] / MASS[ENDS[k][0]];
            to[3 * ENDS[k][1] + d] -= times * strength[k] * bond[k][d] / MASS[ENDS[k][1]];
        }
}

int constrain_positions(double x[NUMBERS], const double old[NUMBERS], double v[NUMBERS], double dt)
{
    double before[3][3], now[3][3], m[3][3], off[3], strength[3], last = INFINITY;
    bonds(old, before);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        double worst = 0;
        bonds(x, now);
        for (int k = 0; k < 3; k++) {
            double square = BOND_LENGTH[k] * BOND_LENGTH[k];
            off[k] = 0.5 * (square - dot(now[k], now[k]));
            worst = fmax(worst, fabs(off[k]) / square);
            for (int l = 0; l < 3; l++)
                m[k][l] = coupling(k, l) * dot(now[k], before[l]);
        }
        /* At the end of the digits, which comes earlier far from the origin, it gets no better. */
        if (worst < TOLERANCE || (worst < ROUNDING && worst > 0.5 * last))
            return 1;
        last = worst;
        solve(m, off, strength);
        push(x, before, strength, 1);
        push(v, before, strength, 1 / dt);
    }
    return 0;
}

void constrain_velocities(const double x[NUMBERS], double v[NUMBERS])
{
    double bond[3][3], m[3][3], off[3], strength[3], apart[3][3];
    bonds(x, bond);
    bonds(v, apart);
    for (int k = 0; k < 3; k++) {
        off[k] = -dot(bond[k], apart[k]);
        for (int l = 0; l < 3; l++)
            m[k][l] = coupling(k, l) * dot(bond[k], bond[l]);
    }
    solve(m, off, strength);
    push(v, bond, strength, 1);
}

double bond_error(const double x[NUMBERS])
{
    double bond[3][3], worst = 0;
    bonds(x, bond);
    for (int k = 0; k < 3; k++)
        worst = fmax(worst, fabs(sqrt(dot(bond[k], bond[k])) / BOND_LENGTH[k] - 1));
    return worst;
}
