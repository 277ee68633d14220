//! Collectives whose slots do not fit on the ring, over large slots.
//!
//! A slot of up to [`LARGE_SLOT_BYTES`] is written to a large slot; longer data go in several exchanges of slots,
//! one after the other ([`Steps`]). A reduction for everybody whose members are many is two exchanges:
//! each member combines a slice of what all have posted, and posts the result, which all copy. So the
//! work does not grow with the number of members.

use super::slots::{Call, What, long, short};
use super::{MOST, Way};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::pt2pt::{Outgoing, pack_all, pack_part};
use core::ops::Range;
use hpvm_copy as copy;
use hpvm_fm::Transport;
use hpvm_wire::coll_slots::LARGE_SLOT_BYTES;
use std::sync::atomic::Ordering;

/// What of a collective one exchange of slots does.
#[derive(Clone, Debug)]
pub enum Part {
    /// All of it, on slots. The others need large slots.
    Short,
    /// All of it.
    Whole,
    /// These bytes of the packed data of a broadcast.
    Bytes(Range<usize>),
    /// Of a reduction for everybody, this member's slice.
    Own,
    /// Of the same, what the others have in theirs.
    Share,
}

/// One exchange of slots: a collective, and what of it.
pub type Step = (What, Part);

/// The exchanges that a collective with long slots consists of, one after the other.
#[derive(Debug)]
pub struct Steps {
    /// What is left of it.
    left: Option<What>,
    /// The second half of the last step.
    share: Option<What>,
    /// Bytes of a broadcast that earlier steps have moved.
    from: usize,
    bytes: usize,
    halves: bool,
}

/// How long slots are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWay {
    /// [`Process::steps`]
    LargeSlots,
    /// [`Process::begin_ring_reduce`]
    RingReduce,
    /// [`Process::begin_direct_read`]
    DirectRead,
}

/// Longest slots that are faster than messages between two ranks with a processor each, whatever they do.
const APART: u64 = 1 << 10;
/// Members from which on each combines a slice.
const MANY: u32 = 3;
/// Longest reduction for everybody that goes over large slots where every rank has a processor.
const EVERYBODY: u64 = 64 << 10;
/// Longest broadcasts and reductions that do where ranks share processors.
const OVERSUBSCRIBED: u64 = 4 << 20;

/// Bytes of a reduction for a root that go in one exchange: the root alone combines them, and what others
/// post meanwhile leaves its cache.
const AT_ROOT: usize = 64 << 10;
/// Longest slots of an alltoall that go over large slots where members can read each other's memory instead.
const BESIDE_READS: u64 = 64 << 10;
/// Longest that members read: one goes on with nothing else while it does.
const ALL_BLOCKS: u64 = 8 << 20;
/// Longest results of allgathers whose blocks members read. Beyond, memory is what limits.
const ALL_GATHERED: u64 = 4 << 20;
/// Shortest reductions that go round.
const ROUND: u64 = 128 << 10;
/// Shortest slices of them: each round costs a switch. A root alone copies the result.
const SLICE: u64 = 16 << 10;
const SLICE_FOR_ROOT: u64 = 24 << 10;

impl<T: Transport> Process<T> {
    /// The exchanges of slots for `what`, whose slots are up to `bytes` long, more than [`MOST`], where
    /// [`Process::way_of`] has said `Slots`.
    #[inline]
    pub fn steps(&self, comm: &Comm, what: What, bytes: u64) -> Steps {
        Steps {
            left: Some(what),
            share: None,
            from: 0,
            bytes: bytes as usize,
            halves: comm.size() >= MANY,
        }
    }

    /// How `what` is done, whose slots are so long, where [`Process::way_of`] has said `Slots`.
    pub fn long_way(&self, comm: &Comm, what: &What, bytes: u64) -> LongWay {
        long_way(comm, what, bytes).unwrap_or(LongWay::LargeSlots)
    }

    /// As [`Process::way`], for `what`, which may use large slots where all members share a host.
    #[inline]
    pub fn way_of(&self, comm: &Comm, what: &What, bytes: u64) -> Way {
        if bytes > MOST && long_way(comm, what, bytes).is_some() {
            return match self.way(comm, 0) {
                Way::Hierarchical => self.way(comm, bytes),
                way => way,
            };
        }
        match self.way(comm, bytes) {
            Way::Slots if bytes > APART && !self.carriers_tuned && go_apart(comm, what, bytes) => {
                Way::Messages
            }
            way => way,
        }
    }
}

