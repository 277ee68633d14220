//! Collectives through large slots, for data that do not fit in the data ring.
//!
//! Data of up to [`LARGE_SLOT_BYTES`] are written to a large slot. Longer data go in several exchanges, one after the other
//! ([`Steps`]): each moves some bytes of a broadcast, some elements of a reduction, or the same piece of every block of the
//! other collectives. A set has two large slots, so a member posts the next part while others still read this one.
//!
//! An allreduce of three members and more is two exchanges: each member combines a slice of what all have posted, and posts
//! the result, which all copy. So a member's work does not grow with the number of members. A reduce is the same where each
//! member has a processor, except that only the root copies. Where members share processors, the root combines everything,
//! which takes fewer switches of processes.

use super::blocks::{Piece, Pieces};
use super::coll_args::{CollArgs, Shown, long, short, unpack_part};
use super::slots::Exchange;
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::pt2pt::{Incoming, Outgoing, pack_part};
use core::ops::Range;
use hpvm_copy as copy;
use hpvm_fm::Transport;
use hpvm_wire::coll_slots::LARGE_SLOT_BYTES;

/// Which part of a collective one exchange does.
#[derive(Clone, Debug)]
pub enum Part {
    /// All of it, through slots. The other parts need large slots.
    Short,
    /// All of it, through large slots.
    Whole,
    /// These bytes of the packed data of a broadcast.
    Bytes(Range<usize>),
    /// A piece of each packed block of an alltoall, an allgather or a gather.
    Blocks(Piece),
    /// Of a reduction: each member combines its own slice of what all have posted.
    Own,
    /// Of the same reduction: members copy the results from the others' slices.
    Share,
}

/// One exchange: a collective, and the part of it.
pub type Step = (CollArgs, Part);

/// The exchanges that a collective with long slots consists of, one after the other.
#[derive(Debug, Default)]
pub struct Steps {
    /// What is left of it.
    left: Option<CollArgs>,
    /// The second half of the last step.
    share: Option<CollArgs>,
    /// Where a member combines its slice for a root.
    slice: Vec<u8>,
    /// This member, and how many there are.
    at: (u32, u32),
    /// Of a broadcast or of each block: the bytes that earlier steps have moved, all of them, and those that a step moves.
    from: usize,
    bytes: usize,
    piece: usize,
    halves: bool,
}

/// Members from which on each combines a slice.
const MIN_SLICING_MEMBERS: u32 = 3;
/// Bytes of a reduction for a root that go in one exchange: the root alone combines them, and what others
/// post meanwhile leaves its cache.
const MAX_AT_ROOT: usize = 64 << 10;
/// Pieces of blocks have a multiple of so many bytes, so that each begins in a pair of cache lines of its own.
const ALIGN: usize = 128;

impl Steps {
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_none() && self.share.is_none()
    }

    /// The exchanges for `args`, of which a member shows `bytes`, of member `at.0` of `at.1`. Whether they share
    /// processors (`oversubscribed`) is known to all alike.
    pub(super) fn new(args: CollArgs, bytes: u64, at: (u32, u32), oversubscribed: bool) -> Steps {
        let (bytes, n) = (bytes as usize, at.1 as usize);
        let (bytes, piece) = match args {
            CollArgs::Alltoall(_) => (bytes / n, piece_of(bytes / n, n - 1)),
            CollArgs::Allgather(_) | CollArgs::Gather { .. } => (bytes, piece_of(bytes, 1)),
            _ => (bytes, LARGE_SLOT_BYTES),
        };
        let at_root = oversubscribed && matches!(args, CollArgs::Reduce { root: Some(_), .. });
        let halves = at.1 >= MIN_SLICING_MEMBERS && !at_root;
        Steps { left: Some(args), at, bytes, piece, halves, ..Steps::default() }
    }

    /// The two exchanges of a reduction whose members combine a slice each: with all, and with those who want the result.
    fn in_halves(&mut self, args: CollArgs) -> (CollArgs, CollArgs) {
        let CollArgs::Reduce { root, send, recv, count, bytes, ty, op } = args else {
            return (args.clone(), args);
        };
        let (rank, members) = self.at;
        let recv = match root {
            Some(root) if root != rank => {
                let (own, element) = (slice(count, rank, members), bytes / count.max(1));
                self.slice.resize(own.len() * element, 0);
                // Of a buffer that this member does not have: nothing is looked at but its slice.
                self.slice.as_mut_ptr().wrapping_sub(own.start * element)
            }
            _ => recv,
        };
        let to = |root| CollArgs::Reduce { root, send, recv, count, bytes, ty, op };
        (to(None), to(root))
    }

    /// The bytes that the next step moves.
    fn next_bytes(&mut self) -> Range<usize> {
        let start = self.from;
        self.from = self.bytes.min(start + self.piece);
        start..self.from
    }
}

/// How many bytes of each of `blocks` blocks of so many `bytes` go in one exchange: as many in each but the last, as few
/// exchanges as it takes.
fn piece_of(bytes: usize, blocks: usize) -> usize {
    let most = (LARGE_SLOT_BYTES / blocks.max(1)) / ALIGN * ALIGN;
    bytes.div_ceil(bytes.div_ceil(most).max(1)).next_multiple_of(ALIGN)
}

