/* Mistakes, each of which ends the job with one line. */
#include "check.h"

static sam_name name_of(int which) { return sam_name_of(7, which); }

static void write_value(int which, uint64_t uses)
{
    *(int *)sam_value_begin(name_of(which), sizeof(int)) = which;
    sam_value_end(name_of(which), uses);
}

static void use(int which)
{
    sam_use(name_of(which), NULL);
    sam_end_use(name_of(which));
}

static void forever(void)
{
    for (;;)
        sam_wait();
}

static void make(int which)
{
    sam_accumulator_begin(name_of(which), sizeof(int));
    sam_end_update(name_of(which));
}

static void in_turn(void (*first)(void), void (*then)(void))
{
    if (me == 0)
        first();
    sam_barrier();
    if (me == 1 % n)
        then();
    forever();
}

static void write_42(void) { write_value(42, SAM_STAYS); }
static void use_once(void) { write_value(42, 1), use(42); }
static void use_42(void) { use(42); }
static void end_42(void) { sam_end_use(name_of(42)); }
static void make_42(void) { make(42); }
static void update_42(void) { sam_update(name_of(42), NULL); }
static void push_42(void) { sam_push(name_of(42), 0); }
static void twice(void) { update_42(), update_42(); }
static void end_update(void) { sam_end_update(name_of(42)); }
static void chaotic_end(void) { sam_end_chaotic(name_of(42)); }
static void push_far(void) { write_value(43, 0), sam_push(name_of(43), n); }
static void push_negative(void) { write_value(43, 0), sam_push(name_of(43), -1); }
static void task_huge(void) { sam_task_add("", SIZE_MAX); }
static void task_large(void) { sam_task_add("", (size_t)1 << 60); }
static void add_task(void) { sam_task_add("12345", 5); }
static void short_task(void) { char few[4]; add_task(), sam_task_next(few, sizeof few, NULL); }
static void begin_twice(void) { sam_value_begin(name_of(42), 1), sam_value_begin(name_of(42), 1); }
static void end_value(void) { sam_value_end(name_of(42), 1); }
static void unfinished(void) { sam_value_begin(name_of(42), 1), use(42); }
static void huge(void) { sam_value_begin(name_of(42), (size_t)1 << 60); }
static void no_type(void) { sam_value_object(name_of(42), 3, &errors, 1); }
static void finish_in_use(void) { write_42(), sam_use(name_of(42), NULL), sam_finish(); }
static void finish_unended(void) { sam_value_begin(name_of(42), 1), sam_finish(); }
static void leave(void) { exit(0); }
static void again(void) { sam_init(); }
static void nothing(void) {}

static const struct {
    const char *name;
    void (*first)(void), (*then)(void);
} mistakes[] = {
    {"twice", write_42, write_42},
    {"gone", use_once, use_42},
    {"end_use", write_42, end_42},
    {"update_value", write_42, update_42},
    {"make_value", write_42, make_42},
    {"make_twice", make_42, make_42},
    {"update_twice", make_42, twice},
    {"end_update", make_42, end_update},
    {"end_chaotic", make_42, chaotic_end},
    {"push", write_42, push_42},
    {"push_rank", nothing, push_far},
    {"push_negative", nothing, push_negative},
    {"task_huge", nothing, task_huge},
    {"task_large", nothing, task_large},
    {"short_task", nothing, short_task},
    {"begin_twice", nothing, begin_twice},
    {"end_value", nothing, end_value},
    {"unfinished", nothing, unfinished},
    {"huge", nothing, huge},
    {"no_type", nothing, no_type},
    {"finish_in_use", nothing, finish_in_use},
    {"finish_unended", nothing, finish_unended},
    {"leave", nothing, leave},
    {"again", nothing, again},
};

static int bad_home(sam_name name, int ranks) { return name.space == 7 ? ranks : 0; }

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "early") == 0)
        sam_barrier();
    if (strcmp(argv[1], "home") == 0)
        sam_set_home(bad_home);
    begin();
    if (strcmp(argv[1], "home") == 0)
        write_42();
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (strcmp(argv[1], mistakes[i].name) == 0)
            in_turn(mistakes[i].first, mistakes[i].then);
    fprintf(stderr, "no mistake '%s'\n", argv[1]);
    return 2;
}
