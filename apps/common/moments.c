/* Mass, centre, quadrupole and error bounds of cells. */
#include "gravity.h"

#include <math.h>
#include <string.h>

/* Adds a mass at d from the centre: 3 d_a d_b - d^2 delta_ab. */
static void add_quad(double quad[6], double mass, const double d[3])
{
    double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    for (int a = 0; a < 3; a++)
        quad[a] += mass * (3 * d[a] * d[a] - square);
    quad[3] += mass * 3 * d[0] * d[1];
    quad[4] += mass * 3 * d[0] * d[2];
    quad[5] += mass * 3 * d[1] * d[2];
}

static void no_moments(struct cell *cell)
{
    cell->mass = cell->radius = cell->third = 0;
    memset(cell->x, 0, sizeof cell->x);
    memset(cell->quad, 0, sizeof cell->quad);
}

static void divide(struct cell *cell)
{
    for (int d = 0; d < 3 && cell->mass > 0; d++)
        cell->x[d] /= cell->mass;
}

void moments_of_bodies(struct cell *cell, const struct body *bodies, int count)
{
    no_moments(cell);
    for (int i = 0; i < count; i++) {
        cell->mass += bodies[i].mass;
        for (int d = 0; d < 3; d++)
            cell->x[d] += bodies[i].mass * bodies[i].x[d];
    }
    divide(cell);
    double farthest = 0;
    for (int i = 0; i < count; i++) {
        double d[3] = {bodies[i].x[0] - cell->x[0], bodies[i].x[1] - cell->x[1],
                       bodies[i].x[2] - cell->x[2]};
        double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        add_quad(cell->quad, bodies[i].mass, d);
        cell->third += bodies[i].mass * square * sqrt(square);
        farthest = square > farthest ? square : farthest;
    }
    cell->radius = sqrt(farthest);
}

/* Exact but for radius and third, which become bounds (the latter by Minkowski's inequality). */
void moments_of_cells(struct cell *cell, const struct cell *children, int count)
{
    no_moments(cell);
    for (int i = 0; i < count; i++) {
        cell->mass += children[i].mass;
        for (int d = 0; d < 3; d++)
            cell->x[d] += children[i].mass * children[i].x[d];
    }
    divide(cell);
    for (int i = 0; i < count; i++) {
        const struct cell *child = &children[i];
        double d[3] = {child->x[0] - cell->x[0], child->x[1] - cell->x[1], child->x[2] - cell->x[2]};
        double away = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        add_quad(cell->quad, child->mass, d);
        for (int q = 0; q < 6; q++)
            cell->quad[q] += child->quad[q];
        double root = cbrt(child->third) + away * cbrt(child->mass);
        cell->third += root * root * root;
        cell->radius = fmax(cell->radius, away + child->radius);
    }
}
