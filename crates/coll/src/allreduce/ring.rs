//! Ring allreduce.

use crate::input::Reduction;
use crate::partial::Partial;
use crate::schedule::{Buffer, Peer, Schedule};
use crate::tree::{down, part_start, up};

/// Ring allreduce: a ring reduce-scatter and a ring allgather over n parts.
///
/// Cost: 2 (n - 1) rounds; 2 m (n - 1) / n bytes out and in of every rank, the least possible, and
/// no copy of the input.
/// Wins: long messages; operations that commute only.
/// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
/// workstations", 2009.
pub fn schedule(input: &Reduction) -> Schedule {
    let Reduction { rank, size, count, .. } = *input;
    if count == 0 {
        return Schedule::new();
    }
    let rounds = 2 * (size as usize - 1);
    let mut s = Schedule::with_capacity(rounds.max(1), 2 * rounds, size as usize);
    let mut partial = Partial::new(input.source(), Buffer::Recv, input.extent, true);
    if size == 1 {
        partial.settle(&mut s, &(0..count));
        s.end_round();
        return s;
    }
    let part = |index: u32| part_start(count, size, index)..part_start(count, size, index + 1);
    let next = Peer::Local(up(rank, 1, size));
    let previous = Peer::Local(down(rank, 1, size));
    for step in 0..size - 1 {
        let out = part(down(rank, step, size));
        let block =
            if step == 0 { partial.current(&out) } else { partial.block(Buffer::Recv, &out) };
        s.send(next, block);
        // Every part comes by once, so each combination starts from the untouched input.
        partial.combine(&mut s, previous, &part(down(rank, step + 1, size)), true);
        s.end_round();
    }
    for step in 0..size - 1 {
        let out = part(down(up(rank, 1, size), step, size));
        s.send(next, partial.block(Buffer::Recv, &out));
        s.recv(previous, partial.block(Buffer::Recv, &part(down(rank, step, size))));
        s.end_round();
    }
    s
}
