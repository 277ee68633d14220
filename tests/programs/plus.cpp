// A C++ program: names, exceptions and containers beside MPI. Rank 0 prints "sum S".
#include <mpi.h>

#include <iostream>
#include <numeric>
#include <stdexcept>
#include <vector>

static int checked(int code)
{
    if (code != MPI_SUCCESS)
        throw std::runtime_error("MPI failed");
    return code;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    checked(MPI_Comm_size(MPI_COMM_WORLD, &size));
    std::vector<double> mine(1000, rank + 1.0), sum(1000);
    checked(MPI_Allreduce(mine.data(), sum.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bool caught = false;
    try {
        checked(MPI_Send(mine.data(), 1, MPI_DOUBLE, size, 0, MPI_COMM_WORLD));
    } catch (const std::runtime_error &) {
        caught = true;
    }
    double total = std::accumulate(sum.begin(), sum.end(), 0.0);
    MPI_Finalize();
    if (rank == 0)
        std::cout << "sum " << total << (caught ? "" : ", nothing caught") << std::endl;
    return caught ? 0 : 1;
}
