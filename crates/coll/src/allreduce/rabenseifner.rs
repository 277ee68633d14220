//! Rabenseifner's allreduce.

use crate::fold::{Fold, Part};
use crate::halving::Halving;
use crate::input::Reduction;
use crate::partial::Partial;
use crate::schedule::{Buffer, Peer, Schedule};

/// Rabenseifner's allreduce: reduce-scatter by recursive halving, allgather by recursive doubling.
///
/// Cost: 2 log2 n rounds and about 2 m bytes out and in of every rank; where n is no power of two,
/// two more messages of m bytes on the longest path.
/// Wins: long messages on a power of two of ranks, and long messages with an operation that does
/// not commute: the distance doubles while the data halves, so the order of operands is kept.
/// Source: Rabenseifner, "Optimization of collective reduction operations", 2004.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, count, .. } = *input;
    let mut s = Schedule::new();
    if count == 0 {
        return s;
    }
    let (commutative, extent) = (input.commutative, input.extent);
    let mut partial = Partial::new(input.source(), Buffer::Recv, extent, commutative);
    let fold = Fold::new(size, size);
    match fold.part(rank) {
        Part::Leaves { partner } => {
            s.send(Peer::Local(partner), input.whole(input.source()));
            s.end_round();
            s.recv(Peer::Local(partner), input.whole(Buffer::Recv));
            s.end_round();
        }
        Part::Stays { number, partner } => {
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
            let mut mask = fold.power / 2;
            while mask > 0 {
                let peer = Peer::Local(fold.real(number ^ mask));
                let (ours, theirs) = halving.join(mask);
                s.send(peer, partial.block(Buffer::Recv, &ours));
                s.recv(peer, partial.block(Buffer::Recv, &theirs));
                s.end_round();
                mask /= 2;
            }
            if let Some(partner) = partner {
                s.send(Peer::Local(partner), input.whole(Buffer::Recv));
                s.end_round();
            }
        }
    }
    s
}
