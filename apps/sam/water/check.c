/* Two molecules by themselves: their best energy is what TIP3P was published with. */
#include "water.h"

#include <math.h>

static const double PI = 3.14159265358979323846, ANGLE = 104.52;
/* Far beyond them: there the energy is that without cutoff. */
static const double NO_CUTOFF = 1e6;

/* The linear dimer of the paper: a hydrogen of the first on the way to the second's oxygen, one plane of symmetry; the second's
 * axis is turned out of the line by `turned`. */
static double energy_of(struct around *a, double distance, double turned)
{
    double angle = ANGLE * PI / 180, up = BOND_LENGTH[0] * cos(angle / 2), force[NUMBERS] = {0};
    const double first[NUMBERS] = {0, 0, 0, BOND_LENGTH[0], 0, 0, BOND_LENGTH[0] * cos(angle), 0, BOND_LENGTH[0] * sin(angle)};
    const double second[NUMBERS] = {distance, 0, 0,
                                    distance + up * cos(turned), 0.5 * BOND_LENGTH[2], up * sin(turned),
                                    distance + up * cos(turned), -0.5 * BOND_LENGTH[2], up * sin(turned)};
    a->count = 1;
    for (int n = 0; n < NUMBERS; n++)
        a->x[n][0] = second[n];
    return model_forces(NO_CUTOFF, first, a, force);
}

/* By steps that become smaller whenever none of them leads down. */
struct dimer best_dimer(void)
{
    struct around a = {.count = 0};
    double distance = 2.9, turned = 0, step = 0.1;
    around_room(&a, 1);
    double best = energy_of(&a, distance, turned);
    while (step > 1e-6) {
        static const int WAYS[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        int better = 0;
        for (int w = 0; w < 4; w++) {
            double r = distance + step * WAYS[w][0], t = turned + step * WAYS[w][1], e = energy_of(&a, r, t);
            if (e < best)
                best = e, distance = r, turned = t, better = 1;
        }
        step *= better ? 1 : 0.5;
    }
    around_free(&a);
    return (struct dimer){best, distance, fabs(turned) * 180 / PI};
}
