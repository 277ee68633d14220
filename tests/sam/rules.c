/* Rules of docs/sam.md that the other programs leave out: what sends nothing, what is asked for again, what goes on unchanged under
   a reader, homes by a function, the order of tasks. */
#include "check.h"

static int next, before;

/* The home of a name is what its key says. */
static int home_of(sam_name name, int ranks) { return (int)(name.key >> 32) % ranks; }

static sam_name at_home(uint64_t space, int home, int which) { return sam_name_of(space, (uint64_t)home << 32 | (unsigned)which); }

static sam_counters counted(void)
{
    sam_counters counters;
    sam_get_counters(&counters);
    return counters;
}

static void write_value(sam_name name, long content, uint64_t uses)
{
    *(long *)sam_value_begin(name, sizeof(long)) = content;
    sam_value_end(name, uses);
}

static long read_value(sam_name name)
{
    long content = *(const long *)sam_use(name, NULL);
    sam_end_use(name);
    return content;
}

/* Rank 0 reads values of all ranks with homes everywhere: it sends one message for each, wherever the home is. */
static void misses(void)
{
    for (int home = 0; home < n; home++)
        write_value(at_home(1, home, me), 10 * me + home, SAM_STAYS);
    sam_barrier();
    if (me == 0) {
        for (int owner = 1; owner < n; owner++)
            for (int home = 0; home < n; home++) {
                sam_counters old = counted();
                CHECK_EQ(read_value(at_home(1, home, owner)), 10 * owner + home);
                sam_counters new = counted();
                CHECK(new.messages == old.messages + 1 && new.misses == old.misses + 1 && new.uses == old.uses + 1);
                /* A copy is here: nothing is sent. */
                CHECK_EQ(read_value(at_home(1, home, owner)), 10 * owner + home);
                CHECK(counted().messages == new.messages && counted().misses == new.misses);
            }
    }
    sam_barrier();
}

/* Values that are here need not be asked for, and those that nobody has written are not here. */
static void own_values(void)
{
    sam_name own = at_home(2, next, me), never = at_home(2, next, 1000 + me);
    write_value(own, 5, SAM_STAYS);
    sam_barrier();
    uint64_t messages = counted().messages;
    sam_prefetch(own);
    sam_push(own, me);
    const long *here = sam_try_use(own, NULL);
    CHECK(here && *here == 5);
    sam_end_use(own);
    CHECK_EQ(read_value(own), 5);
    CHECK_EQ(counted().messages, messages);
    CHECK(sam_try_use(never, NULL) == NULL);
    sam_barrier();
    CHECK(sam_try_use(never, NULL) == NULL);
    write_value(never, 6, SAM_STAYS); /* it was asked for, by this rank itself */
    CHECK_EQ(read_value(never), 6);
    sam_barrier();
}

/* Without room a copy is here while it is used, and what comes unasked is dropped. */
static void no_room(void)
{
    sam_name theirs = at_home(1, next, next);
    sam_set_cache(0);
    uint64_t misses = counted().misses;
    for (int i = 0; i < 3; i++) {
        const long *content = sam_use(theirs, NULL);
        sam_poll();
        CHECK(*content == 10 * next + next && sam_try_use(theirs, NULL) == content);
        sam_end_use(theirs);
        sam_end_use(theirs);
    }
    CHECK(n == 1 || counted().misses >= misses + 2);
    sam_prefetch(theirs);
    sam_push(at_home(1, me, me), next);
    sam_barrier();
    CHECK_EQ(read_value(theirs), 10 * next + next);
    sam_set_cache(1 << 20);
    sam_barrier();
}

/* A value of two uses, the reader's and the renaming, that is renamed while the reader uses it: the reader's memory stays as it is. */
static void renamed_under_a_reader(void)
{
    sam_name old = at_home(3, before, me), new = at_home(4, me, me), theirs = at_home(3, me, next);
    write_value(old, 100 + me, 2);
    sam_barrier();
    const long *content = sam_use(theirs, NULL);
    CHECK_EQ(*content, 100 + next);
    sam_barrier();
    if (n > 1) {
        size_t bytes = 0;
        long *mine = sam_rename(old, new, &bytes);
        CHECK(bytes == sizeof *mine && *mine == 100 + me);
        *mine = -1;
        sam_value_end(new, SAM_STAYS);
        sam_barrier();
        CHECK_EQ(*content, 100 + next);
        CHECK_EQ(read_value(at_home(4, next, next)), -1);
    }
    sam_end_use(theirs);
    sam_barrier();
}

