/* SAM: shared objects on distributed memory, after D. J. Scales and M. S. Lam (Stanford, 1994), over the hpvm engine.
 *
 * The objects of a program have names in one name space of all its ranks. A value is written once and then read
 * anywhere; who reads it has a copy in a cache. An accumulator is updated by one rank at a time and moves to who updates
 * it. Tasks are taken by ranks that have none.
 *
 *     #include <sam.h>
 *     #include <stdio.h>
 *     int main(void)
 *     {
 *         sam_init();
 *         int *mine = sam_value_begin(sam_name_of(1, sam_rank()), sizeof *mine);
 *         *mine = sam_rank() * sam_rank();
 *         sam_value_end(sam_name_of(1, sam_rank()), SAM_STAYS);
 *         int next = (sam_rank() + 1) % sam_ranks();
 *         const int *theirs = sam_use(sam_name_of(1, next), NULL);
 *         printf("rank %d: rank %d has %d\n", sam_rank(), next, *theirs);
 *         sam_end_use(sam_name_of(1, next));
 *         sam_finish();
 *     }
 *
 * Compile with samcc (or mpicc and -lsam, or pkg-config hpvm-sam), start with mpirun.
 *
 * Sizes are bytes. One thread of a process calls SAM; the program may call MPI, too. A rank answers others while it is in
 * a call of SAM: one that computes long calls sam_poll now and then. "Blocks" says that a call waits for others;
 * the other calls return at once, or as soon as thousands of earlier messages of this rank have left.
 *
 * There are no error codes: a mistake, or a lost peer, ends the job with one line that names function, rank, object, and
 * what was expected. docs/sam.md has all rules.
 */
#ifndef HPVM_SAM_H
#define HPVM_SAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name of an object: two numbers that the program chooses. A name is used once in a program. */
typedef struct sam_name {
    uint64_t space; /* by custom, what kind of object it is */
    uint64_t key;   /* which of them */
} sam_name;

static inline sam_name sam_name_of(uint64_t space, uint64_t key)
{
    sam_name name;
    name.space = space;
    name.key = key;
    return name;
}

/* ---- The program ---- */

/* Which rank is the home of a name, of so many ranks: it knows where the object is. The same on all ranks. */
typedef int sam_home_function(sam_name name, int ranks);

/* Before sam_init: homes by a function, in place of an even spread. An object that is written and read near its home needs
 * fewer messages. */
void sam_set_home(sam_home_function *home);

/* Joins the program. Collective: blocks until all ranks have called it. Before or after MPI_Init, or without it. */
void sam_init(void);

/* Leaves it. Collective: blocks, and answers others, until all ranks have called it. All objects are gone then. No use or
 * update is under way. */
void sam_finish(void);

int sam_rank(void);
int sam_ranks(void);

/* Blocks, and answers others, until all ranks have called it. */
void sam_barrier(void);

/* Answers others. */
void sam_poll(void);

/* Blocks until a message has come and was handled, by whichever call, since the last sam_wait: then sam_try_use may find
 * what it did not find before. Who has tried several values and found none waits so for the first of them. */
void sam_wait(void);

/* Bytes of copies of other ranks' objects that this rank keeps (256 MiB, or what HPVM_SAM_CACHE says). What is in use is
 * kept in any case. */
void sam_set_cache(size_t bytes);

/* ---- Values: written once, then read ---- */

#define SAM_STAYS 0 /* uses of a value that stays until it is freed */

/* Begins to write a value: memory of so many bytes, which are zero, at an address divisible by 64. Write there until
 * sam_value_end, and no longer. */
void *sam_value_begin(sam_name name, size_t bytes);

/* The value is written, and can be read anywhere. After so many uses (sam_end_use, on all ranks together) it is gone; a
 * rename counts as one. SAM_STAYS: it stays until it is freed. */
void sam_value_end(sam_name name, uint64_t uses);

/* Begins a use: the value, and its length at `bytes` unless that is NULL. The memory stays as it is until sam_end_use, and
 * must not be written. Uses may nest. Blocks until the value has been written, and has come here. */
const void *sam_use(sam_name name, size_t *bytes);

/* The same if the value is here. If not: NULL, and the value is asked for. */
const void *sam_try_use(sam_name name, size_t *bytes);

void sam_end_use(sam_name name);

