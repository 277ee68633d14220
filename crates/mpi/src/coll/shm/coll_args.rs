//! Which collective it is, with its buffers, and what each member shows of them.

use crate::comm::Comm;
use crate::datatype::{Predefined, TypeRef};
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::{Incoming, Outgoing, pack_all, pack_part, packed_size, unpack_all};
use hpvm_coll::select::{SMALL, Small};
use hpvm_wire::coll_slots::CollSlots;

/// Which operation, and its buffers. All members agree on its bytes ([`crate::Process::begin_shm`]).
#[derive(Clone, Debug)]
pub enum What {
    Barrier,
    Bcast {
        root: u32,
        buf: *mut u8,
        count: i64,
        ty: TypeRef,
    },
    /// `MPI_Reduce`, or without a root `MPI_Allreduce`. `recv` is looked at where the result goes.
    /// The elements lie next to each other, `bytes` of them.
    Reduce {
        root: Option<u32>,
        send: *const u8,
        recv: *mut u8,
        count: usize,
        bytes: usize,
        ty: &'static Predefined,
        op: Predef,
    },
    Allgather(Sides),
    Alltoall(Sides),
    /// At the root `recv` has a block for everybody; elsewhere it is not looked at.
    Gather {
        root: u32,
        sides: Sides,
    },
    /// At the root `send` has a block for everybody, and `in_place` says that its own one stays there;
    /// elsewhere it is not looked at.
    Scatter {
        root: u32,
        sides: Sides,
        in_place: bool,
    },
}

/// The buffers of an exchange of equal blocks. Without `send` it is `MPI_IN_PLACE`; a null one is
/// `MPI_BOTTOM`.
#[derive(Clone, Debug)]
pub struct Sides {
    pub send: Option<*const u8>,
    pub send_count: i64,
    pub send_ty: TypeRef,
    pub recv: *mut u8,
    pub recv_count: i64,
    pub recv_ty: TypeRef,
}

/// How many bytes a member shows to which others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Nothing,
    /// To each other member so many.
    Everybody(u64),
    /// To one member.
    One(u32, u64),
}

/// What a member shows.
#[derive(Clone, Copy)]
pub(super) enum Shown<'a> {
    Nothing,
    /// So many bytes that lie next to each other.
    Run(*const u8, usize),
    Elements(Outgoing<'a>),
    /// A block for everybody, but the own one, which begins behind so many packed bytes and has so many.
    Others(Outgoing<'a>, (usize, usize)),
}

impl Shown<'_> {
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Shown::Nothing => 0,
            Shown::Run(_, len) => *len,
            Shown::Elements(m) => m.packed_size() as usize,
            Shown::Others(m, (_, own)) => m.packed_size() as usize - own,
        }
    }

    /// # Safety
    /// The buffers are valid; `out` has `len` bytes.
    #[inline(always)]
    pub unsafe fn write(&self, out: &mut [u8]) {
        // SAFETY: the caller's promises.
        unsafe {
            match self {
                Shown::Nothing => {}
                Shown::Run(from, _) => hpvm_copy::any(*from, out.as_mut_ptr(), out.len()),
                Shown::Elements(m) => pack_all(*m, out),
                Shown::Others(m, (at, own)) => {
                    let (before, behind) = out.split_at_mut(*at);
                    pack_part(*m, 0, before, false);
                    pack_part(*m, (at + own) as u64, behind, false);
                }
            }
        }
    }

    /// Posts it as operation `number`, at `at` in the data ring.
    ///
    /// # Safety
    /// As for [`CollSlots::post`], and the buffers are valid.
    #[inline(always)]
    pub unsafe fn post(&self, slots: &CollSlots, number: u64, at: usize, len: usize) {
        // SAFETY: the caller's promises.
        unsafe { slots.post(number, at, len, |out| self.write(out)) }
    }
}

impl What {
    /// What this process shows to whom, for the rank map.
    pub fn shows(&self, comm: &Comm) -> Shows {
        let (me, size) = (comm.rank(), u64::from(comm.size()));
        let all = self.shown(me, comm.size()).len() as u64;
        match self {
            What::Barrier => Shows::Nothing,
            What::Bcast { root, .. } if *root == me => Shows::Everybody(all),
            What::Reduce { root: None, .. } | What::Allgather(_) => Shows::Everybody(all),
            What::Alltoall(_) => Shows::Everybody(all / (size - 1).max(1)),
            What::Scatter { root, .. } if *root == me => Shows::Everybody(all / (size - 1).max(1)),
            What::Reduce { root: Some(root), .. } | What::Gather { root, .. } if *root != me => {
                Shows::One(*root, all)
            }
            _ => Shows::Nothing,
        }
    }

    /// By which name measurements of it go; a barrier has no bytes to be measured by.
    #[inline(always)]
    pub(super) fn small(&self) -> Option<Small> {
        match self {
            What::Barrier => None,
            What::Bcast { .. } => Some(Small::Bcast),
            What::Reduce { root: Some(_), .. } => Some(Small::Reduce),
            What::Reduce { root: None, .. } => Some(Small::Allreduce),
            What::Allgather(_) => Some(Small::Allgather),
            What::Alltoall(_) => Some(Small::Alltoall),
            What::Gather { .. } => Some(Small::Gather),
            What::Scatter { .. } => Some(Small::Scatter),
        }
    }

    /// Its index in tables of such limits: `small`, or one more for a barrier.
    #[inline(always)]
    pub(super) fn kind(&self) -> usize {
        self.small().map_or(SMALL, |small| small as usize)
    }

