//! The neighbourhood collectives (MPI 5.0, section 8.6 to 8.8).
//!
//! One algorithm serves all: every rank sends to its destinations and receives from its sources,
//! all at once. Cost: one round, one message per edge of the topology. Messages of several edges
//! between two ranks match in the order of the topology; messages to the rank itself are copies.

use crate::exchange::{Blocks, Received, Same, Sent, Typed, Varied};
use crate::input::{Exchange, Neighbours, TypedVectors, Vectors};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};

/// `MPI_Neighbor_allgather`. Of the exchange `rank`, counts, extents and sizes are looked at.
pub fn allgather(neighbours: &Neighbours, input: &Exchange) -> Schedule {
    let send = Same { block: input.sent(0, 1), bytes: input.send_bytes() };
    linear(neighbours, input.rank, &send, &Received(input))
}

/// `MPI_Neighbor_allgatherv`; `send_size` is the packed size of one element of the send type.
pub fn allgatherv(
    neighbours: &Neighbours,
    rank: u32,
    send_count: i64,
    send_size: i64,
    recv: &Vectors,
) -> Schedule {
    let block = Block::new(Buffer::Send, 0, send_count, Ty::Send);
    let send = Same { block, bytes: send_count * send_size };
    linear(neighbours, rank, &send, &Varied(recv, Buffer::Recv))
}

/// `MPI_Neighbor_alltoall`. Of the exchange `rank`, counts, extents and sizes are looked at.
pub fn alltoall(neighbours: &Neighbours, input: &Exchange) -> Schedule {
    linear(neighbours, input.rank, &Sent(input), &Received(input))
}

/// `MPI_Neighbor_alltoallv`.
pub fn alltoallv(neighbours: &Neighbours, rank: u32, send: &Vectors, recv: &Vectors) -> Schedule {
    linear(neighbours, rank, &Varied(send, Buffer::Send), &Varied(recv, Buffer::Recv))
}

/// `MPI_Neighbor_alltoallw`. [`Ty::SendOf`] counts destinations, [`Ty::RecvOf`] sources.
pub fn alltoallw(
    neighbours: &Neighbours,
    rank: u32,
    send: &TypedVectors,
    recv: &TypedVectors,
) -> Schedule {
    linear(neighbours, rank, &Typed(send, Buffer::Send), &Typed(recv, Buffer::Recv))
}

fn linear(neighbours: &Neighbours, rank: u32, send: &impl Blocks, recv: &impl Blocks) -> Schedule {
    let Neighbours { sources, destinations, cartesian } = *neighbours;
    let mut s = Schedule::with_capacity(1, sources.len() + destinations.len(), 0);
    // What is sent down arrives from above: the receives of a pair are issued crosswise, so that
    // they match where both neighbours of a dimension are one process.
    let paired = |i: usize| if cartesian && (i ^ 1) < sources.len() { i ^ 1 } else { i };
    let receives = || (0..sources.len()).map(paired);
    let mut own = receives().filter(|&i| u32::try_from(sources[i]) == Ok(rank));
    for i in receives() {
        let index = i as u32;
        match u32::try_from(sources[i]) {
            Ok(from) if from != rank && recv.bytes(index) > 0 => {
                s.recv(Peer::Local(from), recv.block(index));
            }
            _ => {}
        }
    }
    for (i, &to) in destinations.iter().enumerate() {
        let index = i as u32;
        match u32::try_from(to) {
            Ok(to) if to == rank => {
                if let Some(into) = own.next()
                    && send.bytes(index) > 0
                {
                    s.copy(send.block(index), recv.block(into as u32));
                }
            }
            Ok(to) if send.bytes(index) > 0 => s.send(Peer::Local(to), send.block(index)),
            _ => {}
        }
    }
    s.end_round();
    s
}
