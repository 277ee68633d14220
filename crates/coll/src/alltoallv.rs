//! `MPI_Alltoallv` (MPI 5.0, section 6.8).

use crate::exchange::{self, Varied};
use crate::input::AlltoallV;
use crate::schedule::{Buffer, Schedule};

/// Pairwise alltoallv: every block goes straight to its owner, 16 in flight.
///
/// Cost: a message out and in per peer that has a length other than zero. In place, one copy of
/// the whole, a window at a time.
/// Wins: there is no choice, because no rank knows the lengths of the others.
/// Source: as the pairwise alltoall.
pub fn schedule(input: &AlltoallV) -> Schedule {
    let mut s = Schedule::new();
    let span = (input.rank, input.size);
    let recv = Varied(&input.recv, Buffer::Recv);
    if input.in_place {
        exchange::in_place(&mut s, span, exchange::WINDOW, &recv);
        return s;
    }
    let send = Varied(&input.send, Buffer::Send);
    exchange::keep(&mut s, input.rank, &send, &recv);
    exchange::local(&mut s, span, exchange::WINDOW, &send, &recv);
    s
}
