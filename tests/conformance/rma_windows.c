/* Windows: what they carry: attributes, keys, names, info, groups, error handlers (sections 7.7, 7.8, 9.3, 12.2). */
#include "rma.h"

static int deleted, handled;

static int on_delete(MPI_Win win, int key, void *value, void *extra)
{
    (void)win; (void)key; (void)value;
    ++*(int *)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void on_error(MPI_Win *win, int *code, ...)
{
    (void)win; (void)code;
    handled++;
}

static void attributes(struct rma *r)
{
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                  MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    void *base = NULL;
    MPI_Aint *size = NULL;
    int *number = NULL, flag = 0, key = MPI_KEYVAL_INVALID, extra = 0;
    CHECK_MPI(MPI_Win_get_attr(r->win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == (r->flavor == RMA_DYNAMIC ? MPI_BOTTOM : r->base));
    CHECK_MPI(MPI_Win_get_attr(r->win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == (r->flavor == RMA_DYNAMIC ? 0 : r->bytes));
    CHECK_MPI(MPI_Win_get_attr(r->win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag && *number == 1);
    CHECK_MPI(MPI_Win_get_attr(r->win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
    CHECK(flag && *number == flavors[r->flavor]);
    CHECK_MPI(MPI_Win_get_attr(r->win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
    CHECK_MPI(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, &extra));
    CHECK_MPI(MPI_Win_get_attr(r->win, key, &number, &flag));
    CHECK(!flag);
    CHECK_MPI(MPI_Win_set_attr(r->win, key, &extra));
    CHECK_MPI(MPI_Win_get_attr(r->win, key, &number, &flag));
    CHECK(flag && number == &extra);
    CHECK_MPI(MPI_Win_delete_attr(r->win, key));
    CHECK_EQ(extra, 1);
    CHECK_MPI(MPI_Win_set_attr(r->win, key, &deleted));
    CHECK_MPI(MPI_Win_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

static void names(struct rma *r)
{
    char name[MPI_MAX_OBJECT_NAME];
    int len = -1;
    CHECK_MPI(MPI_Win_get_name(r->win, name, &len));
    CHECK_EQ(len, 0);
    CHECK_MPI(MPI_Win_set_name(r->win, "halo"));
    CHECK_MPI(MPI_Win_get_name(r->win, name, &len));
    CHECK(strcmp(name, "halo") == 0 && len == 4);
}

static void info_and_group(struct rma *r)
{
    MPI_Info info;
    MPI_Group group, all;
    int flag = 0, result = -1;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    CHECK_MPI(MPI_Win_get_info(r->win, &info));
    MPI_Info_get(info, "no_locks", MPI_MAX_INFO_VAL, value, &flag);
    if (flag) CHECK(strcmp(value, "false") == 0);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    CHECK_MPI(MPI_Win_set_info(r->win, info));
    CHECK_MPI(MPI_Win_set_info(r->win, MPI_INFO_NULL));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_Win_get_group(r->win, &group));
    MPI_Comm_group(r->comm, &all);
    MPI_Group_compare(group, all, &result);
    CHECK_EQ(result, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

static void handlers(struct rma *r)
{
    MPI_Errhandler made, got;
    int before = handled, value = 0;
    CHECK_MPI(MPI_Win_get_errhandler(r->win, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_Win_create_errhandler(on_error, &made));
    CHECK_MPI(MPI_Win_set_errhandler(r->win, made));
    CHECK_MPI(MPI_Win_get_errhandler(r->win, &got));
    CHECK(got == made);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&made);
    CHECK_MPI(MPI_Win_call_errhandler(r->win, MPI_ERR_OTHER));
    CHECK_EQ(handled, before + 1);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, r->size, 0, 1, MPI_INT, r->win), MPI_ERR_RANK);
    CHECK_EQ(handled, before + 2);
    CHECK_MPI(MPI_Win_set_errhandler(r->win, MPI_ERRORS_RETURN));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int windows = 0;
    for (int turn = 0; turn < 3; turn++)
        for (int flavor = 0; flavor < RMA_FLAVORS; flavor++) {
            struct rma r;
            if (!rma_open(&r, (enum rma_flavor)flavor, flavor == RMA_SHARED ? 100 : 100 + check_rank)) continue;
            windows++;
            attributes(&r);
            names(&r);
            info_and_group(&r);
            handlers(&r);
            rma_close(&r);
        }
    CHECK_EQ(deleted, 2 * windows);
    MPI_Win a, b;
    int *x, *y;
    CHECK_MPI(MPI_Win_allocate(0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &x, &a));
    CHECK_MPI(MPI_Win_allocate_c(check_rank * 8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &y, &b));
    CHECK_MPI(MPI_Win_free(&b));
    CHECK_MPI(MPI_Win_free(&a));
    return check_finish();
}
