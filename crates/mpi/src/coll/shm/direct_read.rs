//! Exchanges of long blocks that members read out of each other's memory; slots say where the blocks lie.
//!
//! Members post the addresses of their data, read what they need, and post that they have read it: two rounds of slots,
//! and one copy of each block.
//!
//! The system may refuse to let one process read another's memory, which shows only at the first try. The second round
//! then tells all members. They take another method, for this operation ([`DirectRead::refused`]) and for those that
//! follow. No member's data have been overwritten by then.

use super::large::differs;
use super::members::Members;
use super::packed::Packed;
use super::{ALL_READ, BlockBuffers, CollArgs, ShmCollective};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Error, Result};
use crate::pt2pt::rendezvous::unreadable;
use crate::pt2pt::{Incoming, Outgoing, pack_all, packed_size, unpack_all};
use hpvm_fm::{PeerMemoryError, Rank, Transport};
use hpvm_wire::coll_slots::DEPTH;
use std::sync::atomic::Ordering;

/// An exchange under way. To be polled until it is done.
#[derive(Debug)]
pub struct DirectRead<'a> {
    members: Members<'a>,
    number: u64,
    buffers: BlockBuffers,
    /// Of an alltoall: our block of the many that a member shows. Else each shows one.
    each: bool,
    stage: Stage,
    /// The first member whose slot has not been seen yet.
    next: u32,
    /// Our data, if they had to be packed.
    packed: Packed,
    /// Where they lie, and their bytes.
    own: (*const u8, usize),
    refused: bool,
    error: Option<Box<Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits for room to say where our data lie.
    Show,
    /// Waits to be told where the others' do.
    Read,
    /// Waits for room to say that we have read.
    Tell,
    /// Waits for the others to have read.
    End,
    /// One of them has died. The launcher says which, and ends the job.
    Stuck,
}

/// What came of reading.
type Taken = core::result::Result<(), Trouble>;

/// Why nothing could be read.
enum Trouble {
    Refused,
    Gone,
    Wrong(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Wrong(error)
    }
}

impl<T: Transport> Process<T> {
    /// Begins `args` on `comm`, for which the tables have said so. `None` can't happen then.
    ///
    /// # Safety
    /// As for [`super::slots::Exchange::begin`].
    pub unsafe fn begin_direct_read<'a>(
        &self,
        comm: &'a Comm,
        args: CollArgs,
    ) -> Option<DirectRead<'a>> {
        let (buffers, each) = match args {
            CollArgs::Allgather(buffers) => (buffers, false),
            CollArgs::Alltoall(buffers) => (buffers, true),
            _ => return None,
        };
        Some(DirectRead {
            members: Members::new(comm)?,
            number: comm.coll_slots().begin(),
            buffers,
            each,
            stage: Stage::Show,
            next: 0,
            packed: Packed::default(),
            own: (core::ptr::null(), 0),
            refused: false,
            error: None,
        })
    }
}

impl ShmCollective for DirectRead<'_> {
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        loop {
            match self.stage {
                Stage::Stuck => return Ok(false),
                Stage::Show | Stage::Tell => {
                    if !self.members.has_room(p, self.number, DEPTH) {
                        return Ok(false);
                    }
                    self.post(p)?;
                }
                Stage::Read | Stage::End => {
                    let (next, size) = (self.next, self.members.size());
                    if let Some(member) = self.members.missing(p, next..size, self.number) {
                        self.next = member;
                        return Ok(false);
                    }
                    self.members.note_all_posted(self.number);
                    if self.stage == Stage::End {
                        return self.end(p).map(|()| true);
                    }
                    self.read(p)?;
                }
            }
        }
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        self.members.awaits(p, self.next..self.members.size(), self.number, which)
    }

    fn lacks_room(&self) -> bool {
        matches!(self.stage, Stage::Show | Stage::Tell)
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        match self.stage {
            Stage::Show | Stage::Tell => self.members.would_have_room(p, self.number, DEPTH),
            Stage::Read | Stage::End => self.members.has(p, self.next, self.number),
            Stage::Stuck => false,
        }
    }

    fn is_long(&self) -> bool {
        true
    }
}