/// Whether two members with a processor each are faster by messages, although the slots would fit: the
/// copies of a message overlap, those of slots do not.
fn go_apart(comm: &Comm, what: &What, bytes: u64) -> bool {
    let most = match what {
        What::Barrier => return false,
        What::Allgather(_) => APART,
        What::Bcast { .. } | What::Reduce { root: None, .. } => 2 * APART,
        // Of the former a slot has two blocks.
        What::Alltoall(_) | What::Reduce { root: Some(_), .. } => 4 * APART,
    };
    // Relaxed: see `Use`.
    bytes > most && comm.size() == 2 && !comm.coll_slots().oversubscribed.load(Ordering::Relaxed)
}

/// In which of these ways `what` is faster than by messages (`bench/NOTES.md`). Where ranks share processors it
/// is, because each message costs switches between them.
fn long_way(comm: &Comm, what: &What, bytes: u64) -> Option<LongWay> {
    // Relaxed, both: see `Use`.
    let oversubscribed = comm.coll_slots().oversubscribed.load(Ordering::Relaxed);
    let reads = || comm.coll_slots().reads.load(Ordering::Relaxed);
    let size = u64::from(comm.size());
    let most = match what {
        What::Barrier => 0,
        // Two that read each other's data need no copy for that.
        What::Reduce { root: None, .. } if !oversubscribed && comm.size() == 2 && reads() => 0,
        What::Reduce { root: None, .. } if !oversubscribed => EVERYBODY,
        _ if !oversubscribed => 0,
        What::Reduce { root, .. } if bytes <= OVERSUBSCRIBED => {
            let slice = if root.is_some() { SLICE_FOR_ROOT } else { SLICE };
            let goes_round = bytes >= ROUND.max(size * slice);
            return Some(if goes_round { LongWay::RingReduce } else { LongWay::LargeSlots });
        }
        What::Alltoall(_) if bytes > BESIDE_READS && reads() => {
            return (bytes <= ALL_BLOCKS).then_some(LongWay::DirectRead);
        }
        What::Allgather(_) if bytes > LARGE_SLOT_BYTES as u64 && reads() => {
            return (bytes.saturating_mul(size) <= ALL_GATHERED).then_some(LongWay::DirectRead);
        }
        What::Bcast { .. } | What::Reduce { .. } => OVERSUBSCRIBED,
        What::Allgather(_) | What::Alltoall(_) => LARGE_SLOT_BYTES as u64,
    };
    (bytes <= most).then_some(LongWay::LargeSlots)
}

impl Iterator for Steps {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        if let Some(what) = self.share.take() {
            return Some((what, Part::Share));
        }
        match self.left.take()? {
            What::Bcast { root, buf, count, ty } => {
                let what = What::Bcast { root, buf, count, ty };
                let end = self.bytes.min(self.from + LARGE_SLOT_BYTES);
                let part = Part::Bytes(self.from..end);
                self.from = end;
                if end < self.bytes {
                    self.left = Some(what.clone());
                }
                Some((what, part))
            }
            what @ What::Reduce { root, .. } => {
                let most = if root.is_some() { AT_ROOT } else { LARGE_SLOT_BYTES };
                let (what, left) = part_of(what, most, 1);
                self.left = left;
                let halves = self.halves && root.is_none();
                self.share = halves.then(|| what.clone());
                let part = if halves { Part::Own } else { Part::Whole };
                Some((what, part))
            }
            what => Some((what, Part::Whole)),
        }
    }
}

/// The first elements of a reduction, `times` as many as `most` bytes hold, and what is left of it. Other
/// collectives have no parts.
pub(super) fn part_of(what: What, most: usize, times: usize) -> (What, Option<What>) {
    let What::Reduce { root, send, recv, count, bytes, ty, op } = what else { return (what, None) };
    let element = bytes / count.max(1);
    let n = count.min((most / element.max(1)).max(1) * times);
    let done = n * element;
    let left = (n < count).then(|| What::Reduce {
        root,
        send: if send.is_null() { send } else { send.wrapping_add(done) },
        recv: recv.wrapping_add(done),
        count: count - n,
        bytes: bytes - done,
        ty,
        op,
    });
    (What::Reduce { root, send, recv, count: n, bytes: done, ty, op }, left)
}

/// The elements of `count` that member `rank` of `size` combines.
pub(super) fn slice(count: usize, rank: u32, size: u32) -> Range<usize> {
    let at = |rank: u32| (count as u128 * u128::from(rank) / u128::from(size)) as usize;
    at(rank)..at(rank + 1)
}

#[cold]
pub(super) fn differs(found: usize, expected: usize) -> Error {
    if found > expected { long(found, expected) } else { short(found, expected) }
}

