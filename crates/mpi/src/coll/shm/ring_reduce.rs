//! Long reductions by a ring reduce-scatter in large slots.
//!
//! Each member owns a slice of the result, in a large slot of its own, and begins by copying its operand there. Then it
//! adds its operand to the slice of the next member, which that member has just left, and so on. In each round another
//! member works on each slice, and after as many rounds as there are members all slices are complete and can be copied. So
//! each operand is read once, by its owner, from where it lies, and only slices pass from one processor to another. The
//! elements of different slices are combined in different orders, but each in the same order for all members and in every
//! run.

use super::large::{differs, part_of, slice};
use super::members::Members;
use super::{CollArgs, ShmCollective};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use core::ops::Range;
use hpvm_copy as copy;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{DEPTH, LARGE_SLOT_BYTES, LARGE_SLOTS};

/// A reduction under way. To be polled until it is done.
#[derive(Debug)]
pub struct RingReduce<'a> {
    members: Members<'a>,
    /// The part that goes round now, and what is left after that.
    args: CollArgs,
    left: Option<CollArgs>,
    /// The number of the first round, and of the last.
    first: u64,
    last: u64,
    /// Rounds that are behind us.
    round: u32,
    /// Our part of it is done.
    ends: bool,
    /// It waits for others to finish earlier rounds, not for a slot.
    lacks_room: bool,
    /// Of the last round, the first member whose slot has not been seen yet.
    next: u32,
    error: Option<Box<Error>>,
}

impl<T: Transport> Process<T> {
    /// Begins the reduction `args` on `comm`, for which the tables have said so. `None` can't
    /// happen then.
    ///
    /// # Safety
    /// As for [`super::slots::Exchange::begin`].
    pub unsafe fn begin_ring_reduce<'a>(
        &self,
        comm: &'a Comm,
        args: CollArgs,
    ) -> Option<RingReduce<'a>> {
        let members = Members::new(comm)?;
        let mut ring = RingReduce {
            members,
            args: CollArgs::Barrier,
            left: Some(args),
            first: 0,
            last: 0,
            round: 0,
            ends: false,
            lacks_room: true,
            next: 0,
            error: None,
        };
        ring.start();
        Some(ring)
    }
}

impl ShmCollective for RingReduce<'_> {
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        loop {
            while !self.ends {
                if !self.may_go(p) {
                    self.lacks_room = self.is_with_us(p);
                    return Ok(false);
                }
                self.go(p)?;
            }
            if !self.all_posted(p) {
                return Ok(false);
            }
            self.end(p)?;
            if !self.start() {
                return self.error.take().map_or(Ok(true), |error| Err(*error));
            }
        }
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        match self.ends {
            true => self.members.awaits(p, self.next..self.needs(), self.last, which),
            false if self.round == 0 => false,
            false => {
                let from = self.before();
                self.members.awaits(p, from..from + 1, self.number_of(self.round - 1), which)
            }
        }
    }

    fn lacks_room(&self) -> bool {
        !self.ends && self.lacks_room
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        match self.ends {
            true => self.members.missing(p, self.next..self.needs(), self.last).is_none(),
            false if self.lacks_room => {
                self.is_with_us(p)
                    && self.members.would_have_room(p, self.number_of(self.round), self.ahead())
            }
            // There may be no room behind the slot: that is found out by `poll`, whose next sleep is short.
            false => self.is_with_us(p),
        }
    }

    fn is_long(&self) -> bool {
        true
    }
}

