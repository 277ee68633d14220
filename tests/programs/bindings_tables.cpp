// MPICH's C++ bindings: calls the virtual functions of every class through the class's table, on any number of ranks.
// Prints "well" at rank 0.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

static int rank, size;

static void must(bool condition, const char *what)
{
    if (!condition) {
        std::cerr << "rank " << rank << ": " << what << std::endl;
        MPI::COMM_WORLD.Abort(3);
    }
}

// The compiler cannot know the object's class: it calls by the table.
template <class Object> static Object &by_table(Object &object)
{
    Object *volatile place = &object;
    return *place;
}

static void datatypes(const MPI::Comm &comm)
{
    const MPI::Datatype &type = by_table<const MPI::Datatype>(MPI::INT);
    int ones[2] = {1, 1}, places[2] = {0, 2}, two[1] = {2}, zero[1] = {0}, three[1] = {3};
    MPI::Aint far[2] = {0, 8}, lower, extent;
    must(type.Get_size() == 4 && type.Pack_size(3, comm) >= 12, "a size");
    struct { MPI::Datatype type; int size; int extent; } made[] = {
        {type.Create_contiguous(3), 12, 12}, {type.Create_vector(2, 1, 2), 8, 12}, {type.Create_hvector(2, 1, 8), 8, 12},
        {type.Create_indexed(2, ones, places), 8, 12}, {type.Create_hindexed(2, ones, far), 8, 12},
        {type.Create_indexed_block(2, 1, places), 8, 12}, {type.Create_resized(0, 16), 4, 16},
        {type.Create_subarray(1, three, two, zero, MPI::ORDER_C), 8, 12}, {type.Dup(), 4, 4}};
    for (auto &one : made) {
        MPI::Datatype &own = by_table(one.type);
        own.Commit();
        own.Get_extent(lower, extent);
        must(own.Get_size() == one.size && lower == 0 && extent == one.extent, "a datatype");
        own.Free();
        must(own == MPI::DATATYPE_NULL, "a freed datatype");
    }
    int distribution[1] = {MPI::DISTRIBUTE_BLOCK}, argument[1] = {MPI::DISTRIBUTE_DFLT_DARG}, processes[1] = {1};
    MPI::Datatype array = type.Create_darray(1, 0, 1, three, distribution, argument, processes, MPI::ORDER_C);
    must(array.Get_size() == 12, "a distributed array");
    by_table(array).Get_true_extent(lower, extent);
    must(lower == 0 && extent == 12, "a true extent");
    array.Free();

    MPI::Datatype vector = type.Create_vector(2, 1, 2), old[1];
    int integers, addresses, datatypes, combiner, values[3], length;
    by_table(vector).Get_envelope(integers, addresses, datatypes, combiner);
    must(integers == 3 && addresses == 0 && datatypes == 1 && combiner == MPI::COMBINER_VECTOR, "an envelope");
    by_table(vector).Get_contents(3, 0, 1, values, far, old);
    must(values[0] == 2 && values[1] == 1 && values[2] == 2 && old[0] == MPI::INT, "the contents");
    char name[MPI_MAX_OBJECT_NAME], buffer[64];
    by_table(vector).Set_name("every other");
    by_table(vector).Get_name(name, length);
    must(std::string(name) == "every other" && length == 11, "a name");
    by_table(MPI::BOOL).Get_name(name, length);
    must(std::string(name) == "MPI::BOOL", "the name of a datatype of C++");
    int key = MPI::Datatype::Create_keyval(MPI::Datatype::NULL_COPY_FN, MPI::Datatype::NULL_DELETE_FN, 0);
    void *found = 0;
    by_table(vector).Set_attr(key, &size);
    must(by_table(vector).Get_attr(key, &found) && found == &size, "an attribute");
    by_table(vector).Delete_attr(key);
    must(!by_table(vector).Get_attr(key, &found), "a deleted attribute");
    MPI::Datatype::Free_keyval(key);
    vector.Free();

    int in[3] = {1, 2, 3}, out[3] = {}, position = 0;
    type.Pack(in, 3, buffer, sizeof buffer, position, comm);
    position = 0;
    type.Unpack(buffer, sizeof buffer, out, 3, position, comm);
    must(std::memcmp(in, out, sizeof in) == 0, "what was packed");
    MPI::Aint at = 0;
    must(type.Pack_external_size("external32", 3) == 12, "a size in external32");
    type.Pack_external("external32", in, 3, buffer, sizeof buffer, at);
    must(at == 12 && buffer[3] == 1, "external32");
    at = 0;
    std::memset(out, 0, sizeof out);
    type.Unpack_external("external32", buffer, 12, at, out, 3);
    must(std::memcmp(in, out, sizeof in) == 0, "what was packed in external32");
}

