//! `MPI_Alltoallw` (MPI 5.0, section 6.8).

use crate::exchange::{self, Typed};
use crate::input::AlltoallW;
use crate::schedule::{Buffer, Schedule};

/// Pairwise alltoallw: as [`crate::alltoallv`], with the types [`SendOf`](crate::Ty::SendOf) and
/// [`RecvOf`](crate::Ty::RecvOf) of each peer.
///
/// Cost, choice and source: as alltoallv.
pub fn schedule(input: &AlltoallW) -> Schedule {
    let mut s = Schedule::new();
    let span = (input.rank, input.size);
    let recv = Typed(&input.recv, Buffer::Recv);
    if input.in_place {
        exchange::in_place(&mut s, span, exchange::WINDOW, &recv);
        return s;
    }
    let send = Typed(&input.send, Buffer::Send);
    exchange::keep(&mut s, input.rank, &send, &recv);
    exchange::local(&mut s, span, exchange::WINDOW, &send, &recv);
    s
}
