//! Blocks that are longer than a large slot, piece by piece: each step moves the same bytes of every block of an alltoall,
//! an allgather or a gather.

use super::coll_args::{BlockBuffers, CollArgs, unpack_part};
use super::large::differs;
use super::slots::Exchange;
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
    buffers: &'a BlockBuffers,
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
fn blocks_of(args: &CollArgs) -> Result<(&BlockBuffers, bool)> {
    match args {
        CollArgs::Alltoall(buffers) => Ok((buffers, true)),
        CollArgs::Allgather(buffers) | CollArgs::Gather { buffers, .. } => Ok((buffers, false)),
        _ => Err(Class::Intern.into()),
    }
}

impl<'a> Pieces<'a> {
    /// What member `rank` of `size` shows of `args`.
    pub fn new(args: &'a CollArgs, piece: &Piece, (rank, size): (u32, u32)) -> Result<Pieces<'a>> {
        let (buffers, each) = blocks_of(args)?;
        let part = if each { buffers.part(rank) } else { buffers.own_part(rank) };
        let block = part.packed_size() as usize;
        // What a wrong program sends may be shorter than what it receives.
        let bytes = piece.bytes.start.min(block)..piece.bytes.end.min(block);
        Ok(Pieces { buffers, each, at: (rank, size), bytes, block, is_long: block > piece.of })
    }

    fn blocks(&self) -> impl Iterator<Item = Outgoing<'a>> + use<'a> {
        let (buffers, each, (rank, size)) = (self.buffers, self.each, self.at);
        let members = if each { 0..size } else { rank..rank + 1 };
        members.filter(move |member| !each || *member != rank).map(move |member| match each {
            true => buffers.part(member),
            false => buffers.own_part(rank),
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
        let (buffers, each) = blocks_of(&self.args)?;
        let shown = bytes.len() * if each { others } else { 1 };
        if self.needs().is_empty() {
            return Ok(());
        }
        for member in self.others() {
            let slot = self.slot(p, member)?;
            let start = if each { self.block_index(member) * bytes.len() } else { 0 };
            let data = slot.get(start..start + bytes.len()).filter(|_| slot.len() == shown);
            let data = data.ok_or_else(|| differs(slot.len(), shown))?;
            // SAFETY: the buffer has a block for every member, with the bytes of the piece (`Steps`).
            unsafe { unpack_part(data, bytes.start, buffers.block(member)) };
        }
        Ok(())
    }

    /// Copies this member's own block to where it belongs, if it is not there.
    fn keep_own(&self) {
        let rank = self.rank();
        let (from, buffers) = match &self.args {
            CollArgs::Gather { root, .. } if *root != rank => return,
            CollArgs::Alltoall(buffers) => (buffers.part(rank), buffers),
            CollArgs::Allgather(buffers) | CollArgs::Gather { buffers, .. } => {
                (buffers.own_part(rank), buffers)
            }
            _ => return,
        };
        if buffers.send.is_some() {
            // SAFETY: the buffers are valid as `begin` was promised.
            unsafe { BlockBuffers::copy_own(from, buffers.block(rank)) };
        }
    }
}
