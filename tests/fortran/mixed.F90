! Fortran and C in one program: what one makes the other uses (mixed.c).
program mixed
  use mpi
  implicit none
  integer :: comm, type, op, request, group, members, size, rank, ierror, failed
  integer :: status(MPI_STATUS_SIZE), value, data(4), tag, total
  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_size(comm, size, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  call MPI_Type_contiguous(3, MPI_INTEGER, type, ierror)
  op = MPI_SUM
  call take_handles(comm, type, op, failed)
  if (failed /= 0) stop 1
  call give_handles(comm, value, request, group)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (value /= 77 .or. request /= MPI_REQUEST_NULL) stop 2
  call MPI_Group_size(group, members, ierror)
  if (members /= size) stop 3
  call MPI_Sendrecv((/1, 2, 3, 4/), 4, MPI_INTEGER, rank, 9, data, 4, MPI_INTEGER, rank, 9, &
                    comm, status, ierror)
  call take_status(status, rank, failed)
  if (failed /= 0) stop 4
  tag = status(MPI_TAG)
  if (tag /= 10) stop 5
  call take_ignored(MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, failed)
  if (failed /= 0) stop 6
  call sizes
  call attributes
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
  if (rank == 0 .and. total == size) print '(A)', 'ok'
  call MPI_Finalize(ierror)

contains

  ! What Fortran sets C gets as the address of an integer, and the other way round (section 19.3.7).
  subroutine attributes
    integer :: keyval, c_keyval, copied, old_keyval, old
    integer(MPI_ADDRESS_KIND) :: value, address
    logical :: flag

    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
                                0_MPI_ADDRESS_KIND, ierror)
    value = -12345678901_MPI_ADDRESS_KIND
    call MPI_Comm_set_attr(comm, keyval, value, ierror)
    call MPI_Comm_dup(comm, copied, ierror)
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, old_keyval, 0, ierror)
    call MPI_Attr_put(comm, old_keyval, 4321, ierror)
    call take_attributes(comm, copied, keyval, old_keyval, c_keyval, address, failed)
    if (failed /= 0) stop 20
    call MPI_Comm_get_attr(comm, c_keyval, value, flag, ierror)
    if (.not. flag .or. value /= address) stop 21
    ! C has written through the address that it got.
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    if (.not. flag .or. value /= 99) stop 22
    call MPI_Comm_get_attr(copied, keyval, value, flag, ierror)
    if (.not. flag .or. value /= -12345678901_MPI_ADDRESS_KIND) stop 23
    call MPI_Attr_get(comm, old_keyval, old, flag, ierror)
    if (.not. flag .or. old /= 4321) stop 24
    call MPI_Comm_delete_attr(comm, c_keyval, ierror)
    call MPI_Comm_free(copied, ierror)
  end subroutine attributes

  ! MPI_SIZEOF of scalars and arrays of several ranks.
  subroutine sizes
    integer(1) :: small
    integer(8) :: big(2, 3)
    real(8), allocatable :: values(:, :, :)
    complex(4) :: pair
    logical :: answer
    character(len=7) :: text
    integer :: n
    allocate(values(2, 2, 2))
    call MPI_Sizeof(small, n, ierror)
    if (n /= 1 .or. ierror /= MPI_SUCCESS) stop 10
    call MPI_Sizeof(big, n, ierror)
    if (n /= 8) stop 11
    call MPI_Sizeof(values, n, ierror)
    if (n /= 8) stop 12
    call MPI_Sizeof(pair, n, ierror)
    if (n /= 8) stop 13
    call MPI_Sizeof(answer, n, ierror)
    if (n /= 4) stop 14
    call MPI_Sizeof(text, n, ierror)
    if (n /= 1) stop 15
    call MPI_Sizeof(values(1, 1, 1), n, ierror)
    if (n /= 8) stop 16
  end subroutine sizes
end program mixed
