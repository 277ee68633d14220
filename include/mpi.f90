! The module `mpi`. mpifort compiles it at its first use with each compiler, because the file that a
! compiler makes of a module is for that compiler only.
module mpi
  use hpvm_mpi_types
  implicit none
  include 'mpif.h'
  include 'mpi_interfaces.f90'

  ! Deprecated since MPI 4.0; use storage_size or c_sizeof.
  interface MPI_SIZEOF
    subroutine hpvm_sizeof_integer1(x, size, ierror)
      integer(1), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_integer1
    subroutine hpvm_sizeof_integer2(x, size, ierror)
      integer(2), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_integer2
    subroutine hpvm_sizeof_integer4(x, size, ierror)
      integer(4), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_integer4
    subroutine hpvm_sizeof_integer8(x, size, ierror)
      integer(8), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_integer8
    subroutine hpvm_sizeof_logical1(x, size, ierror)
      logical(1), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_logical1
    subroutine hpvm_sizeof_logical2(x, size, ierror)
      logical(2), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_logical2
    subroutine hpvm_sizeof_logical4(x, size, ierror)
      logical(4), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_logical4
    subroutine hpvm_sizeof_logical8(x, size, ierror)
      logical(8), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_logical8
    subroutine hpvm_sizeof_real4(x, size, ierror)
      real(4), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_real4
    subroutine hpvm_sizeof_real8(x, size, ierror)
      real(8), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_real8
    subroutine hpvm_sizeof_complex4(x, size, ierror)
      complex(4), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_complex4
    subroutine hpvm_sizeof_complex8(x, size, ierror)
      complex(8), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_complex8
    subroutine hpvm_sizeof_character(x, size, ierror)
      character(len=*), intent(in) :: x(..)
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine hpvm_sizeof_character
  end interface MPI_SIZEOF
end module mpi
