! Checks of MPI's Fortran interface. Compiled with mpif.h, and with -DUSE_MPI for the module; and both again with
! -DSESSIONS_ONLY, without MPI_Init: the world is a communicator of a session then.
#ifdef SESSIONS_ONLY
module of_session
  implicit none
  integer :: session, session_world
end module of_session
#define MPI_COMM_WORLD session_world
#ifdef USE_MPI
#define MPI_MODULE use mpi; use of_session
#else
#define MPI_MODULE use of_session
#endif
#elif defined(USE_MPI)
#define MPI_MODULE use mpi
#else
#define MPI_MODULE
#endif
#ifdef USE_MPI
#define MPI_HEADER
#else
#define MPI_HEADER include 'mpif.h'
#endif

! Stops with a message that names the check.
subroutine must(condition, what)
  implicit none
  logical, intent(in) :: condition
  character(len=*), intent(in) :: what
  if (.not. condition) then
    write(0, '(2a)') 'FAILED: ', what
    call exit(3)
  end if
end subroutine must

subroutine point_to_point(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  integer :: next, prev, ierr, n, i, outcount, idx
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 8), requests(8), indices(8)
  integer :: got(8), mine(8), seen
  logical :: flag
  double precision :: x(1000), y(1000)
  next = mod(rank + 1, size)
  prev = mod(rank + size - 1, size)

  x = rank + 0.5d0
  y = 0
  call MPI_Sendrecv(x, 1000, MPI_DOUBLE_PRECISION, next, 7, y, 1000, MPI_DOUBLE_PRECISION, prev, 7, &
       MPI_COMM_WORLD, status, ierr)
  call must(ierr == MPI_SUCCESS .and. y(1) == prev + 0.5d0 .and. y(1000) == y(1), 'sendrecv')
  call must(status(MPI_SOURCE) == prev .and. status(MPI_TAG) == 7, 'status of sendrecv')
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, n, ierr)
  call must(n == 1000, 'get_count')
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  call must(n == 2000, 'get_count in integers')

  do i = 1, 4
    got(i) = -1
    call MPI_Irecv(got(i), 1, MPI_INTEGER, MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, requests(i), ierr)
  end do
  do i = 1, 4
    mine(i) = 100 * rank + i
    call MPI_Isend(mine(i), 1, MPI_INTEGER, next, 10 + i, MPI_COMM_WORLD, requests(4 + i), ierr)
  end do
  call MPI_Waitall(8, requests, statuses, ierr)
  call must(ierr == MPI_SUCCESS, 'waitall')
  do i = 1, 4
    call must(got(i) == 100 * prev + i, 'data of waitall')
    call must(statuses(MPI_SOURCE, i) == prev .and. statuses(MPI_TAG, i) == 10 + i, 'its statuses')
    call must(requests(i) == MPI_REQUEST_NULL, 'its requests')
  end do

  ! Indices count from 1.
  requests = MPI_REQUEST_NULL
  call MPI_Irecv(got, 1, MPI_INTEGER, prev, 21, MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, next, 21, MPI_COMM_WORLD, ierr)
  call MPI_Waitany(3, requests, idx, status, ierr)
  call must(idx == 3 .and. got(1) == prev, 'waitany')
  call MPI_Waitany(3, requests, idx, MPI_STATUS_IGNORE, ierr)
  call must(idx == MPI_UNDEFINED, 'waitany without requests')
  call MPI_Testany(3, requests, idx, flag, status, ierr)
  call must(flag .and. idx == MPI_UNDEFINED, 'testany without requests')

  call MPI_Irecv(got(1), 1, MPI_INTEGER, prev, 31, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Irecv(got(2), 1, MPI_INTEGER, prev, 32, MPI_COMM_WORLD, requests(4), ierr)
  call MPI_Send(rank + 1, 1, MPI_INTEGER, next, 31, MPI_COMM_WORLD, ierr)
  call MPI_Send(rank + 2, 1, MPI_INTEGER, next, 32, MPI_COMM_WORLD, ierr)
  seen = 0
  do while (seen < 2)
    call MPI_Waitsome(4, requests, outcount, indices, statuses, ierr)
    do i = 1, outcount
      call must(indices(i) == 2 .or. indices(i) == 4, 'indices of waitsome')
      call must(statuses(MPI_TAG, i) == 30 + indices(i) / 2, 'statuses of waitsome')
    end do
    seen = seen + outcount
  end do
  call must(got(1) == prev + 1 .and. got(2) == prev + 2, 'data of waitsome')
  call MPI_Waitsome(4, requests, outcount, indices, MPI_STATUSES_IGNORE, ierr)
  call must(outcount == MPI_UNDEFINED, 'waitsome without requests')

  call MPI_Isend(rank, 1, MPI_INTEGER, next, 41, MPI_COMM_WORLD, requests(1), ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Iprobe(MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, flag, status, ierr)
  end do
  call MPI_Recv(n, 1, MPI_INTEGER, status(MPI_SOURCE), 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call must(n == prev, 'recv after iprobe')
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierr)
  end do
  call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, ierr)
  call must(flag, 'testall')

  ! Nobody.
  call MPI_Recv(n, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
  call must(status(MPI_SOURCE) == MPI_PROC_NULL .and. status(MPI_TAG) == MPI_ANY_TAG, 'proc_null')

  ! Persistent.
  call MPI_Send_init(mine, 2, MPI_INTEGER, next, 51, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Recv_init(got, 2, MPI_INTEGER, prev, 51, MPI_COMM_WORLD, requests(2), ierr)
  do i = 1, 3
    mine(1:2) = (/ rank, i /)
    call MPI_Startall(2, requests, ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call must(got(1) == prev .and. got(2) == i, 'persistent')
  end do
  call MPI_Request_free(requests(1), ierr)
  call MPI_Request_free(requests(2), ierr)
  call must(requests(1) == MPI_REQUEST_NULL, 'request_free')
end subroutine point_to_point

subroutine product_of_pairs(invec, inoutvec, length, datatype)
  implicit none
  integer :: length, datatype, i
  double precision :: invec(2, length), inoutvec(2, length)
  do i = 1, length
    inoutvec(1, i) = inoutvec(1, i) + invec(1, i)
    inoutvec(2, i) = max(inoutvec(2, i), invec(2, i))
  end do
end subroutine product_of_pairs

subroutine collectives(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  external :: product_of_pairs
  integer :: ierr, i, op, pair, request, counts(64), displs(64), all(64), one, sum
  integer :: pairs(2)
  logical :: any, own, commutes
  complex :: z, total
  double precision :: two(2), best(2), twos(2, 3)
  real :: r
  integer(kind=8) :: long, longs
  character(len=8) :: text

  text = 'nothing'
  if (rank == 0) text = 'abcdefgh'
  call MPI_Bcast(text, 8, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
  call must(text == 'abcdefgh', 'bcast of characters')
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call must(sum == size * (size - 1) / 2, 'allreduce')
  one = rank
  call MPI_Allreduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  call must(one == size - 1, 'allreduce in place')
  all = -1
  all(rank + 1) = 10 * rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  do i = 1, size
    call must(all(i) == 10 * (i - 1), 'allgather in place')
  end do
  do i = 1, size
    counts(i) = 1
    displs(i) = size - i
  end do
  call MPI_Gatherv(rank, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) call must(all(size) == 0 .and. all(1) == size - 1, 'gatherv')
  own = rank == size - 1
  call MPI_Allreduce(own, any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  call must(any, 'logical or')
  call MPI_Allreduce(own, any, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call must(any .eqv. size == 1, 'logical and')
  z = cmplx(rank, 1)
  call MPI_Reduce(z, total, 1, MPI_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) call must(total == cmplx(size * (size - 1) / 2, size), 'complex')
  pairs = (/ -rank, rank /)
  call MPI_Allreduce(MPI_IN_PLACE, pairs, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierr)
  call must(pairs(1) == 1 - size .and. pairs(2) == size - 1, 'minloc')
  two = (/ dble(rank), dble(rank) /)
  call MPI_Allreduce(two, best, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  call must(best(1) == size - 1 .and. best(2) == size - 1, 'maxloc')
  r = 2
  call MPI_Scan(MPI_IN_PLACE, r, 1, MPI_REAL, MPI_PROD, MPI_COMM_WORLD, ierr)
  call must(r == 2.0 ** (rank + 1), 'scan')
  long = 2_8 ** 40
  call MPI_Allreduce(long, longs, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
  call must(longs == size * 2_8 ** 40, 'integer8')

  call MPI_Op_create(product_of_pairs, .true., op, ierr)
  call MPI_Op_commutative(op, commutes, ierr)
  call must(commutes, 'op_commutative')
  call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, ierr)
  call MPI_Type_commit(pair, ierr)
  do i = 1, 3
    twos(:, i) = (/ dble(rank), dble(rank * i) /)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, twos, 3, pair, op, MPI_COMM_WORLD, ierr)
  call must(ierr == MPI_SUCCESS, 'allreduce with an operation of the program')
  do i = 1, 3
    call must(twos(1, i) == sum .and. twos(2, i) == i * (size - 1), 'its result')
  end do
  call MPI_Op_free(op, ierr)
  call must(op == MPI_OP_NULL, 'op_free')
  call MPI_Type_free(pair, ierr)
  call must(pair == MPI_DATATYPE_NULL, 'type_free')

  call MPI_Ibarrier(MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Alltoall(all, 1, MPI_INTEGER, counts, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call must(ierr == MPI_SUCCESS, 'barrier')
end subroutine collectives

subroutine datatypes(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  integer :: ierr, next, prev, kind, types(2), lengths(2), bytes, position, i
  integer :: ints, addrs, kinds, combiner, contents(16), inner(4)
  integer :: status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: places(2), lb, extent, addresses(4)
  integer :: grid(6, 4), part(2, 2), request
  double precision, volatile :: b
  integer, volatile :: a
  integer :: c
  double precision :: d
  character(len=100) :: packed
  next = mod(rank + 1, size)
  prev = mod(rank + size - 1, size)

  do i = 1, 24
    grid(mod(i - 1, 6) + 1, (i - 1) / 6 + 1) = 100 * rank + i
  end do
  call MPI_Type_create_subarray(2, (/ 6, 4 /), (/ 2, 2 /), (/ 3, 1 /), MPI_ORDER_FORTRAN, &
       MPI_INTEGER, kind, ierr)
  call MPI_Type_commit(kind, ierr)
  part = 0
  call MPI_Sendrecv(grid, 1, kind, next, 1, part, 4, MPI_INTEGER, prev, 1, MPI_COMM_WORLD, status, &
       ierr)
  call must(part(1, 1) == 100 * prev + 10 .and. part(2, 2) == 100 * prev + 17, 'subarray')
  call MPI_Type_get_envelope(kind, ints, addrs, kinds, combiner, ierr)
  call must(combiner == MPI_COMBINER_SUBARRAY .and. kinds == 1 .and. ints == 8, 'envelope')
  call MPI_Type_get_contents(kind, 16, 4, 4, contents, addresses, inner, ierr)
  call must(contents(1) == 2 .and. contents(2) == 6 .and. contents(6) == 3, 'contents')
  call must(inner(1) == MPI_INTEGER, 'contents: datatype')
  call MPI_Type_free(kind, ierr)

  ! Absolute addresses with MPI_BOTTOM.
  a = 1000 + rank
  b = rank + 0.25d0
  call MPI_Get_address(a, places(1), ierr)
  call MPI_Get_address(b, places(2), ierr)
  lengths = 1
  types = (/ MPI_INTEGER, MPI_DOUBLE_PRECISION /)
  call MPI_Type_create_struct(2, lengths, places, types, kind, ierr)
  call MPI_Type_commit(kind, ierr)
  call MPI_Irecv(packed, 100, MPI_PACKED, prev, 2, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(MPI_BOTTOM, 1, kind, next, 2, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, status, ierr)
  position = 0
  call MPI_Unpack(packed, 100, position, MPI_BOTTOM, 1, kind, MPI_COMM_WORLD, ierr)
  call must(position == 12 .and. a == 1000 + prev .and. b == prev + 0.25d0, 'struct at MPI_BOTTOM')
  position = 0
  call MPI_Pack(rank, 1, MPI_INTEGER, packed, 100, position, MPI_COMM_WORLD, ierr)
  call MPI_Pack(3.5d0, 1, MPI_DOUBLE_PRECISION, packed, 100, position, MPI_COMM_WORLD, ierr)
  call must(position == 12, 'pack')
  position = 0
  call MPI_Unpack(packed, 100, position, c, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call MPI_Unpack(packed, 100, position, d, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  call must(c == rank .and. d == 3.5d0, 'unpack')
  call MPI_Type_free(kind, ierr)

  call MPI_Type_vector(3, 1, 2, MPI_REAL, kind, ierr)
  call MPI_Type_size(kind, bytes, ierr)
  call must(bytes == 12, 'type_size')
  call MPI_Type_get_extent(kind, lb, extent, ierr)
  call must(lb == 0 .and. extent == 20, 'type_get_extent')
  call MPI_Type_create_resized(kind, 0_MPI_ADDRESS_KIND, 64_MPI_ADDRESS_KIND, types(1), ierr)
  call MPI_Type_get_extent(types(1), lb, extent, ierr)
  call must(extent == 64, 'type_create_resized')
  call MPI_Type_size(MPI_DOUBLE_COMPLEX, bytes, ierr)
  call must(bytes == 16, 'double complex')
  call MPI_Type_size(MPI_REAL8, bytes, ierr)
  call must(bytes == 8, 'real8')
  call MPI_Type_size(MPI_INTEGER4, bytes, ierr)
  call must(bytes == 4, 'integer4')
  call MPI_Type_create_f90_real(15, 300, kind, ierr)
  call MPI_Type_size(kind, bytes, ierr)
  call must(bytes == 8, 'type_create_f90_real')
  call MPI_Type_create_f90_integer(9, kind, ierr)
  call MPI_Type_size(kind, bytes, ierr)
  call must(bytes == 4, 'type_create_f90_integer')
end subroutine datatypes

subroutine copy_attribute(comm, key, extra, old, new, flag, ierr)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer :: comm, key, ierr
  integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
  logical :: flag
  new = old + extra
  flag = .true.
  ierr = MPI_SUCCESS
end subroutine copy_attribute

subroutine delete_attribute(comm, key, value, extra, ierr)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer :: comm, key, ierr, deleted
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  common /counters/ deleted
  deleted = deleted + 1
  ierr = MPI_SUCCESS
end subroutine delete_attribute

subroutine handle_error(comm, code)
  implicit none
  integer :: comm, code, handled, whose
  common /errors/ handled, whose
  handled = code
  whose = comm
end subroutine handle_error

subroutine communicators(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  external :: copy_attribute, delete_attribute, handle_error
  integer :: ierr, half, own, members, key, copy, again, deleted, handler, handled, whose, class
  integer :: group, others(1), small, result, cart, dims(2), coords(2), source, dest, length, n
  integer :: ranks(64), theirs(64), i, old, info
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  logical :: flag, periods(2), remain(2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=20) :: setting
  common /counters/ deleted
  common /errors/ handled, whose

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierr)
  call MPI_Comm_rank(half, own, ierr)
  call MPI_Comm_size(half, members, ierr)
  call must(members == (size + 1 - mod(rank, 2)) / 2, 'size after split')
  call must(own == members - 1 - rank / 2, 'rank after split')
  call MPI_Comm_set_name(half, 'half of it   ', ierr)
  name = 'x'
  call MPI_Comm_get_name(half, name, length, ierr)
  call must(name == 'half of it' .and. length == 10, 'comm_get_name')
#ifndef SESSIONS_ONLY
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
  call must(name == 'MPI_COMM_WORLD', 'name of the world')
#endif
  call MPI_Comm_compare(half, half, result, ierr)
  call must(result == MPI_IDENT, 'comm_compare')
  ! What stands in the place of a result must not matter.
  small = 1071644672
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, small, ierr)
  call must(small == MPI_COMM_NULL, 'split with undefined colour')

  deleted = 0
  extra = 5
  value = 2_MPI_ADDRESS_KIND ** 40 + rank
  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra, ierr)
  call MPI_Comm_set_attr(half, key, value, ierr)
  call MPI_Comm_dup(half, copy, ierr)
  value = 0
  call MPI_Comm_get_attr(copy, key, value, flag, ierr)
  call must(flag .and. value == 2_MPI_ADDRESS_KIND ** 40 + rank + 5, 'copied attribute')
  call MPI_Comm_free(copy, ierr)
  call must(deleted == 1 .and. copy == MPI_COMM_NULL, 'deleted attribute')
  call MPI_Comm_delete_attr(half, key, ierr)
  call must(deleted == 2, 'comm_delete_attr')
  call MPI_Comm_free_keyval(key, ierr)
  call must(key == MPI_KEYVAL_INVALID, 'comm_free_keyval')
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
  call MPI_Comm_set_attr(half, key, value, ierr)
  call MPI_Comm_dup(half, again, ierr)
  call MPI_Comm_get_attr(again, key, extra, flag, ierr)
  call must(flag .and. extra == value, 'MPI_COMM_DUP_FN')
  call MPI_Comm_free(again, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call must(flag .and. value >= 32767, 'MPI_TAG_UB')
#ifndef USE_MPI
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, old, 3, ierr)
  call MPI_Attr_put(half, old, -17, ierr)
  call MPI_Comm_dup(half, again, ierr)
  n = 0
  call MPI_Attr_get(again, old, n, flag, ierr)
  call must(flag .and. n == -17, 'MPI_DUP_FN')
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, n, flag, ierr)
  call must(flag .and. n >= 32767, 'MPI_TAG_UB in an integer')
  call MPI_Comm_free(again, ierr)
#endif

  call MPI_Comm_create_errhandler(handle_error, handler, ierr)
  call MPI_Comm_set_errhandler(half, handler, ierr)
  call MPI_Errhandler_free(handler, ierr)
  handled = 0
  call MPI_Send(rank, 1, MPI_INTEGER, members + 7, 0, half, ierr)
  call must(handled /= 0 .and. whose == half, 'error handler of the program')
  call MPI_Error_class(handled, class, ierr)
  call must(class == MPI_ERR_RANK, 'its error class')
  call MPI_Error_string(handled, text, length, ierr)
  call must(length > 0 .and. len_trim(text) == length, 'error_string')
  call MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, members + 7, 0, half, ierr)
  call must(ierr /= MPI_SUCCESS, 'MPI_ERRORS_RETURN')

  call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
  others(1) = size - 1
  call MPI_Group_incl(group, 1, others, again, ierr)
  call MPI_Group_size(again, n, ierr)
  call must(n == 1, 'group_incl')
  ranks = (/ (i - 1, i = 1, 64) /)
  call MPI_Group_translate_ranks(group, size, ranks, again, theirs, ierr)
  call must(theirs(size) == 0, 'group_translate_ranks')
  if (size > 1) call must(theirs(1) == MPI_UNDEFINED, 'translated to undefined')
  call MPI_Group_free(again, ierr)
  call MPI_Group_free(group, ierr)

  dims = 0
  call MPI_Dims_create(size, 2, dims, ierr)
  periods = (/ .true., .false. /)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, ierr)
  call MPI_Cart_coords(cart, rank, 2, coords, ierr)
  call MPI_Cart_rank(cart, coords, n, ierr)
  call must(n == rank, 'cart_rank')
  call MPI_Cart_shift(cart, 0, 1, source, dest, ierr)
  call must(dest == mod(rank + dims(2), size), 'cart_shift')
  call MPI_Cart_shift(cart, 1, dims(2), source, dest, ierr)
  call must(source == MPI_PROC_NULL .and. dest == MPI_PROC_NULL, 'cart_shift to nobody')
  periods = .false.
  call MPI_Cart_get(cart, 2, dims, periods, coords, ierr)
  call must(periods(1) .and. .not. periods(2), 'cart_get')
  remain = (/ .true., .false. /)
  call MPI_Cart_sub(cart, remain, again, ierr)
  call MPI_Comm_size(again, n, ierr)
  call must(n == dims(1), 'cart_sub')
  call MPI_Comm_free(again, ierr)
  call MPI_Topo_test(cart, n, ierr)
  call must(n == MPI_CART, 'topo_test')
  call MPI_Comm_free(cart, ierr)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (/ mod(rank + size - 1, size) /), &
       MPI_UNWEIGHTED, 1, (/ mod(rank + 1, size) /), MPI_UNWEIGHTED, MPI_INFO_NULL, .false., cart, ierr)
  call must(ierr == MPI_SUCCESS, 'dist_graph_create_adjacent')
  call MPI_Dist_graph_neighbors_count(cart, n, length, flag, ierr)
  call must(n == 1 .and. length == 1 .and. .not. flag, 'dist_graph_neighbors_count')
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, n, 1, MPI_INTEGER, cart, ierr)
  call must(n == mod(rank + size - 1, size), 'neighbor_allgather')
  call MPI_Comm_free(cart, ierr)

  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, '  a key ', ' some value  ', ierr)
  setting = 'x'
  call MPI_Info_get(info, 'a key', 20, setting, flag, ierr)
  call must(flag .and. setting == 'some value', 'info_get')
  call MPI_Info_get_valuelen(info, 'a key', n, flag, ierr)
  call must(flag .and. n == 10, 'info_get_valuelen')
  call MPI_Info_get_nthkey(info, 0, name, ierr)
  call must(name == 'a key', 'info_get_nthkey')
  call MPI_Info_get(info, 'none', 20, setting, flag, ierr)
  call must(.not. flag, 'info_get of nothing')
  call MPI_Info_free(info, ierr)
  call must(info == MPI_INFO_NULL, 'info_free')
  call MPI_Comm_free(half, ierr)
end subroutine communicators

subroutine windows(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  integer, asynchronous :: exposed(4)
  integer :: win, ierr, next, prev, got, group, ranks(2), mine(2), n
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  next = mod(rank + 1, size)
  prev = mod(rank + size - 1, size)
  exposed = rank
  call MPI_Win_create(exposed, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call must(ierr == MPI_SUCCESS, 'win_create')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag, ierr)
  call must(flag .and. bytes == 16, 'MPI_WIN_SIZE')
  mine = (/ 100 + rank, 5 /)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(mine, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
  call MPI_Accumulate(mine(2), 1, MPI_INTEGER, 0, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call must(exposed(2) == 100 + prev, 'put')
  if (rank == 0) call must(exposed(3) == 5 * size, 'accumulate')
  call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win, ierr)
  call MPI_Get(got, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_unlock(next, win, ierr)
  call must(got == 100 + rank, 'get')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Win_lock_all(0, win, ierr)
  call MPI_Fetch_and_op(1, got, MPI_INTEGER, 0, 3_MPI_ADDRESS_KIND, MPI_SUM, win, ierr)
  call MPI_Win_unlock_all(win, ierr)
  call must(got >= 0 .and. got < size, 'fetch_and_op')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  ranks = (/ prev, next /)
  n = min(2, size)
  if (prev == next) n = 1
  call MPI_Comm_group(MPI_COMM_WORLD, got, ierr)
  call MPI_Group_incl(got, n, ranks, group, ierr)
  call MPI_Group_free(got, ierr)
  call MPI_Win_post(group, 0, win, ierr)
  call MPI_Win_start(group, 0, win, ierr)
  mine(1) = 200 + rank
  call MPI_Put(mine, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_complete(win, ierr)
  call MPI_Win_wait(win, ierr)
  call must(exposed(1) == 200 + prev, 'put between post and wait')
  call MPI_Group_free(group, ierr)
  call MPI_Win_free(win, ierr)
  call must(win == MPI_WIN_NULL, 'win_free')
end subroutine windows

subroutine files(rank, size)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(in) :: rank, size
  integer :: file, ierr, kind, mine(3), got(3), n, class, length, status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: bytes
  character(len=200) :: name
  call get_environment_variable('SUITE_FILE', name, length)
  call must(length > 0, 'SUITE_FILE names a file to write')
  call MPI_File_open(MPI_COMM_WORLD, name(1:length)//'-is-not-there', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
  call MPI_Error_class(ierr, class, ierr)
  call must(class == MPI_ERR_NO_SUCH_FILE, 'file_open of nothing')
  call MPI_File_open(MPI_COMM_WORLD, name(1:length), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
       MPI_INFO_NULL, file, ierr)
  call must(ierr == MPI_SUCCESS, 'file_open')
  ! Integer i of the file is rank mod(i, size)'s.
  call MPI_Type_vector(3, 1, size, MPI_INTEGER, kind, ierr)
  call MPI_Type_commit(kind, ierr)
  call MPI_File_set_view(file, 4_MPI_OFFSET_KIND * rank, MPI_INTEGER, kind, 'native', MPI_INFO_NULL, ierr)
  mine = (/ rank, 10 + rank, 20 + rank /)
  call MPI_File_write_all(file, mine, 3, MPI_INTEGER, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  call must(n == 3, 'file_write_all')
  call MPI_File_get_size(file, bytes, ierr)
  call must(bytes == 12 * size, 'file_get_size')
  call MPI_Type_free(kind, ierr)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  call MPI_File_read_at(file, int(size, MPI_OFFSET_KIND), got, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call must(ierr == MPI_SUCCESS .and. got(1) == 10, 'file_read_at')
  call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
  call MPI_File_read_ordered(file, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  n = 3 * rank
  call must(got(1) == 10 * (n / size) + mod(n, size), 'file_read_ordered')
  call MPI_File_close(file, ierr)
  call must(file == MPI_FILE_NULL, 'file_close')
end subroutine files

#ifdef SESSIONS_ONLY
subroutine begin(provided)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(out) :: provided
  integer :: ierr, info, group, n, i, length, found
  logical :: flag
  character(len=MPI_MAX_PSET_NAME_LEN) :: name
  character(len=30) :: level
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'thread_level', 'MPI_THREAD_FUNNELED', ierr)
  call MPI_Session_init(info, MPI_ERRORS_RETURN, session, ierr)
  call must(ierr == MPI_SUCCESS .and. session /= MPI_SESSION_NULL, 'session_init')
  call MPI_Info_free(info, ierr)
  call MPI_Session_get_info(session, info, ierr)
  call MPI_Info_get(info, 'thread_level', 30, level, flag, ierr)
  call must(flag .and. level /= 'MPI_THREAD_SINGLE', 'thread_level')
  call MPI_Info_free(info, ierr)
  provided = MPI_THREAD_FUNNELED
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, ierr)
  found = 0
  do i = 0, n - 1
    length = MPI_MAX_PSET_NAME_LEN
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierr)
    if (name == 'mpi://WORLD' .or. name == 'mpi://SELF') found = found + 1
  end do
  call must(found == 2, 'session_get_nth_pset')
  call MPI_Session_get_pset_info(session, 'mpi://SELF', info, ierr)
  call MPI_Info_get(info, 'mpi_size', 30, level, flag, ierr)
  call must(flag .and. level == '1', 'session_get_pset_info')
  call MPI_Info_free(info, ierr)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierr)
  call must(ierr == MPI_SUCCESS, 'group_from_session_pset')
  call MPI_Comm_create_from_group(group, 'org.example.suite', MPI_INFO_NULL, MPI_ERRORS_RETURN, &
       session_world, ierr)
  call must(ierr == MPI_SUCCESS .and. session_world /= MPI_COMM_NULL, 'comm_create_from_group')
  call MPI_Group_free(group, ierr)
end subroutine begin

subroutine finish
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer :: ierr
  logical :: flag
  call MPI_Initialized(flag, ierr)
  call must(.not. flag, 'initialized, without MPI_Init')
  call MPI_Comm_free(session_world, ierr)
  call MPI_Session_finalize(session, ierr)
  call must(ierr == MPI_SUCCESS .and. session == MPI_SESSION_NULL, 'session_finalize')
  call MPI_Finalized(flag, ierr)
  call must(.not. flag, 'finalized, without MPI_Init')
end subroutine finish
#else
subroutine begin(provided)
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer, intent(out) :: provided
  integer :: ierr, level
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call must(provided >= MPI_THREAD_FUNNELED, 'init_thread')
  call MPI_Query_thread(level, ierr)
  call must(level == provided, 'query_thread')
end subroutine begin

subroutine finish
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer :: ierr
  logical :: flag
  call MPI_Finalize(ierr)
  call MPI_Finalized(flag, ierr)
  call must(flag, 'finalized')
end subroutine finish
#endif

program suite
  MPI_MODULE
  implicit none
  MPI_HEADER
  integer :: ierr, rank, size, provided, length, version, subversion
  logical :: flag
  double precision :: start
  character(len=MPI_MAX_PROCESSOR_NAME) :: name

  call MPI_Initialized(flag, ierr)
  call must(.not. flag, 'initialized, too early')
  call begin(provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Get_processor_name(name, length, ierr)
  call must(length > 0 .and. len_trim(name) == length, 'get_processor_name')
  call MPI_Get_version(version, subversion, ierr)
  call must(version >= 3, 'get_version')
  start = MPI_Wtime()
  call must(MPI_Wtick() > 0 .and. MPI_Wtick() < 1, 'wtick')
  call point_to_point(rank, size)
  call collectives(rank, size)
  call datatypes(rank, size)
  call communicators(rank, size)
  call windows(rank, size)
  call files(rank, size)
  call must(MPI_Wtime() >= start .and. MPI_Wtime() < start + 600, 'wtime')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a)', 'ok'
  call finish
end program suite
