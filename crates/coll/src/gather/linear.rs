//! Linear gather.

use crate::exchange::{self, Blocks, Received, Same, Varied};
use crate::input::{Exchange, GatherV};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::tree::up;

/// Linear gather: every rank sends its block to the root.
///
/// Cost: n - 1 messages into the root, 16 at a time; nothing is forwarded.
/// Wins: long blocks, where the root's link is the limit anyway, and few ranks.
/// Source: folklore.
pub fn schedule(input: &Exchange) -> Schedule {
    with_window(input, exchange::WINDOW)
}

/// The same with so many at a time.
pub fn with_window(input: &Exchange, window: u32) -> Schedule {
    let send = Same { block: input.sent(0, 1), bytes: input.send_bytes() };
    let span = (input.rank, input.size, input.root);
    build(span, window, input.in_place, &send, &Received(input))
}

/// Linear gather with a length of its own for every rank.
pub fn schedule_v(input: &GatherV) -> Schedule {
    schedule_v_with_window(input, exchange::WINDOW)
}

/// The same with so many at a time.
pub fn schedule_v_with_window(input: &GatherV, window: u32) -> Schedule {
    let block = Block::new(Buffer::Send, 0, input.send_count, Ty::Send);
    let send = Same { block, bytes: input.send_count * input.send_size };
    let recv = Varied(&input.recv, Buffer::Recv);
    build((input.rank, input.size, input.root), window, input.in_place, &send, &recv)
}

fn build(
    (rank, size, root): (u32, u32, u32),
    window: u32,
    in_place: bool,
    send: &Same,
    recv: &impl Blocks,
) -> Schedule {
    let mut s = exchange::linear((rank, size, root));
    if rank != root {
        if send.bytes > 0 {
            s.send(Peer::Local(root), send.block);
        }
        s.end_round();
        return s;
    }
    if !in_place {
        exchange::keep(&mut s, rank, send, recv);
    }
    for step in 1..size {
        let from = up(rank, step, size);
        if recv.bytes(from) > 0 {
            s.recv(Peer::Local(from), recv.block(from));
        }
        if step % window.max(1) == 0 {
            s.end_round();
        }
    }
    s.end_round();
    s
}
