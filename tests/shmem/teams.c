/* Teams, their numbers and collectives; contexts on them; signals from one context. */
#include "osh.h"

static long in, out, from[64];

/* A collective on the team, and that its numbers are those of the members. */
static void use(shmem_team_t team, int size, int number, int first, int stride)
{
    CHECK_EQ(shmem_team_n_pes(team), size);
    CHECK_EQ(shmem_team_my_pe(team), number);
    CHECK_EQ(shmem_team_translate_pe(team, number, SHMEM_TEAM_WORLD), me);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, team), number);
    CHECK_EQ(shmem_team_translate_pe(team, size, SHMEM_TEAM_WORLD), -1);
    in = me + 1;
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_long_sum_reduce(team, &out, &in, 1), 0);
    long sum = 0;
    for (int i = 0; i < size; i++)
        sum += first + i * stride + 1;
    CHECK_EQ(out, sum);
    CHECK_EQ(shmem_long_fcollect(team, from, &in, 1), 0);
    for (int i = 0; i < size; i++)
        CHECK_EQ(from[i], first + i * stride + 1);
    shmem_team_sync(team);

    shmem_ctx_t ctx;
    shmem_team_t of;
    CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &ctx), 0);
    CHECK_EQ(shmem_ctx_get_team(ctx, &of), 0);
    CHECK(of == team);
    int next = (number + 1) % size, previous = (number + size - 1) % size;
    shmem_p(ctx, &out, 500 + number, next);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(team);
    CHECK_EQ(out, 500 + previous);
    CHECK_EQ(shmem_g(ctx, &out, next), 500 + number);
    shmem_ctx_fence(ctx);
    shmem_ctx_destroy(ctx);
    shmem_team_sync(team);
}

static void strided(int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = { 3 }, got = { 0 };
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
    int number = -1;
    for (int i = 0; i < size; i++)
        if (start + i * stride == me)
            number = i;
    if (number < 0) {
        CHECK(team == SHMEM_TEAM_INVALID);
        CHECK_EQ(shmem_team_my_pe(team), -1);
        return;
    }
    CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, 3);
    use(team, size, number, start, stride);
    shmem_team_t again;
    CHECK_EQ(shmem_team_split_strided(team, size - 1, -1, size, NULL, 0, &again), 0);
    use(again, size, size - 1 - number, start + (size - 1) * stride, -stride);
    shmem_team_destroy(again);
    shmem_team_destroy(team);
}

int main(void)
{
    begin();
    use(SHMEM_TEAM_WORLD, n, me, 0, 1);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) >= 1);
    int near = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    void *heap = need(8);
    for (int pe = 0; pe < near; pe++)
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, heap, pe) != NULL);
    for (int round = 0; round < 20; round++) {
        strided(0, 1, n);
        strided(0, 2, (n + 1) / 2);
        strided(n - 1, -1, n);
        strided(n - 1, 1, 1);
    }
    shmem_team_t bad = SHMEM_TEAM_WORLD, x, y;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &bad) != 0);
    CHECK(bad == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &x, NULL, 0, &y) != 0);
    for (int width = 1; width <= n + 1; width++) {
        CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &x, NULL, 0, &y), 0);
        int w = width > n ? n : width, row = me / w, column = me % w;
        int in_row = (row + 1) * w <= n ? w : n - row * w;
        use(x, in_row, column, row * w, 1);
        use(y, (n - column + w - 1) / w, row, column, w);
        shmem_team_destroy(x);
        shmem_team_destroy(y);
    }
    shmem_ctx_t many[200];
    for (int i = 0; i < 200; i++)
        CHECK_EQ(shmem_ctx_create(i % 2 ? SHMEM_CTX_PRIVATE : 0, &many[i]), 0);
    shmem_ctx_session_start(many[0], SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_long_atomic_add(many[0], &out, 1, me);
    shmem_ctx_session_stop(many[0]);
    for (int i = 0; i < 200; i++)
        shmem_ctx_destroy(many[i]);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    return end();
}
