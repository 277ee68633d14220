//! One exchange through slots, as a state machine: a short collective, or a part of a longer one.
//!
//! [`Exchange::poll`] is the whole of it: post our slot if there is room, wait until the slots that we need are
//! there, read them, mark the operation as finished.

use super::coll_args::{BlockBuffers, CollArgs, long, short, unpack, whole};
use super::large::Part;
use super::{ShmCollective, SlotState};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Result};
use crate::pt2pt::packed_size;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{
    CollSlots, DEPTH, INLINE, LARGE_SLOT_BYTES, LARGE_SLOTS, LargeSlot, SLOT_BYTES, all_have_posted,
};
use std::sync::atomic::Ordering;

/// An exchange that is under way. The caller polls it until it is done.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub(super) comm: &'a Comm,
    index: usize,
    pub(super) number: u64,
    pub(super) args: CollArgs,
    pub(super) part: Part,
    posted: bool,
    /// The first member whose slot has not been seen yet.
    next: u32,
}

impl ShmCollective for Exchange<'_> {
    #[inline]
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !self.posted {
            if self.posts(self.rank()) && !self.post(p)? {
                return Ok(false);
            }
            self.posted = true;
        }
        if !self.all_posted(p)? {
            return Ok(false);
        }
        let result = self.read(p);
        self.finish(p)?;
        result.map(|()| true)
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        if !self.posted && self.posts(self.rank()) {
            // It waits for room: for the members that are too far behind.
            let wanted = self.number - self.ahead();
            return (0..self.comm.size()).filter(|member| *member != self.rank()).any(|member| {
                self.coll_slots(p, member).is_ok_and(|slots| slots.finished() < wanted)
                    && self.comm.group().process(member).is_some_and(&which)
            });
        }
        (self.next..self.needs().end).any(|member| {
            self.coll_slots(p, member).is_ok_and(|slots| !slots.has(self.number))
                && self.comm.group().process(member).is_some_and(&which)
        })
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn lacks_room(&self) -> bool {
        !self.posted
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        match self.posted {
            false => self.would_have_room(p),
            // Whoever posts the last slot that it waits for wakes it.
            true => self.missing(p).is_none(),
        }
    }

    /// Whether the data lie in large slots.
    fn is_long(&self) -> bool {
        !matches!(self.part, Part::Short)
    }
}

