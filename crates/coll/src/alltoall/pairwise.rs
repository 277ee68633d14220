//! Pairwise alltoall.

use crate::exchange::{self, Received, Sent};
use crate::input::Exchange;
use crate::schedule::Schedule;

/// Pairwise alltoall with 16 peers in flight.
pub fn schedule(input: &Exchange) -> Schedule {
    with_window(input, exchange::WINDOW)
}

/// Pairwise alltoall: every block goes straight to its owner, `window` peers in flight.
///
/// Cost: n - 1 messages of m bytes out and in, in (n - 1) / window rounds. In place, one copy of
/// the whole, `window` blocks at a time.
/// Wins: long blocks; short ones on few ranks. A window of 1 keeps the pairs disjoint, a wide one
/// hides latency.
/// Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997 (the index operation with radix n).
///
/// The window must be the same on all ranks; 0 counts as 1.
pub fn with_window(input: &Exchange, window: u32) -> Schedule {
    let span = (input.rank, input.size);
    if input.in_place {
        let mut s = Schedule::new();
        if input.recv_bytes() > 0 && input.size > 1 {
            exchange::in_place(&mut s, span, window, &Received(input));
        }
        return s;
    }
    let (send, recv) = (Sent(input), Received(input));
    let peers = input.size as usize - 1;
    let mut s = Schedule::with_capacity(peers / window.max(1) as usize + 1, 2 * peers, 1);
    exchange::keep(&mut s, input.rank, &send, &recv);
    exchange::local(&mut s, span, window, &send, &recv);
    s
}
