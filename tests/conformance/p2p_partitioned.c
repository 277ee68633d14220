/* MPI 5.0, 4 "Partitioned Point-to-Point Communication": partitions are readied in any order,
 * arrive, and the two sides may divide the same data differently; requests are started again. */
#include "check.h"

#define PARTS 8
#define EACH 500

/* Of partitions of which one is wrong none is ready. */
static void wrong_partitions(void)
{
    char out[4] = { 1, 2, 3, 4 }, in[4];
    int list[] = { 0, 1, 4 };
    MPI_Request requests[2];
    CHECK_CLASS(MPI_Precv_init(in, 4, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]), MPI_ERR_RANK);
    CHECK_MPI(MPI_Psend_init(out, 4, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]));
    CHECK_MPI(MPI_Precv_init(in, 4, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]));
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_CLASS(MPI_Pready_range(0, 4, requests[0]), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_list(3, list, requests[0]), MPI_ERR_ARG);
    CHECK_MPI(MPI_Pready_range(0, 3, requests[0]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(memcmp(in, out, 4) == 0);
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK_NEEDS(2);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static int out[PARTS * EACH], in[PARTS * EACH];
    MPI_Request requests[2];
    for (int receive_parts = PARTS / 2; receive_parts <= PARTS * 2; receive_parts *= 2) {
        CHECK_MPI(MPI_Psend_init(out, PARTS, EACH, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[0]));
        CHECK_MPI(MPI_Precv_init(in, receive_parts, PARTS * EACH / receive_parts, MPI_INT, left, 3,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
        for (int round = 0; round < 3; round++) {
            memset(in, 0xff, sizeof in);
            CHECK_MPI(MPI_Startall(2, requests));
            for (int n = 0; n < PARTS; n++) {
                int part = (n * 5 + round) % PARTS;
                for (int i = 0; i < EACH; i++)
                    out[part * EACH + i] = check_rank * 1000000 + round * 100000 + part * EACH + i;
                if (n < 2)
                    CHECK_MPI(MPI_Pready(part, requests[0]));
                else if (n == 2)
                    CHECK_MPI(MPI_Pready_list(1, &part, requests[0]));
                else
                    CHECK_MPI(MPI_Pready_range(part, part, requests[0]));
            }
            for (int part = 0; part < receive_parts; part++) {
                int flag = 0;
                while (!flag)
                    CHECK_MPI(MPI_Parrived(requests[1], part, &flag));
                int first = part * (PARTS * EACH / receive_parts);
                CHECK_EQ(in[first], left * 1000000 + round * 100000 + first);
            }
            CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            int wrong = 0;
            for (int i = 0; i < PARTS * EACH; i++)
                wrong += in[i] != left * 1000000 + round * 100000 + i;
            CHECK_EQ(wrong, 0);
        }
        CHECK_MPI(MPI_Request_free(&requests[0]));
        CHECK_MPI(MPI_Request_free(&requests[1]));
    }
    wrong_partitions();
    return check_finish();
}
