//! Everyone to everyone allgather.

use super::{keep_own, own};
use crate::exchange::{self, Received, Same};
use crate::input::Exchange;
use crate::schedule::Schedule;

/// Every rank sends its block to every other.
///
/// Cost: n - 1 messages of one block out and in; one round up to 17 ranks.
/// Wins: short blocks on few ranks; there is no forwarding and no copy but the own block's.
/// Source: folklore ("linear").
pub fn schedule(input: &Exchange) -> Schedule {
    let peers = input.size as usize - 1;
    let mut s = Schedule::with_capacity(peers / exchange::WINDOW as usize + 1, 2 * peers, 1);
    if input.recv_bytes() == 0 {
        return s;
    }
    keep_own(&mut s, input);
    let send = Same { block: own(input), bytes: input.recv_bytes() };
    let span = (input.rank, input.size);
    exchange::local(&mut s, span, exchange::WINDOW, &send, &Received(input));
    s
}
