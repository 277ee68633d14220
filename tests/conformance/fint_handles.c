/* MPI 5.0, 19.3.4 "Transfer of Handles": MPI_Fint and every MPI_X_c2f and MPI_X_f2c, also by address and
 * by their profiling names; the integers are those that MPI_X_toint gives. C90 but for check.h. */
#include "check.h"

/* One class: its integer, the way back, functions by address, PMPI. */
#define CLASS(X, type, handle)                                                                 \
    do {                                                                                       \
        MPI_Fint (*out)(type) = MPI_##X##_c2f;                                                 \
        type (*in)(MPI_Fint) = MPI_##X##_f2c;                                                  \
        MPI_Fint number = MPI_##X##_c2f(handle);                                               \
        CHECK(MPI_##X##_f2c(number) == (handle));                                              \
        CHECK(in(out(handle)) == (handle));                                                    \
        CHECK(PMPI_##X##_f2c(PMPI_##X##_c2f(handle)) == (handle));                             \
        CHECK_EQ(number, MPI_##X##_toint(handle));                                             \
    } while (0)

static void predefined(void)
{
    CLASS(Comm, MPI_Comm, MPI_COMM_NULL);
    CLASS(Comm, MPI_Comm, MPI_COMM_WORLD);
    CLASS(Comm, MPI_Comm, MPI_COMM_SELF);
    CLASS(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    CLASS(File, MPI_File, MPI_FILE_NULL);
    CLASS(Group, MPI_Group, MPI_GROUP_EMPTY);
    CLASS(Info, MPI_Info, MPI_INFO_ENV);
    CLASS(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    CLASS(Op, MPI_Op, MPI_MAXLOC);
    CLASS(Request, MPI_Request, MPI_REQUEST_NULL);
    CLASS(Session, MPI_Session, MPI_SESSION_NULL);
    CLASS(Type, MPI_Datatype, MPI_DOUBLE_PRECISION);
    CLASS(Win, MPI_Win, MPI_WIN_NULL);
}

static void sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;
    (void)type;
    for (i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Objects that were made: what comes back works. */
static void made(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Op op;
    int value = 1, all = 0, size = 0;
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CLASS(Comm, MPI_Comm, comm);
    CHECK_MPI(MPI_Comm_group(comm, &group));
    CLASS(Group, MPI_Group, group);
    CHECK_MPI(MPI_Type_contiguous(3, MPI_INT, &type));
    CLASS(Type, MPI_Datatype, type);
    CHECK_MPI(MPI_Info_create(&info));
    CLASS(Info, MPI_Info, info);
    CHECK_MPI(MPI_Op_create(sum, 1, &op));
    CLASS(Op, MPI_Op, op);
    CHECK_MPI(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_Op_f2c(MPI_Op_c2f(op)),
                            MPI_Comm_f2c(MPI_Comm_c2f(comm))));
    CHECK_EQ(all, check_size);
    CHECK_MPI(MPI_Type_size(MPI_Type_f2c(MPI_Type_c2f(type)), &size));
    CHECK_EQ(size, 3 * (int)sizeof(int));
    CHECK_MPI(MPI_Op_free(&op));
    CHECK_MPI(MPI_Info_free(&info));
    CHECK_MPI(MPI_Type_free(&type));
    CHECK_MPI(MPI_Group_free(&group));
    CHECK_MPI(MPI_Comm_free(&comm));
}

/* Requests and messages, many at a time, completed by what their integers give. */
static void pending(void)
{
    enum { MANY = 50 };
    MPI_Fint numbers[MANY];
    MPI_Request request;
    MPI_Message message;
    int data[MANY], i, j;
    for (i = 0; i < MANY; i++) {
        data[i] = -1;
        CHECK_MPI(MPI_Irecv(&data[i], 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &request));
        CLASS(Request, MPI_Request, request);
        numbers[i] = MPI_Request_c2f(request);
        for (j = 0; j < i; j++)
            CHECK(numbers[i] != numbers[j]);
    }
    for (i = MANY - 1; i >= 0; i--) {
        CHECK_MPI(MPI_Send(&i, 1, MPI_INT, check_rank, i, MPI_COMM_WORLD));
        request = MPI_Request_f2c(numbers[i]);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        CHECK_EQ(data[i], i);
    }
    CHECK_MPI(MPI_Isend(&check_rank, 1, MPI_INT, check_rank, 7, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Mprobe(check_rank, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    CLASS(Message, MPI_Message, message);
    message = MPI_Message_f2c(MPI_Message_c2f(message));
    CHECK_MPI(MPI_Mrecv(&data[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK_EQ(data[0], check_rank);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    predefined();
    made();
    pending();
    return check_finish();
}
