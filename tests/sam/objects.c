/* Structures with pointers: a list travels packed, and is released where it was. */
#include "check.h"

typedef struct node {
    struct node *next;
    int number;
} node;

static int alive = 0;

static node *list_of(int length, int first)
{
    node *list = NULL;
    while (length-- > 0) {
        node *head = malloc(sizeof *head);
        head->next = list;
        head->number = first + length;
        list = head;
    }
    alive++;
    return list;
}

static size_t packed(const void *object)
{
    size_t count = 0;
    for (const node *at = object; at; at = at->next)
        count++;
    return count * sizeof(int);
}

static void pack(const void *object, void *bytes)
{
    int *to = bytes;
    for (const node *at = object; at; at = at->next)
        *to++ = at->number;
}

static void *unpack(const void *bytes, size_t count)
{
    const int *from = bytes;
    if (count == 0 || count % sizeof(int) != 0)
        return NULL;
    return list_of(count / sizeof(int), from[0]);
}

static void release(void *object)
{
    for (node *at = object, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    alive--;
}

static sam_name list(int which, int rank) { return sam_name_of(which, rank); }

int main(void)
{
    begin();
    sam_type type = sam_type_register(packed, pack, unpack, release);
    CHECK_EQ(type, 1);
    for (int length = 1; length <= 3000; length += 1499) {
        sam_value_object(list(length, me), type, list_of(length, me), n);
        for (int rank = 0; rank < n; rank++) {
            size_t bytes;
            const node *at = sam_use(list(length, rank), &bytes);
            CHECK_EQ(bytes, length * sizeof(int));
            int count = 0;
            for (; at; at = at->next)
                CHECK_EQ(at->number, rank + count++);
            CHECK_EQ(count, length);
            sam_end_use(list(length, rank));
        }
    }
    int result = end();
    CHECK_EQ(alive, 0); /* copies too */
    return result || errors != 0;
}
