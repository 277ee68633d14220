// MPI's C++ bindings as MPICH has them: functions of the program in C++, and exceptions. Prints "well" at rank 0.
#include <mpi.h>

#include <cstdlib>
#include <iostream>

static int rank, size, copies, deletions, errors;

static void must(bool condition, const char *what)
{
    if (!condition) {
        std::cerr << "rank " << rank << ": " << what << std::endl;
        MPI::COMM_WORLD.Abort(3);
    }
}

static void larger(const void *in, void *inout, int count, const MPI::Datatype &type)
{
    must(type == MPI::INT, "the datatype of an operation");
    for (int i = 0; i < count; i++)
        if (static_cast<const int *>(in)[i] > static_cast<int *>(inout)[i])
            static_cast<int *>(inout)[i] = static_cast<const int *>(in)[i];
}

static int copy(const MPI::Comm &, int, void *extra, void *value, void *out, bool &flag)
{
    must(extra == &copies, "the state of an attribute");
    copies++;
    *static_cast<void **>(out) = static_cast<int *>(value) + 1;
    flag = true;
    return MPI::SUCCESS;
}

static int forget(MPI::Comm &, int, void *, void *extra)
{
    must(extra == &copies, "the state of an attribute that is deleted");
    deletions++;
    return MPI::SUCCESS;
}

static void note(MPI::Comm &comm, int *code, ...)
{
    must(comm.Get_size() == size && *code != MPI::SUCCESS, "what an error handler gets");
    errors++;
}

static void attributes()
{
    static int values[2];
    int key = MPI::Comm::Create_keyval(copy, forget, &copies);
    MPI::Intracomm one = MPI::COMM_WORLD.Dup();
    one.Set_attr(key, &values[0]);
    MPI::Intracomm other = one.Dup();
    void *found = 0;
    must(other.Get_attr(key, &found) && found == &values[1] && copies == 1, "an attribute's copy");
    other.Free();
    one.Free();
    must(deletions == 2, "attributes that are deleted");
    MPI::Comm::Free_keyval(key);
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    size = MPI::COMM_WORLD.Get_size();
    int value = 100 + rank, most = 0;
    MPI::Op op;
    op.Init(larger, true);
    MPI::COMM_WORLD.Allreduce(&value, &most, 1, MPI::INT, op);
    op.Free();
    must(most == 99 + size, "an operation in C++");
    attributes();

    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    must(MPI::COMM_WORLD.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS, "the error handler");
    bool caught = false;
    try {
        MPI::COMM_WORLD.Send(&value, 1, MPI::INT, size, 0);
    } catch (MPI::Exception &exception) {
        caught = exception.Get_error_class() == MPI::ERR_RANK;
    }
    must(caught, "an exception");
    MPI::Errhandler handler = MPI::Comm::Create_errhandler(note);
    MPI::COMM_WORLD.Set_errhandler(handler);
    MPI::COMM_WORLD.Send(&value, 1, MPI::INT, size, 0);
    must(errors > 0, "an error handler in C++");
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
    handler.Free();
    MPI::COMM_WORLD.Barrier();
    MPI::Finalize();
    if (rank == 0)
        std::cout << "well" << std::endl;
    return 0;
}
