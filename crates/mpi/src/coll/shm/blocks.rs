//! Blocks that are longer than a large slot, piece by piece: each step moves the same bytes of every block of an alltoall, an
//! allgather or a gather.

use super::large::differs;
use super::slots::Exchange;
use super::what::{Sides, What, unpack_part};
use crate::engine::process::Process;
use crate::error::{Class, Result};
use crate::pt2pt::{Outgoing, pack_part};
use core::ops::Range;
use hpvm_fm::Transport;

/// What of each block a step moves.
#[derive(Clone, Debug)]
pub struct Piece {
    /// These bytes of its packed form.
    pub(super) bytes: Range<usize>,
    /// The bytes of a block, as this member has been told.
    pub(super) of: usize,
}

/// What a member shows in one step.
pub(super) struct Pieces<'a> {
    sides: &'a Sides,
    /// There is a block for each of the other members. Else one for all.
    each: bool,
    /// This member, and how many there are.
    at: (u32, u32),
    /// The bytes of each block that are shown, and those that it has.
    bytes: Range<usize>,
    block: usize,
    /// The block is longer than the others expect.
    is_long: bool,
}

/// The buffers of a collective that has blocks, and whether a member shows one for each of the others.
fn blocks_of(what: &What) -> Result<(&Sides, bool)> {
    match what {
        What::Alltoall(sides) => Ok((sides, true)),
        What::Allgather(sides) | What::Gather { sides, .. } => Ok((sides, false)),
        _ => Err(Class::Intern.into()),
    }
}

impl<'a> Pieces<'a> {
    /// What member `rank` of `size` shows of `what`.
    pub fn new(what: &'a What, piece: &Piece, (rank, size): (u32, u32)) -> Result<Pieces<'a>> {
        let (sides, each) = blocks_of(what)?;
        let part = if each { sides.part(rank) } else { sides.own_part(rank) };
        let block = part.packed_size() as usize;
        // What a wrong program sends may be shorter than what it receives.
        let bytes = piece.bytes.start.min(block)..piece.bytes.end.min(block);
        Ok(Pieces { sides, each, at: (rank, size), bytes, block, is_long: block > piece.of })
    }

    fn blocks(&self) -> impl Iterator<Item = Outgoing<'a>> + use<'a> {
        let (sides, each, (rank, size)) = (self.sides, self.each, self.at);
        let members = if each { 0..size } else { rank..rank + 1 };
        members.filter(move |member| !each || *member != rank).map(move |member| match each {
            true => sides.part(member),
            false => sides.own_part(rank),
        })
    }

    /// How many bytes they have. Too long blocks, which only a wrong program has, are shown as their length alone.
    pub fn len(&self) -> usize {
        let each = if self.is_long { self.block } else { self.bytes.len() };
        each * if self.each { self.at.1 as usize - 1 } else { 1 }
    }

    /// Writes them to `out`.
    ///
    /// # Safety
    /// The buffers are valid; `out` has [`Pieces::len`] bytes.
    pub unsafe fn write(&self, out: &mut [u8]) {
        for (block, out) in self.blocks().zip(out.chunks_exact_mut(self.bytes.len().max(1))) {
            // SAFETY: the caller's promise; the bytes lie in the block.
            unsafe { pack_part(block, self.bytes.start as u64, out, false) };
        }
    }
}

impl Exchange<'_> {
    /// Copies a piece of each block that is for this member, and with the first the block that does not leave its buffers.
    #[inline(never)]
    pub(super) fn take_pieces<T: Transport>(&self, p: &Process<T>, piece: &Piece) -> Result<()> {
        let bytes = &piece.bytes;
        if bytes.start == 0 {
            self.keep_own();
        }
        let others = self.comm.size() as usize - 1;
        let (sides, each) = blocks_of(&self.what)?;
        let shown = bytes.len() * if each { others } else { 1 };
        if self.needs().is_empty() {
            return Ok(());
        }
        for member in self.others() {
            let slot = self.slot(p, member)?;
            let start = if each { self.place_at(member) * bytes.len() } else { 0 };
            let data = slot.get(start..start + bytes.len()).filter(|_| slot.len() == shown);
            let data = data.ok_or_else(|| differs(slot.len(), shown))?;
            // SAFETY: the buffer has a block for every member, with the bytes of the piece (`Steps`).
            unsafe { unpack_part(data, bytes.start, sides.block(member)) };
        }
        Ok(())
    }

    /// Copies this member's own block to where it belongs, if it is not there.
    fn keep_own(&self) {
        let rank = self.rank();
        let (from, sides) = match &self.what {
            What::Gather { root, .. } if *root != rank => return,
            What::Alltoall(sides) => (sides.part(rank), sides),
            What::Allgather(sides) | What::Gather { sides, .. } => (sides.own_part(rank), sides),
            _ => return,
        };
        if sides.send.is_some() {
            // SAFETY: the buffers are valid as `begin` was promised.
            unsafe { Sides::copy_own(from, sides.block(rank)) };
        }
    }
}