/* Who updates again sends nothing; what comes from another rank is a migration. */
static void updates(void)
{
    sam_name own = at_home(5, next, me), theirs = at_home(5, (next + 1) % n, next);
    sam_accumulator_begin(own, sizeof(long));
    sam_end_update(own);
    sam_barrier();
    sam_counters old = counted();
    for (int i = 0; i < 100; i++) {
        ++*(long *)sam_update(own, NULL);
        sam_end_update(own);
    }
    CHECK(counted().messages == old.messages && counted().migrations == old.migrations);
    sam_barrier();
    for (int i = 0; i < 10; i++) {
        ++*(long *)sam_update(theirs, NULL);
        sam_end_update(theirs);
    }
    CHECK_EQ(counted().migrations, old.migrations + (n > 1));
    sam_barrier();
}

/* A chaotic read stays as it is while others update; a refresh brings newer states; a value is told by its number. */
static void chaotic_reads(void)
{
    sam_name all = at_home(6, 0, 0);
    uint64_t seen = 0, again = 0;
    if (me == 0) {
        *(long *)sam_accumulator_begin(all, sizeof(long)) = 50;
        sam_end_update(all);
    }
    sam_barrier();
    const long *state = sam_chaotic(all, NULL, &seen), *nested = sam_chaotic(all, NULL, &again);
    long kept = *state;
    CHECK(state == nested && seen == again && seen >= 1 && kept == 49 + (long)seen);
    sam_end_chaotic(all);
    sam_barrier();
    if (me == 0) {
        ++*(long *)sam_update(all, NULL);
        sam_end_update(all);
    }
    sam_barrier();
    CHECK_EQ(*state, kept);
    sam_end_chaotic(all);
    do {
        sam_refresh(all);
        sam_poll();
        state = sam_chaotic(all, NULL, &again);
        CHECK_EQ(*state, 49 + (long)again);
        sam_end_chaotic(all);
    } while (again == seen);
    CHECK_EQ(again, 2);
    sam_barrier();
    if (me == 0) {
        sam_update(all, NULL);
        sam_end_update_to_value(all, SAM_STAYS);
    }
    CHECK_EQ(read_value(all), 51);
    CHECK_EQ(*(const long *)sam_chaotic(all, NULL, &again), 51);
    CHECK(again == UINT64_MAX || again == 2);
    sam_end_chaotic(all);
    sam_barrier();
    if (me == 0)
        CHECK(*(const long *)sam_chaotic(all, NULL, &again) == 51 && again == UINT64_MAX);
    if (me == 0)
        sam_end_chaotic(all);
    sam_barrier();
    /* Accumulators and values are freed by any rank, also twice. */
    if (me == n - 1)
        sam_free(at_home(5, next, me));
    sam_free(all);
    sam_barrier();
}

/* A rank takes its newest task; others get the oldest ones; a task may have no bytes. */
static void tasks(void)
{
    int task, last = 10;
    size_t bytes = 99;
    if (n == 1) {
        for (task = 0; task < 10; task++)
            sam_task_add(&task, sizeof task);
        while (sam_task_next(&task, sizeof task, &bytes))
            CHECK_EQ(task, --last);
        CHECK_EQ(last, 0);
    }
    uint64_t stolen = counted().stolen;
    long done = 0;
    if (me == 0)
        for (task = 0; task < 20; task++)
            sam_task_add(NULL, 0);
    while (sam_task_next(NULL, 0, &bytes)) {
        CHECK_EQ(bytes, 0);
        done++;
        sam_poll();
    }
    CHECK(me == 0 || counted().stolen == stolen + (uint64_t)done);
    sam_name sum = at_home(7, 0, 0);
    if (me == 0) {
        sam_accumulator_begin(sum, sizeof done);
        sam_end_update(sum);
    }
    *(long *)sam_update(sum, NULL) += done;
    sam_end_update(sum);
    sam_barrier();
    if (me == 0) {
        CHECK_EQ(*(long *)sam_update(sum, NULL), 20);
        sam_end_update(sum);
    }
    sam_barrier();
}

/* A home remembers the last 65,536 names that are gone. The one before them is as one that was never used. */
static void forgotten_names(void)
{
    enum { REMEMBERED = 65536 };
    for (int which = 0; which <= REMEMBERED; which++) {
        write_value(at_home(20, me, which), which, 1);
        CHECK_EQ(read_value(at_home(20, me, which)), which);
    }
    write_value(at_home(20, me, 0), -5, 1);
    CHECK_EQ(read_value(at_home(20, me, 0)), -5);
}

int main(void)
{
    sam_set_home(home_of);
    begin();
    next = (me + 1) % n;
    before = (me + n - 1) % n;
    misses();
    own_values();
    no_room();
    renamed_under_a_reader();
    updates();
    chaotic_reads();
    tasks();
    forgotten_names();
    return end();
}
