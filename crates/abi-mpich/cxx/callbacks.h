// Functions of the program that C calls.

#ifndef HPVM_MPICH_CALLBACKS_H
#define HPVM_MPICH_CALLBACKS_H

namespace MPI {
extern Intracomm COMM_WORLD;
} // namespace MPI

/// The handle of MPI::ERRORS_THROW_EXCEPTIONS. C returns an error to a caller whose object has it.
const MPI_Errhandler THROWING = 0x54000002;

/// For use where something has been caught: keeps it until the binding that called C can throw it again, and is the
/// error that C is given instead.
__attribute__((visibility("hidden"))) int keep_what_is_thrown();

/// What `call` returns; the error that stands for it if it throws.
template <class Call> static inline int guarded(Call call)
{
    try {
        return call();
    } catch (...) {
        return keep_what_is_thrown();
    }
}

/// Calls with an object of the class that the communicator has: programs may ask for it.
template <class Call> static inline int with_communicator(MPI_Comm handle, Call call)
{
    int inter = 0, topology = MPI_UNDEFINED;
    MPI_Comm_test_inter(handle, &inter);
    if (inter) {
        MPI::Intercomm comm(handle);
        return call(comm);
    }
    MPI_Topo_test(handle, &topology);
    if (topology == MPI_CART) {
        MPI::Cartcomm comm(handle);
        return call(comm);
    }
    if (topology == MPI_GRAPH) {
        MPI::Graphcomm comm(handle);
        return call(comm);
    }
    MPI::Intracomm comm(handle);
    return call(comm);
}

#endif