    /// What member `rank` of `size` brings along for the others.
    #[inline(always)]
    pub(super) fn shown(&self, rank: u32, size: u32) -> Shown<'_> {
        match self {
            What::Barrier => Shown::Nothing,
            What::Bcast { buf, count, ty, .. } => {
                Shown::Elements(Outgoing { buf: buf.cast_const(), count: *count, ty })
            }
            What::Reduce { send, recv, bytes, .. } => {
                Shown::Run(if send.is_null() { recv.cast_const() } else { *send }, *bytes)
            }
            What::Allgather(sides) | What::Gather { sides, .. } => {
                Shown::Elements(sides.own_part(rank))
            }
            What::Alltoall(sides) | What::Scatter { sides, .. } => {
                let own = sides.part(rank).packed_size() as usize;
                Shown::Others(sides.all_parts(size), (own * rank as usize, own))
            }
        }
    }

    /// The same with the own block of an alltoall, so that every block is where its member's number says.
    pub(super) fn shown_whole(&self, rank: u32, size: u32) -> Shown<'_> {
        match self {
            What::Alltoall(sides) => Shown::Elements(sides.all_parts(size)),
            _ => self.shown(rank, size),
        }
    }
}

impl Sides {
    /// What member `rank` contributes to an allgather.
    #[inline(always)]
    pub(super) fn own_part(&self, rank: u32) -> Outgoing<'_> {
        match self.send {
            Some(buf) => Outgoing { buf, count: self.send_count, ty: &self.send_ty },
            None => {
                let Incoming { buf, count, ty } = self.block(rank);
                Outgoing { buf: buf.cast_const(), count, ty }
            }
        }
    }

    /// What a member of `n` contributes to an alltoall, or the root to a scatter: a block for everybody.
    #[inline(always)]
    pub(super) fn all_parts(&self, n: u32) -> Outgoing<'_> {
        let n = i64::from(n);
        match self.send {
            Some(buf) => Outgoing { buf, count: self.send_count * n, ty: &self.send_ty },
            None => {
                let buf = self.recv.cast_const();
                Outgoing { buf, count: self.recv_count * n, ty: &self.recv_ty }
            }
        }
    }

    /// Where the block of `member` goes.
    #[inline(always)]
    pub(super) fn block(&self, member: u32) -> Incoming<'_> {
        let away = self.recv_ty.extent().wrapping_mul(self.recv_count) * i64::from(member);
        let buf = self.recv.wrapping_offset(away as isize);
        Incoming { buf, count: self.recv_count, ty: &self.recv_ty }
    }

    /// Where the only block goes.
    #[inline(always)]
    pub(super) fn whole(&self) -> Incoming<'_> {
        Incoming { buf: self.recv, count: self.recv_count, ty: &self.recv_ty }
    }

    /// Copies `from`, which is ours, to where it belongs.
    ///
    /// # Safety
    /// The buffers are valid.
    #[inline(always)]
    pub(super) unsafe fn copy_own(from: Outgoing<'_>, to: Incoming<'_>) {
        // SAFETY: the caller's promise; the standard forbids that they overlap.
        unsafe { crate::datatype::copy(from.buf, from.count, from.ty, to.buf, to.count, to.ty) };
    }
}

/// Writes what a member has shown to a buffer.
///
/// # Safety
/// The buffer is valid for writes of its elements.
#[inline(always)]
pub(super) unsafe fn unpack(slot: &[u8], m: Incoming<'_>) -> Result<()> {
    let room = packed_size(m.ty, m.count) as usize;
    // SAFETY: the caller's promise; no more than fits.
    unsafe { unpack_all(m.buf, m.count, m.ty, &slot[..slot.len().min(room)]) };
    if slot.len() > room { Err(long(slot.len(), room)) } else { Ok(()) }
}

/// Writes `data` to a buffer, as bytes `at..` of the packed form of its elements.
///
/// # Safety
/// The buffer is valid for writes of its elements, which have so many bytes.
pub(super) unsafe fn unpack_part(data: &[u8], at: usize, m: Incoming<'_>) {
    match m.ty.as_run(m.count) {
        Some((first, bytes)) if (at + data.len()) as u64 <= bytes => {
            let to = m.buf.wrapping_offset(first as isize).wrapping_add(at);
            // SAFETY: the elements form one run of `bytes` from `first` on.
            unsafe { hpvm_copy::wide(data.as_ptr(), to, data.len()) };
        }
        // SAFETY: the caller's promise.
        _ => unsafe {
            m.ty.unpack(m.buf, m.count, at as u64, data);
        },
    }
}

/// The operand in a slot.
pub(super) fn whole(slot: &[u8], bytes: usize) -> Result<*const u8> {
    if slot.len() < bytes { Err(short(slot.len(), bytes)) } else { Ok(slot.as_ptr()) }
}

#[cold]
pub(super) fn long(found: usize, room: usize) -> Error {
    let text = format!("a member gave {found} bytes where this one has room for {room}");
    Error::new(Class::Truncate, text)
}

/// The error of those who wait for a member that has found one.
#[cold]
pub(super) fn failed() -> Error {
    Error::new(Class::Other, "another member of this collective has found an error in it")
}

#[cold]
pub(super) fn short(found: usize, expected: usize) -> Error {
    let text = format!("a member gave {found} bytes where this one expects {expected}");
    Error::new(Class::Other, text)
}
