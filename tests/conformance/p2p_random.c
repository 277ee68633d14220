/* MPI 5.0, 3: random traffic between all pairs of ranks, of random sizes, modes and tags, with
 * random receives, against a plan that every rank computes from the same seed. Argument: seed. */
#include "check.h"

#define MESSAGES 400

struct plan { int from, to, tag, size, mode, seed; };
static struct plan plans[MESSAGES];

static void make_plan(uint64_t seed)
{
    static const int limits[] = { 1, 64, 64, 2000, 30000, 200000 };
    for (int i = 0; i < MESSAGES; i++) {
        plans[i].from = (int)(check_random(&seed) % (unsigned)check_size);
        plans[i].to = (int)(check_random(&seed) % (unsigned)check_size);
        plans[i].tag = i;
        plans[i].size = (int)(check_random(&seed) % (unsigned)limits[check_random(&seed) % 6]);
        plans[i].mode = (int)(check_random(&seed) % 3);
        plans[i].seed = (int)check_random(&seed);
    }
}

static void start(int i, unsigned char **buffer, MPI_Request *request, int receive, uint64_t *dice)
{
    const struct plan *p = &plans[i];
    *buffer = malloc((size_t)p->size + 1);
    (*buffer)[p->size] = 0x42;
    if (receive) {
        int source = check_random(dice) % 2 ? MPI_ANY_SOURCE : p->from;
        CHECK_MPI(MPI_Irecv(*buffer, p->size, MPI_BYTE, source, p->tag, MPI_COMM_WORLD, request));
        return;
    }
    pattern_fill(*buffer, (size_t)p->size, (unsigned)p->seed);
    if (p->mode == 0)
        CHECK_MPI(MPI_Issend(*buffer, p->size, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD, request));
    else
        CHECK_MPI(MPI_Isend(*buffer, p->size, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD, request));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    uint64_t seed = argc > 1 ? (uint64_t)atoi(argv[1]) : 1, dice = seed + 1000 + (uint64_t)check_rank;
    static MPI_Request requests[2 * MESSAGES];
    static unsigned char *buffers[2 * MESSAGES];
    static int order[2 * MESSAGES];
    make_plan(seed);
    /* Each rank starts its sends and receives in an order of its own. */
    for (int i = 0; i < 2 * MESSAGES; i++) {
        order[i] = i;
        requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 2 * MESSAGES - 1; i > 0; i--) {
        int k = (int)(check_random(&dice) % (unsigned)(i + 1)), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    int mine = 0, done = 0;
    for (int n = 0; n < 2 * MESSAGES; n++) {
        int i = order[n] / 2, receive = order[n] % 2;
        if ((receive ? plans[i].to : plans[i].from) == check_rank) {
            start(i, &buffers[order[n]], &requests[order[n]], receive, &dice);
            mine++;
        }
    }
    while (done < mine) {
        int index = -1;
        MPI_Status status;
        CHECK_MPI(MPI_Waitany(2 * MESSAGES, requests, &index, &status));
        if (index == MPI_UNDEFINED)
            break;
        done++;
        const struct plan *p = &plans[index / 2];
        if (index % 2) {
            int count = -1;
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK_EQ(count, p->size);
            CHECK_EQ(status.MPI_SOURCE, p->from);
            CHECK(pattern_holds(buffers[index], (size_t)p->size, (unsigned)p->seed));
        }
        CHECK_EQ(buffers[index][p->size], 0x42);
        free(buffers[index]);
    }
    CHECK_EQ(done, mine);
    return check_finish();
}
