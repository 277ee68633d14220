/* Windows: mistakes and the error classes that tell them. */
#include "rma.h"

/* Calls outside of their epochs. */
static void epochs(struct rma *r)
{
    MPI_Win win = r->win;
    MPI_Aint at = r->at[0];
    MPI_Group all;
    MPI_Request request;
    int value = 0, flag;
    MPI_Comm_group(r->comm, &all);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, at, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, 0, at, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
    if (r->size > 1) {
        CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 1, r->at[1], 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
        CHECK_CLASS(MPI_Win_unlock(1, win), MPI_ERR_RMA_SYNC);
    }
    MPI_Win copy = win;
    CHECK_CLASS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
    CHECK_MPI(MPI_Win_unlock(0, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, 0, at, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Group_free(&all);
}

/* Arguments that mean nothing. */
static void arguments(struct rma *r)
{
    MPI_Win win = r->win;
    MPI_Aint at = r->at[0];
    MPI_Op op;
    int value = 0, two[2] = {0, 0};
    CHECK_CLASS(MPI_Win_lock(77, 0, 0, win), MPI_ERR_LOCKTYPE);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, r->size, 0, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, -7, at, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&value, -1, MPI_INT, 0, at, 1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, at, -1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, at, 1, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Put(two, 2, MPI_INT, 0, at, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_MINLOC, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_FLOAT, 0, at, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
    MPI_Op_create((MPI_User_function *)(void *)exit, 1, &op);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, at, 1, MPI_INT, op, win), MPI_ERR_OP);
    MPI_Op_free(&op);
    CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &value, MPI_FLOAT, 0, at, win), MPI_ERR_TYPE);
    if (r->flavor != RMA_DYNAMIC) {
        CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, r->bytes, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, 0, r->bytes - 3, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP);
        CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, r->bytes, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR);
        CHECK_CLASS(MPI_Win_detach(win, &value), MPI_ERR_RMA_FLAVOR);
    } else {
        MPI_Aint size;
        int unit;
        void *base;
        CHECK_CLASS(MPI_Win_attach(win, r->base, 8), MPI_ERR_RMA_ATTACH);
        CHECK_CLASS(MPI_Win_detach(win, &value), MPI_ERR_RMA_ATTACH);
        CHECK_CLASS(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
        if (r->rank == 0)
            CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, at + r->bytes, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
}

/* Both sides of an accumulate, and the result, have the same elements (12.3.4), and nothing is changed where they have not. */
static void elements(struct rma *r)
{
    MPI_Win win = r->win;
    MPI_Aint at = r->at[0];
    MPI_Datatype row, spread, mixed, pair[2] = {MPI_INT, MPI_FLOAT};
    MPI_Aint places[2] = {0, 4};
    MPI_Request request;
    int before = 0, after = 0, lengths[2] = {1, 1}, two[2] = {1, 2};
    int64_t wide = 5;
    float result = 0;
    MPI_Type_contiguous(1, MPI_FLOAT, &row);
    MPI_Type_vector(2, 1, 2, MPI_UNSIGNED, &spread);
    MPI_Type_create_struct(2, lengths, places, pair, &mixed);
    MPI_Type_commit(&row);
    MPI_Type_commit(&spread);
    MPI_Type_commit(&mixed);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    CHECK_MPI(MPI_Get_accumulate(&before, 0, MPI_INT, &before, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(0, win));
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_REPLACE};
    for (int i = 0; i < 3; i++) {
        CHECK_CLASS(MPI_Accumulate(two, 1, MPI_INT, 0, at, 1, MPI_FLOAT, ops[i], win), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Accumulate(two, 1, MPI_FLOAT, 0, at, 1, MPI_INT, ops[i], win), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Accumulate(two, 1, MPI_INT, 0, at, 1, row, ops[i], win), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Accumulate(two, 2, MPI_INT, 0, at, 1, spread, ops[i], win), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Accumulate(two, 4, MPI_SIGNED_CHAR, 0, at, 1, MPI_INT, ops[i], win), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Raccumulate(two, 1, MPI_INT, 0, at, 1, MPI_FLOAT, ops[i], win, &request), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Get_accumulate(two, 1, MPI_INT, &after, 1, MPI_INT, 0, at, 1, MPI_FLOAT, ops[i], win),
                    MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Get_accumulate(two, 1, MPI_INT, &result, 1, MPI_FLOAT, 0, at, 1, MPI_INT, ops[i], win),
                    MPI_ERR_TYPE);
    }
    CHECK_CLASS(MPI_Accumulate(two, 1, MPI_INT, 0, at, 1, MPI_FLOAT_INT, MPI_REPLACE, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Accumulate(two, 2, MPI_INT, 0, at, 1, mixed, MPI_REPLACE, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_accumulate(NULL, 0, MPI_INT, &result, 1, MPI_FLOAT, 0, at, 1, MPI_INT, MPI_NO_OP, win),
                MPI_ERR_TYPE);
    /* Two names of one element are no error: programs in C and Fortran share windows. */
    CHECK_MPI(MPI_Accumulate(two, 0, MPI_INT, 0, at, 0, MPI_FLOAT, MPI_SUM, win));
    CHECK_MPI(MPI_Get_accumulate(&wide, 0, MPI_INT64_T, &after, 1, MPI_INT32_T, 0, at, 1, MPI_INT, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(0, win));
    CHECK_EQ(after, before);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Type_free(&row);
    MPI_Type_free(&spread);
    MPI_Type_free(&mixed);
}

/* No window is made, on any rank, and nothing hangs. */
static void creation(void)
{
    MPI_Win win = MPI_WIN_NULL;
    int value, *base, last = check_rank == check_size - 1;
    CHECK_CLASS(MPI_Win_create(&value, last ? -1 : 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(&value, 4, last ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_allocate(last ? -1 : 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(&value, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    CHECK_MPI(MPI_Win_allocate(4, 1, info, MPI_COMM_WORLD, &base, &win));
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_MPI(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    creation();
    for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
        struct rma r;
        if (!rma_open(&r, (enum rma_flavor)flavor, 1000)) continue;
        epochs(&r);
        MPI_Barrier(MPI_COMM_WORLD);
        arguments(&r);
        elements(&r);
        rma_close(&r);
    }
    return check_finish();
}
