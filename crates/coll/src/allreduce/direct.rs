//! Everyone to everyone allreduce.

use crate::input::Reduction;
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};
use crate::tree::up;

/// Above so many ranks the temporaries would be too many.
pub const MOST_RANKS: u32 = 1024;

/// Every rank sends its operand to every other, and each combines all of them in rank order.
///
/// Cost: one round, n - 1 messages of m bytes out and in and n - 1 combinations per rank.
/// Wins: very short messages on few ranks, above all where n is no power of two.
/// Source: folklore; "linear exchange" in Chan et al., "Collective communication: theory,
/// practice, and experience", 2007.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, count, .. } = *input;
    if count == 0 {
        return Schedule::new();
    }
    let last = size - 1;
    let peers = last as usize;
    let mut s = Schedule::with_capacity(1, 2 * peers, peers + 1);
    let own = input.whole(input.source());
    for step in 1..size {
        s.send(Peer::Local(up(rank, step, size)), own);
    }
    // The highest operand lies where the result shall be, and all lower ones are combined into
    // it, the highest first: a(0) OP (a(1) OP (... OP a(n-1))).
    let first_temp = input.in_place && rank != last;
    let place = |s: &mut Schedule, from: u32| match from {
        _ if from == rank => own,
        _ if from == last && !first_temp => input.whole(Buffer::Recv),
        _ => input.whole(s.temp(TempSpec::Elements(count))),
    };
    let mut inout = place(&mut s, last);
    if rank != last {
        s.recv(Peer::Local(last), inout);
    } else if !input.in_place {
        inout = input.whole(Buffer::Recv);
        s.copy(own, inout);
    }
    for from in (0..last).rev() {
        let operand = place(&mut s, from);
        if from != rank {
            s.recv(Peer::Local(from), operand);
        }
        s.reduce(operand, inout);
    }
    if inout.buffer != Buffer::Recv {
        s.copy(inout, input.whole(Buffer::Recv));
    }
    s.end_round();
    s
}
