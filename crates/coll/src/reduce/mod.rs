//! `MPI_Reduce` (MPI 5.0, section 6.9.1).

pub mod binomial;
pub mod rabenseifner;
pub mod rank_order;

use crate::input::Reduction;
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec};
use crate::select::{DEFAULT, Reduce, Tables};
use crate::tree::{children, down, parent, up};

/// The schedule that the default tables choose.
pub fn schedule(input: &Reduction) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &Reduction) -> Schedule {
    build(tables.reduce(input.size, input.bytes()), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Reduce, input: &Reduction) -> Schedule {
    match algorithm {
        Reduce::Binomial if input.commutative => binomial::schedule(input),
        Reduce::Binomial => rank_order::schedule(input),
        Reduce::Rabenseifner => rabenseifner::schedule(input),
    }
}

/// The buffer with this rank's operand; only the root may have it in place.
fn source(input: &Reduction) -> Buffer {
    if input.rank == input.root { input.source() } else { Buffer::Send }
}

/// Appends a binomial reduction within the local group to rank `top`; the order of operands is
/// that of the ranks from `top` on. Returns at `top` where the result lies: in `target` if possible.
///
/// `target` is looked at on `top` only. What has been received takes over the part of the partial
/// result, so nothing is copied unless `source` and `target` are the same.
pub(crate) fn tree_reduce(
    s: &mut Schedule,
    input: &Reduction,
    top: u32,
    source: Buffer,
    target: Buffer,
) -> Option<Block> {
    let Reduction { rank, size, .. } = *input;
    let v = down(rank, top, size);
    let count = children(v, size).count();
    let mut places: [Option<Buffer>; 2] = if v == 0 { [Some(target), None] } else { [None; 2] };
    // Alternating between two places, the last receive shall go to the first of them.
    let mut turn = if source == target && v == 0 { 1 } else { (count + 1) % 2 };
    let mut value = source;
    for child in children(v, size) {
        let place = &mut places[turn];
        let landing = *place.get_or_insert_with(|| s.temp(TempSpec::Elements(input.count)));
        s.recv(Peer::Local(up(child, top, size)), input.whole(landing));
        s.reduce(input.whole(value), input.whole(landing));
        s.end_round();
        (value, turn) = (landing, 1 - turn);
    }
    if v == 0 {
        return Some(input.whole(value));
    }
    s.send(Peer::Local(up(parent(v), top, size)), input.whole(value));
    s.end_round();
    None
}

/// Appends the copy of a block unless it is where it shall be.
pub(crate) fn bring(s: &mut Schedule, from: Block, to: Block) {
    if from != to {
        s.copy(from, to);
        s.end_round();
    }
}
