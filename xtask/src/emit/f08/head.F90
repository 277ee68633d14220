! gfortran passes choice buffers by descriptors of its own; others, and gfortran with -DHPVM_CDESC, by
! those of TS 29113.
#if defined(__GFORTRAN__) && !defined(HPVM_CDESC)
#define HPVM_BIND(symbol)
#define HPVM_TEXT(name) character(len=*), intent(in) :: name
#else
#define HPVM_BIND(symbol) bind(C, name=symbol)
#define HPVM_TEXT(name) character(len=1), intent(in) :: name
#endif
module mpi_f08
  use, intrinsic :: iso_c_binding, only: C_PTR
  use hpvm_mpi_types
  use mpi, only: MPI_Sizeof
  implicit none
  private :: C_PTR

  ! Versions, kinds and promises
  integer, parameter :: MPI_VERSION = 5, MPI_SUBVERSION = 0
  integer, parameter :: MPI_INTEGER_KIND = 4, MPI_ADDRESS_KIND = 8
  integer, parameter :: MPI_OFFSET_KIND = 8, MPI_COUNT_KIND = 8
  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.
  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.
  integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1

  ! Statuses as arrays of integers: their size, and the places of their fields
  integer, parameter :: MPI_STATUS_SIZE = 8
  integer, parameter :: MPI_SOURCE = 1, MPI_TAG = 2, MPI_ERROR = 3
