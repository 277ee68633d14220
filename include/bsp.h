/* BSPlib: the 20 primitives of J. M. D. Hill, W. F. McColl, D. C. Stefanescu, M. W. Goudreau, K. Lang, S. B. Rao,
 * T. Suel, Th. Tsantilas, R. H. Bisseling, "BSPlib: the BSP programming library", Parallel Computing 24 (1998), over
 * the hpvm engine.
 *
 *     #include <bsp.h>
 *     #include <stdio.h>
 *     int main(void)
 *     {
 *         bsp_begin(bsp_nprocs());
 *         int left = -1, pid = bsp_pid();
 *         bsp_push_reg(&left, sizeof left);
 *         bsp_sync();
 *         bsp_put((pid + 1) % bsp_nprocs(), &pid, &left, 0, sizeof pid);
 *         bsp_sync();
 *         printf("process %d: %d is on my left\n", pid, left);
 *         bsp_end();
 *     }
 *
 * Compile with bspcc, start with bsprun. Sizes and offsets are bytes. One thread of a process calls BSPlib. An error
 * ends the program with a line that names function, process and superstep. More is in docs/bsp.md.
 */
#ifndef HPVM_BSP_H
#define HPVM_BSP_H

/* Other BSPlibs' bsp.h bring these, and programs rely on it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define HPVM_BSP_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define HPVM_BSP_PRINTF(text, first)
#endif

/* For programs that are compiled with other libraries, too, whose types differ. */
typedef int bsp_pid_t;
typedef int bsp_nprocs_t;
typedef int bsp_size_t;

/* The SPMD part. bsp_begin is the first statement of main, or of the function that bsp_init names, which is then the
 * first statement of main: process 0 goes on behind bsp_init, the others run that function and end. At most maxprocs
 * processes run, as many as process 0 says; what main does before is done by process 0 alone. */
void bsp_init(void (*spmd)(void), int argc, char **argv);
void bsp_begin(int maxprocs);
void bsp_end(void);

/* Ends all processes with a text as of printf. */
void bsp_abort(const char *format, ...) HPVM_BSP_PRINTF(1, 2);
void bsp_abort_va(const char *format, va_list arguments) HPVM_BSP_PRINTF(1, 0);

/* Before bsp_begin: how many processes there are. */
int bsp_nprocs(void);
int bsp_pid(void);
/* Seconds since bsp_begin. */
double bsp_time(void);

/* Ends the superstep. */
void bsp_sync(void);

/* Makes a block known to the others, from the next superstep on. All processes push in the same order; a process
 * without a block pushes NULL with size 0. Of several registrations of an address the last is meant. */
void bsp_push_reg(const void *ident, int size);
void bsp_pop_reg(const void *ident);

/* Writes at the end of the superstep; src is copied at once. dst is this process's own address of the registration. */
void bsp_put(int pid, const void *src, void *dst, int offset, int nbytes);
/* Reads at the end of the superstep, before anything is put. */
void bsp_get(int pid, const void *src, int offset, void *dst, int nbytes);
/* Without copies: neither block may be used by anything else in this superstep. */
void bsp_hpput(int pid, const void *src, void *dst, int offset, int nbytes);
void bsp_hpget(int pid, const void *src, int offset, void *dst, int nbytes);

/* The size of tags of messages sent from the next superstep on; gives back the one set before. First it is 0. */
void bsp_set_tagsize(int *tag_nbytes);
/* Tag and payload are copied at once; the message is in the receiver's queue in the next superstep, and only then. */
void bsp_send(int pid, const void *tag, const void *payload, int payload_nbytes);
/* Messages that are left in the queue, and bytes of their payloads; NULL: these are not asked for. */
void bsp_qsize(int *nmessages, int *accum_nbytes);
/* The first message: bytes of its payload, or -1 if there is none, and its tag. */
void bsp_get_tag(int *status, void *tag);
/* Copies at most reception_nbytes of its payload, and removes it. */
void bsp_move(void *payload, int reception_nbytes);
/* Removes it, and gives the addresses of tag and payload, valid until bsp_sync; returns bytes of its payload, or -1. */
int bsp_hpmove(void **tag_ptr, void **payload_ptr);

/* Names from before 1998. */
void bsp_pushregister(const void *ident, int size);
void bsp_popregister(const void *ident);

#ifdef __cplusplus
}
#endif

/* Calls that go on where the last one ended, inside of the program; with HPVM_BSP_CALLS every call is one. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && defined(__LP64__) && !defined(HPVM_BSP_CALLS)
#include <hpvm_bsp_inline.h>
#endif

#endif
