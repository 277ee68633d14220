// The functions of no class, and those of classes that need the others.

#include "bindings.h"

namespace MPI {

// Where the destructors are, the compiler puts the tables of virtual functions.
Exception::~Exception() {}
Datatype::~Datatype() {}
Info::~Info() {}
Status::~Status() {}
Group::~Group() {}
Op::~Op() {}
Errhandler::~Errhandler() {}
Request::~Request() {}
Prequest::~Prequest() {}
Grequest::~Grequest() {}
Comm::~Comm() {}
Nullcomm::~Nullcomm() {}
Intercomm::~Intercomm() {}
Intracomm::~Intracomm() {}
Graphcomm::~Graphcomm() {}
Cartcomm::~Cartcomm() {}
Win::~Win() {}
File::~File() {}

int Datatype::Pack_size(int count, const Comm &comm) const
{
    int size = 0;
    check(comm, MPI_Pack_size(count, handle, comm.handle, &size));
    return size;
}

void Datatype::Pack(const void *in, int count, void *out, int size, int &position, const Comm &comm) const
{
    check(comm, MPI_Pack(in, count, handle, out, size, &position, comm.handle));
}

void Datatype::Unpack(const void *in, int size, void *out, int count, int &position, const Comm &comm) const
{
    check(comm, MPI_Unpack(in, size, &position, out, count, handle, comm.handle));
}

int Comm::number_of_peers() const
{
    int inter = 0, count = 0;
    check(*this, MPI_Comm_test_inter(handle, &inter));
    check(*this, inter ? MPI_Comm_remote_size(handle, &count) : MPI_Comm_size(handle, &count));
    return count;
}

Intercomm Comm::Get_parent()
{
    Intercomm parent;
    check(MPI_Comm_get_parent(&parent.handle));
    return parent;
}

Intercomm Comm::Join(int socket)
{
    Intercomm made;
    check(MPI_Comm_join(socket, &made.handle));
    return made;
}

Intracomm Intercomm::Merge(bool high) const
{
    Intracomm made;
    check(*this, MPI_Intercomm_merge(handle, high, &made.handle));
    return made;
}

Graphcomm Intracomm::Create_graph(int nodes, const int index[], const int edges[], bool reorder) const
{
    Graphcomm made;
    check(*this, MPI_Graph_create(handle, nodes, index, edges, reorder, &made.handle));
    return made;
}

Cartcomm Intracomm::Create_cart(int dimensions, const int sizes[], const bool periods[], bool reorder) const
{
    Cartcomm made;
    check(*this, MPI_Cart_create(handle, dimensions, sizes, truths(dimensions, periods).get(), reorder, &made.handle));
    return made;
}

void Init() { check(MPI_Init(nullptr, nullptr)); }

void Init(int &argc, char **&argv) { check(MPI_Init(&argc, &argv)); }

int Init_thread(int required)
{
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, required, &provided));
    return provided;
}

int Init_thread(int &argc, char **&argv, int required)
{
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(&argc, &argv, required, &provided));
    return provided;
}

void Finalize() { check(MPI_Finalize()); }

bool Is_initialized()
{
    int flag = 0;
    check(MPI_Initialized(&flag));
    return flag != 0;
}

bool Is_finalized()
{
    int flag = 0;
    check(MPI_Finalized(&flag));
    return flag != 0;
}

int Query_thread()
{
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&provided));
    return provided;
}

bool Is_thread_main()
{
    int flag = 0;
    check(MPI_Is_thread_main(&flag));
    return flag != 0;
}

double Wtime() { return MPI_Wtime(); }

double Wtick() { return MPI_Wtick(); }

void Get_version(int &version, int &subversion) { check(MPI_Get_version(&version, &subversion)); }

void Get_processor_name(char *name, int &length) { check(MPI_Get_processor_name(name, &length)); }

void Pcontrol(int level, ...) { check(MPI_Pcontrol(level)); }

Aint Get_address(const void *place)
{
    MPI_Aint address = 0;
    check(MPI_Get_address(place, &address));
    return address;
}

void Compute_dims(int nodes, int dimensions, int sizes[]) { check(MPI_Dims_create(nodes, dimensions, sizes)); }

void Attach_buffer(void *buffer, int size) { check(MPI_Buffer_attach(buffer, size)); }

int Detach_buffer(void *&buffer)
{
    int size = 0;
    check(MPI_Buffer_detach(&buffer, &size));
    return size;
}

void *Alloc_mem(Aint size, const Info &info)
{
    void *memory = nullptr;
    check(MPI_Alloc_mem(size, info.handle, &memory));
    return memory;
}

void Free_mem(void *memory) { check(MPI_Free_mem(memory)); }

void Open_port(const Info &info, char *port) { check(MPI_Open_port(info.handle, port)); }

void Close_port(const char *port) { check(MPI_Close_port(port)); }

void Publish_name(const char *service, const Info &info, const char *port)
{
    check(MPI_Publish_name(service, info.handle, port));
}

void Unpublish_name(const char *service, const Info &info, const char *port)
{
    check(MPI_Unpublish_name(service, info.handle, port));
}

void Lookup_name(const char *service, const Info &info, char *port)
{
    check(MPI_Lookup_name(service, info.handle, port));
}

void MPIR_CXX_InitDatatypeNames()
{
    static const int named = [] {
        int code = MPI_Type_set_name(MPI_CXX_BOOL, "MPI::BOOL");
        if (code == MPI_SUCCESS)
            code = MPI_Type_set_name(MPI_CXX_FLOAT_COMPLEX, "MPI::COMPLEX");
        if (code == MPI_SUCCESS)
            code = MPI_Type_set_name(MPI_CXX_DOUBLE_COMPLEX, "MPI::DOUBLE_COMPLEX");
        if (code == MPI_SUCCESS)
            code = MPI_Type_set_name(MPI_CXX_LONG_DOUBLE_COMPLEX, "MPI::LONG_DOUBLE_COMPLEX");
        return code;
    }();
    check(named);
}

} // namespace MPI
