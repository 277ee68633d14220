//! The arguments of a collective that goes through shared memory, and what each member shows of its buffers to the
//! others.

use crate::comm::Comm;
use crate::datatype::{Predefined, TypeRef};
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::{Incoming, Outgoing, pack_all, pack_part, packed_size, unpack_all};
use hpvm_coll::select::{COLL_KINDS, CollKind};
use hpvm_wire::coll_slots::CollSlots;

/// Which collective, with its buffers. All members pass the same number of bytes to
/// [`crate::Process::begin_shm`].
#[derive(Clone, Debug)]
pub enum CollArgs {
    Barrier,
    Bcast {
        root: u32,
        buf: *mut u8,
        count: i64,
        ty: TypeRef,
    },
    /// `MPI_Reduce`, or without a root `MPI_Allreduce`. `recv` matters only where the result goes. The elements are
    /// contiguous and have `bytes` bytes.
    Reduce {
        root: Option<u32>,
        send: *const u8,
        recv: *mut u8,
        count: usize,
        bytes: usize,
        ty: &'static Predefined,
        op: Predef,
    },
    Allgather(BlockBuffers),
    Alltoall(BlockBuffers),
    /// At the root the receive buffer has a block for each member; elsewhere it does not matter.
    Gather {
        root: u32,
        buffers: BlockBuffers,
    },
    /// At the root the send buffer has a block for each member, and `in_place` says that the root's own block stays
    /// there. Elsewhere the send buffer does not matter.
    Scatter {
        root: u32,
        buffers: BlockBuffers,
        in_place: bool,
    },
}

/// The buffers of a collective of equal blocks. `send` is `None` for `MPI_IN_PLACE`; a null pointer is `MPI_BOTTOM`.
#[derive(Clone, Debug)]
pub struct BlockBuffers {
    pub send: Option<*const u8>,
    pub send_count: i64,
    pub send_ty: TypeRef,
    pub recv: *mut u8,
    pub recv_count: i64,
    pub recv_ty: TypeRef,
}

/// How many bytes a member shows, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Nothing,
    /// So many bytes to each other member.
    Everybody(u64),
    /// So many bytes to one member.
    One(u32, u64),
}

/// The data that a member shows.
#[derive(Clone, Copy)]
pub(super) enum Shown<'a> {
    Nothing,
    /// So many contiguous bytes.
    Run(*const u8, usize),
    Elements(Outgoing<'a>),
    /// A block for each other member. The elements include our own block, which is left out: its offset in the
    /// packed data and its length are given.
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

impl CollArgs {
    /// What this process shows, and to whom, for the rank map.
    pub fn shows(&self, comm: &Comm) -> Shows {
        let (me, size) = (comm.rank(), u64::from(comm.size()));
        let all = self.shown(me, comm.size()).len() as u64;
        match self {
            CollArgs::Barrier => Shows::Nothing,
            CollArgs::Bcast { root, .. } if *root == me => Shows::Everybody(all),
            CollArgs::Reduce { root: None, .. } | CollArgs::Allgather(_) => Shows::Everybody(all),
            CollArgs::Alltoall(_) => Shows::Everybody(all / (size - 1).max(1)),
            CollArgs::Scatter { root, .. } if *root == me => {
                Shows::Everybody(all / (size - 1).max(1))
            }
            CollArgs::Reduce { root: Some(root), .. } | CollArgs::Gather { root, .. }
                if *root != me =>
            {
                Shows::One(*root, all)
            }
            _ => Shows::Nothing,
        }
    }

    /// Its kind in the tables of `hpvm tune`; `None` for a barrier, which has no bytes to be measured by.
    #[inline(always)]
    pub(super) fn kind(&self) -> Option<CollKind> {
        match self {
            CollArgs::Barrier => None,
            CollArgs::Bcast { .. } => Some(CollKind::Bcast),
            CollArgs::Reduce { root: Some(_), .. } => Some(CollKind::Reduce),
            CollArgs::Reduce { root: None, .. } => Some(CollKind::Allreduce),
            CollArgs::Allgather(_) => Some(CollKind::Allgather),
            CollArgs::Alltoall(_) => Some(CollKind::Alltoall),
            CollArgs::Gather { .. } => Some(CollKind::Gather),
            CollArgs::Scatter { .. } => Some(CollKind::Scatter),
        }
    }

    /// Its index in `SlotState::slots_up_to`: that of its kind, or one more for a barrier.
    #[inline(always)]
    pub(super) fn limit_index(&self) -> usize {
        self.kind().map_or(COLL_KINDS, |kind| kind as usize)
    }

    /// What member `rank` of `size` shows to the others.
    #[inline(always)]
    pub(super) fn shown(&self, rank: u32, size: u32) -> Shown<'_> {
        match self {
            CollArgs::Barrier => Shown::Nothing,
            CollArgs::Bcast { buf, count, ty, .. } => {
                Shown::Elements(Outgoing { buf: buf.cast_const(), count: *count, ty })
            }
            CollArgs::Reduce { send, recv, bytes, .. } => {
                Shown::Run(if send.is_null() { recv.cast_const() } else { *send }, *bytes)
            }
            CollArgs::Allgather(buffers) | CollArgs::Gather { buffers, .. } => {
                Shown::Elements(buffers.own_part(rank))
            }
            CollArgs::Alltoall(buffers) | CollArgs::Scatter { buffers, .. } => {
                let own = buffers.part(rank).packed_size() as usize;
                Shown::Others(buffers.all_parts(size), (own * rank as usize, own))
            }
        }
    }

    /// The same, but with our own block of an alltoall, so that a member's number is the index of its block.
    pub(super) fn shown_whole(&self, rank: u32, size: u32) -> Shown<'_> {
        match self {
            CollArgs::Alltoall(buffers) => Shown::Elements(buffers.all_parts(size)),
            _ => self.shown(rank, size),
        }
    }
}

impl BlockBuffers {
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

    /// Where the only block goes, at a member that receives one.
    #[inline(always)]
    pub(super) fn whole(&self) -> Incoming<'_> {
        Incoming { buf: self.recv, count: self.recv_count, ty: &self.recv_ty }
    }

    /// Copies our own block `from` to where it belongs.
    ///
    /// # Safety
    /// The buffers are valid.
    #[inline(always)]
    pub(super) unsafe fn copy_own(from: Outgoing<'_>, to: Incoming<'_>) {
        // SAFETY: the caller's promise; the standard forbids that they overlap.
        unsafe { crate::datatype::copy(from.buf, from.count, from.ty, to.buf, to.count, to.ty) };
    }
}

/// Unpacks the data of a slot into a buffer. An error if they are longer than the buffer.
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

/// Unpacks `data` into a buffer, as bytes `at..` of the packed form of its elements.
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

/// The operand of a reduction in a slot. An error if it is too short.
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
