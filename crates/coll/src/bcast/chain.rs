//! Pipelined chain broadcast.

use super::packed::Packed;
use crate::input::Broadcast;
use crate::schedule::{Peer, Schedule};
use crate::tree::{down, up};

/// Segment length used by [`schedule`], in bytes.
pub const SEGMENT: u32 = 64 * 1024;

/// Pipelined chain with segments of [`SEGMENT`] bytes.
pub fn schedule(input: &Broadcast) -> Schedule {
    with_segment(input, SEGMENT)
}

/// Pipelined chain: every rank passes segments on to the next while it receives the following one.
///
/// Cost: n - 2 + m / segment steps of one segment; m bytes in and m bytes out of every rank, the
/// least possible.
/// Wins: long messages on few ranks, where filling the pipeline is cheap.
/// Source: Watts, Van de Geijn, "A pipelined broadcast for multidimensional meshes", 1995.
///
/// The segment must be the same on all ranks; 0 counts as 1.
pub fn with_segment(input: &Broadcast, segment: u32) -> Schedule {
    let Broadcast { rank, size, root, .. } = *input;
    let bytes = input.bytes();
    let mut s = Schedule::new();
    if bytes == 0 || size == 1 {
        return s;
    }
    let segment = i64::from(segment.max(1));
    let segments = (bytes + segment - 1) / segment;
    let data = Packed::begin(&mut s, input);
    let v = down(rank, root, size);
    let (next, previous) = (up(rank, 1, size), down(rank, 1, size));
    for step in 0..=segments {
        let at = step * segment;
        if v != 0 && step < segments {
            s.recv(Peer::Local(previous), data.cut(at, at + segment));
        }
        if v + 1 < size && step > 0 {
            s.send(Peer::Local(next), data.cut(at - segment, at));
        }
        // The root waits for nothing between segments, yet keeps two in flight, not all.
        if v != 0 || step % 2 == 0 {
            s.end_round();
        }
    }
    data.finish(&mut s, input);
    s
}
