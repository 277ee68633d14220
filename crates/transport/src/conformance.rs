//! The suite that every transport passes.
//!
//! A transport's `tests/conformance.rs` says how to make connected endpoints and takes the whole
//! suite:
//!
//! ```text
//! struct Mine;
//! impl hpvm_transport::conformance::Fixture for Mine { /* ... */ }
//! hpvm_transport::conformance_suite!(Mine);
//! ```
//!
//! Every check runs in one thread and polls the endpoints in turn, so a virtual network passes
//! the same suite as one of real memory; only the doorbell's checks start a second thread.

mod bell;
mod cluster;
mod credits;
mod fragments;
mod packets;
mod peer_memory;
mod split_copies;

pub use bell::*;
pub use cluster::{Attempt, Cluster, Dice};
pub use credits::*;
pub use fragments::*;
pub use packets::*;
pub use peer_memory::*;
pub use split_copies::*;

use crate::Transport;

/// How the suite gets endpoints of one transport.
pub trait Fixture {
    type Endpoint: Transport;

    /// The connected endpoints of a new job, in the order of their ranks. `size` is at most 9.
    fn open(&mut self, size: u32) -> Vec<Self::Endpoint>;

    /// Lets a moment pass: virtual time, or nothing where packets move by themselves.
    fn turn(&mut self) {}

    /// Most packets that the transport ever holds for one receiver of a job of `size`: the
    /// formula that bounds its memory.
    fn bound(&self, size: u32) -> usize;

    /// Most packets of no bytes that one poll delivers beyond its budget, because it finishes what it has begun: a
    /// datagram, for example.
    fn batch(&self) -> usize {
        8
    }

    /// Decides what the checks leave to chance, and is named when one fails.
    fn seed(&self) -> u64 {
        1
    }
}

/// Turns without anything happening after which a check fails. Far above what a correct transport
/// needs, so that the suite does not depend on luck; passing it takes well below a second.
pub const MAX_IDLE_STEPS: u32 = 20_000;

/// Makes one `#[test]` of each check, with a new fixture from the given expression.
#[macro_export]
macro_rules! conformance_suite {
    ($fixture:expr) => {
        $crate::conformance_suite! { @each $fixture;
            endpoints_know_themselves
            edge_sizes_arrive_unchanged
            every_header_arrives_unchanged
            one_pair_stays_in_order
            a_packet_that_may_wait_for_the_next_arrives
            many_senders_reach_one_receiver
            random_traffic_arrives
            a_process_reaches_itself
            a_silent_network_delivers_nothing
            poll_keeps_to_its_budget
            an_unfinished_send_blocks_nobody
            fragments_make_a_message
            an_unfinished_message_blocks_nobody
            credits_run_out_and_come_back
            credits_do_not_leak
            outstanding_packets_are_bounded
            others_send_after_a_flood
            buffers_run_out_and_come_back
            arm_sees_a_waiting_packet
            an_armed_bell_rings
            ring_ends_a_wait
            read_copies_exactly
            read_refuses_wild_addresses
            write_copies_exactly
            write_refuses_wild_addresses
            split_copies_are_seen_by_all_and_apart
            a_message_is_copied_from_both_ends
        }
    };
    (@each $fixture:expr; $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                $crate::conformance::$check(&mut $fixture);
            }
        )*
    };
}
