//! Rabenseifner's reduce.

use super::source;
use crate::fold::{Fold, Part};
use crate::halving::Halving;
use crate::input::Reduction;
use crate::partial::Partial;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};

/// Rabenseifner's reduce: reduce-scatter by recursive halving, binomial gather to the root.
///
/// Cost: 2 log2 n rounds and about 2 m bytes on the longest path, against m log2 n of the tree;
/// where n is no power of two, one more message of m bytes.
/// Wins: long messages; the order of operands is kept, whether or not the operation commutes.
/// Source: Rabenseifner, "Optimization of collective reduction operations", 2004.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, root, count, .. } = *input;
    let mut s = Schedule::new();
    if count == 0 {
        return s;
    }
    let fold = Fold::new(size, root);
    let (number, partner) = match fold.part(rank) {
        Part::Leaves { partner } => {
            s.send(Peer::Local(partner), input.whole(source(input)));
            s.end_round();
            return s;
        }
        Part::Stays { number, partner } => (number, partner),
    };
    let acc = if rank == root { Buffer::Recv } else { s.temp(TempSpec::Elements(count)) };
    let mut partial = Partial::new(source(input), acc, input.extent, input.commutative);
    if let Some(partner) = partner {
        partial.combine(&mut s, Peer::Local(partner), &(0..count), partner < rank);
        s.end_round();
        partial.fresh = false;
    }
    let mut halving = Halving::new(fold, number, count);
    halving.scatter(&mut s, &mut partial);
    if size == 1 {
        partial.settle(&mut s, &(0..count));
        s.end_round();
    }
    if let Part::Stays { number: top, .. } = fold.part(root) {
        gather(&mut s, &mut halving, &partial, top);
    }
    s
}

/// Appends the gather of the parts to the rank with number `top`.
fn gather(s: &mut Schedule, halving: &mut Halving, partial: &Partial, top: u32) {
    let mut mask = halving.fold.power / 2;
    while mask > 0 {
        let partner = Peer::Local(halving.fold.real(halving.number ^ mask));
        let (ours, theirs) = halving.join(mask);
        let gives = (halving.number ^ top) & mask != 0;
        if gives {
            s.send(partner, partial.block(partial.acc, &ours));
        } else {
            s.recv(partner, partial.block(partial.acc, &theirs));
        }
        s.end_round();
        if gives {
            return;
        }
        mask /= 2;
    }
}
