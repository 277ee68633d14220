! Fortran, fixed form: groups, their collective calls, functions of a reduction, siblings.
      subroutine check(good, what)
      logical good
      character*(*) what
      if (.not. good) then
        print *, 'not so: ', what
        stop 1
      end if
      end

! The larger of two integers, as a function of the program: what pvmfreduce calls.
      subroutine larger(kind, x, y, n, info)
      integer kind, n, x(n), y(n), info, i
      do i = 1, n
        x(i) = max(x(i), y(i))
      end do
      info = 0
      end

      subroutine reductions(group, instance, members)
      implicit none
      include 'fpvm3.h'
      character*(*) group
      integer instance, members, info, n(2), m(2)
      double precision d
      external PvmSum, PvmMax, PvmMin, PvmProduct, larger
      n(1) = instance
      n(2) = -instance
      call pvmfreduce(PvmSum, n, 2, INTEGER4, 11, group, 0, info)
      call check(info .eq. PvmOk, 'sum')
      m(1) = instance
      m(2) = -instance
      call pvmfreduce(PvmMax, m, 2, INTEGER4, 12, group, 0, info)
      call check(info .eq. PvmOk, 'max')
      d = 1 + instance
      call pvmfreduce(PvmProduct, d, 1, REAL8, 13, group, 0, info)
      call check(info .eq. PvmOk, 'product')
      if (instance .eq. 0) then
        call check(n(1) .eq. members * (members - 1) / 2, 'a sum')
        call check(n(2) .eq. -n(1), 'another sum')
        call check(m(1) .eq. members - 1 .and. m(2) .eq. 0, 'maxima')
        call check(nint(d) .eq. 24, 'a product')
      end if
      m(1) = instance
      m(2) = 7
      call pvmfreduce(PvmMin, m, 2, INTEGER4, 14, group, 1, info)
      if (instance .eq. 1) call check(all(m .eq. (/ 0, 7 /)), 'minima')
      m(1) = instance
      call pvmfreduce(larger, m, 1, INTEGER4, 15, group, 0, info)
      if (instance .eq. 0) call check(m(1) .eq. 3, 'an own function')
      end

      subroutine member(members)
      implicit none
      include 'fpvm3.h'
      integer members, instance, tid, info, mine, i, buffer, size
      integer all4(8), part(2)
      character*20 group
      group = 'fortran group'
      call pvmfjoingroup(group, instance)
      call check(instance .ge. 0, 'joingroup')
      call pvmfbarrier(group, members, info)
      call check(info .eq. PvmOk, 'barrier')
      call pvmffreezegroup(group, members, info)
      call check(info .eq. members, 'freezegroup')
      call pvmfgsize(group, size)
      call check(size .eq. members, 'gsize')
      call pvmfmytid(mine)
      call pvmfgettid(group, instance, tid)
      call check(tid .eq. mine, 'gettid')
      call pvmfgetinst(group, mine, i)
      call check(i .eq. instance, 'getinst')
      call pvmfgettid(group, 77, tid)
      call check(tid .eq. PvmNoInst, 'no such instance')
      if (instance .eq. 2) then
        call pvmfinitsend(PVMDEFAULT, buffer)
        call pvmfpack(INTEGER4, 123, 1, 1, info)
        call pvmfbcast(group, 5, info)
        call check(info .eq. PvmOk, 'bcast')
      else
        call pvmfrecv(-1, 5, buffer)
        call pvmfunpack(INTEGER4, i, 1, 1, info)
        call check(i .eq. 123, 'what was broadcast')
      end if
      do i = 1, 8
        all4(i) = 10 * i
      end do
      call pvmfscatter(part, all4, 2, INTEGER4, 6, group, 0, info)
      call check(info .eq. PvmOk, 'scatter')
      call check(part(2) .eq. 10 * (2 * instance + 2), 'a part')
      part = part + 1
      call pvmfgather(all4, part, 2, INTEGER4, 7, group, 3, info)
      call check(info .eq. PvmOk, 'gather')
      if (instance .eq. 3) then
        do i = 1, 8
          call check(all4(i) .eq. 10 * i + 1, 'what was gathered')
        end do
      end if
      call reductions(group, instance, members)
      call pvmfbarrier(group, members, info)
      call pvmflvgroup(group, info)
      call check(info .eq. PvmOk, 'lvgroup')
      end

      program groups
      implicit none
      include 'fpvm3.h'
      integer members
      parameter (members = 4)
      character*1000 self
      integer tid, parent, tids(members), started, info, n, i, buffer
      call pvmfmytid(tid)
      call pvmfparent(parent)
      call pvmfsetopt(PVMAUTOERR, 0, i)
      if (parent .gt. 0) then
        call pvmfsiblings(n, -1, i)
        call check(n .eq. members, 'how many siblings')
        do i = 0, n - 1
          call pvmfsiblings(n, i, tids(i + 1))
        end do
        call check(any(tids .eq. tid), 'one of them')
        call pvmfsiblings(n, members, i)
        call check(i .eq. PvmNoTask, 'no such sibling')
        call member(members)
        call pvmfinitsend(PVMDEFAULT, buffer)
        call pvmfsend(parent, 1, info)
        call pvmfexit(info)
        stop
      end if
      call get_command_argument(0, self)
      call pvmfspawn(self, PVMDEFAULT, '*', members, tids, started)
      call check(started .eq. members, 'spawn')
      call pvmfnotify(PVMTASKEXIT, 2, members, tids, info)
      call check(info .eq. PvmOk, 'notify')
      do i = 1, members
        call pvmfrecv(tids(i), 1, buffer)
        call check(buffer .gt. 0, 'recv')
      end do
! Each tells that it is at the end before it has ended.
      do i = 1, members
        call pvmfrecv(-1, 2, buffer)
        call pvmfunpack(INTEGER4, n, 1, 1, info)
        call check(any(tids .eq. n), 'whose end')
      end do
      call pvmfgsize('fortran group', n)
      call check(n .eq. PvmNoGroup, 'a group that has ended')
      call pvmfexit(info)
      print '(A)', 'No errors'
      end