impl RingReduce<'_> {
    /// Begins with the next part; false if there is none.
    fn start(&mut self) -> bool {
        let Some(left) = self.left.take() else { return false };
        let size = self.members.size();
        (self.args, self.left) = part_of(left, LARGE_SLOT_BYTES, size as usize);
        // An odd number of them: so parts that follow each other lie on different large slots.
        let numbers = size | 1;
        self.first = self.members.state().begin();
        self.last = self.first;
        for _ in 1..numbers {
            self.last = self.members.state().begin();
        }
        (self.round, self.ends, self.next) = (0, false, 0);
        true
    }

    /// The number of a round.
    fn number_of(&self, round: u32) -> u64 {
        let last = round + 1 == self.members.size();
        if last { self.last } else { self.first + u64::from(round) }
    }

    /// The member that has each slice before us.
    fn before(&self) -> u32 {
        (self.members.rank() + 1) % self.members.size()
    }

    /// The member that has each slice after us.
    fn after(&self) -> u32 {
        (self.members.rank() + self.members.size() - 1) % self.members.size()
    }

    /// Whether the slice of this round is with us.
    fn is_with_us<T: Transport>(&self, p: &Process<T>) -> bool {
        self.round == 0 || self.members.has(p, self.before(), self.number_of(self.round - 1))
    }

    /// Whether it is, and there is room to say that we have left it.
    fn may_go<T: Transport>(&self, p: &mut Process<T>) -> bool {
        self.is_with_us(p) && self.members.has_room(p, self.number_of(self.round), self.ahead())
    }

    /// Operations that a member may be ahead of the slowest. The large slot has the parity of the first number,
    /// which is that of the last.
    fn ahead(&self) -> usize {
        if self.round == 0 { LARGE_SLOTS } else { DEPTH }
    }

    /// One round: adds our operand to a slice and says so.
    fn go<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        let number = self.number_of(self.round);
        if let Err(error) = self.combine(p) {
            // The others go on, so we do: numbers have to be the same.
            self.error.get_or_insert(Box::new(error));
        }
        self.members.finish(p, number - 1)?;
        self.round += 1;
        self.ends = self.round == self.members.size();
        let readers = match self.ends {
            true => self.readers(),
            false => self.after()..self.after() + 1,
        };
        let rank = self.members.rank();
        let readers = readers.filter(|member| *member != rank);
        let CollArgs::Reduce { bytes, .. } = self.args else { return Err(Class::Intern.into()) };
        // SAFETY: `may_go` has seen to the room.
        unsafe { self.members.post(p, number, &[bytes as u64], readers) }
    }

    fn combine<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let CollArgs::Reduce { send, recv, count, bytes, ty, op, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        let size = self.members.size();
        let owner = (self.members.rank() + self.round) % size;
        let (elements, element) = (slice(count, owner, size), bytes / count.max(1));
        let own = if send.is_null() { recv.cast_const() } else { send };
        let own = own.wrapping_add(elements.start * element);
        let large_slot = self.members.large_slot(p, owner, self.last)?;
        // SAFETY: our operand holds all elements; a large slot holds a slice (`start`), and nobody else touches
        // it: all have finished the part before the last, and whoever had it before us has left it.
        unsafe {
            match self.round {
                0 => copy::wide(own, large_slot, elements.len() * element),
                _ => op.apply(ty, own, large_slot, elements.len())?,
            }
        }
        Ok(())
    }

    /// The members that get the result.
    fn readers(&self) -> Range<u32> {
        match self.args {
            CollArgs::Reduce { root: Some(root), .. } => root..root + 1,
            _ => 0..self.members.size(),
        }
    }

    /// The members whose last slots this one needs: all, if it gets the result.
    fn needs(&self) -> u32 {
        if self.readers().contains(&self.members.rank()) { self.members.size() } else { 0 }
    }

    fn all_posted<T: Transport>(&mut self, p: &Process<T>) -> bool {
        match self.members.missing(p, self.next..self.needs(), self.last) {
            Some(member) => self.next = member,
            None => return true,
        }
        false
    }

    /// Copies the slices, if we get the result.
    fn end<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        if self.needs() > 0 {
            self.members.note_all_posted(self.last);
            if let Err(error) = self.copy(p) {
                self.error.get_or_insert(Box::new(error));
            }
        }
        self.members.finish(p, self.last)
    }

    fn copy<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let CollArgs::Reduce { recv, count, bytes, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        let (rank, size) = (self.members.rank(), self.members.size());
        for member in self.members.others() {
            // SAFETY: the slots are there, and we have not finished.
            let found = match unsafe { self.members.words(p, member, self.last)? } {
                Ok([found]) => usize::try_from(found).unwrap_or(usize::MAX),
                Err(found) => found,
            };
            if found != bytes {
                return Err(differs(found, bytes));
            }
        }
        let element = bytes / count.max(1);
        for member in (rank..size).chain(0..rank) {
            let elements = slice(count, member, size);
            let to = recv.wrapping_add(elements.start * element);
            let large_slot = self.members.large_slot(p, member, self.last)?;
            // SAFETY: the receive buffer holds all elements, a large slot a slice. It is complete, and nobody
            // writes to it until we have finished.
            unsafe { copy::wide(large_slot, to, elements.len() * element) };
        }
        Ok(())
    }
}
