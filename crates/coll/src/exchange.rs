//! Personalised exchange, the common part of the alltoall family: who talks to whom and when.

use crate::input::{Exchange, TypedVectors, Vectors};
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::tree::{down, up};

/// Peers in flight for the operations whose lengths are not the same on all ranks.
pub(crate) const WINDOW: u32 = 16;

/// An empty schedule with room for the messages between a root and all others.
pub(crate) fn linear((rank, size, root): (u32, u32, u32)) -> Schedule {
    let messages = if rank == root { size - 1 } else { 1 };
    Schedule::with_capacity((messages / WINDOW + 1) as usize, messages as usize, 1)
}

/// One side of an exchange: a block for every peer.
pub(crate) trait Blocks {
    fn block(&self, peer: u32) -> Block;
    /// Packed length; both ends of a message know the same, and skip it when it is zero.
    fn bytes(&self, peer: u32) -> i64;
}

/// The send side of a regular exchange.
pub(crate) struct Sent<'a>(pub(crate) &'a Exchange);

/// The receive side of a regular exchange.
pub(crate) struct Received<'a>(pub(crate) &'a Exchange);

/// The same block for every peer.
pub(crate) struct Same {
    pub(crate) block: Block,
    pub(crate) bytes: i64,
}

/// A side of a `v` exchange in the given buffer.
pub(crate) struct Varied<'a>(pub(crate) &'a Vectors<'a>, pub(crate) Buffer);

/// A side of a `w` exchange in the given buffer.
pub(crate) struct Typed<'a>(pub(crate) &'a TypedVectors<'a>, pub(crate) Buffer);

impl Blocks for Sent<'_> {
    fn block(&self, peer: u32) -> Block {
        self.0.sent(peer, 1)
    }
    fn bytes(&self, _: u32) -> i64 {
        self.0.send_bytes()
    }
}

impl Blocks for Received<'_> {
    fn block(&self, peer: u32) -> Block {
        self.0.received(peer, 1)
    }
    fn bytes(&self, _: u32) -> i64 {
        self.0.recv_bytes()
    }
}

impl Blocks for Same {
    fn block(&self, _: u32) -> Block {
        self.block
    }
    fn bytes(&self, _: u32) -> i64 {
        self.bytes
    }
}

impl Blocks for Varied<'_> {
    fn block(&self, peer: u32) -> Block {
        let (side, i) = (self.0, peer as usize);
        let ty = if self.1 == Buffer::Send { Ty::Send } else { Ty::Recv };
        Block::new(self.1, side.displs[i] * side.extent, side.counts[i], ty)
    }
    fn bytes(&self, peer: u32) -> i64 {
        self.0.counts[peer as usize] * self.0.size_bytes
    }
}

impl Blocks for Typed<'_> {
    fn block(&self, peer: u32) -> Block {
        let (side, i) = (self.0, peer as usize);
        let ty = if self.1 == Buffer::Send { Ty::SendOf(peer) } else { Ty::RecvOf(peer) };
        Block::new(self.1, side.displs[i], side.counts[i], ty)
    }
    fn bytes(&self, peer: u32) -> i64 {
        self.0.counts[peer as usize] * self.0.sizes[peer as usize]
    }
}

/// Appends the copy of a rank's block to itself.
pub(crate) fn keep(s: &mut Schedule, rank: u32, send: &impl Blocks, recv: &impl Blocks) {
    if send.bytes(rank) > 0 {
        s.copy(send.block(rank), recv.block(rank));
    }
}

/// Appends the exchange with all other ranks of the local group: in step `i` to the rank `i` above
/// and from the rank `i` below, `window` steps per round.
pub(crate) fn local(
    s: &mut Schedule,
    span: (u32, u32),
    window: u32,
    send: &impl Blocks,
    recv: &impl Blocks,
) {
    local_with(s, span, window, send, recv, |_| false);
}

/// The same, but that blocks to and from ranks that are far are in the first round, as many as there are.
pub(crate) fn local_with(
    s: &mut Schedule,
    (rank, size): (u32, u32),
    window: u32,
    send: &impl Blocks,
    recv: &impl Blocks,
    far: impl Fn(u32) -> bool,
) {
    let exchange = |s: &mut Schedule, step: u32, now: bool| {
        let (to, from) = (up(rank, step, size), down(rank, step, size));
        if recv.bytes(from) > 0 && far(from) == now {
            s.recv(Peer::Local(from), recv.block(from));
        }
        if send.bytes(to) > 0 && far(to) == now {
            s.send(Peer::Local(to), send.block(to));
        }
    };
    (1..size).for_each(|step| exchange(s, step, true));
    for step in 1..size {
        exchange(s, step, false);
        if step % window.max(1) == 0 {
            s.end_round();
        }
    }
    s.end_round();
}

/// Appends the exchange with all ranks of the remote group, in the same steps modulo the size of
/// the larger group. Both groups must be told the same window.
pub(crate) fn remote(
    s: &mut Schedule,
    rank: u32,
    (local_size, remote_size): (u32, u32),
    window: u32,
    send: &impl Blocks,
    recv: &impl Blocks,
) {
    let wide = local_size.max(remote_size);
    for step in 0..wide {
        let (to, from) = (up(rank, step, wide), down(rank, step, wide));
        if from < remote_size && recv.bytes(from) > 0 {
            s.recv(Peer::Remote(from), recv.block(from));
        }
        if to < remote_size && send.bytes(to) > 0 {
            s.send(Peer::Remote(to), send.block(to));
        }
        if (step + 1) % window.max(1) == 0 {
            s.end_round();
        }
    }
    s.end_round();
}

/// Appends the exchange of every block with the block of the same place at the peer, by way of a
/// packed copy. In step `i` ranks whose numbers add up to `i` modulo the size are partners; the
/// copy holds one window.
pub(crate) fn in_place(
    s: &mut Schedule,
    (rank, size): (u32, u32),
    window: u32,
    blocks: &impl Blocks,
) {
    let window = window.max(1);
    let partner = |step: u32| down(step, rank, size);
    let steps = |first: u32| first..size.min(first.saturating_add(window));
    let length = |peer: u32| if peer == rank { 0 } else { blocks.bytes(peer) };
    let firsts = || (0..size).step_by(window as usize);
    let needed = firsts().map(|first| steps(first).map(|i| length(partner(i))).sum::<i64>()).max();
    let temp = s.temp_bytes(needed.unwrap_or(0));
    let each = |first: u32, act: &mut dyn FnMut(u32, Block)| {
        let mut at = 0;
        for peer in steps(first).map(partner) {
            let bytes = length(peer);
            if bytes > 0 {
                act(peer, Block::bytes(temp, at, bytes));
                at += bytes;
            }
        }
    };
    for first in firsts() {
        each(first, &mut |peer, packed| s.copy(blocks.block(peer), packed));
        s.end_round();
        each(first, &mut |peer, packed| {
            s.recv(Peer::Local(peer), blocks.block(peer));
            s.send(Peer::Local(peer), packed);
        });
    }
    s.end_round();
}