static void values()
{
    MPI::Info made = MPI::Info::Create();
    MPI::Info &info = by_table(made);
    char text[16];
    int length = 0;
    info.Set("first", "1");
    info.Set("second", "22");
    must(info.Get_nkeys() == 2 && info.Get_valuelen("second", length) && length == 2, "an info");
    must(info.Get("first", 15, text) && std::string(text) == "1", "a value of an info");
    info.Delete("first");
    info.Get_nthkey(0, text);
    must(std::string(text) == "second" && !info.Get("first", 15, text), "a key of an info");
    info.Free();
    must(made == MPI::INFO_NULL, "a freed info");

    MPI::Status empty;
    MPI::Status &status = by_table(empty);
    status.Set_elements(MPI::INT, 3);
    status.Set_cancelled(true);
    must(status.Get_count(MPI::INT) == 3 && status.Get_elements(MPI::INT) == 3 && status.Is_cancelled(), "a status");

    MPI::Group all = MPI::COMM_WORLD.Get_group();
    int first[1] = {0}, ranges[1][3] = {{0, size - 1, 1}};
    must(by_table(all).Get_size() == size && by_table(all).Get_rank() == rank, "a group");
    MPI::Group one = by_table(all).Incl(1, first), rest = by_table(all).Excl(1, first);
    MPI::Group same = by_table(all).Range_incl(1, ranges), none = by_table(all).Range_excl(1, ranges);
    must(one.Get_size() == 1 && rest.Get_size() == size - 1 && none.Get_size() == 0, "groups of a group");
    must(MPI::Group::Compare(same, all) == MPI::IDENT, "the same group");
    by_table(one).Free();
    by_table(same).Free();
    if (size > 1)
        rest.Free();
    all.Free();

    int in = 3, inout = 4;
    must(by_table<const MPI::Op>(MPI::SUM).Is_commutative(), "an operation");
    by_table<const MPI::Op>(MPI::SUM).Reduce_local(&in, &inout, 1, MPI::INT);
    must(inout == 7, "a local reduction");
}

