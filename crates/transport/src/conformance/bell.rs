//! Going to sleep loses no packet.

use super::{Attempt, Cluster, Fixture, MAX_IDLE_STEPS};
use crate::{Doorbell, Packets};
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

/// Longer than any wait that a bell ends; a bell that fails costs the check this long.
const LONG: Duration = Duration::from_secs(30);

/// `arm` is false while a packet waits and true on a quiet endpoint.
pub fn arm_sees_a_waiting_packet<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for _ in 0..50 {
        arm_patiently(&mut c);
        c.ends[1].disarm();
        c.send(0, 1, 0);
        // The packet has come when `arm` sees it; before that the endpoint may be armed.
        let seen = (0..MAX_IDLE_STEPS).any(|_| {
            c.fixture.turn();
            let armed = c.ends[1].arm();
            c.ends[1].disarm();
            !armed
        });
        assert!(seen || c.on_the_way() == 0, "arm never saw a packet that waits");
        c.deliver_all();
    }
}

/// A packet that comes after `arm` rings, and the next poll delivers it.
pub fn an_armed_bell_rings<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for round in 0..50 {
        arm_patiently(&mut c);
        let bell = c.ends[1].doorbell();
        let sent = (0..MAX_IDLE_STEPS).any(|_| {
            c.fixture.turn();
            c.attempt(0, 1, 8) == Attempt::Sent
        });
        assert!(sent, "no room for one packet");
        let start = Instant::now();
        bell.wait(LONG);
        assert!(start.elapsed() < LONG, "round {round}: the packet did not ring the bell");
        c.ends[1].disarm();
        c.deliver_all();
        bell.wait(Duration::ZERO);
    }
    let bell = c.ends[0].doorbell();
    let start = Instant::now();
    bell.wait(LONG);
    assert!(start.elapsed() < LONG, "a wait on a bell that was not armed");
}

/// `ring` ends the wait of another thread.
pub fn ring_ends_a_wait<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    arm_patiently(&mut c);
    let bell: Arc<dyn Doorbell> = c.ends[1].doorbell();
    let (done, waiter_ended) = mpsc::channel();
    let theirs = Arc::clone(&bell);
    let waiter = std::thread::spawn(move || {
        let start = Instant::now();
        theirs.wait(LONG);
        // The main thread may be gone only when it has failed.
        let _ = done.send(start.elapsed());
    });
    std::thread::sleep(Duration::from_millis(20));
    bell.ring();
    let waited = waiter_ended.recv_timeout(2 * LONG);
    let ended = waited.is_ok_and(|time| time < LONG);
    assert!(ended, "ring did not end the wait of another thread");
    assert!(waiter.join().is_ok());
    c.ends[1].disarm();
}

/// Arms rank 1 on a network on which nothing is on its way to it.
fn arm_patiently<F: Fixture>(c: &mut Cluster<'_, F>) {
    let armed = (0..MAX_IDLE_STEPS).any(|_| {
        let armed = c.ends[1].arm();
        if !armed {
            c.ends[1].disarm();
            c.poll(1, 16);
            c.fixture.turn();
        }
        armed
    });
    assert!(armed, "a quiet endpoint can't be armed");
}
