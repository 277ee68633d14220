/* So many teams that no more are to be had: the next one is made on no PE, and again when there is room. */
#include "osh.h"

enum { MOST = 10000 };

static shmem_team_t teams[MOST];

/* Makes teams of the first `size` PEs until there is no room; how many. */
static int fill(int size)
{
    int made = 0;
    while (made < MOST && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[made]) == 0)
        made++;
    CHECK(made > 0 && made < MOST);
    CHECK(teams[made] == SHMEM_TEAM_INVALID);
    return made;
}

static void empty(int made)
{
    for (int i = 0; i < made; i++)
        if (teams[i] != SHMEM_TEAM_INVALID)
            shmem_team_destroy(teams[i]);
}

int main(void)
{
    begin();
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    int made = fill(n);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    /* Room for one of two. */
    shmem_team_destroy(teams[--made]);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[made]), 0);
    empty(made + 1);
    /* Only PE 0 has no room, and all are told. */
    made = fill(1);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &x) != 0);
    CHECK(x == SHMEM_TEAM_INVALID);
    /* What it is no member of is made. */
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, 1, 1, NULL, 0, &x), n > 1 ? 0 : -1);
    if (x != SHMEM_TEAM_INVALID)
        shmem_team_destroy(x);
    empty(made);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &x), 0);
    CHECK_EQ(shmem_team_n_pes(x), n);
    shmem_team_destroy(x);
    return end();
}