static void messages(const MPI::Comm &given)
{
    const MPI::Comm &comm = by_table<const MPI::Comm>(given);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in = -1, out = rank;
    MPI::Status status;
    static char room[4096];
    MPI::Attach_buffer(room, sizeof room);
    MPI::Request sent[4] = {comm.Isend(&out, 1, MPI::INT, right, 1), comm.Ibsend(&out, 1, MPI::INT, right, 1),
                            comm.Issend(&out, 1, MPI::INT, right, 1), comm.Isend(&out, 1, MPI::INT, right, 1)};
    comm.Probe(left, 1);
    comm.Probe(left, 1, status);
    must(status.Get_source() == left && status.Get_count(MPI::INT) == 1, "a probe");
    must(comm.Iprobe(left, 1) && comm.Iprobe(left, 1, status), "a message that was probed");
    comm.Recv(&in, 1, MPI::INT, left, 1);
    comm.Recv(&in, 1, MPI::INT, left, 1, status);
    MPI::Request got[2] = {comm.Irecv(&in, 1, MPI::INT, left, 1), comm.Irecv(&in, 1, MPI::INT, left, 1)};
    by_table(got[0]).Wait();
    by_table(got[1]).Wait(status);
    must(in == left && status.Get_tag() == 1, "a message");
    MPI::Request::Waitall(4, sent);
    comm.Sendrecv(&out, 1, MPI::INT, right, 2, &in, 1, MPI::INT, left, 2);
    comm.Sendrecv(&out, 1, MPI::INT, right, 2, &in, 1, MPI::INT, left, 2, status);
    must(in == left && status.Get_tag() == 2, "a message each way");
    int both = rank;
    comm.Sendrecv_replace(&both, 1, MPI::INT, right, 3, left, 3);
    comm.Sendrecv_replace(&both, 1, MPI::INT, left, 3, right, 3, status);
    must(both == rank, "a message in place");
    MPI::Prequest fixed[4] = {comm.Recv_init(&in, 1, MPI::INT, left, 4), comm.Send_init(&out, 1, MPI::INT, right, 4),
                              comm.Bsend_init(&out, 1, MPI::INT, right, 4), comm.Ssend_init(&out, 1, MPI::INT, right, 4)};
    for (int i = 1; i < 4; i++) {
        by_table(fixed[0]).Start();
        by_table(fixed[i]).Start();
        while (!by_table<MPI::Request>(fixed[i]).Test()) {
        }
        while (!by_table<MPI::Request>(fixed[0]).Get_status() || !by_table<MPI::Request>(fixed[0]).Get_status(status)) {
        }
        must(by_table<MPI::Request>(fixed[0]).Test(status) && status.Get_source() == left, "a persistent request");
    }
    for (MPI::Prequest &one : fixed)
        by_table<MPI::Request>(one).Free();
    MPI::Request idle = comm.Irecv(&in, 1, MPI::INT, left, 5);
    by_table(idle).Cancel();
    by_table(idle).Wait(status);
    must(status.Is_cancelled(), "a cancelled request");
    // A ready send wants its receive, and says when that is there.
    MPI::Request ready[2] = {comm.Irecv(&in, 1, MPI::INT, left, 6), comm.Irecv(&both, 1, MPI::INT, left, 6)};
    comm.Barrier();
    comm.Rsend(&out, 1, MPI::INT, right, 6);
    MPI::Request last = comm.Irsend(&out, 1, MPI::INT, right, 6);
    MPI::Request::Waitall(2, ready);
    by_table(last).Wait();
    must(in == left && both == left, "ready sends");
    if (rank == 0) {
        MPI::Request self = comm.Irecv(&in, 1, MPI::INT, 0, 7), again = comm.Irecv(&in, 1, MPI::INT, 0, 7);
        MPI::Request third = comm.Irecv(&in, 1, MPI::INT, 0, 7);
        comm.Send(&out, 1, MPI::INT, 0, 7);
        comm.Ssend(&out, 1, MPI::INT, 0, 7);
        comm.Bsend(&out, 1, MPI::INT, 0, 7);
        self.Wait();
        again.Wait();
        third.Wait();
    }
    void *back = 0;
    must(MPI::Detach_buffer(back) == sizeof room && back == room, "a buffer");
}