impl DirectRead<'_> {
    /// What is to be done another way, because the system does not let one of the members read. Asked when
    /// it is done; all members get the same answer.
    pub fn refused(self) -> Option<CollArgs> {
        let again = if self.each { CollArgs::Alltoall } else { CollArgs::Allgather };
        self.refused.then(|| again(self.buffers))
    }

    /// Says where our data lie, or whether we were refused.
    fn post<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let words = match self.stage {
            Stage::Show => {
                self.expose();
                self.stage = Stage::Read;
                [self.own.0.expose_provenance() as u64, self.own.1 as u64]
            }
            _ => {
                self.stage = Stage::End;
                [u64::from(self.refused), 0]
            }
        };
        // SAFETY: `poll` has seen to the room.
        unsafe { self.members.post(p, self.number, &words, self.members.others()) }
    }

    /// Finds our data, or packs them.
    fn expose(&mut self) {
        let part = match self.each {
            true => self.buffers.all_parts(self.members.size()),
            false => self.buffers.own_part(self.members.rank()),
        };
        let bytes = part.packed_size() as usize;
        // In place, what others have not read yet would be overwritten.
        let moves = self.each && self.buffers.send.is_none();
        self.own = match part.ty.as_run(part.count).filter(|_| !moves) {
            Some((first, _)) => (part.buf.wrapping_offset(first as isize), bytes),
            None => {
                self.packed = Packed::new(bytes);
                let start = self.packed.start();
                // SAFETY: the buffer is valid as `begin_direct_read` was promised; the room was just made.
                unsafe { pack_all(part, core::slice::from_raw_parts_mut(start, bytes)) };
                (start.cast_const(), bytes)
            }
        };
    }

    /// Reads what this member needs, or notes why it can't.
    fn read<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        match self.take(p) {
            Ok(()) => {}
            Err(Trouble::Refused) => self.refused = true,
            Err(Trouble::Gone) => {
                self.stage = Stage::Stuck;
                return Ok(());
            }
            // The others go on, so we do: numbers have to be the same.
            Err(Trouble::Wrong(error)) => self.error = Some(Box::new(error)),
        }
        self.members.finish(p, self.number)?;
        self.number = self.members.state().begin();
        (self.stage, self.next) = (Stage::Tell, 0);
        Ok(())
    }

    /// Reads the blocks of the other members, beginning with the next one, so that not all read the same.
    fn take<T: Transport>(&self, p: &mut Process<T>) -> Taken {
        let (rank, size) = (self.members.rank(), self.members.size());
        let bytes = packed_size(&self.buffers.recv_ty, self.buffers.recv_count);
        let (skip, all) = match self.each {
            true => (bytes * u64::from(rank), bytes * u64::from(size)),
            false => (0, bytes),
        };
        check(self.own.1 as u64, all)?;
        if self.each || self.buffers.send.is_some() {
            let from = self.own.0.wrapping_add(skip as usize);
            let Incoming { buf, count, ty } = self.buffers.block(rank);
            // SAFETY: our data are as long as was just checked; the buffer has a block for every member.
            unsafe {
                unpack_all(buf, count, ty, core::slice::from_raw_parts(from, bytes as usize))
            };
        }
        for member in (rank + 1..size).chain(0..rank) {
            // SAFETY: the slot is there, and we have not finished.
            let slot = unsafe { self.members.words(p, member, self.number)? };
            let [address, found] = slot.map_err(|found| differs(found, size_of::<[u64; 2]>()))?;
            check(found, all)?;
            let process = self.members.process(member)?;
            let (from, to) = (address.wrapping_add(skip), self.buffers.block(member));
            // SAFETY: the buffer has a block of `bytes` for every member.
            let pulled = unsafe { p.read_elements(process, from, to, bytes) };
            pulled.map_err(|refused| match refused {
                PeerMemoryError::NotPermitted => Trouble::Refused,
                PeerMemoryError::Gone => Trouble::Gone,
                PeerMemoryError::Failed(errno) => Trouble::Wrong(unreadable(process, bytes, errno)),
            })?;
        }
        Ok(())
    }

    /// All have read, or have said that they can't.
    fn end<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        for member in self.members.others() {
            // SAFETY: the slot is there, and we have not finished.
            let slot = unsafe { self.members.words(p, member, self.number)? };
            // What is no such slot, a wrong program's, says nothing.
            self.refused |= slot.is_ok_and(|[refused, _]| refused == 1);
        }
        self.members.finish(p, self.number)?;
        if self.refused {
            // Relaxed: see `SlotState`. All members do so.
            let state = self.members.state();
            state.agreed.fetch_and(!ALL_READ, Ordering::Relaxed);
            // Relaxed: see `SlotState`. What went by messages may have another way now.
            state.messages_above.iter().for_each(|above| above.store(u64::MAX, Ordering::Relaxed));
            self.restore();
            // The other way finds it again.
            self.error = None;
        }
        self.error.take().map_or(Ok(()), |error| Err(*error))
    }

    /// Undoes what was read over our own data.
    fn restore(&self) {
        if !self.each || self.buffers.send.is_some() {
            return;
        }
        let Outgoing { buf, count, ty } = self.buffers.all_parts(self.members.size());
        // SAFETY: `expose` has packed the same elements.
        unsafe {
            let data = core::slice::from_raw_parts(self.own.0, self.own.1);
            unpack_all(buf.cast_mut(), count, ty, data);
        }
    }
}

/// Whether a member has as many bytes as this one expects.
fn check(found: u64, expected: u64) -> Result<()> {
    let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    if found == expected { Ok(()) } else { Err(differs(bytes(found), bytes(expected))) }
}
