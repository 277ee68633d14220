//! Everyone to everyone allgatherv.

use super::{keep_own, own, received};
use crate::exchange::{self, Blocks, Same};
use crate::input::GatherV;
use crate::schedule::Schedule;

/// Every rank sends its block to every other.
///
/// Cost: n - 1 messages of one block out and in; one round up to 17 ranks.
/// Wins: short messages on few ranks, and lengths that differ much.
/// Source: folklore ("linear").
pub fn schedule(input: &GatherV) -> Schedule {
    let mut s = Schedule::new();
    let recv = received(input);
    keep_own(&mut s, input);
    let send = Same { block: own(input), bytes: recv.bytes(input.rank) };
    exchange::local(&mut s, (input.rank, input.size), exchange::WINDOW, &send, &recv);
    s
}
