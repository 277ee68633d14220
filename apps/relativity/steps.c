/* Steps in time: the method of Runge and Kutta of fourth order. */
#include "relativity.h"

void relativity_exchange(struct spacetime *s, double *const *u)
{
    double start = MPI_Wtime();
    grid_exchange(&s->g, u, VARIABLES, GHOSTS);
    s->exchange_seconds += MPI_Wtime() - start;
}

static void all_rows(struct spacetime *s, const struct stage *stage)
{
    for (int i = 0; i < s->g.size[0]; i++)
        for (int j = 0; j < s->g.size[1]; j++)
            bssn_row(s, stage, grid_at(&s->g, i, j, 0), s->g.size[2]);
}

/* The last sum is the new state: nobody looks at the old one any more. */
void relativity_step(struct spacetime *s)
{
    static const double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}, part[4] = {0.5, 0.5, 1, 0};
    double *const *now = s->u;
    for (int n = 0; n < 4; n++) {
        double *const *next = n < 3 ? s->between[n % 2] : NULL;
        struct stage stage = {.now = now, .from = n == 0 ? s->u : s->sum, .next = next, .sum = n < 3 ? s->sum : s->u,
                              .weight = weight[n] * s->dt, .part = part[n] * s->dt};
        all_rows(s, &stage);
        now = next ? next : s->u;
        relativity_exchange(s, now);
    }
    s->step++;
}
