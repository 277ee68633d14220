/* Included by bsp.h: calls of words, inside of the program.
 *
 * A call that is like the last one to the same process (equally many bytes of the same block) is some twenty instructions, which
 * a compiler that optimizes puts into the program; everything else, and every error, is the library's. A program finds the
 * lines by hpvm_bsp_lines_1. A library with other lines tells of them by a function of another name; this one then says that
 * there are no processes with lines, and every call goes to the library.
 */
#ifndef HPVM_BSP_INLINE_H
#define HPVM_BSP_INLINE_H

/* Static functions inside of extern inline ones are meant. */
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

/* A line of the library's for each process, 256 bytes from one to the next. */
struct hpvm_bsp_tip {
    const void *base;     /* the block */
    char *origin;         /* in a row: where the bytes of offset 0 would be */
    char *place;          /* not in a row: where the next access goes, and the last place that has room */
    const char *limit;
    unsigned next, end;   /* in a row: the offset that goes on, and the first one that is too far */
    unsigned reach, entry;
    unsigned put, hpput, get, message; /* bytes of what may be added; 0: nothing */
};

/* Messages that lie one behind the other: how many, from one to the next, and the first. */
struct hpvm_bsp_queue {
    unsigned long left, stride;
    char *tag, *payload;
    unsigned long bytes; /* of each payload */
};

struct hpvm_bsp_lines {
    unsigned processes, tag; /* bytes of tags */
    char *tips;
    struct hpvm_bsp_queue *queue;
};

const struct hpvm_bsp_lines *hpvm_bsp_lines_1(void);

#define HPVM_BSP_UNUSED __attribute__((__unused__))
static const struct hpvm_bsp_lines hpvm_bsp_no_lines HPVM_BSP_UNUSED = {0, 0, 0, 0};
/* Those of the library, once this file of the program has called it. */
static const struct hpvm_bsp_lines *hpvm_bsp_lines HPVM_BSP_UNUSED = &hpvm_bsp_no_lines;

/* The library's functions by other names. */
void hpvm_bsp_put(int, const void *, void *, int, int) __asm__("bsp_put");
void hpvm_bsp_hpput(int, const void *, void *, int, int) __asm__("bsp_hpput");
void hpvm_bsp_get(int, const void *, int, void *, int) __asm__("bsp_get");
void hpvm_bsp_hpget(int, const void *, int, void *, int) __asm__("bsp_hpget");
void hpvm_bsp_send(int, const void *, const void *, int) __asm__("bsp_send");
int hpvm_bsp_hpmove(void **, void **) __asm__("bsp_hpmove");