static void collectives(const MPI::Comm &given)
{
    const MPI::Comm &comm = by_table<const MPI::Comm>(given);
    int *counts = new int[size], *places = new int[size], *many = new int[size], *other = new int[size];
    MPI::Datatype *types = new MPI::Datatype[size];
    int *bytes = new int[size];
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i;
        bytes[i] = 4 * i;
        many[i] = rank;
        types[i] = MPI::INT;
    }
    int out = rank, in = -1, sum = size * (size - 1) / 2;
    comm.Barrier();
    int root = rank == 0 ? 42 : 0;
    comm.Bcast(&root, 1, MPI::INT, 0);
    must(root == 42, "a broadcast");
    auto in_order = [&](const char *what, bool here) {
        for (int i = 0; here && i < size; i++)
            must(other[i] == i, what);
        std::memset(other, -1, size * sizeof(int));
    };
    std::memset(other, -1, size * sizeof(int));
    comm.Gather(&out, 1, MPI::INT, other, 1, MPI::INT, 0), in_order("a gather", rank == 0);
    comm.Gatherv(&out, 1, MPI::INT, other, counts, places, MPI::INT, 0), in_order("a gather of some", rank == 0);
    comm.Allgather(&out, 1, MPI::INT, other, 1, MPI::INT), in_order("a gather to all", true);
    comm.Allgatherv(&out, 1, MPI::INT, other, counts, places, MPI::INT), in_order("a gather of some to all", true);
    comm.Alltoall(many, 1, MPI::INT, other, 1, MPI::INT), in_order("an exchange", true);
    comm.Alltoallv(many, counts, places, MPI::INT, other, counts, places, MPI::INT), in_order("an exchange of some", true);
    comm.Alltoallw(many, counts, bytes, types, other, counts, bytes, types), in_order("an exchange of types", true);
    comm.Scatter(places, 1, MPI::INT, &in, 1, MPI::INT, 0);
    must(in == rank, "a scatter");
    comm.Scatterv(places, counts, places, MPI::INT, &in, 1, MPI::INT, 0);
    must(in == rank, "a scatter of some");
    comm.Allreduce(&out, &in, 1, MPI::INT, MPI::SUM);
    must(in == sum, "a reduction to all");
    comm.Reduce(&out, &in, 1, MPI::INT, MPI::MAX, 0);
    must(rank != 0 || in == size - 1, "a reduction");
    comm.Reduce_scatter(many, &in, counts, MPI::INT, MPI::SUM);
    must(in == sum, "a reduction that is scattered");
    comm.Reduce_scatter_block(many, &in, 1, MPI::INT, MPI::SUM);
    must(in == sum, "a reduction that is scattered in blocks");
    delete[] counts;
    delete[] places;
    delete[] many;
    delete[] other;
    delete[] types;
    delete[] bytes;
}

