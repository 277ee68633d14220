! Fortran, fixed form: packing of all types in all encodings, buffers, typed sends, matching, a handler.
      module seen
      integer handled
      end module

! The message whose buffer is `buffer`: a handler of Fortran gets an address.
      integer function handle(buffer)
      use seen
      implicit none
      include 'fpvm3.h'
      integer buffer, current, value, info
      call pvmfgetrbuf(current)
      call check(current .eq. buffer, 'handler: receive buffer')
      call pvmfunpack(INTEGER4, value, 1, 1, info)
      call check(info .eq. PvmOk, 'handler: unpack')
      handled = handled + value
      handle = 0
      end

      subroutine check(good, what)
      logical good
      character*(*) what
      if (.not. good) then
        print *, 'not so: ', what
        stop 1
      end if
      end

! Sends back what comes, with the next tag, until the tag is 99.
      subroutine echo(parent)
      implicit none
      include 'fpvm3.h'
      integer parent, buffer, bytes, tag, tid, fresh, old, info
      integer context, wait, encoding, crc, target
 10   call pvmfrecv(parent, -1, buffer)
      call check(buffer .gt. 0, 'echo: recv')
      call pvmfbufinfo(buffer, bytes, tag, tid, info)
      call check(info .eq. PvmOk .and. tid .eq. parent, 'echo: info')
      if (tag .eq. 99) return
! A body goes into a message of its encoding only; this is XDR's number.
      call pvmfgetminfo(buffer, bytes, context, tag, wait, encoding,
     >                  crc, tid, target, info)
      if (encoding .eq. 268435456) then
        call pvmfmkbuf(PVMDATADEFAULT, fresh)
      else
        call pvmfmkbuf(PVMDATARAW, fresh)
      end if
      call pvmfsetsbuf(fresh, old)
      call pvmfpkmesgbody(buffer, info)
      call check(info .eq. PvmOk, 'echo: body')
      call pvmfsend(parent, tag + 1, info)
      call check(info .eq. PvmOk, 'echo: send')
      call pvmfsetsbuf(old, fresh)
      call pvmffreebuf(fresh, info)
      call check(info .eq. PvmOk, 'echo: free')
      goto 10
      end

      subroutine types(to, encoding)
      implicit none
      include 'fpvm3.h'
      integer to, encoding, info, buffer, i
      integer*1 b(3), b2(3)
      integer*2 s(6), s2(3)
      integer n(2), n2(2)
      integer*8 l, l2
      real f(2), f2(2)
      complex c, c2
      double precision d(4), d2(2)
      complex*16 z, z2
      character*12 text, got
      data b /1, -2, 3/, s /1, 2, 3, 4, 5, 6/, n /-1, 1073741824/
      data f /1.5, -2.5/, c /(1.0, -2.0)/, d /3.25d0, 0d0, -1d300, 0d0/
      data z /(4d0, 5d-200)/, l /1152921504606846976_8/
      text = 'a text'
      call pvmfinitsend(encoding, buffer)
      call check(buffer .gt. 0, 'initsend')
      call pvmfpack(BYTE1, b, 3, 1, info)
      call pvmfpack(INTEGER2, s, 3, 2, info)
      call pvmfpack(INTEGER4, n, 2, 1, info)
      call pvmfpack(INTEGER8, l, 1, 1, info)
      call pvmfpack(REAL4, f, 2, 1, info)
      call pvmfpack(COMPLEX8, c, 1, 1, info)
      call pvmfpack(REAL8, d, 2, 2, info)
      call pvmfpack(COMPLEX16, z, 1, 1, info)
      call pvmfpack(STRING, text, 12, 1, info)
      call check(info .eq. PvmOk, 'pack')
      call pvmfpack(99, n, 1, 1, info)
      call check(info .eq. PvmBadParam, 'pack of no type')
      call pvmfsend(to, 10, info)
      call check(info .eq. PvmOk, 'send')
      call pvmfrecv(to, 11, buffer)
      call check(buffer .gt. 0, 'recv')
      call pvmfunpack(BYTE1, b2, 3, 1, info)
      call pvmfunpack(INTEGER2, s2, 3, 1, info)
      call pvmfunpack(INTEGER4, n2, 2, 1, info)
      call pvmfunpack(INTEGER8, l2, 1, 1, info)
      call pvmfunpack(REAL4, f2, 2, 1, info)
      call pvmfunpack(COMPLEX8, c2, 1, 1, info)
      call pvmfunpack(REAL8, d2, 2, 1, info)
      call pvmfunpack(COMPLEX16, z2, 1, 1, info)
      call pvmfunpack(STRING, got, 12, 1, info)
      call check(info .eq. PvmOk, 'unpack')
      call check(all(b .eq. b2) .and. all(n .eq. n2), 'integers')
      call check(all(s2 .eq. (/ 1_2, 3_2, 5_2 /)), 'a stride')
      call check(l .eq. l2 .and. all(f .eq. f2) .and. c .eq. c2, 'reals')
      call check(d2(1) .eq. d(1) .and. d2(2) .eq. d(3), 'doubles')
      call check(z .eq. z2 .and. got .eq. text, 'the rest')
      call pvmfunpack(INTEGER4, i, 1, 1, info)
      call check(info .eq. PvmNoData, 'the end of a message')
      end