#define HPVM_BSP_CALL static __attribute__((__noinline__, __cold__, __unused__))
HPVM_BSP_CALL void hpvm_bsp_call_put(int pid, const void *src, void *dst, int offset, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    hpvm_bsp_put(pid, src, dst, offset, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_hpput(int pid, const void *src, void *dst, int offset, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    hpvm_bsp_hpput(pid, src, dst, offset, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_get(int pid, const void *src, int offset, void *dst, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    hpvm_bsp_get(pid, src, offset, dst, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_hpget(int pid, const void *src, int offset, void *dst, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    hpvm_bsp_hpget(pid, src, offset, dst, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_send(int pid, const void *tag, const void *payload, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    hpvm_bsp_send(pid, tag, payload, nbytes);
}
HPVM_BSP_CALL int hpvm_bsp_call_hpmove(void **tag, void **payload)
{
    hpvm_bsp_lines = hpvm_bsp_lines_1();
    return hpvm_bsp_hpmove(tag, payload);
}

#define HPVM_BSP_INLINE static __inline__ __attribute__((__always_inline__, __unused__))
#define HPVM_BSP_LIKELY(x) __builtin_expect(!!(x), 1)
HPVM_BSP_INLINE int hpvm_bsp_has_tip(int pid)
{
    return HPVM_BSP_LIKELY((unsigned)pid < hpvm_bsp_lines->processes);
}
HPVM_BSP_INLINE struct hpvm_bsp_tip *hpvm_bsp_tip_of(int pid)
{
    return (struct hpvm_bsp_tip *)(void *)(hpvm_bsp_lines->tips + ((unsigned long)(unsigned)pid << 8));
}
/* Whether the access at this offset is the next one in a row. */
HPVM_BSP_INLINE int hpvm_bsp_goes_on(const struct hpvm_bsp_tip *tip, unsigned offset)
{
    return HPVM_BSP_LIKELY(offset == tip->next) && HPVM_BSP_LIKELY(offset < tip->end);
}
/* A put with an offset of its own. */
HPVM_BSP_INLINE int hpvm_bsp_put_apart(struct hpvm_bsp_tip *tip, const void *src, unsigned offset, unsigned bytes)
{
    char *place = tip->place;
    if (place > tip->limit || offset > tip->reach || !src)
        return 0;
    __builtin_memcpy(place, &offset, 4);
    __builtin_memcpy(place + 4, src, bytes);
    tip->place = place + 4 + bytes;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_put_again(int pid, const void *src, void *dst, unsigned offset, unsigned bytes)
{
    struct hpvm_bsp_tip *tip;
    if (!hpvm_bsp_has_tip(pid))
        return 0;
    tip = hpvm_bsp_tip_of(pid);
    if (!HPVM_BSP_LIKELY(tip->put == bytes) || !HPVM_BSP_LIKELY(tip->base == dst) || !HPVM_BSP_LIKELY(src != 0))
        return 0;
    if (!hpvm_bsp_goes_on(tip, offset))
        return hpvm_bsp_put_apart(tip, src, offset, bytes);
    __builtin_memcpy(tip->origin + offset, src, bytes);
    tip->next = offset + bytes;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_hpput_again(int pid, const void *src, void *dst, unsigned offset, unsigned bytes)
{
    struct hpvm_bsp_tip *tip;
    if (!hpvm_bsp_has_tip(pid))
        return 0;
    tip = hpvm_bsp_tip_of(pid);
    if (!HPVM_BSP_LIKELY(tip->hpput == bytes) || !HPVM_BSP_LIKELY(tip->base == dst))
        return 0;
    if (!hpvm_bsp_goes_on(tip, offset) || !HPVM_BSP_LIKELY(src == tip->origin + offset))
        return hpvm_bsp_put_apart(tip, src, offset, bytes);
    tip->next = offset + bytes;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_get_again(int pid, const void *src, unsigned offset, const void *dst, unsigned bytes)
{
    struct hpvm_bsp_tip *tip;
    if (bytes == 0 || !hpvm_bsp_has_tip(pid))
        return 0;
    tip = hpvm_bsp_tip_of(pid);
    if (!HPVM_BSP_LIKELY(tip->get == bytes) || !HPVM_BSP_LIKELY(tip->base == src))
        return 0;
    if (!hpvm_bsp_goes_on(tip, offset) || !HPVM_BSP_LIKELY(dst == tip->origin + offset))
        return 0;
    tip->next = offset + bytes;
    return 1;
}
/* A message of a word with a tag of a word or none: the payload lies 8 bytes behind the tag. */
HPVM_BSP_INLINE int hpvm_bsp_send_again(int pid, const void *tag, const void *payload, unsigned bytes)
{
    struct hpvm_bsp_tip *tip;
    char *place;
    unsigned tag_bytes = hpvm_bsp_lines->tag;
    if (!hpvm_bsp_has_tip(pid))
        return 0;
    tip = hpvm_bsp_tip_of(pid);
    place = tip->place;
    if (!HPVM_BSP_LIKELY(tip->message == bytes) || place > tip->limit || !payload)
        return 0;
    if (tag_bytes == 0) {
        __builtin_memcpy(place, payload, bytes);
    } else if (tag_bytes == 4 && tag) {
        __builtin_memcpy(place, tag, 4);
        __builtin_memcpy(place + 8, payload, bytes);
    } else if (tag_bytes == 8 && tag) {
        /* A compiler that knows the tag's type would warn of the other sizes. */
        __asm__("" : "+r"(tag));
        __builtin_memcpy(place, tag, 8);
        __builtin_memcpy(place + 8, payload, bytes);
    } else {
        return 0;
    }
    tip->place = place + tip->entry;
    return 1;
}
/* What can be copied by one instruction. */
#define HPVM_BSP_IS_WORD(n) (__builtin_constant_p(n) && ((n) == 4 || (n) == 8 || (n) == 16))

/* Inside of the program these stand for the library's functions of the same names, whose addresses may be taken. */
#define HPVM_BSP_HERE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))
HPVM_BSP_HERE void bsp_put(int pid, const void *src, void *dst, int offset, int nbytes)
{
    if (!HPVM_BSP_IS_WORD(nbytes) || !hpvm_bsp_put_again(pid, src, dst, (unsigned)offset, (unsigned)nbytes))
        hpvm_bsp_call_put(pid, src, dst, offset, nbytes);
}
HPVM_BSP_HERE void bsp_hpput(int pid, const void *src, void *dst, int offset, int nbytes)
{
    if (!HPVM_BSP_IS_WORD(nbytes) || !hpvm_bsp_hpput_again(pid, src, dst, (unsigned)offset, (unsigned)nbytes))
        hpvm_bsp_call_hpput(pid, src, dst, offset, nbytes);
}
HPVM_BSP_HERE void bsp_get(int pid, const void *src, int offset, void *dst, int nbytes)
{
    if (!hpvm_bsp_get_again(pid, src, (unsigned)offset, dst, (unsigned)nbytes))
        hpvm_bsp_call_get(pid, src, offset, dst, nbytes);
}
HPVM_BSP_HERE void bsp_hpget(int pid, const void *src, int offset, void *dst, int nbytes)
{
    if (!hpvm_bsp_get_again(pid, src, (unsigned)offset, dst, (unsigned)nbytes))
        hpvm_bsp_call_hpget(pid, src, offset, dst, nbytes);
}
HPVM_BSP_HERE void bsp_send(int pid, const void *tag, const void *payload, int payload_nbytes)
{
    if (!HPVM_BSP_IS_WORD(payload_nbytes) || payload_nbytes == 16 ||
        !hpvm_bsp_send_again(pid, tag, payload, (unsigned)payload_nbytes))
        hpvm_bsp_call_send(pid, tag, payload, payload_nbytes);
}
HPVM_BSP_HERE int bsp_hpmove(void **tag_ptr, void **payload_ptr)
{
    struct hpvm_bsp_queue *queue = hpvm_bsp_lines->queue;
    if (!queue || queue->left == 0 || !tag_ptr || !payload_ptr)
        return hpvm_bsp_call_hpmove(tag_ptr, payload_ptr);
    queue->left--;
    *tag_ptr = queue->tag;
    *payload_ptr = queue->payload;
    queue->tag += queue->stride;
    queue->payload += queue->stride;
    return (int)queue->bytes;
}

#ifdef __cplusplus
}
#endif

#endif