static void communicators()
{
    MPI::Intracomm &world = by_table(MPI::COMM_WORLD);
    int in = rank, out = -1, length;
    world.Scan(&in, &out, 1, MPI::INT, MPI::SUM);
    must(out == rank * (rank + 1) / 2, "a prefix");
    world.Exscan(&in, &out, 1, MPI::INT, MPI::SUM);
    must(rank == 0 || out == rank * (rank - 1) / 2, "a prefix before");
    MPI::Intracomm half = world.Split(rank % 2, rank), created = world.Create(world.Get_group());
    must(half.Get_size() == (size + 1 - rank % 2) / 2 && created.Get_size() == size, "parts of a communicator");
    MPI::Comm &copy = half.Clone();
    must(MPI::Comm::Compare(copy, half) == MPI::CONGRUENT && dynamic_cast<MPI::Intracomm *>(&copy), "a clone");
    char name[MPI_MAX_OBJECT_NAME];
    copy.Set_name("half");
    copy.Get_name(name, length);
    must(std::string(name) == "half" && !copy.Is_inter() && copy.Get_topology() == MPI::UNDEFINED, "a communicator");
    int key = MPI::Comm::Create_keyval(MPI::Comm::NULL_COPY_FN, MPI::Comm::NULL_DELETE_FN, 0);
    void *found = 0;
    copy.Set_attr(key, &size);
    must(copy.Get_attr(key, &found) && found == &size, "an attribute of a communicator");
    copy.Delete_attr(key);
    must(!copy.Get_attr(key, &found), "a deleted attribute of a communicator");
    copy.Free();
    delete &copy;
    if (size > 1) {
        MPI::Intercomm inter = by_table(half).Create_intercomm(0, world, 1 - rank % 2, 9);
        MPI::Intercomm &between = by_table(inter);
        must(between.Is_inter() && between.Get_remote_size() == size - half.Get_size(), "an intercommunicator");
        must(between.Get_remote_group().Get_size() == between.Get_remote_size(), "a remote group");
        MPI::Intercomm split = between.Split(0, rank), &clone = between.Clone();
        MPI::Intracomm merged = between.Merge(rank % 2 == 1);
        must(merged.Get_size() == size && split.Get_size() == half.Get_size() && clone.Is_inter(), "what it was made into");
        by_table(split).Disconnect();
        clone.Free();
        delete &clone;
        merged.Free();
        inter.Free();
    }
    half.Free();
    created.Free();

    int sizes[1] = {size}, at[1], neighbors[2], nodes, edges;
    bool wraps[1] = {true}, keep[1] = {true};
    MPI::Cartcomm ring = world.Create_cart(1, sizes, wraps, false);
    MPI::Cartcomm &cart = by_table(ring);
    wraps[0] = false;
    cart.Get_topo(1, sizes, wraps, at);
    must(cart.Get_dim() == 1 && wraps[0] && at[0] == rank && cart.Get_cart_rank(at) == rank, "a ring");
    cart.Get_coords(0, 1, at);
    cart.Shift(0, 1, neighbors[0], neighbors[1]);
    must(at[0] == 0 && neighbors[1] == (rank + 1) % size && neighbors[0] == (rank + size - 1) % size, "a shift");
    must(cart.Map(1, sizes, wraps) != MPI::PROC_NULL && cart.Sub(keep).Get_size() == size, "a part of a ring");
    MPI::Cartcomm &cloned = cart.Clone();
    must(cloned.Get_topology() == MPI::CART, "a clone of a ring");
    delete &cloned;

    int *index = new int[size], *edge = new int[2 * size];
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edge[2 * i] = (i + size - 1) % size;
        edge[2 * i + 1] = (i + 1) % size;
    }
    MPI::Graphcomm made = world.Create_graph(size, index, edge, false);
    MPI::Graphcomm &graph = by_table(made);
    graph.Get_dims(&nodes, &edges);
    graph.Get_topo(nodes, edges, index, edge);
    graph.Get_neighbors(rank, 2, neighbors);
    must(nodes == size && edges == 2 * size && graph.Get_neighbors_count(rank) == 2, "a graph");
    must(neighbors[1] == (rank + 1) % size && graph.Map(size, index, edge) != MPI::PROC_NULL, "its neighbors");
    must(graph.Clone().Get_topology() == MPI::GRAPH, "a clone of a graph");
    must(MPI::COMM_NULL.Clone() == MPI::COMM_NULL && MPI::Comm::Get_parent() == MPI::COMM_NULL, "no communicator");
    delete[] index;
    delete[] edge;
}

static void windows()
{
    int memory[2] = {0, 10}, value = rank + 1, length, got = -1;
    MPI::Win made = MPI::Win::Create(memory, sizeof memory, sizeof(int), MPI::INFO_NULL, MPI::COMM_WORLD);
    MPI::Win &win = by_table(made);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    win.Fence(0);
    win.Put(&value, 1, MPI::INT, right, 0, 1, MPI::INT);
    win.Accumulate(&value, 1, MPI::INT, right, 1, 1, MPI::INT, MPI::SUM);
    win.Fence(0);
    must(memory[0] == left + 1 && memory[1] == left + 11, "a put");
    win.Fence(MPI::MODE_NOSUCCEED);
    win.Lock(MPI::LOCK_SHARED, right, 0);
    win.Get(&got, 1, MPI::INT, right, 0, 1, MPI::INT);
    win.Unlock(right);
    must(got == value, "a get");
    int to[1] = {right}, from[1] = {left};
    MPI::Group all = win.Get_group(), next = all.Incl(1, to), previous = all.Incl(1, from);
    for (int i = 0; i < 2; i++) {
        win.Post(previous, 0);
        win.Start(next, 0);
        win.Put(&value, 1, MPI::INT, right, 0, 1, MPI::INT);
        win.Complete();
        if (i == 0)
            win.Wait();
        else
            while (!win.Test()) {
            }
    }
    char name[MPI_MAX_OBJECT_NAME];
    win.Set_name("window");
    win.Get_name(name, length);
    MPI::Aint *bytes = 0;
    must(std::string(name) == "window" && win.Get_attr(MPI::WIN_SIZE, &bytes) && *bytes == sizeof memory, "a window");
    int key = MPI::Win::Create_keyval(MPI::Win::NULL_COPY_FN, MPI::Win::NULL_DELETE_FN, 0);
    void *found = 0;
    win.Set_attr(key, &size);
    must(win.Get_attr(key, &found) && found == &size, "an attribute of a window");
    win.Delete_attr(key);
    win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    must(win.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS, "the handler of a window");
    bool caught = false;
    try {
        win.Call_errhandler(MPI::ERR_OTHER);
    } catch (MPI::Exception &) {
        caught = true;
    }
    must(caught, "an exception of a window");
    win.Free();
    must(made == MPI::WIN_NULL, "a freed window");
}

