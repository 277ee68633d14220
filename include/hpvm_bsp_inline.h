/* Included by bsp.h: calls of words, inside of the program.
 *
 * A call that is like the last one to the same process (equally many bytes of the same block) is eleven instructions in a row and
 * some twenty elsewhere, which a compiler that optimizes puts into the program; everything else, and every error, is the library's. A program finds the
 * lines by hpvm_bsp_lines_2. A library with other lines tells of them by a function of another name; this one then says that
 * there are no processes with lines, and every call goes to the library.
 */
#ifndef HPVM_BSP_INLINE_H
#define HPVM_BSP_INLINE_H

/* Static functions inside of extern inline ones are meant. */
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

/* The library's for each process, 512 bytes from one to the next. */
struct hpvm_bsp_tip {
    unsigned long rows[4][4]; /* in a row: process and offset that go on, for each way and length; else no process */
    const void *base;         /* the block */
    char *origin;             /* in a row: where the bytes of offset 0 would be; gets apart: their addresses go to origin + 2 place */
    char *place;              /* not in a row: where the next access goes, and the last place that has room */
    const char *limit;
    unsigned end;             /* in a row: the first offset that is too far */
    unsigned reach, entry, row;
    unsigned long alike;      /* way, length and process of what may be added; 0: nothing */
};
enum { HPVM_BSP_PUT, HPVM_BSP_HPPUT, HPVM_BSP_GET, HPVM_BSP_MESSAGE = 4 };

/* Messages that lie one behind the other. One number moves, since each call waits for what the one before has written. */
struct hpvm_bsp_queue {
    char *payload, *end; /* of the first one, and where that of the last one's successor would be: then there is none */
    unsigned long stride;
    unsigned long distance; /* from a tag to its payload */
    unsigned long bytes;    /* of each payload */
};

struct hpvm_bsp_lines {
    unsigned processes, tag; /* bytes of tags */
    char *tips;
    struct hpvm_bsp_queue *queue;
};

const struct hpvm_bsp_lines *hpvm_bsp_lines_2(void);

#define HPVM_BSP_UNUSED __attribute__((__unused__))
static const struct hpvm_bsp_lines hpvm_bsp_no_lines HPVM_BSP_UNUSED = {0, 0, 0, 0};
/* Those of the library, once this file of the program has called it. */
static const struct hpvm_bsp_lines *hpvm_bsp_lines HPVM_BSP_UNUSED = &hpvm_bsp_no_lines;
static struct hpvm_bsp_tip hpvm_bsp_no_tip HPVM_BSP_UNUSED = {
    {{~0UL, ~0UL, ~0UL, ~0UL}, {~0UL, ~0UL, ~0UL, ~0UL}, {~0UL, ~0UL, ~0UL, ~0UL}, {~0UL, ~0UL, ~0UL, ~0UL}},
    &hpvm_bsp_no_tip, 0, 0, 0, 0, 0, 0, 0, 0};
