//! Allgather between two groups: each gets what the other has.

use super::{Inter, gather::to_leader};
use crate::bcast::binomial::tree_bcast;
use crate::exchange::{self, Received, Same, Varied};
use crate::input::{Exchange, GatherV};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};

/// Up to so many bytes, both groups' blocks together, [`schedule`] goes by way of the leaders.
pub const LEADERS_UP_TO: i64 = 32 * 1024;

/// By way of the leaders for short messages, direct for long ones. Of `input`, `rank` and `size`
/// are not looked at; the block lengths of the two directions may differ, and be zero.
pub fn schedule(inter: &Inter, input: &Exchange) -> Schedule {
    let ours = i64::from(inter.local_size) * input.send_bytes();
    let theirs = i64::from(inter.remote_size) * input.recv_bytes();
    if ours + theirs <= LEADERS_UP_TO { leaders(inter, input) } else { direct(inter, input) }
}

/// Each group gathers at its leader, the leaders exchange, and broadcast.
///
/// Cost: 2 log2 n + 1 messages on the longest path.
/// Wins: short messages.
pub fn leaders(inter: &Inter, input: &Exchange) -> Schedule {
    let mut s = Schedule::new();
    let theirs = input.received(0, inter.remote_size);
    let (out, into) = (input.send_bytes(), input.recv_bytes());
    let held = if out > 0 { to_leader(&mut s, inter, input.sent(0, 1), out) } else { None };
    if inter.rank == 0 && into > 0 {
        s.recv(Peer::Remote(0), theirs);
    }
    if let Some(held) = held {
        s.send(Peer::Remote(0), held);
    }
    s.end_round();
    if into > 0 {
        tree_bcast(&mut s, inter.rank, inter.local_size, 0, theirs);
    }
    s
}

/// Every rank sends its block to all of the other group.
///
/// Cost: as many messages out and in as the other group has ranks.
/// Wins: long messages.
pub fn direct(inter: &Inter, input: &Exchange) -> Schedule {
    let mut s = Schedule::new();
    let send = Same { block: input.sent(0, 1), bytes: input.send_bytes() };
    let sizes = (inter.local_size, inter.remote_size);
    exchange::remote(&mut s, inter.rank, sizes, exchange::WINDOW, &send, &Received(input));
    s
}

/// `MPI_Allgatherv`, direct: a rank knows the lengths of the other group only.
pub fn schedule_v(inter: &Inter, input: &GatherV) -> Schedule {
    let mut s = Schedule::new();
    let block = Block::new(Buffer::Send, 0, input.send_count, Ty::Send);
    let send = Same { block, bytes: input.send_count * input.send_size };
    let recv = Varied(&input.recv, Buffer::Recv);
    let sizes = (inter.local_size, inter.remote_size);
    exchange::remote(&mut s, inter.rank, sizes, exchange::WINDOW, &send, &recv);
    s
}