static int query(void *, MPI::Status &status)
{
    status.Set_elements(MPI::INT, 7);
    status.Set_cancelled(false);
    status.Set_source(5);
    status.Set_tag(6);
    return MPI::SUCCESS;
}

static int release(void *extra)
{
    ++*static_cast<int *>(extra);
    return MPI::SUCCESS;
}

static int cancel(void *extra, bool complete)
{
    *static_cast<int *>(extra) += complete ? 100 : 10;
    return MPI::SUCCESS;
}

static void generalised()
{
    int calls = 0;
    MPI::Grequest request = MPI::Grequest().Start(query, release, cancel, &calls);
    by_table<MPI::Request>(request).Cancel();
    by_table(request).Complete();
    MPI::Status status;
    by_table<MPI::Request>(request).Wait(status);
    must(calls == 11 && status.Get_count(MPI::INT) == 7 && status.Get_source() == 5, "a generalised request");
}

static void files(const char *path)
{
    MPI::File::Delete(path, MPI::INFO_NULL);
    MPI::COMM_WORLD.Barrier();
    MPI::File opened = MPI::File::Open(MPI::COMM_WORLD, path, MPI::MODE_CREATE | MPI::MODE_RDWR, MPI::INFO_NULL);
    MPI::File &file = by_table(opened);
    MPI::Status status;
    MPI::Offset at = 4 * rank, start = -1;
    int out = rank, in = -1, *all = new int[size];
    auto good = [&](const char *what) {
        must(in == rank, what);
        in = -1;
    };
    must(file.Get_amode() == (MPI::MODE_CREATE | MPI::MODE_RDWR) && file.Get_group().Get_size() == size, "a file");
    file.Write_at(at, &out, 1, MPI::INT), file.Write_at(at, &out, 1, MPI::INT, status);
    file.Read_at(at, &in, 1, MPI::INT), good("a read"), file.Read_at(at, &in, 1, MPI::INT, status), good("a read, too");
    file.Write_at_all(at, &out, 1, MPI::INT), file.Write_at_all(at, &out, 1, MPI::INT, status);
    file.Read_at_all(at, &in, 1, MPI::INT), good("a read by all"), file.Read_at_all(at, &in, 1, MPI::INT, status), good("2");
    file.Iwrite_at(at, &out, 1, MPI::INT).Wait(), file.Iread_at(at, &in, 1, MPI::INT).Wait(), good("a read that is begun");
    file.Write_at_all_begin(at, &out, 1, MPI::INT), file.Write_at_all_end(&out, status);
    file.Write_at_all_begin(at, &out, 1, MPI::INT), file.Write_at_all_end(&out);
    file.Read_at_all_begin(at, &in, 1, MPI::INT), file.Read_at_all_end(&in), good("a split read");
    file.Read_at_all_begin(at, &in, 1, MPI::INT), file.Read_at_all_end(&in, status), good("a split read, too");
    file.Sync();
    file.Set_size(4 * size), file.Preallocate(4 * size);
    must(file.Get_size() == 4 * size && file.Get_type_extent(MPI::INT) == 4, "a size of a file");
    file.Set_view(at, MPI::INT, MPI::INT, "native", MPI::INFO_NULL);
    MPI::Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    file.Get_view(start, etype, filetype, representation);
    must(start == at && etype == MPI::INT && std::string(representation) == "native", "a view");
    must(file.Get_byte_offset(0) == at && file.Get_position() == 0, "a position");
    auto back = [&] { file.Seek(0, MPI_SEEK_SET); };
    file.Write(&out, 1, MPI::INT), back(), file.Write(&out, 1, MPI::INT, status), back();
    file.Read(&in, 1, MPI::INT), good("a read at the place"), back(), file.Read(&in, 1, MPI::INT, status), good("2"), back();
    file.Write_all(&out, 1, MPI::INT), back(), file.Write_all(&out, 1, MPI::INT, status), back();
    file.Read_all(&in, 1, MPI::INT), good("a read by all there"), back(), file.Read_all(&in, 1, MPI::INT, status), back();
    file.Iwrite(&out, 1, MPI::INT).Wait(), back(), file.Iread(&in, 1, MPI::INT).Wait(), good("begun there"), back();
    file.Write_all_begin(&out, 1, MPI::INT), file.Write_all_end(&out), back();
    file.Write_all_begin(&out, 1, MPI::INT), file.Write_all_end(&out, status), back();
    file.Read_all_begin(&in, 1, MPI::INT), file.Read_all_end(&in), good("split there"), back();
    file.Read_all_begin(&in, 1, MPI::INT), file.Read_all_end(&in, status), good("split there, too"), back();
    file.Set_view(0, MPI::INT, MPI::INT, "native", MPI::INFO_NULL);
    auto first = [&] { MPI::COMM_WORLD.Barrier(), file.Seek_shared(0, MPI_SEEK_SET), MPI::COMM_WORLD.Barrier(); };
    file.Write_ordered(&out, 1, MPI::INT), first(), file.Write_ordered(&out, 1, MPI::INT, status), first();
    file.Read_ordered(&in, 1, MPI::INT), good("in order"), first(), file.Read_ordered(&in, 1, MPI::INT, status), first();
    file.Write_ordered_begin(&out, 1, MPI::INT), file.Write_ordered_end(&out), first();
    file.Write_ordered_begin(&out, 1, MPI::INT), file.Write_ordered_end(&out, status), first();
    file.Read_ordered_begin(&in, 1, MPI::INT), file.Read_ordered_end(&in), good("begun in order"), first();
    file.Read_ordered_begin(&in, 1, MPI::INT), file.Read_ordered_end(&in, status), first();
    file.Write_shared(&out, 1, MPI::INT), first(), file.Write_shared(&out, 1, MPI::INT, status), first();
    file.Read_shared(&in, 1, MPI::INT), first(), file.Read_shared(&in, 1, MPI::INT, status), first();
    file.Iwrite_shared(&out, 1, MPI::INT).Wait(), MPI::COMM_WORLD.Barrier();
    must(file.Get_position_shared() == size, "a shared position");
    first(), file.Iread_shared(&in, 1, MPI::INT).Wait();
    file.Set_atomicity(true);
    must(file.Get_atomicity(), "an atomic file");
    MPI::Info info = file.Get_info();
    file.Set_info(info);
    info.Free();
    file.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    must(file.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS, "the handler of a file");
    bool caught = false;
    try {
        file.Call_errhandler(MPI::ERR_IO);
    } catch (MPI::Exception &exception) {
        caught = exception.Get_error_class() == MPI::ERR_IO;
    }
    must(caught, "an exception of a file");
    file.Close();
    delete[] all;
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    datatypes(MPI::COMM_WORLD);
    values();
    messages(MPI::COMM_WORLD);
    collectives(MPI::COMM_WORLD);
    communicators();
    windows();
    generalised();
    files(argv[1]);
    MPI::COMM_WORLD.Barrier();
    if (rank == 0)
        std::cout << "well" << std::endl;
    MPI::Finalize();
    return 0;
}
