//! `MPI_Allgatherv` (MPI 5.0, section 6.7).

pub mod direct;
pub mod dissemination;
pub mod ring;

use crate::exchange::{Blocks, Varied};
use crate::input::GatherV;
use crate::schedule::{Block, Buffer, Schedule, Ty};
use crate::select::{Allgather, DEFAULT, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &GatherV) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &GatherV) -> Schedule {
    let counts = &input.recv.counts[..input.size as usize];
    let bytes = counts.iter().sum::<i64>() * input.recv.size_bytes;
    build(tables.allgatherv(input.size, bytes), input)
}

/// The schedule of one algorithm.
pub fn build(algorithm: Allgather, input: &GatherV) -> Schedule {
    match algorithm {
        Allgather::Direct => direct::schedule(input),
        Allgather::Dissemination => dissemination::schedule(input),
        Allgather::Ring => ring::schedule(input),
    }
}

fn received<'a>(input: &'a GatherV) -> Varied<'a> {
    Varied(&input.recv, Buffer::Recv)
}

/// This rank's contribution where the user put it.
pub(crate) fn own(input: &GatherV) -> Block {
    if input.in_place {
        received(input).block(input.rank)
    } else {
        Block::new(Buffer::Send, 0, input.send_count, Ty::Send)
    }
}

/// Copies the contribution to its place in the result, behind the current round's messages.
fn keep_own(s: &mut Schedule, input: &GatherV) {
    let recv = received(input);
    if !input.in_place && recv.bytes(input.rank) > 0 {
        s.copy(own(input), recv.block(input.rank));
    }
}
