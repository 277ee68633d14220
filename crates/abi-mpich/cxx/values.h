// Classes without an error handler of their own: exceptions, datatypes, infos, statuses, groups, operations, handlers.

#ifndef HPVM_MPICH_VALUES_H
#define HPVM_MPICH_VALUES_H

namespace MPI {

class Exception {
public:
    int code;
    char text[MPI_MAX_ERROR_STRING];

    explicit Exception(int given) : code(given) { text[0] = 0; }
    Exception(const Exception &other) : code(other.code) { text[0] = 0; }
    virtual ~Exception();
};

class Datatype {
public:
    MPI_Datatype handle;

    typedef int Copy_attr_function(const Datatype &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Datatype &, int, void *, void *);

    constexpr Datatype(MPI_Datatype given = MPI_DATATYPE_NULL) : handle(given) {}
    Datatype(const Datatype &other) : handle(other.handle) {}
    Datatype &operator=(const Datatype &other) = default;
    virtual ~Datatype();
    virtual void Commit() { check(MPI_Type_commit(&handle)); }
    virtual void Free() { check(MPI_Type_free(&handle)); }
    virtual Datatype Create_indexed(int count, const int lengths[], const int displacements[]) const
    {
        Datatype made;
        check(MPI_Type_indexed(count, lengths, displacements, handle, &made.handle));
        return made;
    }
    virtual Datatype Create_contiguous(int count) const
    {
        Datatype made;
        check(MPI_Type_contiguous(count, handle, &made.handle));
        return made;
    }
    virtual Datatype Create_vector(int count, int length, int stride) const
    {
        Datatype made;
        check(MPI_Type_vector(count, length, stride, handle, &made.handle));
        return made;
    }
    virtual int Pack_size(int count, const Comm &comm) const;
    virtual void Pack(const void *in, int count, void *out, int size, int &position, const Comm &comm) const;
    virtual int Get_size() const
    {
        int size = 0;
        check(MPI_Type_size(handle, &size));
        return size;
    }
    virtual void Get_envelope(int &integers, int &addresses, int &datatypes, int &combiner) const
    {
        check(MPI_Type_get_envelope(handle, &integers, &addresses, &datatypes, &combiner));
    }
    virtual Datatype Create_hvector(int count, int length, Aint stride) const
    {
        Datatype made;
        check(MPI_Type_create_hvector(count, length, stride, handle, &made.handle));
        return made;
    }
    virtual Datatype Create_resized(Aint lower, Aint extent) const
    {
        Datatype made;
        check(MPI_Type_create_resized(handle, lower, extent, &made.handle));
        return made;
    }
    virtual Datatype Create_indexed_block(int count, int length, const int displacements[]) const
    {
        Datatype made;
        check(MPI_Type_create_indexed_block(count, length, displacements, handle, &made.handle));
        return made;
    }
    virtual Aint Pack_external_size(const char *format, int count) const
    {
        Aint size = 0;
        check(MPI_Pack_external_size(format, count, handle, &size));
        return size;
    }
    virtual Datatype Create_hindexed(int count, const int lengths[], const Aint displacements[]) const
    {
        Datatype made;
        check(MPI_Type_create_hindexed(count, lengths, displacements, handle, &made.handle));
        return made;
    }
    virtual bool Get_attr(int keyval, void *value) const
    {
        int found = 0;
        check(MPI_Type_get_attr(handle, keyval, value, &found));
        return found != 0;
    }
    virtual void Get_true_extent(Aint &lower, Aint &extent) const
    {
        check(MPI_Type_get_true_extent(handle, &lower, &extent));
    }
    virtual Datatype Create_darray(int size, int rank, int dimensions, const int sizes[], const int distributions[],
                                   const int arguments[], const int processes[], int order) const
    {
        Datatype made;
        check(MPI_Type_create_darray(size, rank, dimensions, sizes, distributions, arguments, processes, order, handle,
                                     &made.handle));
        return made;
    }
    virtual void Get_contents(int integers, int addresses, int count, int integer[], Aint address[],
                              Datatype datatypes[]) const
    {
        std::unique_ptr<MPI_Datatype[]> found = handles<MPI_Datatype>(count, datatypes);
        check(MPI_Type_get_contents(handle, integers, addresses, count, integer, address, found.get()));
        for (int i = 0; i < count; i++)
            datatypes[i].handle = found[i];
    }
    virtual void Set_attr(int keyval, const void *value)
    {
        check(MPI_Type_set_attr(handle, keyval, const_cast<void *>(value)));
    }
    virtual void Set_name(const char *name) { check(MPI_Type_set_name(handle, name)); }
    virtual Datatype Create_subarray(int dimensions, const int sizes[], const int parts[], const int starts[],
                                     int order) const
    {
        Datatype made;
        check(MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, handle, &made.handle));
        return made;
    }
    virtual void Unpack_external(const char format[], const void *in, Aint size, Aint &position, void *out,
                                 int count) const
    {
        check(MPI_Unpack_external(format, in, size, &position, out, count, handle));
    }
    virtual void Pack_external(const char *format, const void *in, int count, void *out, Aint size,
                               Aint &position) const
    {
        check(MPI_Pack_external(format, in, count, handle, out, size, &position));
    }
    virtual void Get_extent(Aint &lower, Aint &extent) const { check(MPI_Type_get_extent(handle, &lower, &extent)); }
    virtual void Delete_attr(int keyval) { check(MPI_Type_delete_attr(handle, keyval)); }
    virtual void Get_name(char *name, int &length) const
    {
        MPIR_CXX_InitDatatypeNames();
        check(MPI_Type_get_name(handle, name, &length));
    }
    void Unpack(const void *in, int size, void *out, int count, int &position, const Comm &comm) const;
    static int Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra);
    static int NULL_COPY_FN(const Datatype &, int, void *, void *, void *, bool &copies);
    static int NULL_DELETE_FN(Datatype &, int, void *, void *);
};

