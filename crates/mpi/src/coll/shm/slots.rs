//! One exchange through slots, as a state machine: a small collective, or a part of a longer one.

use super::large::Part;
use super::what::{Sides, What, long, short, unpack, whole};
use super::{ShmCollective, Use};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Result};
use crate::pt2pt::packed_size;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{
    CollSlots, DEPTH, INLINE, LARGE_SLOT_BYTES, LARGE_SLOTS, LargeSlot, SLOT_BYTES, all_have_posted,
};
use std::sync::atomic::Ordering;

/// An exchange under way. To be polled until it is done.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub(super) comm: &'a Comm,
    index: usize,
    pub(super) number: u64,
    pub(super) what: What,
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
        if !self.all_there(p)? {
            return Ok(false);
        }
        let result = self.read(p);
        self.finish(p)?;
        result.map(|()| true)
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        if !self.posted && self.posts(self.rank()) {
            // Those that are too far behind.
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
            // The last one of those that it waits for wakes it: before that, nobody needs it.
            true => self.missing(p).is_none(),
        }
    }

    /// Whether data lie in large slots.
    fn is_long(&self) -> bool {
        !matches!(self.part, Part::Short)
    }
}

impl<'a> Exchange<'a> {
    /// Begins the exchange of a part of `what` on `comm`, which uses slots. `None` can't happen then.
    ///
    /// # Safety
    /// The buffers stay valid, for as many elements as the call of MPI says, until `poll` says
    /// that the collective is done.
    #[inline(always)]
    pub unsafe fn begin(comm: &'a Comm, what: What, part: Part) -> Option<Exchange<'a>> {
        let used = comm.coll_slots();
        let (index, number) = (used.index()?, used.begin());
        Some(Exchange { comm, index, number, what, part, posted: false, next: 0 })
    }

    /// The same, with `comm`, another reference to its communicator.
    pub fn on<'b>(self, comm: &'b Comm) -> Exchange<'b> {
        let Exchange { index, number, what, part, posted, next, .. } = self;
        Exchange { comm, index, number, what, part, posted, next }
    }

    #[inline(always)]
    pub(super) fn rank(&self) -> u32 {
        self.comm.rank()
    }

    #[inline(always)]
    fn used(&self) -> &'a Use {
        self.comm.coll_slots()
    }

    #[inline(always)]
    pub(super) fn coll_slots<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p CollSlots> {
        let slots = self.comm.group().process(member).and_then(|m| p.slots_of(m, self.index));
        // `look_at` has found all of them.
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
        // Only communicators that have large slots get so far (`run`).
        slot.ok_or_else(|| Class::Intern.into())
    }

    /// What `member` has shown, which `all_there` has seen.
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

    /// The first member whose slot is not there yet.
    fn missing<T: Transport>(&self, p: &Process<T>) -> Option<u32> {
        let lacks = |m: &u32| !self.coll_slots(p, *m).is_ok_and(|slots| slots.has(self.number));
        (self.next..self.needs().end).find(|member| *member != self.rank() && lacks(member))
    }

    /// Operations that a member may be ahead of the slowest.
    #[inline(always)]
    fn ahead(&self) -> u64 {
        if let Part::Short = self.part { DEPTH as u64 } else { LARGE_SLOTS as u64 }
    }

    /// Whether `member` has anything to tell.
    #[inline(always)]
    fn posts(&self, member: u32) -> bool {
        match self.what {
            What::Bcast { root, .. } | What::Scatter { root, .. } => root == member,
            What::Reduce { root: Some(root), .. } | What::Gather { root, .. } => root != member,
            _ => true,
        }
    }

    /// The members whose slots this one needs, itself left out.
    #[inline(always)]
    pub(super) fn needs(&self) -> core::ops::Range<u32> {
        match self.what {
            What::Bcast { root, .. } | What::Scatter { root, .. } if root == self.rank() => 0..0,
            What::Bcast { root, .. } | What::Scatter { root, .. } => root..root + 1,
            What::Reduce { root: Some(root), .. } | What::Gather { root, .. }
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
        // Nothing is near 0, which says that nothing is known.
        let safe = self.used().safe.load(Ordering::Relaxed); // relaxed: see `Use`
        safe + self.ahead() >= self.number || self.look_for_room(p)
    }

    /// The last operation that all other members have finished. Those that have not begun show an earlier
    /// communicator's number.
    fn slowest<T: Transport>(&self, p: &Process<T>) -> u64 {
        let others = (0..self.comm.size()).filter(|m| *m != self.rank());
        let finished = others.map(|m| self.coll_slots(p, m).map_or(u64::MAX, |b| b.finished()));
        finished.min().unwrap_or(u64::MAX).min(self.number - 1)
    }

    #[cold]
    fn look_for_room<T: Transport>(&self, p: &mut Process<T>) -> bool {
        let wanted = self.number - self.ahead();
        p.look_for_room(self.used(), self.index, wanted, |p| self.slowest(p))
    }

    /// What `post` would find, changing nothing.
    #[cold]
    fn would_have_room<T: Transport>(&self, p: &Process<T>) -> bool {
        let len = self.what.shown(self.rank(), self.comm.size()).len();
        let wanted = self.number - self.ahead();
        if !p.would_have_room(self.used(), self.index, wanted, |p| self.slowest(p)) {
            return false;
        }
        // Relaxed: see `Use`.
        let safe = self.used().safe.load(Ordering::Relaxed).max(self.slowest(p));
        let history = p.coll_slots.get(self.index);
        self.is_long() || history.is_none_or(|history| history.data.find(len, safe).is_some())
    }

    /// Shows what others need, if there is room.
    #[inline(always)]
    fn post<T: Transport>(&self, p: &mut Process<T>) -> Result<bool> {
        if !self.has_room(p) {
            return Ok(false);
        }
        if let Part::Short = self.part {
            let shown = self.what.shown(self.rank(), self.comm.size());
            let len = shown.len();
            let mut at = 0;
            if len > INLINE {
                let data = (self.number, len);
                let found = p.take_data_room(self.used(), self.index, data, |p| self.slowest(p));
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
        self.knock(p);
        Ok(true)
    }

    /// The members that need our slot.
    #[inline(always)]
    fn readers(&self) -> core::ops::Range<u32> {
        match self.what {
            What::Reduce { root: Some(root), .. } | What::Gather { root, .. } => root..root + 1,
            _ => 0..self.comm.size(),
        }
    }

    /// Wakes those who may sleep for want of our slot, if it is the last that they want.
    #[inline(always)]
    fn knock<T: Transport>(&self, p: &Process<T>) {
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

    /// Wakes those that sleep, if nobody else has to post. A member that is woken by every post
    /// goes back to sleep after each but the last, and pays for it as many times as there are members.
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
            Part::Blocks(piece) => return self.take_pieces(p, piece),
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
                    unpack(slot, crate::pt2pt::Incoming { buf: *buf, count: *count, ty })
                },
            },
            What::Reduce { root: Some(root), .. } if *root != self.rank() => Ok(()),
            What::Reduce { .. } => self.combine(p),
            What::Allgather(sides) => self.gather(p, sides, sides.send.is_some()),
            What::Alltoall(sides) => self.exchange(p, sides),
            What::Gather { root, .. } if *root != self.rank() => Ok(()),
            What::Gather { root, sides } => {
                self.gather(p, sides, false)?;
                if sides.send.is_some() {
                    // SAFETY: as above.
                    unsafe { Sides::copy_own(sides.own_part(*root), sides.block(*root)) };
                }
                Ok(())
            }
            What::Scatter { root, sides, in_place } => self.scatter(p, *root, sides, *in_place),
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

    /// The other members, beginning with the next one: if all began with the same, its processor's cache would have to
    /// answer all at once, and those of the others nobody.
    #[inline(always)]
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank();
        (rank + 1..self.comm.size()).chain(0..rank)
    }

    /// Where our block lies among those that `member` shows, one for each but itself.
    #[inline(always)]
    pub(super) fn place_at(&self, member: u32) -> usize {
        (self.rank() - u32::from(self.rank() > member)) as usize
    }

    /// Takes a block of every member, of this one only if it has posted one.
    fn gather<T: Transport>(&self, p: &Process<T>, sides: &Sides, own: bool) -> Result<()> {
        let this = own.then(|| self.rank());
        for member in this.into_iter().chain(self.others()) {
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(self.slot(p, member)?, sides.block(member))? };
        }
        Ok(())
    }

    /// Takes this member's block from what every other one has shown, and its own from where it lies.
    fn exchange<T: Transport>(&self, p: &Process<T>, sides: &Sides) -> Result<()> {
        if sides.send.is_some() {
            let rank = self.rank();
            // SAFETY: the buffers are valid as `begin` was promised.
            unsafe { Sides::copy_own(sides.part(rank), sides.block(rank)) };
        }
        for member in self.others() {
            let part = self.part_of_slot(p, member, sides)?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(part, sides.block(member))? };
        }
        Ok(())
    }

    /// Of what `member` has shown, a block for each of the others, this member's.
    #[inline(always)]
    fn part_of_slot<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
        sides: &Sides,
    ) -> Result<&'p [u8]> {
        let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
        let (slot, others) = (self.slot(p, member)?, self.comm.size() as usize - 1);
        let start = self.place_at(member) * bytes;
        if slot.len() > bytes * others {
            return Err(long(slot.len() / others, bytes));
        }
        slot.get(start..start + bytes).ok_or_else(|| short(slot.len(), bytes))
    }

    fn scatter<T: Transport>(
        &self,
        p: &Process<T>,
        root: u32,
        sides: &Sides,
        in_place: bool,
    ) -> Result<()> {
        let rank = self.rank();
        if rank == root {
            if !in_place {
                // SAFETY: the buffers are valid as `begin` was promised.
                unsafe { Sides::copy_own(sides.part(rank), sides.whole()) };
            }
            return Ok(());
        }
        let part = self.part_of_slot(p, root, sides)?;
        // SAFETY: as above.
        unsafe { unpack(part, sides.whole()) }
    }

    #[inline(always)]
    fn finish<T: Transport>(&self, p: &mut Process<T>) -> Result<()> {
        self.coll_slots(p, self.rank())?.finish(self.number);
        if self.needs() == (0..self.comm.size()) {
            if self.posts(self.rank()) {
                // All have posted this operation, so they are through with the one before, and this member
                // with what it left to others.
                // Relaxed: see `Use`.
                self.used().safe.store(self.number - 1, Ordering::Relaxed);
            } else {
                self.used().all_have(self.number);
            }
        }
        Ok(())
    }
}
