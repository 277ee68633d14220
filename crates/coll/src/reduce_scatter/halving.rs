//! Recursive halving reduce-scatter.

use super::Job;
use crate::fold::{Fold, Part};
use crate::partial::Partial;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};

/// Recursive halving reduce-scatter: partners at half the distance each time exchange the halves
/// of what is left. Operations that commute only.
///
/// Cost: log2 n rounds, m (n - 1) / n bytes out and in; where n is no power of two, two messages
/// more, one of them of m bytes.
/// Wins: short and medium operands.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005.
pub fn schedule(job: &Job) -> Schedule {
    let mut s = Schedule::new();
    let all = job.all();
    let rank = all.rank;
    let own = job.result(Buffer::Recv);
    let fold = Fold::new(all.size, all.size);
    let (number, partner) = match fold.part(rank) {
        Part::Leaves { partner } => {
            s.send(Peer::Local(partner), all.whole(all.source()));
            s.end_round();
            s.recv(Peer::Local(partner), own);
            s.end_round();
            return s;
        }
        Part::Stays { number, partner } => (number, partner),
    };
    let acc = s.temp(TempSpec::Elements(all.count));
    let mut partial = Partial::new(all.source(), acc, all.extent, true);
    if let Some(partner) = partner {
        partial.combine(&mut s, Peer::Local(partner), &(0..all.count), partner < rank);
        s.end_round();
        partial.fresh = false;
    }
    let range = |first: u32, numbers: u32| {
        let (start, end) = (fold.first(first), fold.first(first + numbers));
        job.range(start, end - start)
    };
    let (mut first, mut mask) = (0, fold.power / 2);
    while mask > 0 {
        let (low, high) = (range(first, mask), range(first + mask, mask));
        let upper = number & mask != 0;
        let (kept, given) = if upper { (high, low) } else { (low, high) };
        let peer = Peer::Local(fold.real(number ^ mask));
        s.send(peer, partial.current(&given));
        partial.combine(&mut s, peer, &kept, upper);
        s.end_round();
        partial.fresh = false;
        first += if upper { mask } else { 0 };
        mask /= 2;
    }
    if let Some(partner) = partner {
        s.send(Peer::Local(partner), partial.current(&job.range(partner, 1)));
    }
    let mine = partial.current(&job.range(rank, 1));
    if mine != own {
        s.copy(mine, own);
    }
    s.end_round();
    s
}
