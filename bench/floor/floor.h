/* floor: what the machine itself can do, without any message passing on top.
 *
 * Each measurement prints one JSON object per line, like hpvmbench. */
#ifndef HPVM_FLOOR_H
#define HPVM_FLOOR_H

#include <stdatomic.h>
#include <stddef.h>

enum { LINE = 64, BATCHES = 101 };

int floor_flag(void);
int floor_ring(void);
int floor_memcpy(void);
int floor_vmread(void);
int floor_words(void);

/* Seconds since some fixed moment. */
double now(void);

/* Seconds per repetition of `run(context, iters)`: repeated for about `budget` seconds in
 * batches of 1 ms; prints median, least and most, scaled as in hpvmbench. */
extern int raw; /* every batch is printed */

void measure(const char *mode, long size, double (*run)(void *context, long iters), void *context,
             double budget, double bytes);

/* Memory shared with children of this process, zeroed; NULL on failure (message printed). */
void *shared_memory(size_t size);

/* Pins this process to the n-th processor that it may use; 0 or -1 with a message. */
int pin(int n);

/* Runs `partner(shared)` in a pinned child process while `lead(shared)` runs here, also pinned. */
int with_partner(void *shared, void (*partner)(void *), void (*lead)(void *));

#endif