! Typed sends and receives, more than a link holds at once; messages of messages.
      subroutine typed(to)
      implicit none
      include 'fpvm3.h'
      integer to, info, from, tag, got, i, buffer, fresh, old
      integer length, context, wait, encoding, crc, source, target
      integer n
      parameter (n = 300000)
      double precision a(n), back(n)
      character*5 word
      do i = 1, n
        a(i) = i
      end do
      call pvmfpsend(to, 20, a, n, REAL8, info)
      call check(info .eq. PvmOk, 'psend')
      call pvmfprecv(to, 21, back, n, REAL8, from, tag, got, info)
      call check(info .eq. PvmOk .and. from .eq. to, 'precv')
      call check(tag .eq. 21 .and. got .eq. 8 * n, 'bytes received')
      call check(all(a .eq. back), 'doubles of precv')
      call pvmfpsend(to, 22, 'words', 5, STRING, info)
      call pvmfprecv(-1, -1, word, 5, STRING, from, tag, got, info)
      call check(word .eq. 'words' .and. got .eq. 5, 'characters')
      call pvmfinitsend(PVMDATARAW, buffer)
      call pvmfpack(INTEGER4, 42, 1, 1, info)
      call pvmfsetminfo(buffer, 0, 7, 0, 0, 0, info)
      call check(info .eq. PvmOk, 'setminfo')
      call pvmfmkbuf(PVMDATADEFAULT, fresh)
      call pvmfsetsbuf(fresh, old)
      call check(old .eq. buffer, 'setsbuf')
      call pvmfpkmesg(buffer, info)
      call check(info .eq. PvmOk, 'pkmesg')
      call pvmfsend(to, 24, info)
      call pvmfrecv(to, 25, buffer)
      call pvmfupkmesg(buffer, fresh)
      call check(fresh .gt. 0, 'upkmesg')
      call pvmfgetminfo(fresh, length, context, tag, wait, encoding,
     >                  crc, source, target, info)
      call check(info .eq. PvmOk .and. length .eq. 4, 'getminfo')
      call check(tag .eq. 7 .and. encoding .ne. 268435456, 'its head')
      call pvmfsetrbuf(fresh, old)
      call check(old .eq. buffer, 'setrbuf')
      call pvmfunpack(INTEGER4, i, 1, 1, info)
      call check(info .eq. PvmOk .and. i .eq. 42, 'a message in one')
      end

      subroutine matching(to)
      use seen
      implicit none
      include 'fpvm3.h'
      integer to, info, buffer, i, context, old, id
      integer handle
      external handle
      do i = 1, 3
        call pvmfinitsend(PVMDEFAULT, buffer)
        call pvmfpack(INTEGER4, i, 1, 1, info)
        call pvmfmcast(1, to, 30 + 2 * i, info)
        call check(info .eq. PvmOk, 'mcast')
      end do
      call pvmfrecv(to, 37, buffer)
      call pvmfunpack(INTEGER4, i, 1, 1, info)
      call check(i .eq. 3, 'the third first')
      call pvmfprobe(-1, 33, buffer)
      call check(buffer .gt. 0, 'probe')
      call pvmfnrecv(-1, 33, buffer)
      call check(buffer .gt. 0, 'nrecv')
      call pvmfnewcontext(context)
      call pvmfsetcontext(context, old)
      call check(context .gt. 0 .and. old .eq. 0, 'setcontext')
      call pvmfgetcontext(i)
      call check(i .eq. context, 'getcontext')
      call pvmfprobe(-1, -1, buffer)
      call check(buffer .eq. 0, 'nothing in a new context')
      call pvmftrecv(-1, -1, 0, 1000, buffer)
      call check(buffer .eq. 0, 'trecv gives up')
      call pvmfsetcontext(old, i)
      call pvmffreecontext(context, info)
      call check(info .eq. PvmOk, 'freecontext')
      call pvmftrecv(-1, -1, -1, 0, buffer)
      call pvmfunpack(INTEGER4, i, 1, 1, info)
      call check(i .eq. 2, 'trecv waits')
      handled = 0
      call pvmfaddmhf(to, 51, -1, i, handle, id)
      call check(id .gt. 0, 'addmhf')
      do i = 50, 52, 2
        call pvmfinitsend(PVMDEFAULT, buffer)
        call pvmfpack(INTEGER4, i, 1, 1, info)
        call pvmfsend(to, i, info)
      end do
      call pvmfrecv(to, 53, buffer)
      call check(handled .eq. 50, 'the handler')
      call pvmfdelmhf(id, info)
      call check(info .eq. PvmOk, 'delmhf')
      call pvmfgetsbuf(i)
      call check(i .gt. 0, 'getsbuf')
      end

      program messages
      implicit none
      include 'fpvm3.h'
      character*1000 self
      integer tid, parent, to, started, info, buffer
      call pvmfmytid(tid)
      call check(tid .gt. 0, 'mytid')
      call pvmfparent(parent)
      if (parent .gt. 0) then
        call echo(parent)
        call pvmfexit(info)
        stop
      end if
      call check(parent .eq. PvmNoParent, 'parent')
      call pvmfsetopt(PVMAUTOERR, 0, info)
      call check(info .eq. 1, 'setopt')
      call pvmfgetopt(PVMAUTOERR, info)
      call check(info .eq. 0, 'getopt')
      call get_command_argument(0, self)
      call pvmfspawn(self, PVMDEFAULT, '*', 1, to, started)
      call check(started .eq. 1, 'spawn')
      call types(to, PVMDATADEFAULT)
      call types(to, PVMDATARAW)
      call types(to, PVMDATAINPLACE)
      call typed(to)
      call matching(to)
      call pvmfinitsend(PVMDEFAULT, buffer)
      call pvmfsend(to, 99, info)
      call pvmfexit(info)
      call check(info .eq. PvmOk, 'exit')
      print '(A)', 'No errors'
      end
