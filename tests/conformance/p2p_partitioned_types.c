/* MPI 5.0, 4: partitions whose bounds do not meet (3 against 5 and 7), derived datatypes on either
 * side with bounds inside of an element, MPI_PROC_NULL, tests instead of waits, several pairs with
 * one tag, inactive requests, and wrong calls. */
#include "check.h"

#define INTS 105 /* 3 * 5 * 7 */

/* Fills the own partitions, and checks what came: `step` is the distance of ints in memory. */
static void exchange(int send_parts, MPI_Datatype out_type, int out_step, int out_count,
                     int receive_parts, MPI_Datatype in_type, int in_step, int in_count)
{
    static int out[4 * INTS], in[4 * INTS];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    CHECK_MPI(MPI_Psend_init(out, send_parts, out_count, out_type, right, 9, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &requests[0]));
    CHECK_MPI(MPI_Precv_init(in, receive_parts, in_count, in_type, left, 9, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 3; round++) {
        int flag = 0, wrong = 0;
        memset(in, 0xff, sizeof in);
        for (int i = 0; i < INTS; i++)
            out[i * out_step] = check_rank * 10000 + round * 1000 + i;
        CHECK_MPI(MPI_Startall(2, requests));
        for (int part = send_parts - 1; part >= 0; part--)
            CHECK_MPI(MPI_Pready(part, requests[0]));
        MPI_Status statuses[2];
        while (!flag)
            CHECK_MPI(MPI_Testall(2, requests, &flag, statuses));
        for (int i = 0; i < INTS; i++)
            wrong += in[i * in_step] != left * 10000 + round * 1000 + i;
        CHECK_EQ(wrong, 0);
        CHECK(in_step == 1 || in[1] == -1);
        CHECK_EQ(statuses[1].MPI_SOURCE, left);
        CHECK_EQ(statuses[1].MPI_TAG, 9);
        int elements = -1;
        CHECK_MPI(MPI_Get_elements(&statuses[1], in_type, &elements));
        CHECK_EQ(elements, INTS);
        CHECK_MPI(MPI_Parrived(requests[1], 0, &flag));
        CHECK(flag); /* inactive */
    }
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
}

/* Two pairs with the same tag match in the order of the calls. */
static void order(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int out[2] = { 10 + check_rank, 20 + check_rank }, in[2] = { -1, -1 };
    MPI_Request requests[4];
    for (int i = 0; i < 2; i++) {
        CHECK_MPI(MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[i]));
        CHECK_MPI(MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[2 + i]));
    }
    CHECK_MPI(MPI_Startall(4, requests));
    CHECK_MPI(MPI_Pready(0, requests[1]));
    CHECK_MPI(MPI_Wait(&requests[3], MPI_STATUS_IGNORE));
    CHECK_EQ(in[1], 20 + left);
    CHECK_MPI(MPI_Pready_range(0, 0, requests[0]));
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(in[0], 10 + left);
    for (int i = 0; i < 4; i++)
        CHECK_MPI(MPI_Request_free(&requests[i]));
}

/* Less comes than there is room for: the status says how much. */
static void less(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int out[6], in[16], count = -1;
    MPI_Request requests[2];
    MPI_Status status;
    CHECK_MPI(MPI_Psend_init(out, 3, 2, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]));
    CHECK_MPI(MPI_Precv_init(in, 4, 4, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[1]));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 6; i++)
            out[i] = 100 * check_rank + 10 * round + i;
        memset(in, 0xff, sizeof in);
        CHECK_MPI(MPI_Startall(2, requests));
        CHECK_MPI(MPI_Pready_range(0, 2, requests[0]));
        CHECK_MPI(MPI_Wait(&requests[1], &status));
        CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQ(count, 6);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 4);
        for (int i = 0; i < 16; i++)
            CHECK_EQ(in[i], i < 6 ? 100 * left + 10 * round + i : -1);
        CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
}

static void nobody(void)
{
    int data[4] = { 1, 2, 3, 4 }, flag = 0;
    MPI_Request requests[2];
    CHECK_MPI(MPI_Psend_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]));
    CHECK_MPI(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[1]));
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_MPI(MPI_Pready(1, requests[0]));
    CHECK_MPI(MPI_Pready(0, requests[0]));
    CHECK_MPI(MPI_Parrived(requests[1], 1, &flag));
    CHECK(flag);
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Request_free(&requests[0]));
    CHECK_MPI(MPI_Request_free(&requests[1]));
    CHECK_EQ(data[3], 4);
}

static void wrong_calls(void)
{
    int data[4] = { 0 }, flag;
    MPI_Request send, receive, plain;
    CHECK_CLASS(MPI_Psend_init(data, 1, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &send), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &send), MPI_ERR_RANK);
    CHECK_MPI(MPI_Psend_init(data, 2, 2, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &send));
    CHECK_MPI(MPI_Precv_init(data, 2, 2, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &receive));
    CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST);
    CHECK_MPI(MPI_Start(&send));
    CHECK_MPI(MPI_Start(&receive));
    CHECK_CLASS(MPI_Pready(2, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG);
    CHECK_MPI(MPI_Irecv(data, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &plain));
    CHECK_CLASS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    CHECK_MPI(MPI_Cancel(&plain));
    CHECK_MPI(MPI_Wait(&plain, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Pready_range(0, 1, send));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Request_free(&send));
    CHECK_MPI(MPI_Request_free(&receive));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Datatype spread, triple;
    /* One int out of two, and seven ints of every fourteen. */
    CHECK_MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
    CHECK_MPI(MPI_Type_commit(&spread));
    CHECK_MPI(MPI_Type_contiguous(7, spread, &triple));
    CHECK_MPI(MPI_Type_commit(&triple));
    exchange(3, MPI_INT, 1, INTS / 3, 5, MPI_INT, 1, INTS / 5);
    exchange(1, MPI_INT, 1, INTS, 7, MPI_INT, 1, INTS / 7);
    exchange(7, MPI_INT, 1, INTS / 7, 1, MPI_INT, 1, INTS);
    exchange(5, spread, 2, INTS / 5, 3, MPI_INT, 1, INTS / 3);
    exchange(21, MPI_INT, 1, INTS / 21, 3, triple, 2, INTS / 21);
    exchange(5, triple, 2, INTS / 35, 3, spread, 2, INTS / 3);
    order();
    less();
    nobody();
    if (argc > 1 && !strcmp(argv[1], "strict"))
        wrong_calls();
    CHECK_MPI(MPI_Type_free(&spread));
    CHECK_MPI(MPI_Type_free(&triple));
    return check_finish();
}
