// Windows.

#ifndef HPVM_MPICH_WIN_H
#define HPVM_MPICH_WIN_H

namespace MPI {

class Win {
public:
    MPI_Win handle;

    typedef int Copy_attr_function(const Win &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Win &, int, void *, void *);
    typedef void Errhandler_function(Win &, int *, ...);

    constexpr Win(MPI_Win given = MPI_WIN_NULL) : handle(given) {}
    Win(const Win &other) : handle(other.handle) {}
    virtual ~Win();
    virtual Group Get_group() const
    {
        Group group;
        check(*this, MPI_Win_get_group(handle, &group.handle));
        return group;
    }
    virtual void Fence(int assertion) const { check(*this, MPI_Win_fence(assertion, handle)); }
    virtual void Start(const Group &group, int assertion) const
    {
        check(*this, MPI_Win_start(group.handle, assertion, handle));
    }
    virtual void Free() { check(*this, MPI_Win_free(&handle)); }
    virtual void Put(const void *origin, int count, const Datatype &datatype, int rank, Aint displacement,
                     int target_count, const Datatype &target_datatype) const
    {
        check(*this, MPI_Put(origin, count, datatype.handle, rank, displacement, target_count, target_datatype.handle,
                             handle));
    }
    virtual void Wait() const { check(*this, MPI_Win_wait(handle)); }
    virtual bool Test() const
    {
        int done = 0;
        check(*this, MPI_Win_test(handle, &done));
        return done != 0;
    }
    virtual void Get(void *origin, int count, const Datatype &datatype, int rank, Aint displacement, int target_count,
                     const Datatype &target_datatype) const
    {
        check(*this, MPI_Get(origin, count, datatype.handle, rank, displacement, target_count, target_datatype.handle,
                             handle));
    }
    virtual bool Get_attr(int keyval, void *value) const
    {
        int found = 0;
        check(*this, MPI_Win_get_attr(handle, keyval, value, &found));
        return found != 0;
    }
    virtual void Set_attr(int keyval, const void *value)
    {
        check(*this, MPI_Win_set_attr(handle, keyval, const_cast<void *>(value)));
    }
    virtual void Complete() const { check(*this, MPI_Win_complete(handle)); }
    virtual void Set_errhandler(const Errhandler &errhandler)
    {
        check(*this, MPI_Win_set_errhandler(handle, errhandler.handle));
    }
    virtual void Set_name(const char *name) { check(*this, MPI_Win_set_name(handle, name)); }
    virtual void Accumulate(const void *origin, int count, const Datatype &datatype, int rank, Aint displacement,
                            int target_count, const Datatype &target_datatype, const Op &op) const
    {
        check(*this, MPI_Accumulate(origin, count, datatype.handle, rank, displacement, target_count,
                                    target_datatype.handle, op.handle, handle));
    }
    virtual void Post(const Group &group, int assertion) const
    {
        check(*this, MPI_Win_post(group.handle, assertion, handle));
    }
    virtual void Unlock(int rank) const { check(*this, MPI_Win_unlock(rank, handle)); }
    virtual void Delete_attr(int keyval) { check(*this, MPI_Win_delete_attr(handle, keyval)); }
    virtual void Lock(int type, int rank, int assertion) const
    {
        check(*this, MPI_Win_lock(type, rank, assertion, handle));
    }
    virtual Errhandler Get_errhandler() const
    {
        Errhandler errhandler;
        check(*this, MPI_Win_get_errhandler(handle, &errhandler.handle));
        return errhandler;
    }
    virtual void Get_name(char *name, int &length) const { check(*this, MPI_Win_get_name(handle, name, &length)); }
    virtual void Call_errhandler(int code) const;
    static Errhandler Create_errhandler(Errhandler_function *function);
    static int Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra);
    static int NULL_COPY_FN(const Win &, int, void *, void *, void *, bool &copies);
    static int NULL_DELETE_FN(Win &, int, void *, void *);
};

} // namespace MPI

#endif
