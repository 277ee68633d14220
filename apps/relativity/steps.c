/* Steps in time: the method of Runge and Kutta of fourth order. */
#include "relativity.h"

void relativity_exchange(struct spacetime *s, double *const *u)
{
    double start = MPI_Wtime();
    grid_exchange(&s->g, u, VARIABLES, GHOSTS);
    s->exchange_seconds += MPI_Wtime() - start;
}

/* Bytes of what a processor has in its second cache; rows that are worth the ones around them. */
enum { CACHE = 1 << 20, LEAST_ROWS = 4 };

/* Differences along x look at seven planes. Of so many rows, and those around them, all seven stay in the cache until the next plane needs
 * six of them again. */
static int rows_at_once(const struct grid *g)
{
    ptrdiff_t row = (2 * GHOSTS + 1) * VARIABLES * g->row * (ptrdiff_t)sizeof(double), rows = CACHE / row - 2 * GHOSTS;
    return rows < LEAST_ROWS ? LEAST_ROWS : (int)rows;
}

static void rows(struct spacetime *s, const struct stage *stage, int from, int end)
{
    const int some = rows_at_once(&s->g);
    for (int first = 0; first < s->g.size[1]; first += some)
        for (int i = from; i < end; i++)
            for (int j = first; j < first + some && j < s->g.size[1]; j++)
                bssn_row(s, stage, grid_at(&s->g, i, j, 0), s->g.size[2]);
}

/* A stage in all points, and the ghosts of its result, `u`: planes that neighbours wait for come first, and travel while the others are worked on. */
static void stage_and_exchange(struct spacetime *s, const struct stage *stage, double *const *u)
{
    int size = s->g.size[0], low = size < GHOSTS ? size : GHOSTS, high = size - GHOSTS > low ? size - GHOSTS : low;
    rows(s, stage, 0, low);
    rows(s, stage, high, size);
    double start = MPI_Wtime();
    grid_exchange_begin(&s->g, u, VARIABLES, GHOSTS);
    s->exchange_seconds += MPI_Wtime() - start;
    rows(s, stage, low, high);
    start = MPI_Wtime();
    grid_exchange_end(&s->g, u, VARIABLES, GHOSTS);
    s->exchange_seconds += MPI_Wtime() - start;
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
        now = next ? next : s->u;
        stage_and_exchange(s, &stage, now);
    }
    s->step++;
}
