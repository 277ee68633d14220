//! Alltoall between two groups. Every block goes straight to its owner.
//!
//! Cost: as many messages out and in as the other group has ranks, a window of them in flight.

use super::Inter;
use crate::exchange::{self, Blocks, Received, Sent, Typed, Varied};
use crate::input::{AlltoallV, AlltoallW, Exchange};
use crate::schedule::{Buffer, Schedule};

/// `MPI_Alltoall`. `rank` and `size` of `input` are not looked at.
pub fn schedule(inter: &Inter, input: &Exchange) -> Schedule {
    pairwise(inter, &Sent(input), &Received(input))
}

/// `MPI_Alltoallv`. `rank` and `size` of `input` are not looked at.
pub fn schedule_v(inter: &Inter, input: &AlltoallV) -> Schedule {
    pairwise(inter, &Varied(&input.send, Buffer::Send), &Varied(&input.recv, Buffer::Recv))
}

/// `MPI_Alltoallw`. `rank` and `size` of `input` are not looked at.
pub fn schedule_w(inter: &Inter, input: &AlltoallW) -> Schedule {
    pairwise(inter, &Typed(&input.send, Buffer::Send), &Typed(&input.recv, Buffer::Recv))
}

fn pairwise(inter: &Inter, send: &impl Blocks, recv: &impl Blocks) -> Schedule {
    let mut s = Schedule::new();
    let sizes = (inter.local_size, inter.remote_size);
    exchange::remote(&mut s, inter.rank, sizes, exchange::WINDOW, send, recv);
    s
}
