/* The level-symmetric quadrature S8 (E. E. Lewis and W. F. Miller, Computational Methods of Neutron Transport, 1984, table 4-1). */
#include "sweep.h"

#include <string.h>

static const double COSINE[4] = {0.2182179, 0.5773503, 0.7867958, 0.9511897};
/* Which cosines a direction of an octant has, and its weight: bundles about the axes. */
static const struct {
    int ordinates;
    struct {
        int cosine[3];
        double weight;
    } ordinate[BUNDLE];
} OCTANT[IN_OCTANT] = {
    {4, {{{0, 0, 3}, 0.1209877}, {{0, 1, 2}, 0.0907407}, {{1, 0, 2}, 0.0907407}, {{1, 1, 1}, 0.0925926}}},
    {3, {{{0, 3, 0}, 0.1209877}, {{0, 2, 1}, 0.0907407}, {{1, 2, 0}, 0.0907407}}},
    {3, {{{3, 0, 0}, 0.1209877}, {{2, 0, 1}, 0.0907407}, {{2, 1, 0}, 0.0907407}}},
};

/* Octants are numbered by their signs (bit d: up in direction d) and swept in that order: mirrors at the low sides of the box have what
 * they reflect, and those down in z come one after the other, then those up in z. When a rank becomes the one upwind across z, others wait. */

double ordinate_flow(const struct bundle *b, int ordinate, const double normal[3])
{
    return normal[0] * b->direction[0][ordinate] + normal[1] * b->direction[1][ordinate] + normal[2] * b->direction[2][ordinate];
}

/* Returns the sum of its weights. */
static double make_bundle(struct bundle *to, int signs, int k)
{
    double sum = 0;
    memset(to, 0, sizeof *to);
    to->ordinates = OCTANT[k].ordinates;
    for (int d = 0; d < 3; d++)
        to->mirror[d] = IN_OCTANT * (signs ^ 1 << d) + k;
    for (int o = 0; o < to->ordinates; o++) {
        const int *cosine = OCTANT[k].ordinate[o].cosine;
        double square = 0;
        for (int d = 0; d < 3; d++)
            square += COSINE[cosine[d]] * COSINE[cosine[d]];
        for (int d = 0; d < 3; d++)
            to->direction[d][o] = (signs >> d & 1 ? 1 : -1) * COSINE[cosine[d]] / __builtin_sqrt(square);
        to->weight[o] = OCTANT[k].ordinate[o].weight;
        sum += OCTANT[k].ordinate[o].weight;
    }
    return sum;
}

void ordinates_make(struct bundle all[BUNDLES])
{
    double sum = 0;
    for (int b = 0; b < BUNDLES; b++)
        sum += make_bundle(&all[b], b / IN_OCTANT, b % IN_OCTANT);
    for (int b = 0; b < BUNDLES; b++)
        all[b].weight /= sum;
}
