//! Credits and buffers run out and come back; what a receiver holds is bounded.

use super::{Attempt, Cluster, Fixture, MAX_IDLE_STEPS};
use crate::Packets;

/// Rounds of the checks that exhaust something again and again.
const ROUNDS: usize = 100;

/// A receiver that does not poll grants nothing in the end; one that polls grants again.
pub fn credits_run_out_and_come_back<F: Fixture>(fixture: &mut F) {
    let bound = fixture.bound(2);
    let mut c = Cluster::new(fixture, 2);
    let sent = c.flood(0, 1, 0);
    assert!(sent > 0, "no packet found room");
    assert!(sent <= bound, "{sent} packets wait for one receiver, at most {bound} may");
    for _ in 0..100 {
        assert_eq!(
            c.ends[0].take_credits(1),
            0,
            "a credit toward a receiver that holds {sent} packets"
        );
    }
    assert_eq!(c.on_the_way(), sent);
    c.deliver_all();
    c.send(0, 1, 0);
    c.deliver_all();
}

/// As many packets find room after many floods as in the first.
pub fn credits_do_not_leak<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let len = c.ends[0].limits().inline;
    let mut room = Vec::new();
    for _ in 0..ROUNDS {
        room.push(c.flood(0, 1, len));
        c.deliver_all();
    }
    let late = room[ROUNDS / 2..].iter().sum::<usize>() / (ROUNDS / 2);
    assert!(4 * late >= 3 * room[0], "room shrinks from flood to flood: {room:?}");
}

/// All senders together stay below the receiver's bound.
pub fn outstanding_packets_are_bounded<F: Fixture>(fixture: &mut F) {
    let size = 6;
    let bound = fixture.bound(size);
    let mut c = Cluster::new(fixture, size);
    for _ in 0..5 {
        let mut sent = 0;
        for src in 0..size {
            sent += c.flood(src, 3, 1);
        }
        assert!(sent > 0, "no packet found room");
        assert!(sent <= bound, "{sent} packets wait for one receiver, at most {bound} may");
        c.deliver_all();
    }
}

/// A sender that took all there was does not shut others out for good.
pub fn others_send_after_a_flood<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 5);
    for src in [1, 2, 3, 4, 0, 2] {
        c.flood(src, 0, 0);
        c.deliver_all();
        for other in 0..5 {
            c.send(other, 0, 1);
        }
        c.deliver_all();
    }
}

/// Large packets toward receivers that do not poll are refused in the end, without loss of the
/// credit; after the receivers have polled they find room again.
pub fn buffers_run_out_and_come_back<F: Fixture>(fixture: &mut F) {
    let size = 4;
    let mut c = Cluster::new(fixture, size);
    let most = c.fixture.bound(size) * size as usize;
    let len = c.ends[0].limits().packet;
    for round in 0..ROUNDS / 4 {
        let (mut sent, mut refused) = (0, 0);
        while refused < 200 {
            let dst = 1 + c.dice.below(3) as u32;
            if c.attempt(0, dst, len) == Attempt::Sent {
                sent += 1;
                refused = 0;
            } else {
                refused += 1;
                c.fixture.turn();
            }
            assert!(sent <= most, "{sent} large packets wait, nothing bounds them");
        }
        assert!(sent > 0, "no large packet found room in round {round}");
        c.deliver_all();
        // The credits of refused packets are still there: at once each receiver is reached.
        for dst in 1..size {
            let reached = (0..MAX_IDLE_STEPS).any(|_| {
                c.fixture.turn();
                c.attempt(0, dst, len) == Attempt::Sent
            });
            assert!(reached, "round {round}: no buffer came back");
            c.deliver_all();
        }
    }
}
