// MPICH's C++ bindings of ours: what becomes of errors, and of what functions of the program throw. Prints "well" at rank 0.
#include <mpi.h>

#include <iostream>
#include <stdexcept>

static void must(bool condition, const char *what)
{
    if (!condition) {
        std::cerr << what << std::endl;
        MPI::COMM_WORLD.Abort(3);
    }
}

/// The class of the error that `call` throws; 0 for none.
template <class Call> static int thrown(Call call)
{
    try {
        call();
    } catch (MPI::Exception &exception) {
        return exception.Get_error_class();
    }
    return 0;
}

static int handled;

static void note(MPI::Comm &comm, int *, ...)
{
    must(dynamic_cast<MPI::Intracomm *>(&comm) != 0, "the class of a communicator");
    handled++;
}

static void throw_on(MPI::Comm &, int *, ...) { throw std::runtime_error("from a handler"); }

static int throw_at_end(MPI::Comm &comm, int, void *, void *)
{
    must(dynamic_cast<MPI::Cartcomm *>(&comm) != 0, "the class of a grid");
    throw std::logic_error("from an attribute");
}

static void objects_that_are_none()
{
    MPI::Intracomm none, freed = MPI::COMM_WORLD.Dup(), copy = freed;
    freed.Free();
    must(thrown([&] { none.Barrier(); }) == MPI::ERR_COMM, "no communicator");
    must(thrown([&] { copy.Barrier(); }) == MPI::ERR_COMM, "a freed communicator");
    must(thrown([] { MPI::COMM_NULL.Get_rank(); }) == MPI::ERR_COMM, "MPI::COMM_NULL");
    must(thrown([] { MPI::Datatype().Get_size(); }) == MPI::ERR_TYPE, "no datatype");
    must(thrown([] { MPI::Group().Get_size(); }) == MPI::ERR_GROUP, "no group");
    must(thrown([] { MPI::Win().Fence(0); }) == MPI::ERR_WIN, "no window");
    must(thrown([] { MPI::INT.Create_contiguous(-1); }) == MPI::ERR_COUNT, "a negative count");
    must(thrown([] { MPI::File().Get_size(); }) == 0, "MPI::FILE_NULL returns errors");
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    auto open = [] { MPI::File::Open(MPI::COMM_WORLD, "/none/none", MPI::MODE_RDONLY, MPI::INFO_NULL); };
    must(thrown(open) == MPI::ERR_NO_SUCH_FILE, "no file");
}

static void own_errors()
{
    int number = MPI::Add_error_class(), code = MPI::Add_error_code(number);
    MPI::Add_error_string(code, "an own error");
    try {
        MPI::COMM_WORLD.Call_errhandler(code);
        must(false, "no exception");
    } catch (MPI::Exception &exception) {
        must(exception.Get_error_class() == number && exception.Get_error_code() == code, "an own error");
        must(std::string(exception.Get_error_string()) == "an own error", "its text");
    }
}

static void functions_that_throw()
{
    int value = 0, size = MPI::COMM_WORLD.Get_size(), sizes[1] = {size};
    bool caught = false, wraps[1] = {false};
    MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
    MPI::Errhandler throwing = MPI::Comm::Create_errhandler(throw_on), noting = MPI::Comm::Create_errhandler(note);
    comm.Set_errhandler(throwing);
    try {
        comm.Send(&value, 1, MPI::INT, size, 0);
    } catch (std::runtime_error &) {
        caught = true;
    }
    must(caught, "an exception of a handler");
    comm.Set_errhandler(noting);
    comm.Send(&value, 1, MPI::INT, size, 0);
    must(handled == 1, "a handler is called once");
    comm.Call_errhandler(MPI::ERR_OTHER);
    must(handled == 2, "a handler that the program calls");
    throwing.Free();
    noting.Free();
    comm.Free();

    int key = MPI::Comm::Create_keyval(MPI::Comm::NULL_COPY_FN, throw_at_end, 0);
    MPI::Cartcomm grid = MPI::COMM_WORLD.Create_cart(1, sizes, wraps, false);
    grid.Set_attr(key, &value);
    grid.Set_errhandler(MPI::ERRORS_RETURN);
    caught = false;
    try {
        grid.Delete_attr(key);
    } catch (std::logic_error &) {
        caught = true;
    }
    must(caught, "an exception of an attribute");
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    objects_that_are_none();
    own_errors();
    functions_that_throw();
    MPI::COMM_WORLD.Barrier();
    if (MPI::COMM_WORLD.Get_rank() == 0)
        std::cout << "well" << std::endl;
    MPI::Finalize();
    return 0;
}