/* That of the last access. Tips stay where they are until the program ends. */
static struct hpvm_bsp_tip *hpvm_bsp_last HPVM_BSP_UNUSED = &hpvm_bsp_no_tip;

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
    hpvm_bsp_lines = hpvm_bsp_lines_2();
    hpvm_bsp_put(pid, src, dst, offset, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_hpput(int pid, const void *src, void *dst, int offset, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_2();
    hpvm_bsp_hpput(pid, src, dst, offset, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_get(int pid, const void *src, int offset, void *dst, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_2();
    hpvm_bsp_get(pid, src, offset, dst, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_hpget(int pid, const void *src, int offset, void *dst, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_2();
    hpvm_bsp_hpget(pid, src, offset, dst, nbytes);
}
HPVM_BSP_CALL void hpvm_bsp_call_send(int pid, const void *tag, const void *payload, int nbytes)
{
    hpvm_bsp_lines = hpvm_bsp_lines_2();
    hpvm_bsp_send(pid, tag, payload, nbytes);
}
HPVM_BSP_CALL int hpvm_bsp_call_hpmove(void **tag, void **payload)
{
    hpvm_bsp_lines = hpvm_bsp_lines_2();
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
    return (struct hpvm_bsp_tip *)(void *)(hpvm_bsp_lines->tips + ((unsigned long)(unsigned)pid << 9));
}
/* What a row has that goes on with this access. */
HPVM_BSP_INLINE unsigned long hpvm_bsp_next(int pid, unsigned offset)
{
    return (unsigned long)(unsigned)pid << 32 | offset;
}
/* Which row of a way is that of accesses of so many bytes. */
HPVM_BSP_INLINE unsigned hpvm_bsp_size(unsigned bytes)
{
    return bytes == 4 ? 0 : bytes == 8 ? 1 : bytes == 16 ? 2 : 3;
}
HPVM_BSP_INLINE int hpvm_bsp_alike(const struct hpvm_bsp_tip *tip, unsigned way, unsigned bytes, int pid)
{
    return HPVM_BSP_LIKELY(tip->alike == (((way + 1UL) << 29 | bytes) << 32 | (unsigned)pid));
}
/* The tip of a process that is not the last one's, if it has one; it is the last one's from now on. */
HPVM_BSP_INLINE struct hpvm_bsp_tip *hpvm_bsp_other(int pid)
{
    if (!hpvm_bsp_has_tip(pid))
        return &hpvm_bsp_no_tip;
    return hpvm_bsp_last = hpvm_bsp_tip_of(pid);
}
/* A put with an offset of its own. */
HPVM_BSP_INLINE int hpvm_bsp_put_apart(struct hpvm_bsp_tip *tip, const void *src, const void *dst,
                                       unsigned offset, unsigned bytes)
{
    char *place = tip->place;
    if (tip->base != dst || place > tip->limit || offset > tip->reach || !src)
        return 0;
    __builtin_memcpy(place, &offset, 4);
    __builtin_memcpy(place + 4, src, bytes);
    tip->place = place + 4 + bytes;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_put_again(int pid, const void *src, const void *dst, unsigned offset, unsigned bytes)
{
    struct hpvm_bsp_tip *tip = hpvm_bsp_last;
    unsigned long next = hpvm_bsp_next(pid, offset);
    unsigned size = hpvm_bsp_size(bytes);
    if (!HPVM_BSP_LIKELY(tip->rows[HPVM_BSP_PUT][size] == next)) {
        tip = hpvm_bsp_other(pid);
        if (tip->rows[HPVM_BSP_PUT][size] != next)
            return hpvm_bsp_alike(tip, HPVM_BSP_PUT, bytes, pid) && hpvm_bsp_put_apart(tip, src, dst, offset, bytes);
    }
    if (!HPVM_BSP_LIKELY(tip->base == dst) || !HPVM_BSP_LIKELY(offset < tip->end) || !HPVM_BSP_LIKELY(src != 0))
        return 0;
    __builtin_memcpy(tip->origin + offset, src, bytes);
    tip->rows[HPVM_BSP_PUT][size] = next + bytes;
    return 1;
}
/* Makes a row longer that goes on in both memories. The library looks at its end when it looks at the row. */
HPVM_BSP_INLINE int hpvm_bsp_row_goes_on(struct hpvm_bsp_tip *tip, unsigned way, unsigned size, const void *base,
                                         const void *local, unsigned long next, unsigned bytes)
{
    if (!HPVM_BSP_LIKELY(tip->base == base) ||
        !HPVM_BSP_LIKELY((unsigned long)local - (unsigned)next == (unsigned long)tip->origin))
        return 0;
    tip->rows[way][size] = next + bytes;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_hpput_again(int pid, const void *src, const void *dst, unsigned offset, unsigned bytes)
{
    struct hpvm_bsp_tip *tip = hpvm_bsp_last;
    unsigned long next = hpvm_bsp_next(pid, offset);
    unsigned size = hpvm_bsp_size(bytes);
    if (!HPVM_BSP_LIKELY(tip->rows[HPVM_BSP_HPPUT][size] == next)) {
        tip = hpvm_bsp_other(pid);
        if (tip->rows[HPVM_BSP_HPPUT][size] != next)
            return hpvm_bsp_alike(tip, HPVM_BSP_HPPUT, bytes, pid) && hpvm_bsp_put_apart(tip, src, dst, offset, bytes);
    }
    return hpvm_bsp_row_goes_on(tip, HPVM_BSP_HPPUT, size, dst, src, next, bytes);
}
/* A get with an offset and an address of its own. */
HPVM_BSP_INLINE int hpvm_bsp_get_apart(struct hpvm_bsp_tip *tip, const void *src, unsigned offset, const void *dst,
                                       unsigned bytes)
{
    char *place = tip->place;
    if (tip->base != src || place > tip->limit || offset > tip->reach || !dst)
        return 0;
    __builtin_memcpy(place, &offset, 4);
    __builtin_memcpy((char *)((unsigned long)tip->origin + 2 * (unsigned long)place), &dst, sizeof dst);
    tip->place = place + 4;
    return 1;
}
HPVM_BSP_INLINE int hpvm_bsp_get_again(int pid, const void *src, unsigned offset, const void *dst, unsigned bytes)
{
    struct hpvm_bsp_tip *tip = hpvm_bsp_last;
    unsigned long next = hpvm_bsp_next(pid, offset);
    unsigned size = hpvm_bsp_size(bytes);
    /* Nothing, and what has no room in `alike`. */
    if (bytes - 1 >= (1U << 29) - 1)
        return 0;
    if (!HPVM_BSP_LIKELY(tip->rows[HPVM_BSP_GET][size] == next)) {
        tip = hpvm_bsp_other(pid);
        if (tip->rows[HPVM_BSP_GET][size] != next)
            return hpvm_bsp_alike(tip, HPVM_BSP_GET, bytes, pid) && hpvm_bsp_get_apart(tip, src, offset, dst, bytes);
    }
    /* The other lengths have one row. */
    if (size == 3 && !hpvm_bsp_alike(tip, HPVM_BSP_GET, bytes, pid))
        return 0;
    return hpvm_bsp_row_goes_on(tip, HPVM_BSP_GET, size, src, dst, next, bytes);
}
/* A message of a word with a tag of a word or none: the payload lies 8 bytes behind the tag. */
HPVM_BSP_INLINE int hpvm_bsp_send_again(int pid, const void *tag, const void *payload, unsigned bytes)
{
    struct hpvm_bsp_tip *tip = hpvm_bsp_last;
    char *place;
    unsigned tag_bytes = hpvm_bsp_lines->tag;
    if (!hpvm_bsp_alike(tip, HPVM_BSP_MESSAGE, bytes, pid)) {
        tip = hpvm_bsp_other(pid);
        if (!hpvm_bsp_alike(tip, HPVM_BSP_MESSAGE, bytes, pid))
            return 0;
    }
    place = tip->place;
    if (place > tip->limit || !payload)
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
    char *payload;
    if (!queue || !tag_ptr || !payload_ptr)
        return hpvm_bsp_call_hpmove(tag_ptr, payload_ptr);
    payload = queue->payload;
    if (payload == queue->end)
        return hpvm_bsp_call_hpmove(tag_ptr, payload_ptr);
    queue->payload = payload + queue->stride;
    *payload_ptr = payload;
    *tag_ptr = payload - queue->distance;
    return (int)queue->bytes;
}

#ifdef __cplusplus
}
#endif

#endif
