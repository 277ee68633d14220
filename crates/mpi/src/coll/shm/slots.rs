//! One collective over slots, as a state machine.

use super::large::Part;
use super::{Use, index};
use crate::comm::Comm;
use crate::datatype::{Datatype, Predefined};
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::{Incoming, Outgoing, pack_all, packed_size, unpack_all};
use hpvm_coll::select::Small;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{
    CollSlots, DEPTH, LARGE_SLOT_BYTES, LARGE_SLOTS, LargeSlot, SLOT_BYTES,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Which operation, and its buffers. All members agree on the bytes of a slot (`Process::way`).
#[derive(Clone, Debug)]
pub enum What {
    Barrier,
    Bcast {
        root: u32,
        buf: *mut u8,
        count: i64,
        ty: Arc<Datatype>,
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
}

impl What {
    /// By which name measurements of it go; a barrier has no bytes to be measured by.
    pub(super) fn small(&self) -> Option<Small> {
        match self {
            What::Barrier => None,
            What::Bcast { .. } => Some(Small::Bcast),
            What::Reduce { root: Some(_), .. } => Some(Small::Reduce),
            What::Reduce { root: None, .. } => Some(Small::Allreduce),
            What::Allgather(_) => Some(Small::Allgather),
            What::Alltoall(_) => Some(Small::Alltoall),
        }
    }

    /// Posts what member `rank` of `size` brings along as slot `number` of its slots.
    ///
    /// # Safety
    /// As for [`CollSlots::post`], and the buffers are valid.
    #[inline(always)]
    pub(super) unsafe fn post(&self, slots: &CollSlots, number: u64, rank: u32, size: u32) {
        // SAFETY: the caller's promises.
        unsafe {
            let packed = |m: Outgoing<'_>| {
                slots.post(number, m.packed_size() as usize, |out| pack_all(m, out));
            };
            match self {
                What::Barrier => slots.post(number, 0, |_| {}),
                What::Bcast { buf, count, ty, .. } => {
                    packed(Outgoing { buf: buf.cast_const(), count: *count, ty });
                }
                What::Reduce { send, recv, bytes, .. } => {
                    let from = if send.is_null() { recv.cast_const() } else { *send };
                    slots.post(number, *bytes, |out| {
                        core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len());
                    });
                }
                What::Allgather(sides) => packed(sides.own_part(rank)),
                What::Alltoall(sides) => packed(sides.all_parts(size)),
            }
        }
    }
}

/// The buffers of an exchange of equal blocks. Without `send` it is `MPI_IN_PLACE`; a null one is
/// `MPI_BOTTOM`.
#[derive(Clone, Debug)]
pub struct Sides {
    pub send: Option<*const u8>,
    pub send_count: i64,
    pub send_ty: Arc<Datatype>,
    pub recv: *mut u8,
    pub recv_count: i64,
    pub recv_ty: Arc<Datatype>,
}

/// A collective under way. To be polled until it is done.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) comm: &'a Comm,
    index: usize,
    pub(super) number: u64,
    pub(super) what: What,
    pub(super) part: Part,
    posted: bool,
    /// The first member whose slot has not been seen yet.
    next: u32,
}

impl Use {
    /// The number of the next operation.
    pub(super) fn begin(&self) -> u64 {
        // Relaxed: see `Use`.
        let number = self.number.load(Ordering::Relaxed) + 1;
        self.number.store(number, Ordering::Relaxed); // relaxed: see `Use`
        number
    }
}

impl<'a> Call<'a> {
    /// Begins the exchange of slots for a part of `what` on `comm`, for which [`Process::way_of`] has said `Slots`. `None`
    /// can't happen then.
    ///
    /// # Safety
    /// The buffers stay valid, for as many elements as the call of MPI says, until `poll` says
    /// that the collective is done.
    #[inline(always)]
    pub unsafe fn begin(comm: &'a Comm, what: What, part: Part) -> Option<Call<'a>> {
        let index = index(comm)?;
        Some(Call {
            comm,
            index,
            number: comm.coll_slots().begin(),
            what,
            part,
            posted: false,
            next: 0,
        })
    }

    /// Whether a slot is missing of a process of which `which` is true.
    pub fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        (self.next..self.needs().end).any(|member| {
            self.coll_slots(p, member).is_ok_and(|slots| !slots.has(self.number))
                && self.comm.group().process(member).is_some_and(&which)
        })
    }

    /// Whether it waits for others to finish an earlier operation, of which no bell tells.
    pub fn lacks_room(&self) -> bool {
        !self.posted
    }

    /// Whether slots lie on large slots.
    pub fn is_long(&self) -> bool {
        !matches!(self.part, Part::Short)
    }

