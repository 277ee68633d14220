// Communicators.

#ifndef HPVM_MPICH_COMM_H
#define HPVM_MPICH_COMM_H

namespace MPI {

class Comm {
public:
    MPI_Comm handle;

    typedef int Copy_attr_function(const Comm &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Comm &, int, void *, void *);
    typedef void Errhandler_function(Comm &, int *, ...);

    constexpr Comm(MPI_Comm given = MPI_COMM_NULL) : handle(given) {}
    Comm(const Comm &other) : handle(other.handle) {}
    virtual ~Comm();
    virtual Group Get_group() const
    {
        Group group;
        check(*this, MPI_Comm_group(handle, &group.handle));
        return group;
    }
    virtual int Get_rank() const
    {
        int rank = MPI_UNDEFINED;
        check(*this, MPI_Comm_rank(handle, &rank));
        return rank;
    }
    virtual Prequest Bsend_init(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Prequest request;
        check(*this, MPI_Bsend_init(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual Prequest Ssend_init(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Prequest request;
        check(*this, MPI_Ssend_init(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual bool Is_inter() const
    {
        int inter = 0;
        check(*this, MPI_Comm_test_inter(handle, &inter));
        return inter != 0;
    }
    virtual Prequest Rsend_init(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Prequest request;
        check(*this, MPI_Rsend_init(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual Request Ibsend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Request request;
        check(*this, MPI_Ibsend(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual void Abort(int code) const { check(*this, MPI_Abort(handle, code)); }
    virtual void Free() { check(*this, MPI_Comm_free(&handle)); }
    virtual Prequest Send_init(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Prequest request;
        check(*this, MPI_Send_init(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual void Recv(void *buffer, int count, const Datatype &datatype, int rank, int tag, Status &status) const
    {
        check(*this, MPI_Recv(buffer, count, datatype.handle, rank, tag, handle, &status.status));
    }
    virtual void Recv(void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        check(*this, MPI_Recv(buffer, count, datatype.handle, rank, tag, handle, MPI_STATUS_IGNORE));
    }
    virtual void Sendrecv(const void *out, int out_count, const Datatype &out_datatype, int to, int out_tag, void *in,
                          int in_count, const Datatype &in_datatype, int from, int in_tag, Status &status) const
    {
        check(*this, MPI_Sendrecv(out, out_count, out_datatype.handle, to, out_tag, in, in_count, in_datatype.handle,
                                  from, in_tag, handle, &status.status));
    }
    virtual void Sendrecv(const void *out, int out_count, const Datatype &out_datatype, int to, int out_tag, void *in,
                          int in_count, const Datatype &in_datatype, int from, int in_tag) const
    {
        check(*this, MPI_Sendrecv(out, out_count, out_datatype.handle, to, out_tag, in, in_count, in_datatype.handle,
                                  from, in_tag, handle, MPI_STATUS_IGNORE));
    }
    virtual void Sendrecv_replace(void *buffer, int count, const Datatype &datatype, int to, int out_tag, int from,
                                  int in_tag, Status &status) const
    {
        check(*this, MPI_Sendrecv_replace(buffer, count, datatype.handle, to, out_tag, from, in_tag, handle,
                                          &status.status));
    }
    virtual void Sendrecv_replace(void *buffer, int count, const Datatype &datatype, int to, int out_tag, int from,
                                  int in_tag) const
    {
        check(*this, MPI_Sendrecv_replace(buffer, count, datatype.handle, to, out_tag, from, in_tag, handle,
                                          MPI_STATUS_IGNORE));
    }
    virtual int Get_topology() const
    {
        int topology = MPI_UNDEFINED;
        check(*this, MPI_Topo_test(handle, &topology));
        return topology;
    }
    virtual Request Isend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Request request;
        check(*this, MPI_Isend(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual void Probe(int rank, int tag, Status &status) const
    {
        check(*this, MPI_Probe(rank, tag, handle, &status.status));
    }
    virtual void Probe(int rank, int tag) const { check(*this, MPI_Probe(rank, tag, handle, MPI_STATUS_IGNORE)); }
    virtual int Get_size() const
    {
        int size = 0;
        check(*this, MPI_Comm_size(handle, &size));
        return size;
    }
    virtual Request Issend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Request request;
        check(*this, MPI_Issend(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual void Set_errhandler(const Errhandler &errhandler)
    {
        check(*this, MPI_Comm_set_errhandler(handle, errhandler.handle));
    }
    virtual void Send(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        check(*this, MPI_Send(buffer, count, datatype.handle, rank, tag, handle));
    }
    virtual Request Irsend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Request request;
        check(*this, MPI_Irsend(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual void Ssend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        check(*this, MPI_Ssend(buffer, count, datatype.handle, rank, tag, handle));
    }
    virtual Prequest Recv_init(void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Prequest request;
        check(*this, MPI_Recv_init(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual bool Iprobe(int rank, int tag, Status &status) const
    {
        int found = 0;
        check(*this, MPI_Iprobe(rank, tag, handle, &found, &status.status));
        return found != 0;
    }
    virtual bool Iprobe(int rank, int tag) const
    {
        int found = 0;
        check(*this, MPI_Iprobe(rank, tag, handle, &found, MPI_STATUS_IGNORE));
        return found != 0;
    }
    virtual void Bsend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        check(*this, MPI_Bsend(buffer, count, datatype.handle, rank, tag, handle));
    }
    virtual Request Irecv(void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        Request request;
        check(*this, MPI_Irecv(buffer, count, datatype.handle, rank, tag, handle, &request.handle));
        return request;
    }
    virtual Errhandler Get_errhandler() const
    {
        Errhandler errhandler;
        check(*this, MPI_Comm_get_errhandler(handle, &errhandler.handle));
        return errhandler;
    }
    virtual void Rsend(const void *buffer, int count, const Datatype &datatype, int rank, int tag) const
    {
        check(*this, MPI_Rsend(buffer, count, datatype.handle, rank, tag, handle));
    }
    virtual void Gatherv(const void *out, int out_count, const Datatype &out_datatype, void *in, const int counts[],
                         const int displacements[], const Datatype &in_datatype, int root) const
    {
        check(*this, MPI_Gatherv(out, out_count, out_datatype.handle, in, counts, displacements, in_datatype.handle,
                                 root, handle));
    }
    virtual void Disconnect() { check(*this, MPI_Comm_disconnect(&handle)); }
    virtual void Allreduce(const void *in, void *out, int count, const Datatype &datatype, const Op &op) const
    {
        check(*this, MPI_Allreduce(in, out, count, datatype.handle, op.handle, handle));
    }
    virtual void Alltoallw(const void *out, const int out_counts[], const int out_displacements[],
                           const Datatype out_datatypes[], void *in, const int in_counts[],
                           const int in_displacements[], const Datatype in_datatypes[]) const
    {
        // With MPI_IN_PLACE the first ones mean nothing.
        int peers = number_of_peers();
        auto out_handles = handles<MPI_Datatype>(out == MPI_IN_PLACE ? 0 : peers, out_datatypes);
        auto in_handles = handles<MPI_Datatype>(peers, in_datatypes);
        check(*this, MPI_Alltoallw(out, out_counts, out_displacements, out_handles.get(), in, in_counts,
                                   in_displacements, in_handles.get(), handle));
    }
    virtual void Alltoall(const void *out, int out_count, const Datatype &out_datatype, void *in, int in_count,
                          const Datatype &in_datatype) const
    {
        check(*this, MPI_Alltoall(out, out_count, out_datatype.handle, in, in_count, in_datatype.handle, handle));
    }
    virtual bool Get_attr(int keyval, void *value) const
    {
        int found = 0;
        check(*this, MPI_Comm_get_attr(handle, keyval, value, &found));
        return found != 0;
    }
    virtual void Barrier() const { check(*this, MPI_Barrier(handle)); }
    virtual void Bcast(void *buffer, int count, const Datatype &datatype, int root) const
    {
        check(*this, MPI_Bcast(buffer, count, datatype.handle, root, handle));
    }
    virtual void Set_attr(int keyval, const void *value)
    {
        check(*this, MPI_Comm_set_attr(handle, keyval, const_cast<void *>(value)));
    }
    virtual void Set_name(const char *name) { check(*this, MPI_Comm_set_name(handle, name)); }
    virtual void Alltoallv(const void *out, const int out_counts[], const int out_displacements[],
                           const Datatype &out_datatype, void *in, const int in_counts[], const int in_displacements[],
                           const Datatype &in_datatype) const
    {
        check(*this, MPI_Alltoallv(out, out_counts, out_displacements, out_datatype.handle, in, in_counts,
                                   in_displacements, in_datatype.handle, handle));
    }
    virtual void Reduce_scatter(const void *in, void *out, const int counts[], const Datatype &datatype,
                                const Op &op) const
    {
        check(*this, MPI_Reduce_scatter(in, out, counts, datatype.handle, op.handle, handle));
    }
    virtual void Scatter(const void *out, int out_count, const Datatype &out_datatype, void *in, int in_count,
                         const Datatype &in_datatype, int root) const
    {
        check(*this, MPI_Scatter(out, out_count, out_datatype.handle, in, in_count, in_datatype.handle, root, handle));
    }
    virtual void Gather(const void *out, int out_count, const Datatype &out_datatype, void *in, int in_count,
                        const Datatype &in_datatype, int root) const
    {
        check(*this, MPI_Gather(out, out_count, out_datatype.handle, in, in_count, in_datatype.handle, root, handle));
    }
    virtual void Reduce(const void *in, void *out, int count, const Datatype &datatype, const Op &op, int root) const
    {
        check(*this, MPI_Reduce(in, out, count, datatype.handle, op.handle, root, handle));
    }
    virtual void Allgather(const void *out, int out_count, const Datatype &out_datatype, void *in, int in_count,
                           const Datatype &in_datatype) const
    {
        check(*this, MPI_Allgather(out, out_count, out_datatype.handle, in, in_count, in_datatype.handle, handle));
    }
    virtual void Delete_attr(int keyval) { check(*this, MPI_Comm_delete_attr(handle, keyval)); }
    virtual void Scatterv(const void *out, const int counts[], const int displacements[], const Datatype &out_datatype,
                          void *in, int in_count, const Datatype &in_datatype, int root) const
    {
        check(*this, MPI_Scatterv(out, counts, displacements, out_datatype.handle, in, in_count, in_datatype.handle,
                                  root, handle));
    }
    virtual void Get_name(char *name, int &length) const { check(*this, MPI_Comm_get_name(handle, name, &length)); }
    virtual void Allgatherv(const void *out, int out_count, const Datatype &out_datatype, void *in, const int counts[],
                            const int displacements[], const Datatype &in_datatype) const
    {
        check(*this, MPI_Allgatherv(out, out_count, out_datatype.handle, in, counts, displacements, in_datatype.handle,
                                    handle));
    }
    virtual Comm &Clone() const = 0;
    virtual void Call_errhandler(int code) const;
    virtual void Reduce_scatter_block(const void *in, void *out, int count, const Datatype &datatype,
                                      const Op &op) const
    {
        check(*this, MPI_Reduce_scatter_block(in, out, count, datatype.handle, op.handle, handle));
    }
    static Errhandler Create_errhandler(Errhandler_function *function);
    static int Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *extra);
    static int NULL_COPY_FN(const Comm &, int, void *, void *, void *, bool &copies);
    static int NULL_DELETE_FN(Comm &, int, void *, void *);
    static Intercomm Get_parent();
    static Intercomm Join(int socket);

protected:
    /// With how many ranks a collective call exchanges data: those of the other side of an intercommunicator.
    __attribute__((visibility("hidden"))) int number_of_peers() const;
    /// The handle of a duplicate, for a clone.
    __attribute__((visibility("hidden"))) MPI_Comm duplicate() const
    {
        MPI_Comm made = MPI_COMM_NULL;
        check(*this, MPI_Comm_dup(handle, &made));
        return made;
    }
};

class Nullcomm : public Comm {
public:
    constexpr Nullcomm(MPI_Comm given = MPI_COMM_NULL) : Comm(given) {}
    virtual ~Nullcomm();
    virtual Nullcomm &Clone() const { return *new Nullcomm(); }
};

class Intercomm : public Comm {
public:
    constexpr Intercomm(MPI_Comm given = MPI_COMM_NULL) : Comm(given) {}
    Intercomm(const Intercomm &other) : Comm(other) {}
    virtual ~Intercomm();
    virtual Intercomm &Clone() const { return *new Intercomm(duplicate()); }
    virtual Intracomm Merge(bool high) const;
    virtual Group Get_remote_group() const
    {
        Group group;
        check(*this, MPI_Comm_remote_group(handle, &group.handle));
        return group;
    }
    virtual int Get_remote_size() const
    {
        int size = 0;
        check(*this, MPI_Comm_remote_size(handle, &size));
        return size;
    }
    virtual Intercomm Split(int color, int key) const
    {
        Intercomm made;
        check(*this, MPI_Comm_split(handle, color, key, &made.handle));
        return made;
    }
};

class Intracomm : public Comm {
public:
    constexpr Intracomm(MPI_Comm given = MPI_COMM_NULL) : Comm(given) {}
    Intracomm(const Intracomm &other) : Comm(other) {}
    virtual ~Intracomm();
    virtual Intracomm &Clone() const { return *new Intracomm(duplicate()); }
    virtual Intercomm Create_intercomm(int leader, const Comm &peer, int remote_leader, int tag) const
    {
        Intercomm made;
        check(*this, MPI_Intercomm_create(handle, leader, peer.handle, remote_leader, tag, &made.handle));
        return made;
    }
    virtual Intracomm Split(int color, int key) const
    {
        Intracomm made;
        check(*this, MPI_Comm_split(handle, color, key, &made.handle));
        return made;
    }
    virtual Graphcomm Create_graph(int nodes, const int index[], const int edges[], bool reorder) const;
    virtual Cartcomm Create_cart(int dimensions, const int sizes[], const bool periods[], bool reorder) const;
    virtual Intracomm Create(const Group &group) const
    {
        Intracomm made;
        check(*this, MPI_Comm_create(handle, group.handle, &made.handle));
        return made;
    }
    virtual void Scan(const void *in, void *out, int count, const Datatype &datatype, const Op &op) const
    {
        check(*this, MPI_Scan(in, out, count, datatype.handle, op.handle, handle));
    }
    virtual void Exscan(const void *in, void *out, int count, const Datatype &datatype, const Op &op) const
    {
        check(*this, MPI_Exscan(in, out, count, datatype.handle, op.handle, handle));
    }
    virtual Intercomm Accept(const char *port, const Info &info, int root) const
    {
        Intercomm made;
        check(*this, MPI_Comm_accept(port, info.handle, root, handle, &made.handle));
        return made;
    }
    virtual Intercomm Connect(const char *port, const Info &info, int root) const
    {
        Intercomm made;
        check(*this, MPI_Comm_connect(port, info.handle, root, handle, &made.handle));
        return made;
    }
};

class Graphcomm : public Intracomm {
public:
    constexpr Graphcomm(MPI_Comm given = MPI_COMM_NULL) : Intracomm(given) {}
    Graphcomm(const Graphcomm &other) : Intracomm(other) {}
    virtual ~Graphcomm();
    virtual Graphcomm &Clone() const { return *new Graphcomm(duplicate()); }
    virtual void Get_dims(int *nodes, int *edges) const { check(*this, MPI_Graphdims_get(handle, nodes, edges)); }
    virtual void Get_topo(int max_index, int max_edges, int index[], int edges[]) const
    {
        check(*this, MPI_Graph_get(handle, max_index, max_edges, index, edges));
    }
    virtual int Map(int nodes, const int index[], const int edges[]) const
    {
        int rank = MPI_UNDEFINED;
        check(*this, MPI_Graph_map(handle, nodes, index, edges, &rank));
        return rank;
    }
    virtual void Get_neighbors(int rank, int count, int neighbors[]) const
    {
        check(*this, MPI_Graph_neighbors(handle, rank, count, neighbors));
    }
    virtual int Get_neighbors_count(int rank) const
    {
        int count = 0;
        check(*this, MPI_Graph_neighbors_count(handle, rank, &count));
        return count;
    }
};

class Cartcomm : public Intracomm {
public:
    constexpr Cartcomm(MPI_Comm given = MPI_COMM_NULL) : Intracomm(given) {}
    Cartcomm(const Cartcomm &other) : Intracomm(other) {}
    virtual ~Cartcomm();
    virtual Cartcomm &Clone() const { return *new Cartcomm(duplicate()); }
    virtual void Get_coords(int rank, int dimensions, int coordinates[]) const
    {
        check(*this, MPI_Cart_coords(handle, rank, dimensions, coordinates));
    }
    virtual int Get_cart_rank(const int coordinates[]) const
    {
        int rank = MPI_UNDEFINED;
        check(*this, MPI_Cart_rank(handle, coordinates, &rank));
        return rank;
    }
    virtual int Get_dim() const
    {
        int dimensions = 0;
        check(*this, MPI_Cartdim_get(handle, &dimensions));
        return dimensions;
    }
    virtual void Get_topo(int dimensions, int sizes[], bool periods[], int coordinates[]) const
    {
        // What C does not fill stays false: a topology may have fewer dimensions than the arrays.
        std::unique_ptr<int[]> wraps = room<int>(dimensions);
        check(*this, MPI_Cart_get(handle, dimensions, sizes, wraps.get(), coordinates));
        for (int i = 0; i < dimensions; i++)
            periods[i] = wraps[i] != 0;
    }
    virtual int Map(int dimensions, const int sizes[], const bool periods[]) const
    {
        int rank = MPI_UNDEFINED;
        check(*this, MPI_Cart_map(handle, dimensions, sizes, truths(dimensions, periods).get(), &rank));
        return rank;
    }
    virtual Cartcomm Sub(const bool remain[]) const
    {
        Cartcomm made;
        check(*this, MPI_Cart_sub(handle, truths(Cartcomm::Get_dim(), remain).get(), &made.handle));
        return made;
    }
    virtual void Shift(int dimension, int displacement, int &from, int &to) const
    {
        check(*this, MPI_Cart_shift(handle, dimension, displacement, &from, &to));
    }
};

} // namespace MPI

#endif