impl Call<'_> {
    /// Posts our slot on a large slot.
    ///
    /// # Safety
    /// There is room, and the buffers are valid as `begin` was promised.
    #[inline(never)]
    pub(super) unsafe fn post_long<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let (rank, size) = (self.rank(), self.comm.size());
        let (slots, large_slot) = (self.coll_slots(p, rank)?, self.large_slot(p, rank)?);
        let post = |len: usize, fill: &mut dyn FnMut(&mut [u8])| {
            // SAFETY: the caller's promise; the slots and the large slot are ours.
            unsafe { slots.post_on(large_slot, self.number, len, fill) };
            Ok(())
        };
        let all = |m: Outgoing<'_>| {
            // SAFETY: the caller's promise.
            post(m.packed_size() as usize, &mut |out| unsafe { pack_all(m, out) })
        };
        let run = |from: *const u8, len| {
            // SAFETY: the caller's promise.
            post(len, &mut |out| unsafe { copy::wide(from, out.as_mut_ptr(), len) })
        };
        match (&self.what, &self.part) {
            (What::Bcast { buf, count, ty, .. }, Part::Bytes(range)) => {
                let m = Outgoing { buf: buf.cast_const(), count: *count, ty };
                // SAFETY: the caller's promise; the range lies in the packed data.
                let mut fill = |out: &mut [u8]| unsafe {
                    pack_part(m, range.start as u64, out, false);
                };
                post(range.len(), &mut fill)
            }
            (What::Reduce { recv, count, bytes, .. }, Part::Share) => {
                let own = slice(*count, rank, size);
                let element = bytes / count;
                run(recv.wrapping_add(own.start * element), own.len() * element)
            }
            (What::Reduce { send, recv, bytes, .. }, _) => {
                run(if send.is_null() { recv.cast_const() } else { *send }, *bytes)
            }
            (What::Allgather(sides), _) => all(sides.own_part(rank)),
            (What::Alltoall(sides), _) => all(sides.all_parts(size)),
            _ => Err(Class::Intern.into()),
        }
    }

    /// Copies the bytes of a broadcast that this slot brings.
    #[inline(never)]
    pub(super) fn take_bytes<T: Transport>(
        &self,
        p: &Process<T>,
        range: &Range<usize>,
    ) -> Result<()> {
        let What::Bcast { root, buf, count, ty } = &self.what else {
            return Err(Class::Intern.into());
        };
        if *root == self.rank() {
            return Ok(());
        }
        let slot = self.slot(p, *root)?;
        if slot.len() != range.len() {
            return Err(differs(slot.len(), range.len()));
        }
        let at = range.start as u64;
        match ty.as_run(*count) {
            Some((first, bytes)) if range.end as u64 <= bytes => {
                let to = buf.wrapping_offset(first as isize).wrapping_add(range.start);
                // SAFETY: the elements form one run of `bytes` from `first` on.
                unsafe { copy::wide(slot.as_ptr(), to, slot.len()) };
            }
            // SAFETY: the buffer has `count` elements; the range lies in their packed form, because
            // its end is at most the size that `bytes` says (`Steps`).
            _ => unsafe {
                ty.unpack(*buf, *count, at, slot);
            },
        }
        Ok(())
    }

    /// Combines our slice of what all have posted.
    #[inline(never)]
    pub(super) fn combine_own<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let What::Reduce { recv, count, bytes, ty, op, .. } = self.what else {
            return Err(Class::Intern.into());
        };
        let size = self.comm.size();
        let own = slice(count, self.rank(), size);
        let element = bytes / count;
        let (start, len) = (own.start * element, own.len() * element);
        let to = recv.wrapping_add(start);
        for member in 0..size {
            let slot = self.slot(p, member)?;
            let part = slot.get(start..start + len).ok_or_else(|| short(slot.len(), bytes))?;
            // SAFETY: the receive buffer holds all elements; slots lie elsewhere.
            unsafe {
                match member {
                    0 => copy::wide(part.as_ptr(), to, len),
                    _ => op.apply(ty, part.as_ptr(), to, own.len())?,
                }
            }
        }
        Ok(())
    }

    /// Copies what the others have combined.
    #[inline(never)]
    pub(super) fn take_shares<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let What::Reduce { recv, count, bytes, .. } = self.what else {
            return Err(Class::Intern.into());
        };
        let size = self.comm.size();
        let element = bytes / count;
        for member in (0..size).filter(|m| *m != self.rank()) {
            let theirs = slice(count, member, size);
            let len = theirs.len() * element;
            let slot = self.slot(p, member)?;
            let part = slot.get(..len).ok_or_else(|| short(slot.len(), len))?;
            let to = recv.wrapping_add(theirs.start * element);
            // SAFETY: the receive buffer holds all elements; slots lie elsewhere.
            unsafe { copy::wide(part.as_ptr(), to, len) };
        }
        Ok(())
    }
}
