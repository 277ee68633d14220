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
/* As many names as a home remembers: 42 is the oldest. */
static void use_up(void)
{
    use_once();
    for (int which = 100; which < 100 + 65535; which++)
        write_value(which, 1), use(which);
}
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
static void share_far(void) { sam_task_ranks(n + 1, 1); }
static void share_negative(void) { sam_task_ranks(-1, 1); }
static void share_without_me(void) { if (me > 0) sam_task_ranks(me, 1); }
static void share_again(void) { sam_task_ranks(n, 7), sam_task_ranks(n, 7); }
static void share_late(void) { sam_task_ranks(n, (uint64_t)1 << 32); }
static void share_under_way(void) { add_task(), sam_task_ranks(n, 1); }
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
static void begin_42(void) { sam_accumulator_begin(name_of(42), sizeof(int)); }
static void free_used(void) { sam_use(name_of(42), NULL), sam_free(name_of(42)); }
static void free_updated(void) { update_42(), sam_free(name_of(42)), forever(); }
static void free_42(void) { make_42(), sam_free(name_of(42)); }
static void rename_42(void) { sam_rename(name_of(42), name_of(44), NULL); }
static void rename_used(void) { write_value(43, 0), sam_use(name_of(43), NULL), sam_rename(name_of(43), name_of(44), NULL); }
static void convert_42(void) { sam_end_update_to_value(name_of(42), 1); }
static void convert_wanted(void) { begin_42(), sam_barrier(), sam_wait(), convert_42(); }
static void chaotic_updated(void) { begin_42(), sam_chaotic(name_of(42), NULL, NULL); }
static void use_updated(void) { begin_42(), sam_use(name_of(42), NULL); }
static void use_twice(void) { sam_use(name_of(42), NULL), use(42), sam_end_use(name_of(42)); }
static void write_once_used(void) { write_value(42, 1); }
static void use_end_end(void) { use(42), end_42(); }
static void value_of_accumulator(void) { write_value(42, 0); }

/* A structure that cannot be unpacked. */
static size_t one_byte(const void *object) { return object != NULL; }
static void pack_it(const void *object, void *bytes) { *(char *)bytes = *(const char *)object; }
static void *unpack_nothing(const void *bytes, size_t count) { return bytes && count > 1 ? malloc(1) : NULL; }
static void object_42(void) { sam_value_object(name_of(42), 1, calloc(1, 1), 0); }

static const struct {
    const char *name;
    void (*first)(void), (*then)(void);
} mistakes[] = {
    {"twice", write_42, write_42},
    {"gone", use_once, use_42},
    {"gone_long_ago", use_up, use_42},
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
    {"share_far", nothing, share_far},
    {"share_negative", nothing, share_negative},
    {"share_without_me", nothing, share_without_me},
    {"share_again", nothing, share_again},
    {"share_late", nothing, share_late},
    {"share_under_way", nothing, share_under_way},
    {"begin_twice", nothing, begin_twice},
    {"end_value", nothing, end_value},
    {"unfinished", nothing, unfinished},
    {"huge", nothing, huge},
    {"no_type", nothing, no_type},
    {"finish_in_use", nothing, finish_in_use},
    {"finish_unended", nothing, finish_unended},
    {"leave", nothing, leave},
    {"again", nothing, again},
    {"free_used", write_42, free_used},
    {"free_updated", make_42, free_updated},
    {"update_freed", free_42, update_42},
    {"rename_foreign", write_42, rename_42},
    {"rename_used", nothing, rename_used},
    {"convert_unbegun", make_42, convert_42},
    {"chaotic_updated", nothing, chaotic_updated},
    {"use_updated", nothing, use_updated},
    {"many_uses", write_once_used, use_twice},
    {"end_twice", write_42, use_end_end},
    {"make_of_value", write_42, make_42},
    {"value_of_accumulator", make_42, value_of_accumulator},
    {"make_gone", use_once, make_42},
    {"unpack", object_42, use_42},
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
    sam_type_register(one_byte, pack_it, unpack_nothing, free);
    if (strcmp(argv[1], "convert_wanted") == 0)
        me == 0 ? convert_wanted() : (sam_barrier(), update_42());
    if (strcmp(argv[1], "home") == 0)
        write_42();
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (strcmp(argv[1], mistakes[i].name) == 0)
            in_turn(mistakes[i].first, mistakes[i].then);
    fprintf(stderr, "no mistake '%s'\n", argv[1]);
    return 2;
}