typedef void User_function(const void *, void *, int, const Datatype &);

class Info {
public:
    MPI_Info handle;

    constexpr Info(MPI_Info given = MPI_INFO_NULL) : handle(given) {}
    Info(const Info &other) : handle(other.handle) {}
    virtual ~Info();
    virtual void Delete(const char *key) { check(MPI_Info_delete(handle, key)); }
    virtual void Get_nthkey(int number, char *key) const { check(MPI_Info_get_nthkey(handle, number, key)); }
    virtual void Free() { check(MPI_Info_free(&handle)); }
    virtual void Set(const char *key, const char *value) { check(MPI_Info_set(handle, key, value)); }
    virtual bool Get_valuelen(const char *key, int &length) const
    {
        int found = 0;
        check(MPI_Info_get_valuelen(handle, key, &length, &found));
        return found != 0;
    }
    virtual bool Get(const char *key, int length, char *value) const
    {
        int found = 0;
        check(MPI_Info_get(handle, key, length, value, &found));
        return found != 0;
    }
    virtual int Get_nkeys() const
    {
        int keys = 0;
        check(MPI_Info_get_nkeys(handle, &keys));
        return keys;
    }
};

class Status {
public:
    MPI_Status status;

    Status() : status() {}
    virtual ~Status();
    virtual bool Is_cancelled() const
    {
        int cancelled = 0;
        check(MPI_Test_cancelled(&status, &cancelled));
        return cancelled != 0;
    }
    virtual int Get_elements(const Datatype &datatype) const
    {
        int count = 0;
        check(MPI_Get_elements(&status, datatype.handle, &count));
        return count;
    }
    virtual int Get_count(const Datatype &datatype) const
    {
        int count = 0;
        check(MPI_Get_count(&status, datatype.handle, &count));
        return count;
    }
    virtual void Set_cancelled(bool cancelled) { check(MPI_Status_set_cancelled(&status, cancelled)); }
    virtual void Set_elements(const Datatype &datatype, int count)
    {
        check(MPI_Status_set_elements(&status, datatype.handle, count));
    }
};

class Group {
public:
    MPI_Group handle;

    constexpr Group(MPI_Group given = MPI_GROUP_NULL) : handle(given) {}
    Group(const Group &other) : handle(other.handle) {}
    virtual ~Group();
    virtual Group Excl(int count, const int ranks[]) const
    {
        Group made;
        check(MPI_Group_excl(handle, count, ranks, &made.handle));
        return made;
    }
    virtual int Get_rank() const
    {
        int rank = MPI_UNDEFINED;
        check(MPI_Group_rank(handle, &rank));
        return rank;
    }
    virtual void Free() { check(MPI_Group_free(&handle)); }
    virtual Group Range_excl(int count, const int ranges[][3]) const
    {
        Group made;
        check(MPI_Group_range_excl(handle, count, const_cast<int(*)[3]>(ranges), &made.handle));
        return made;
    }
    virtual Group Range_incl(int count, const int ranges[][3]) const
    {
        Group made;
        check(MPI_Group_range_incl(handle, count, const_cast<int(*)[3]>(ranges), &made.handle));
        return made;
    }
    virtual Group Incl(int count, const int ranks[]) const
    {
        Group made;
        check(MPI_Group_incl(handle, count, ranks, &made.handle));
        return made;
    }
    virtual int Get_size() const
    {
        int size = 0;
        check(MPI_Group_size(handle, &size));
        return size;
    }
};

class Op {
public:
    MPI_Op handle;

    constexpr Op(MPI_Op given = MPI_OP_NULL) : handle(given) {}
    Op(const Op &other) : handle(other.handle) {}
    virtual ~Op();
    virtual void Free() { check(MPI_Op_free(&handle)); }
    virtual bool Is_commutative() const
    {
        int commutes = 0;
        check(MPI_Op_commutative(handle, &commutes));
        return commutes != 0;
    }
    virtual void Reduce_local(const void *in, void *inout, int count, const Datatype &datatype) const
    {
        check(MPI_Reduce_local(in, inout, count, datatype.handle, handle));
    }
    void Init(User_function *function, bool commutes);
};

class Errhandler {
public:
    MPI_Errhandler handle;

    constexpr Errhandler(MPI_Errhandler given = MPI_ERRHANDLER_NULL) : handle(given) {}
    Errhandler(const Errhandler &other) : handle(other.handle) {}
    virtual ~Errhandler();
    virtual void Free() { check(MPI_Errhandler_free(&handle)); }
};

} // namespace MPI

#endif