/* Asks for a value that will be used; it comes while this rank goes on. Without room in the cache it does not stay. Blocks
 * while 4096 values are asked for. */
void sam_prefetch(sam_name name);

/* Sends a value that this rank has written to one that will use it, and does not have to ask then. The value is still there: who
 * pushes one of a number of uses, and cannot know that some are left, holds one of them meanwhile. */
void sam_push(sam_name name, int rank);

/* Begins to write value `next` in the memory of value `old`, whose content is there at first; `old` is gone. Only by the
 * rank that has written `old`. It counts as the last use of `old`: blocks until the others are over, or go on with copies of
 * their own. A value that stays is in use nowhere then. */
void *sam_rename(sam_name old, sam_name next, size_t *bytes);

/* The program does not use the object, a value or an accumulator, any more: no use or update is under way anywhere, and none
 * begins. By any rank. */
void sam_free(sam_name name);

/* ---- Accumulators: updated by one rank at a time ---- */

/* Makes an accumulator of so many bytes, which are zero, and begins its first update. */
void *sam_accumulator_begin(sam_name name, size_t bytes);

/* Begins an update: the accumulator, which only this rank reads and writes until sam_end_update. Blocks until it has been
 * made, and until others before this rank have ended theirs. */
void *sam_update(sam_name name, size_t *bytes);

void sam_end_update(sam_name name);

/* Ends the last update: the accumulator is a value from now on, with so many uses. No rank updates it afterwards, nor waits
 * to do so. */
void sam_end_update_to_value(sam_name name, uint64_t uses);

/* Begins a chaotic read: the accumulator as it was after some update, and how many it had seen at `updates` unless that is
 * NULL (UINT64_MAX: it is a value now). It stays as it is until sam_end_chaotic. Blocks only if this rank has seen none
 * yet. */
const void *sam_chaotic(sam_name name, size_t *bytes, uint64_t *updates);

void sam_end_chaotic(sam_name name);

/* Asks for a newer state for chaotic reads; until it has come they see the older one. */
void sam_refresh(sam_name name);

/* ---- Tasks ---- */

/* A task: bytes, of which SAM takes a copy. Some rank will get it, once. */
void sam_task_add(const void *task, size_t bytes);

/* The next task, of this rank or of another: 1, and the bytes at `task` and how many at `bytes` unless that is NULL. Blocks
 * while others have tasks. 0: all tasks of all ranks are done; all ranks get it, and what is added then begins a new
 * phase. A task longer than `most` is an error. */
int sam_task_next(void *task, size_t most, size_t *bytes);

/* From now on tasks are those of the first so many ranks: these alone add and take them, and a phase is over when their tasks are
 * done. Each of them calls it, between two phases, with the same numbers; `series`, at most 2^32 - 1, is larger than any that one
 * of them has given before. None adds or asks for a task until all have called it: a barrier of theirs lies between. Before the first
 * call all ranks share tasks. */
void sam_task_ranks(int ranks, uint64_t series);

/* ---- Objects with pointers ---- */

typedef int sam_type;

/* Registers how a structure of the program travels. All ranks register the same types in the same order. The functions call
 * nothing of SAM.
 *   packed_bytes: how many bytes pack writes for this object.
 *   pack:         writes them.
 *   unpack:       a new object made of them; NULL if it cannot be.
 *   release:      the object is not used any more. */
sam_type sam_type_register(size_t (*packed_bytes)(const void *object),
                           void (*pack)(const void *object, void *bytes),
                           void *(*unpack)(const void *bytes, size_t count),
                           void (*release)(void *object));

/* Makes a structure a value at once: as sam_value_begin and sam_value_end. It belongs to SAM from now on, which releases it.
 * sam_use gives the structure, or on other ranks one that unpack has made; the length is that of the packed form. */
void sam_value_object(sam_name name, sam_type type, void *object, uint64_t uses);

/* ---- What has happened on this rank ---- */

typedef struct sam_counters {
    uint64_t uses;       /* of values */
    uint64_t misses;     /* uses that had to wait for the value */
    uint64_t messages;   /* sent to other ranks */
    uint64_t bytes;      /* of contents sent to other ranks */
    uint64_t evictions;  /* copies thrown away for want of room */
    uint64_t migrations; /* accumulators that came from other ranks */
    uint64_t stolen;     /* tasks that came from other ranks */
} sam_counters;

void sam_get_counters(sam_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