impl<'a> Exchange<'a> {
    /// Begins the exchange of a part of `args` on `comm`, which uses slots. `None` can't happen then.
    ///
    /// # Safety
    /// The buffers stay valid, for as many elements as the call of MPI says, until `poll` says
    /// that the collective is done.
    #[inline(always)]
    pub unsafe fn begin(comm: &'a Comm, args: CollArgs, part: Part) -> Option<Exchange<'a>> {
        let state = comm.coll_slots();
        let (index, number) = (state.index()?, state.begin());
        Some(Exchange { comm, index, number, args, part, posted: false, next: 0 })
    }

    /// The same exchange with another reference to its communicator.
    pub fn on<'b>(self, comm: &'b Comm) -> Exchange<'b> {
        let Exchange { index, number, args, part, posted, next, .. } = self;
        Exchange { comm, index, number, args, part, posted, next }
    }

    #[inline(always)]
    pub(super) fn rank(&self) -> u32 {
        self.comm.rank()
    }

    #[inline(always)]
    fn state(&self) -> &'a SlotState {
        self.comm.coll_slots()
    }

    #[inline(always)]
    pub(super) fn coll_slots<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p CollSlots> {
        let slots = self.comm.group().process(member).and_then(|m| p.slots_of(m, self.index));
        // Can't be missing: `set_up_slots` has found the slots of all members.
        slots.ok_or_else(|| Class::Intern.into())
    }

    #[inline(never)]
    pub(super) fn large_slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p LargeSlot> {
        let process = self.comm.group().process(member);
        let slot = process.and_then(|m| p.fm().transport().large_slot(m, self.index, self.number));
        // Can't be missing: only communicators that have large slots get here (`run`).
        slot.ok_or_else(|| Class::Intern.into())
    }

    /// The data that `member` has posted, after `all_posted`.
    #[inline(always)]
    pub(super) fn slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p [u8]> {
        let slots = self.coll_slots(p, member)?;
        // SAFETY: the slot has been posted, and it is not written again before we have finished.
        let (slot, room) = unsafe {
            match self.part {
                Part::Short => (slots.read(self.number), SLOT_BYTES),
                _ => (slots.read_on(self.large_slot(p, member)?, self.number), LARGE_SLOT_BYTES),
            }
        };
        slot.map_err(|found| long(found, room))
    }

    /// The first member that has not posted a slot that we need.
    fn missing<T: Transport>(&self, p: &Process<T>) -> Option<u32> {
        let lacks = |m: &u32| !self.coll_slots(p, *m).is_ok_and(|slots| slots.has(self.number));
        (self.next..self.needs().end).find(|member| *member != self.rank() && lacks(member))
    }

    /// How many operations a member may be ahead of the slowest one.
    #[inline(always)]
    fn ahead(&self) -> u64 {
        if let Part::Short = self.part { DEPTH as u64 } else { LARGE_SLOTS as u64 }
    }

    /// Whether `member` posts a slot in this operation.
    #[inline(always)]
    fn posts(&self, member: u32) -> bool {
        match self.args {
            CollArgs::Bcast { root, .. } | CollArgs::Scatter { root, .. } => root == member,
            CollArgs::Reduce { root: Some(root), .. } | CollArgs::Gather { root, .. } => {
                root != member
            }
            _ => true,
        }
    }

    /// The members whose slots this one reads; callers leave out this member itself.
    #[inline(always)]
    pub(super) fn needs(&self) -> core::ops::Range<u32> {
        match self.args {
            CollArgs::Bcast { root, .. } | CollArgs::Scatter { root, .. }
                if root == self.rank() =>
            {
                0..0
            }
            CollArgs::Bcast { root, .. } | CollArgs::Scatter { root, .. } => root..root + 1,
            CollArgs::Reduce { root: Some(root), .. } | CollArgs::Gather { root, .. }
                if root != self.rank() =>
            {
                0..0
            }
            _ => 0..self.comm.size(),
        }
    }

    /// Whether all members have finished with the slot that this one is about to overwrite.
    #[inline(always)]
    fn has_room<T: Transport>(&self, p: &mut Process<T>) -> bool {
        // `safe` is 0 when nothing is known, and no operation has a number so low that this would be true then.
        let safe = self.state().safe.load(Ordering::Relaxed); // relaxed: see `SlotState`
        safe + self.ahead() >= self.number || self.look_for_room(p)
    }

    /// The latest operation that all other members have finished. A member that has not begun on this
    /// communicator shows a number of an earlier one, which is lower.
    fn slowest<T: Transport>(&self, p: &Process<T>) -> u64 {
        let others = (0..self.comm.size()).filter(|m| *m != self.rank());
        let finished = others.map(|m| self.coll_slots(p, m).map_or(u64::MAX, |b| b.finished()));
        finished.min().unwrap_or(u64::MAX).min(self.number - 1)
    }

    #[cold]
    fn look_for_room<T: Transport>(&self, p: &mut Process<T>) -> bool {
        let wanted = self.number - self.ahead();
        p.look_for_room(self.state(), self.index, wanted, |p| self.slowest(p))
    }

    /// Whether `post` would find room; changes nothing.
    #[cold]
    fn would_have_room<T: Transport>(&self, p: &Process<T>) -> bool {
        let len = self.args.shown(self.rank(), self.comm.size()).len();
        let wanted = self.number - self.ahead();
        if !p.would_have_room(self.state(), self.index, wanted, |p| self.slowest(p)) {
            return false;
        }
        // Relaxed: see `SlotState`.
        let safe = self.state().safe.load(Ordering::Relaxed).max(self.slowest(p));
        let history = p.coll_slots.get(self.index);
        self.is_long() || history.is_none_or(|history| history.data.find(len, safe).is_some())
    }

    /// Posts what others need, if there is room. False: no room yet.
    #[inline(always)]
    fn post<T: Transport>(&self, p: &mut Process<T>) -> Result<bool> {
        if !self.has_room(p) {
            return Ok(false);
        }
        if let Part::Short = self.part {
            let shown = self.args.shown(self.rank(), self.comm.size());
            let len = shown.len();
            let mut at = 0;
            if len > INLINE {
                let data = (self.number, len);
                let found = p.take_data_room(self.state(), self.index, data, |p| self.slowest(p));
                let Some(found) = found else { return Ok(false) };
                at = found;
            }
            let slots = self.coll_slots(p, self.rank())?;
            // SAFETY: it is ours, there is room; the buffers are valid as `begin` was promised.
            unsafe { shown.post(slots, self.number, at, len) };
        } else {
            // SAFETY: as above.
            unsafe { self.post_long(p)? };
        }
        self.wake_readers(p);
        Ok(true)
    }

    /// The members that read our slot; callers leave out this member itself.
    #[inline(always)]
    fn readers(&self) -> core::ops::Range<u32> {
        match self.args {
            CollArgs::Reduce { root: Some(root), .. } | CollArgs::Gather { root, .. } => {
                root..root + 1
            }
            _ => 0..self.comm.size(),
        }
    }

    /// Wakes the readers that may sleep, if our slot is the last one that they wait for.
    #[inline(always)]
    fn wake_readers<T: Transport>(&self, p: &Process<T>) {
        let mut asleep = false;
        for member in self.readers() {
            if member != self.rank()
                && let Some(process) = self.comm.group().process(member)
            {
                asleep |= p.fm().transport().announce(process);
            }
        }
        if asleep {
            self.wake_if_last(p);
        }
    }

    /// Wakes the readers that sleep, if all members have posted. If every post woke them, they would go back to
    /// sleep after each but the last, and pay for a sleep and a wake-up per member.
    #[cold]
    fn wake_if_last<T: Transport>(&self, p: &Process<T>) {
        let process = |member: u32| self.comm.group().process(member);
        let slots = |member| p.slots_of(process(member)?, self.index);
        let posters = (0..self.comm.size()).filter(|member| self.posts(*member));
        if !all_have_posted(posters.filter_map(slots), self.number) {
            return;
        }
        for process in self.readers().filter(|member| *member != self.rank()).filter_map(process) {
            p.fm().transport().wake(process);
        }
    }

    #[inline(always)]
    fn all_posted<T: Transport>(&mut self, p: &Process<T>) -> Result<bool> {
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
            Part::Blocks(piece) => return self.take_pieces(p, piece),
            Part::Own => return self.combine_own(p),
            Part::Share => return self.take_shares(p),
        }
        match &self.args {
            CollArgs::Barrier => Ok(()),
            CollArgs::Bcast { root, buf, count, ty } => match *root == self.rank() {
                true => Ok(()),
                // SAFETY: the buffer is valid as `begin` was promised.
                false => unsafe {
                    let slot = self.slot(p, *root)?;
                    unpack(slot, crate::pt2pt::Incoming { buf: *buf, count: *count, ty })
                },
            },
            CollArgs::Reduce { root: Some(root), .. } if *root != self.rank() => Ok(()),
            CollArgs::Reduce { .. } => self.combine(p),
            CollArgs::Allgather(buffers) => self.gather(p, buffers, buffers.send.is_some()),
            CollArgs::Alltoall(buffers) => self.exchange(p, buffers),
            CollArgs::Gather { root, .. } if *root != self.rank() => Ok(()),
            CollArgs::Gather { root, buffers } => {
                self.gather(p, buffers, false)?;
                if buffers.send.is_some() {
                    // SAFETY: as above.
                    unsafe {
                        BlockBuffers::copy_own(buffers.own_part(*root), buffers.block(*root))
                    };
                }
                Ok(())
            }
            CollArgs::Scatter { root, buffers, in_place } => {
                self.scatter(p, *root, buffers, *in_place)
            }
        }
    }

    fn combine<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let CollArgs::Reduce { root, send, recv, count, bytes, ty, op } = self.args else {
            return Err(Class::Intern.into());
        };
        // The root has posted nothing: its operand is in its buffers.
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

    /// The other members, beginning with the next one. If all members began with the same one, they would all read
    /// from one processor's cache at once.
    #[inline(always)]
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank();
        (rank + 1..self.comm.size()).chain(0..rank)
    }

    /// The index of our block among those that `member` has posted, which has one for each member but itself.
    #[inline(always)]
    pub(super) fn block_index(&self, member: u32) -> usize {
        (self.rank() - u32::from(self.rank() > member)) as usize
    }

    /// Copies a block of every member to where it belongs; of this member only if `own`, because it has posted one.
    fn gather<T: Transport>(
        &self,
        p: &Process<T>,
        buffers: &BlockBuffers,
        own: bool,
    ) -> Result<()> {
        let this = own.then(|| self.rank());
        for member in this.into_iter().chain(self.others()) {
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(self.slot(p, member)?, buffers.block(member))? };
        }
        Ok(())
    }

    /// Alltoall: copies our block out of each other member's slot, and our own block from the send buffer.
    fn exchange<T: Transport>(&self, p: &Process<T>, buffers: &BlockBuffers) -> Result<()> {
        if buffers.send.is_some() {
            let rank = self.rank();
            // SAFETY: the buffers are valid as `begin` was promised.
            unsafe { BlockBuffers::copy_own(buffers.part(rank), buffers.block(rank)) };
        }
        for member in self.others() {
            let part = self.part_of_slot(p, member, buffers)?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(part, buffers.block(member))? };
        }
        Ok(())
    }

    /// Our block of those in `member`'s slot, which has one for each other member.
    #[inline(always)]
    fn part_of_slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
        buffers: &BlockBuffers,
    ) -> Result<&'p [u8]> {
        let bytes = packed_size(&buffers.recv_ty, buffers.recv_count) as usize;
        let (slot, others) = (self.slot(p, member)?, self.comm.size() as usize - 1);
        let start = self.block_index(member) * bytes;
        if slot.len() > bytes * others {
            return Err(long(slot.len() / others, bytes));
        }
        slot.get(start..start + bytes).ok_or_else(|| short(slot.len(), bytes))
    }

    fn scatter<T: Transport>(
        &self,
        p: &Process<T>,
        root: u32,
        buffers: &BlockBuffers,
        in_place: bool,
    ) -> Result<()> {
        let rank = self.rank();
        if rank == root {
            if !in_place {
                // SAFETY: the buffers are valid as `begin` was promised.
                unsafe { BlockBuffers::copy_own(buffers.part(rank), buffers.whole()) };
            }
            return Ok(());
        }
        let part = self.part_of_slot(p, root, buffers)?;
        // SAFETY: as above.
        unsafe { unpack(part, buffers.whole()) }
    }

    #[inline(always)]
    fn finish<T: Transport>(&self, p: &mut Process<T>) -> Result<()> {
        self.coll_slots(p, self.rank())?.finish(self.number);
        if self.needs() == (0..self.comm.size()) {
            if self.posts(self.rank()) {
                // All members have posted this operation, so all have finished the one before.
                // Relaxed: see `SlotState`.
                self.state().safe.store(self.number - 1, Ordering::Relaxed);
            } else {
                self.state().note_all_posted(self.number);
            }
        }
        Ok(())
    }
}
