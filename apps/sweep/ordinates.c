/* The level-symmetric quadrature S8 (E. E. Lewis and W. F. Miller, Computational Methods of Neutron Transport, 1984, table 4-1). */
#include "sweep.h"

static const double COSINE[4] = {0.2182179, 0.5773503, 0.7867958, 0.9511897};
/* Which cosines a direction of an octant has, and its weight. */
static const struct {
    int cosine[3];
    double weight;
} OCTANT[10] = {{{0, 0, 3}, 0.1209877}, {{0, 3, 0}, 0.1209877}, {{3, 0, 0}, 0.1209877}, {{0, 1, 2}, 0.0907407}, {{0, 2, 1}, 0.0907407},
                {{1, 0, 2}, 0.0907407}, {{1, 2, 0}, 0.0907407}, {{2, 0, 1}, 0.0907407}, {{2, 1, 0}, 0.0907407}, {{1, 1, 1}, 0.0925926}};

/* Octants in an order in which mirrors at the low sides of the box have what they reflect: going down first. */
static const int SIGNS[8] = {0, 1, 2, 4, 3, 5, 6, 7}; /* bit d: up in direction d */

static int turn_of(int signs)
{
    int turn = 0;
    while (SIGNS[turn] != signs)
        turn++;
    return turn;
}

void ordinates_make(struct ordinate all[ORDINATES])
{
    double sum = 0;
    for (int a = 0; a < ORDINATES; a++) {
        int signs = SIGNS[a / 10], k = a % 10;
        double square = 0;
        for (int d = 0; d < 3; d++)
            square += COSINE[OCTANT[k].cosine[d]] * COSINE[OCTANT[k].cosine[d]];
        for (int d = 0; d < 3; d++) {
            all[a].direction[d] = (signs >> d & 1 ? 1 : -1) * COSINE[OCTANT[k].cosine[d]] / __builtin_sqrt(square);
            all[a].mirror[d] = 10 * turn_of(signs ^ 1 << d) + k;
        }
        all[a].weight = OCTANT[k].weight;
        sum += all[a].weight;
    }
    for (int a = 0; a < ORDINATES; a++)
        all[a].weight /= sum;
}
