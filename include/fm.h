/* Fast Messages: the calls of FM 2.x over the hpvm engine.
 *
 * A program is a number of nodes (processes), 0 to FM_numnodes - 1. A node sends a message as a
 * stream of pieces; the receiver's handler, named by a number that both agree on, receives it as
 * pieces of its own choice, and begins as soon as the first packet has come.
 *
 *     #define GREET 1
 *     static int greet(FM_stream *stream, unsigned sender)
 *     {
 *         char word[6] = "";
 *         FM_receive(word, stream, 5);
 *         printf("%s from %u\n", word, sender);
 *         return FM_QUIT;
 *     }
 *     ...
 *     FM_initialize();
 *     FM_register_handler(GREET, greet);
 *     FM_stream *stream = FM_begin_message((FM_nodeid + 1) % FM_numnodes, 5, GREET);
 *     FM_send_piece(stream, "hel", 3);
 *     FM_send_piece(stream, "lo", 2);
 *     FM_end_message(stream);
 *     while (FM_extract(~0u) == 0)
 *         continue;
 *     FM_finalize();
 *
 * Between two nodes messages arrive once each, unchanged, in the order sent.
 *
 * Where FM 2.x had void, these calls give 0, or -1 with a line on standard error that says why.
 * Lengths are bytes. All calls of a process come from one thread, the one that called
 * FM_initialize. Link with the library that holds the engine: libmpi_abi.
 */
#ifndef HPVM_FM_H
#define HPVM_FM_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message being sent or received. */
typedef struct FM_stream FM_stream;

/* Receives one message. `sender` is the sending node. Returns FM_CONTINUE or FM_QUIT. What it has
 * not received when it returns is discarded. It waits only in FM_receive; other handlers run then.
 * A handler of a long message has a stack of 256 KiB. It must not leave by longjmp or by a C++
 * exception, and must not call FM_extract, FM_finalize, or blocking calls of another model. */
typedef int FM_handler(FM_stream *stream, unsigned int sender);

#define FM_CONTINUE 0 /* go on extracting */
#define FM_QUIT 1     /* end this FM_extract */

/* FM_register_handler chooses the id; also what it gives when it failed. */
#define FM_ANY_ID (~0ul)

/* Parameters of FM_set_parameter. */
#define FM_QUIET 1        /* no argument: say nothing of messages for unknown handlers */
#define FM_MAX_HANDLERS 2 /* int, at most 256: accepted, there is always room for 256 */
#define FM_GRM_NAME 3     /* const char *: accepted without effect, as are the next three; */
#define FM_GRM_PORT 4     /* int:          the launcher knows the nodes, their hosts and the */
#define FM_CM_PORT 5      /* int:          job's key */
#define FM_KEY_NAME 6     /* const char * */

/* This node, and how many there are. Set by FM_initialize. */
extern unsigned long FM_nodeid;
extern unsigned long FM_numnodes;

/* What FM_set_parameter calls; not for programs. */
int FM_set_parameter_value(int parameter, unsigned long number, const char *text);

/* Sets a parameter of this thread's next FM_initialize. Does not block. -1: unknown parameter,
 * value out of range, or called after FM_initialize. */
static inline int FM_set_parameter(int parameter, ...)
{
    unsigned long number = 0;
    const char *text = 0;
    va_list arguments;
    va_start(arguments, parameter);
    if (parameter == FM_GRM_NAME || parameter == FM_KEY_NAME)
        text = va_arg(arguments, const char *);
    else if (parameter != FM_QUIET)
        number = (unsigned long)va_arg(arguments, int);
    va_end(arguments);
    return FM_set_parameter_value(parameter, number, text);
}

/* Joins the program: blocks until all its nodes have. To be called once, before all but
 * FM_set_parameter. -1: no engine, no launcher's answer, or called twice. */
int FM_initialize(void);

/* Leaves the program: sends what handlers have written, then blocks until all nodes leave.
 * Handlers that wait in FM_receive never go on. End open streams before. */
int FM_finalize(void);

/* Gives handler `id` (0 to 255, or FM_ANY_ID: the lowest free one) a function, in place of the one
 * it had; NULL takes it away. Returns the id, or FM_ANY_ID when it is out of range or none is free.
 * A message for an id without a handler is discarded when it is extracted, with a line on standard
 * error unless FM_QUIET: register before the first call that extracts (every call that sends may
 * extract). Sender and receiver need not run the same program. Does not block. */
unsigned long FM_register_handler(unsigned long id, FM_handler *handler);

/* A hint of FM 2.x that no node will join any more. Credits adapt by themselves; does nothing. */
int FM_reallocate_credit(void);

/* Begins a message of at most `length` bytes to handler `handler` of node `recipient`; the node
 * itself is allowed. To be followed by FM_send_piece, any number of times, and FM_end_message.
 *
 * Outside handlers it may extract, and gives NULL when a stream to `recipient` is open, when
 * another thread uses Fast Messages, or for an argument out of range (with a line on standard
 * error). Streams to different nodes may be open at once.
 *
 * Inside a handler the message is kept and sent after the handler has returned; NULL when too much
 * is kept already (256 messages or 1 MiB, by `length`, per node). Do not retry inside the handler.
 * A stream that a handler began is ended by it, before it returns. */
FM_stream *FM_begin_message(unsigned long recipient, unsigned long length, unsigned long handler);

/* Sends the next piece, of any length and alignment. Outside handlers it blocks while the receiver
 * has no room, and extracts then: handlers may run, and must not change the piece. The piece may
 * be changed after FM_end_message. -1: more than was announced (nothing is sent then), not a
 * stream for this, or a lost peer. */
int FM_send_piece(FM_stream *stream, const void *buffer, unsigned long length);

/* Ends the message, which may be shorter than announced; the stream is gone afterwards. Blocks and
 * extracts as FM_send_piece does. -1: as FM_send_piece. */
int FM_end_message(FM_stream *stream);

/* Inside a handler: receives the next `length` bytes of its message; waits for them while other
 * handlers run. Returns how many it received: fewer than `length` only at the end of the message.
 * -1: NULL buffer, or not the stream that the handler was given. */
int FM_receive(void *buffer, FM_stream *stream, unsigned int length);

/* Runs the handlers of what has come, until about `maxbytes` bytes (whole packets), FM_QUIT, or
 * nothing more is there. Returns how many packets it took, 0 when none had come, -1 when a peer is
 * lost or inside a handler. Does not wait for messages; but a program that does nothing but extract
 * in vain is put to sleep for up to about a millisecond at a time, until something comes. */
int FM_extract(unsigned int maxbytes);

#ifdef __cplusplus
}
#endif

#endif
