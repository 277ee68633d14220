//! Broadcast by scatter and ring.

use super::packed::Packed;
use crate::input::Broadcast;
use crate::schedule::{Peer, Schedule};
use crate::tree::{children, down, parent, part_start, span, up};

/// Broadcast by a binomial scatter and a ring allgather of the parts.
///
/// Cost: log2 n + n - 1 messages on the longest path; about 2 m bytes in and out of every rank,
/// where the binomial tree moves m log2 n through the root.
/// Wins: long messages on few to many ranks.
/// Source: Van de Geijn's algorithm; Barnett et al., "Interprocessor collective communication
/// library", 1994.
pub fn schedule(input: &Broadcast) -> Schedule {
    let Broadcast { rank, size, root, .. } = *input;
    let bytes = input.bytes();
    let mut s = Schedule::new();
    if bytes == 0 || size == 1 {
        return s;
    }
    let data = Packed::begin(&mut s, input);
    let v = down(rank, root, size);
    let peer = |v: u32| Peer::Local(up(v, root, size));
    let range = |first: u32, parts: u32| {
        data.cut(part_start(bytes, size, first), part_start(bytes, size, first + parts))
    };
    if v != 0 {
        s.recv(peer(parent(v)), range(v, span(v, size)));
        s.end_round();
    }
    for child in children(v, size).rev() {
        s.send(peer(child), range(child, span(child, size)));
    }
    s.end_round();
    // A rank that got a subtree's parts in the scatter need not receive them again.
    let held = |v: u32, part: u32| part >= v && part - v < span(v, size);
    let (next, previous) = (up(v, 1, size), down(v, 1, size));
    for step in 0..size - 1 {
        let (out, into) = (down(v, step, size), down(previous, step, size));
        if !held(next, out) {
            s.send(peer(next), range(out, 1));
        }
        if !held(v, into) {
            s.recv(peer(previous), range(into, 1));
        }
        s.end_round();
    }
    data.finish(&mut s, input);
    s
}