impl Iterator for Steps {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        if let Some(args) = self.share.take() {
            return Some((args, Part::Share));
        }
        match self.left.take()? {
            args @ CollArgs::Reduce { root, .. } => {
                let at_root = root.is_some() && !self.halves;
                let most = if at_root { MAX_AT_ROOT } else { LARGE_SLOT_BYTES };
                let (args, left) = part_of(args, most, 1);
                self.left = left;
                if !self.halves {
                    return Some((args, Part::Whole));
                }
                let (own, share) = self.in_halves(args);
                self.share = Some(share);
                Some((own, Part::Own))
            }
            args @ (CollArgs::Barrier | CollArgs::Scatter { .. }) => Some((args, Part::Whole)),
            args => {
                let bytes = self.next_bytes();
                if bytes.end < self.bytes {
                    self.left = Some(args.clone());
                }
                let part = match args {
                    CollArgs::Bcast { .. } => Part::Bytes(bytes),
                    _ if bytes == (0..self.bytes) => Part::Whole,
                    _ => Part::Blocks(Piece { bytes, of: self.bytes }),
                };
                Some((args, part))
            }
        }
    }
}

/// The first elements of a reduction, `times` as many as `most` bytes hold, and what is left of it. Other
/// collectives have no parts.
pub(super) fn part_of(args: CollArgs, most: usize, times: usize) -> (CollArgs, Option<CollArgs>) {
    let CollArgs::Reduce { root, send, recv, count, bytes, ty, op } = args else {
        return (args, None);
    };
    let element = bytes / count.max(1);
    let n = count.min((most / element.max(1)).max(1) * times);
    let done = n * element;
    let left = (n < count).then(|| CollArgs::Reduce {
        root,
        send: if send.is_null() { send } else { send.wrapping_add(done) },
        recv: recv.wrapping_add(done),
        count: count - n,
        bytes: bytes - done,
        ty,
        op,
    });
    (CollArgs::Reduce { root, send, recv, count: n, bytes: done, ty, op }, left)
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

impl Exchange<'_> {
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
        let run = |from: *const u8, len| {
            // SAFETY: the caller's promise.
            post(len, &mut |out| unsafe { copy::wide(from, out.as_mut_ptr(), len) })
        };
        match (&self.args, &self.part) {
            (CollArgs::Bcast { buf, count, ty, .. }, Part::Bytes(range)) => {
                let m = Outgoing { buf: buf.cast_const(), count: *count, ty };
                // SAFETY: the caller's promise; the range lies in the packed data.
                let mut fill = |out: &mut [u8]| unsafe {
                    pack_part(m, range.start as u64, out, false);
                };
                post(range.len(), &mut fill)
            }
            (CollArgs::Reduce { recv, count, bytes, .. }, Part::Share) => {
                let own = slice(*count, rank, size);
                let element = bytes / count;
                run(recv.wrapping_add(own.start * element), own.len() * element)
            }
            (_, Part::Blocks(piece)) => {
                let pieces = Pieces::new(&self.args, piece, (rank, size))?;
                // SAFETY: the caller's promise.
                post(pieces.len(), &mut |out| unsafe { pieces.write(out) })
            }
            _ => match self.args.shown(rank, size) {
                Shown::Run(from, len) => run(from, len),
                shown @ (Shown::Elements(_) | Shown::Others(..)) => {
                    // SAFETY: the caller's promise.
                    post(shown.len(), &mut |out| unsafe { shown.write(out) })
                }
                Shown::Nothing => Err(Class::Intern.into()),
            },
        }
    }

    /// Copies the bytes of a broadcast that this slot brings.
    #[inline(never)]
    pub(super) fn take_bytes<T: Transport>(
        &self,
        p: &Process<T>,
        range: &Range<usize>,
    ) -> Result<()> {
        let CollArgs::Bcast { root, buf, count, ty } = &self.args else {
            return Err(Class::Intern.into());
        };
        if *root == self.rank() {
            return Ok(());
        }
        let slot = self.slot(p, *root)?;
        if slot.len() != range.len() {
            return Err(differs(slot.len(), range.len()));
        }
        // SAFETY: the buffer has `count` elements; the range lies in their packed form, because its end is at most the size
        // that `bytes` says (`Steps`).
        unsafe { unpack_part(slot, range.start, Incoming { buf: *buf, count: *count, ty }) };
        Ok(())
    }

    /// Combines our slice of what all have posted.
    #[inline(never)]
    pub(super) fn combine_own<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let CollArgs::Reduce { recv, count, bytes, ty, op, .. } = self.args else {
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
            // SAFETY: the receive buffer holds all elements, or at least our slice (`Steps::in_halves`); slots lie elsewhere.
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
        let CollArgs::Reduce { root, recv, count, bytes, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        if root.is_some_and(|root| root != self.rank()) {
            return Ok(());
        }
        let size = self.comm.size();
        let element = bytes / count;
        for member in self.others() {
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
