//! Linear scatter.

use crate::exchange::{self, Blocks, Same, Sent, Varied};
use crate::input::{Exchange, ScatterV};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::tree::up;

/// Linear scatter: the root sends every rank its block.
///
/// Cost: n - 1 messages out of the root, 16 at a time; nothing is forwarded.
/// Wins: long blocks, where the root's link is the limit anyway, and few ranks.
/// Source: folklore.
pub fn schedule(input: &Exchange) -> Schedule {
    with_window(input, exchange::WINDOW)
}

/// The same with so many at a time.
pub fn with_window(input: &Exchange, window: u32) -> Schedule {
    let recv = Same { block: input.received(0, 1), bytes: input.recv_bytes() };
    let span = (input.rank, input.size, input.root);
    build(span, window, input.in_place, &Sent(input), &recv)
}

/// Linear scatter with a length of its own for every rank.
pub fn schedule_v(input: &ScatterV) -> Schedule {
    schedule_v_with_window(input, exchange::WINDOW)
}

/// The same with so many at a time.
pub fn schedule_v_with_window(input: &ScatterV, window: u32) -> Schedule {
    let block = Block::new(Buffer::Recv, 0, input.recv_count, Ty::Recv);
    let recv = Same { block, bytes: input.recv_count * input.recv_size };
    let send = Varied(&input.send, Buffer::Send);
    build((input.rank, input.size, input.root), window, input.in_place, &send, &recv)
}

fn build(
    span: (u32, u32, u32),
    window: u32,
    in_place: bool,
    send: &impl Blocks,
    recv: &Same,
) -> Schedule {
    let mut s = exchange::linear(span);
    if span.0 == span.2 && !in_place {
        exchange::keep(&mut s, span.0, send, recv);
    }
    scatter(&mut s, span, window, send, recv);
    s
}

/// Appends the messages of a scatter within the local group; the root's own block stays.
pub(crate) fn scatter(
    s: &mut Schedule,
    (rank, size, root): (u32, u32, u32),
    window: u32,
    send: &impl Blocks,
    recv: &Same,
) {
    if rank != root {
        if recv.bytes > 0 {
            s.recv(Peer::Local(root), recv.block);
        }
        s.end_round();
        return;
    }
    for step in 1..size {
        let to = up(rank, step, size);
        if send.bytes(to) > 0 {
            s.send(Peer::Local(to), send.block(to));
        }
        if step % window.max(1) == 0 {
            s.end_round();
        }
    }
    s.end_round();
}