    /// Whether `poll` would go on.
    pub fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        match self.posted {
            false => self.has_room(p),
            true => self.coll_slots(p, self.next).is_ok_and(|b| b.has(self.number)),
        }
    }

    /// Goes on as far as possible; true when the collective is done.
    #[inline]
    pub fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !self.posted {
            if self.posts() {
                if !self.has_room(p) {
                    return Ok(false);
                }
                self.post(p)?;
            }
            self.posted = true;
        }
        if !self.all_there(p)? {
            return Ok(false);
        }
        let result = self.read(p);
        self.finish(p)?;
        result.map(|()| true)
    }

    pub(super) fn rank(&self) -> u32 {
        self.comm.rank()
    }

    #[inline(always)]
    pub(super) fn coll_slots<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p CollSlots> {
        let slots = self.comm.group().process(member).and_then(|m| p.slots_of(m, self.index));
        // The proposal found all of them.
        slots.ok_or_else(|| Class::Intern.into())
    }

    #[inline(never)]
    pub(super) fn large_slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p LargeSlot> {
        let process = self.comm.group().process(member);
        let large_slot =
            process.and_then(|m| p.fm().transport().large_slot(m, self.index, self.number));
        // Where there are slots there are large slots.
        large_slot.ok_or_else(|| Class::Intern.into())
    }

    /// The slot of `member`, which `all_there` has seen.
    #[inline(always)]
    pub(super) fn slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p [u8]> {
        let slots = self.coll_slots(p, member)?;
        // SAFETY: the slot is there, and we have not finished.
        let (slot, room) = unsafe {
            match self.part {
                Part::Short => (slots.read(self.number), SLOT_BYTES),
                _ => (slots.read_on(self.large_slot(p, member)?, self.number), LARGE_SLOT_BYTES),
            }
        };
        slot.map_err(|found| long(found, room))
    }

    /// Notes that a member may be ahead of the slowest.
    #[inline(always)]
    fn ahead(&self) -> u64 {
        if let Part::Short = self.part { DEPTH as u64 } else { LARGE_SLOTS as u64 }
    }

    /// Whether this member has anything to tell.
    #[inline(always)]
    fn posts(&self) -> bool {
        match self.what {
            What::Bcast { root, .. } => root == self.rank(),
            What::Reduce { root: Some(root), .. } => root != self.rank(),
            _ => true,
        }
    }

    /// The members whose slots this one needs, itself left out.
    #[inline(always)]
    fn needs(&self) -> core::ops::Range<u32> {
        match self.what {
            What::Bcast { root, .. } if root == self.rank() => 0..0,
            What::Bcast { root, .. } => root..root + 1,
            What::Reduce { root: Some(root), .. } if root != self.rank() => 0..0,
            _ => 0..self.comm.size(),
        }
    }

    /// Whether all members have finished with the slot that this one is about to overwrite.
    #[inline(always)]
    fn has_room<T: Transport>(&self, p: &Process<T>) -> bool {
        let used = self.comm.coll_slots();
        // Relaxed: see `Use`.
        used.safe.load(Ordering::Relaxed) + self.ahead() >= self.number || self.look_for_room(p)
    }

    #[cold]
    fn look_for_room<T: Transport>(&self, p: &Process<T>) -> bool {
        let others = (0..self.comm.size()).filter(|m| *m != self.rank());
        let slowest =
            others.map(|m| self.coll_slots(p, m).map_or(u64::MAX, |b| b.finished())).min();
        let safe = slowest.unwrap_or(u64::MAX).min(self.number - 1);
        let used = self.comm.coll_slots();
        // Relaxed: see `Use`. Members that have not begun yet show an older communicator's number.
        used.safe.fetch_max(safe, Ordering::Relaxed);
        used.safe.load(Ordering::Relaxed) + self.ahead() >= self.number
    }

    #[inline(always)]
    fn post<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let slots = self.coll_slots(p, self.rank())?;
        // SAFETY: it is ours, there is room; the buffers are valid as `begin` was promised.
        unsafe {
            match self.part {
                Part::Short => {
                    self.what.post(slots, self.number, self.rank(), self.comm.size());
                }
                _ => self.post_long(p)?,
            }
        }
        self.knock(p);
        Ok(())
    }

    /// Wakes those who may sleep for want of our slot.
    #[inline(always)]
    fn knock<T: Transport>(&self, p: &Process<T>) {
        let readers = match self.what {
            What::Reduce { root: Some(root), .. } => root..root + 1,
            _ => 0..self.comm.size(),
        };
        for member in readers {
            if member != self.rank()
                && let Some(process) = self.comm.group().process(member)
            {
                p.fm().transport().knock(process);
            }
        }
    }

    #[inline(always)]
    fn all_there<T: Transport>(&mut self, p: &Process<T>) -> Result<bool> {
        let needs = self.needs();
        self.next = self.next.max(needs.start);
        while self.next < needs.end {
            if self.next != self.rank() && !self.coll_slots(p, self.next)?.has(self.number) {
                return Ok(false);
            }
            self.next += 1;
        }
        Ok(true)
    }

    /// Reads the slots that this member needs.
    #[inline(always)]
    fn read<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        match &self.part {
            Part::Short | Part::Whole => {}
            Part::Bytes(range) => return self.take_bytes(p, range),
            Part::Own => return self.combine_own(p),
            Part::Share => return self.take_shares(p),
        }
        match &self.what {
            What::Barrier => Ok(()),
            What::Bcast { root, buf, count, ty } => match *root == self.rank() {
                true => Ok(()),
                // SAFETY: the buffer is valid as `begin` was promised.
                false => unsafe {
                    let slot = self.slot(p, *root)?;
                    unpack(slot, Incoming { buf: *buf, count: *count, ty })
                },
            },
            What::Reduce { root: Some(root), .. } if *root != self.rank() => Ok(()),
            What::Reduce { .. } => self.combine(p),
            What::Allgather(sides) => self.gather(p, sides),
            What::Alltoall(sides) => self.exchange(p, sides),
        }
    }

    fn combine<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let What::Reduce { root, send, recv, count, bytes, ty, op } = self.what else {
            return Err(Class::Intern.into());
        };
        // A root has posted nothing: its input is in its buffers.
        let own = if send.is_null() { recv.cast_const() } else { send };
        let mut kept = Vec::new();
        for member in 0..self.comm.size() {
            let input = match member == self.rank() && root.is_some() {
                true if own == recv.cast_const() && member > 0 => kept.as_ptr(),
                true => own,
                false => whole(self.slot(p, member)?, bytes)?,
            };
            if member == 0 {
                // Without elements both may be null.
                if own == recv.cast_const() && bytes > 0 && root.is_some_and(|root| root > 0) {
                    // In place, our input would be overwritten before its turn.
                    // SAFETY: it holds `bytes`.
                    kept = unsafe { core::slice::from_raw_parts(own, bytes) }.to_vec();
                }
                // SAFETY: both hold `bytes`; in place, the same bytes.
                unsafe { core::ptr::copy(input, recv, bytes) };
            } else {
                // SAFETY: both hold `count` elements of `ty` next to each other.
                unsafe { op.apply(ty, input, recv, count)? };
            }
        }
        Ok(())
    }

    fn gather<T: Transport>(&self, p: &Process<T>, sides: &Sides) -> Result<()> {
        for member in 0..self.comm.size() {
            if member == self.rank() && sides.send.is_none() {
                continue;
            }
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(self.slot(p, member)?, sides.block(member))? };
        }
        Ok(())
    }

    fn exchange<T: Transport>(&self, p: &Process<T>, sides: &Sides) -> Result<()> {
        let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
        let start = self.rank() as usize * bytes;
        for member in 0..self.comm.size() {
            let slot = self.slot(p, member)?;
            let part = slot.get(start..start + bytes).ok_or_else(|| short(slot.len(), bytes))?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(part, sides.block(member))? };
        }
        Ok(())
    }

    #[inline(always)]
    fn finish<T: Transport>(&self, p: &mut Process<T>) -> Result<()> {
        self.coll_slots(p, self.rank())?.finish(self.number);
        if let Some(history) = p.coll_slots.get_mut(self.index) {
            history.last = self.number;
        }
        if self.needs() == (0..self.comm.size()) {
            // All have posted this operation, so they are through with the one before.
            // Relaxed: see `Use`.
            self.comm.coll_slots().safe.store(self.number - 1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Sides {
    /// What member `rank` contributes to an allgather.
    pub(super) fn own_part(&self, rank: u32) -> Outgoing<'_> {
        match self.send {
            Some(buf) => Outgoing { buf, count: self.send_count, ty: &self.send_ty },
            None => {
                let Incoming { buf, count, ty } = self.block(rank);
                Outgoing { buf: buf.cast_const(), count, ty }
            }
        }
    }

    /// What a member of `n` contributes to an alltoall: a block for everybody.
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
    pub(super) fn block(&self, member: u32) -> Incoming<'_> {
        let away = self.recv_ty.extent().wrapping_mul(self.recv_count) * i64::from(member);
        let buf = self.recv.wrapping_offset(away as isize);
        Incoming { buf, count: self.recv_count, ty: &self.recv_ty }
    }
}

/// Writes a slot to a buffer.
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
